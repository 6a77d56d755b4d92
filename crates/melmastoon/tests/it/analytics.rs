//! Figures: what was counted is what the log says, and it is shown soon.

use std::collections::BTreeMap;

use karwan::envelope::Envelope;
use karwan::envelope::mint::Random;
use karwan::envelope::money::Micros;
use karwan::envelope::time::{Date, Timestamp};
use karwan::testing::SeededRandom;
use karwan::{Event, Work};
use melmastoon::analytics::events::SnapshotComputed;
use melmastoon::analytics::{self as analytics, commands, work};
use melmastoon::payment::{IntentRefunded, RefundReason};
use melmastoon::reservation::{BookingCancelled, BookingConfirmed};
use melmastoon::values::{BookingStatus, DateRange};

use crate::desk::{Desk, run};
use crate::told;

pub const BOOKINGS: &str = "analytics-service.bookings";
const REFUNDS: &str = "analytics-service.refunds";

async fn desk(rooms: u32) -> Desk {
    let desk = Desk::open(analytics::kinds(), work::work(Work::new())).await;
    desk.tell(&told::property_created()).await;
    for room in 0..rooms {
        desk.tell(&told::room_added(100 + room)).await;
    }
    desk.settle().await;
    desk
}

fn context() -> karwan::Context {
    karwan::context(analytics::SERVICE, 1)
}

fn days(from: i32, until: i32) -> DateRange {
    DateRange { from: told::may(from), until: told::may(until) }
}

/// the manager opens the dashboard thirty seconds later.
#[test]
fn a_booking_is_on_the_dashboard_within_thirty_seconds() {
    run(async || {
        let desk = desk(4).await;
        desk.tell(&told::confirmed(10)).await;
        desk.settle().await;
        desk.pass_ms(29_999).await;
        let store = desk.place.store();
        let kpis = commands::kpis(store, &context(), told::property(), days(1, 3)).await.expect("figures");
        assert_eq!((kpis.rooms.sold, kpis.rooms.available), (2, 8));
        assert_eq!(kpis.rooms.occupancy_basis_points, Some(2500));
        assert_eq!(kpis.revenue.rooms_micro, Micros::new(100_000_000));
        assert_eq!(kpis.revenue.adr_micro, Some(Micros::new(50_000_000)));
        assert_eq!(kpis.revenue.revpar_micro, Some(Micros::new(12_500_000)));
        assert_eq!((kpis.bookings.confirmed, kpis.bookings.arrivals), (1, 1));
        desk.close().await;
    });
}

#[test]
fn a_flood_of_bookings_makes_few_snapshots() {
    run(async || {
        let desk = desk(4).await;
        for number in 10..60 {
            desk.tell(&told::confirmed(number)).await;
        }
        desk.settle().await;
        desk.pass_ms(work::SNAPSHOT_MS).await;
        let snapshots = desk.told::<SnapshotComputed>().await;
        assert_eq!(snapshots.len(), 3, "two nights, and the day of departure");
        assert!(snapshots.iter().any(|snapshot| snapshot.rooms.sold == 50));
        desk.close().await;
    });
}

#[test]
fn another_room_is_in_the_figures_of_the_days_that_follow() {
    run(async || {
        let desk = desk(1).await;
        desk.tell(&told::confirmed(10)).await;
        desk.settle().await;
        desk.pass_ms(30_000).await;
        desk.tell(&told::room_added(200)).await;
        desk.tell(&told::room_archived(100, told::may(2))).await;
        desk.settle().await;
        desk.pass_ms(30_000).await;
        let available: Vec<_> = latest(&desk.told::<SnapshotComputed>().await)
            .iter()
            .map(|(date, snapshot)| (date.to_string(), snapshot.rooms.available))
            .collect();
        let expected = [("2026-05-01", 2), ("2026-05-02", 1), ("2026-05-03", 1)];
        assert_eq!(available, expected.map(|(date, rooms)| (date.to_owned(), rooms)));
        desk.close().await;
    });
}

#[test]
fn a_property_of_another_tenant_has_no_figures() {
    run(async || {
        let desk = desk(1).await;
        let other = karwan::context(analytics::SERVICE, 2);
        let refused = commands::kpis(desk.place.store(), &other, told::property(), days(1, 2)).await;
        assert_eq!(refused.map_err(|refusal| refusal.code()), Err("MELMASTOON.GENERAL.RESOURCE_NOT_FOUND"));
        desk.close().await;
    });
}

fn latest(snapshots: &[SnapshotComputed]) -> BTreeMap<Date, SnapshotComputed> {
    snapshots.iter().map(|snapshot| (snapshot.period_start, snapshot.clone())).collect()
}

/// What the log says of a day, counted the slow way: every booking that stands, night by night.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Truth {
    sold: u32,
    rooms_micro: i128,
    refunds_micro: i128,
    confirmed: u32,
    cash: u32,
    cancelled: u32,
    arrivals: u32,
    departures: u32,
}

/// The events of one type in a log.
fn told_in<E: Event>(log: &[Envelope]) -> Vec<E> {
    let of = log.iter().filter(|envelope| envelope.subject.as_str() == E::SUBJECT);
    of.map(|envelope| serde_json::from_str(envelope.payload.get()).expect("it can be read")).collect()
}

/// What a guest pays in the currency of the property's books, at the rate that is frozen with the price.
fn in_books(micros: i128, of: &BookingConfirmed) -> i128 {
    let rate = &of.quote.currency_snapshot.rate;
    let (whole, places) = rate.split_once('.').unwrap_or((rate, ""));
    let digits: i128 = format!("{whole}{places}").parse().expect("a decimal");
    (micros * digits).div_euclid(10_i128.pow(u32::try_from(places.len()).expect("few places")))
}

/// Every day of a log, counted the slow way.
pub fn truth(log: &[Envelope]) -> BTreeMap<Date, Truth> {
    // Kabul is half past four ahead.
    let day = |at: Timestamp| {
        let ms = at.unix_ms() + 270 * 60_000;
        Date::from_unix_days(i32::try_from(ms.div_euclid(86_400_000)).expect("a day"))
    };
    let mut truth: BTreeMap<Date, Truth> = BTreeMap::new();
    let gone = told_in::<BookingCancelled>(log);
    for booking in told_in::<BookingConfirmed>(log) {
        let on = truth.entry(day(booking.confirmed_at)).or_default();
        on.confirmed += 1;
        on.cash += u32::from(booking.status == BookingStatus::ConfirmedCashPending);
        if gone.iter().any(|gone| gone.reservation_id == booking.reservation_id) {
            continue;
        }
        for night in &booking.quote.nights {
            let on = truth.entry(night.date).or_default();
            on.sold += 1;
            on.rooms_micro += in_books(night.amount_micro.get(), &booking);
        }
        truth.entry(booking.stay.check_in).or_default().arrivals += 1;
        truth.entry(booking.stay.check_out).or_default().departures += 1;
    }
    for gone in gone.iter().filter(|gone| gone.previous_status != BookingStatus::Held) {
        truth.entry(day(gone.cancelled_at)).or_default().cancelled += 1;
    }
    let confirmed = told_in::<BookingConfirmed>(log);
    for refund in told_in::<IntentRefunded>(log).iter().filter(|it| it.reason != RefundReason::LateCapture) {
        let of = confirmed.iter().find(|it| it.reservation_id == refund.reservation_id).expect("it was confirmed");
        let amount = in_books(refund.amount.amount_micro.get(), of);
        truth.entry(day(refund.refunded_at)).or_default().refunds_micro += amount;
    }
    truth.retain(|_, truth| *truth != Truth::default());
    truth
}

/// What the last snapshot of every day in a log says.
pub fn shown_in(log: &[Envelope]) -> BTreeMap<Date, Truth> {
    shown(&told_in::<SnapshotComputed>(log))
}

fn shown(snapshots: &[SnapshotComputed]) -> BTreeMap<Date, Truth> {
    let of = |it: SnapshotComputed| Truth {
        sold: it.rooms.sold,
        rooms_micro: it.revenue.rooms_micro.get(),
        refunds_micro: it.revenue.refunds_micro.get(),
        confirmed: it.bookings.confirmed,
        cash: it.bookings.cash_pending,
        cancelled: it.bookings.cancelled,
        arrivals: it.bookings.arrivals,
        departures: it.bookings.departures,
    };
    let mut shown: BTreeMap<Date, Truth> = latest(snapshots).into_iter().map(|(date, it)| (date, of(it))).collect();
    shown.retain(|_, truth| *truth != Truth::default());
    shown
}

/// A guest pays in dollars and gets them back; the house keeps its books in afghanis, whichever it hears of first.
#[test]
fn a_refund_in_the_guests_currency_is_counted_in_the_propertys_at_the_rate_of_its_price() {
    run(async || {
        let desk = desk(1).await;
        let booking = told::in_dollars(told::confirmed(10), "70.5");
        desk.tell(&told::refunded(&booking, RefundReason::Cancellation, told::dollars(7))).await;
        desk.settle().await;
        desk.tell(&booking).await;
        desk.tell(&told::cancelled(&booking)).await;
        desk.settle().await;
        for _ in 0..4 {
            desk.pass_ms(60_000).await;
        }
        let kpis = commands::kpis(desk.place.store(), &context(), told::property(), days(1, 2)).await.expect("figures");
        assert_eq!(kpis.revenue.refunds_micro, Micros::new(493_500_000));
        desk.close().await;
    });
}

/// Whatever comes in whatever order, in whatever currency, and comes again.
#[test]
fn the_figures_equal_a_recomputation_from_the_log() {
    crate::desk::each_seed(one_season);
}

async fn one_season(seed: u64) {
    let random = SeededRandom::new(seed);
    let below = |bound: u64| random.bits() % bound;
    let mut desk = desk(5).await;
    for number in 0..40_u32 {
        let mut booking =
            if below(4) == 0 { told::confirmed_in_cash(300 + number) } else { told::confirmed(300 + number) };
        let first = i32::try_from(below(6)).expect("few days") + 1;
        booking.stay = told::stay(told::may(first), u32::try_from(below(3)).expect("few nights") + 1);
        booking.quote = told::quote(&booking.stay);
        if below(3) == 0 {
            booking = told::in_dollars(booking, "70.525");
        }
        let so_many = |amount| {
            if booking.paid.currency == told::dollars(0).currency {
                told::dollars(amount)
            } else {
                told::afghanis(amount)
            }
        };
        let mut cancelled = told::cancelled(&booking);
        match below(4) {
            // A hold that ran out: never confirmed.
            0 => {
                cancelled.previous_status = BookingStatus::Held;
                desk.tell(&cancelled).await;
            }
            1 => {
                let refund = told::refunded(&booking, RefundReason::Cancellation, so_many(7));
                // Under another key than its booking, it may come before it.
                let first = below(2) == 0;
                if first {
                    desk.tell(&refund).await;
                    desk.settle().await;
                }
                desk.tell(&booking).await;
                desk.tell(&cancelled).await;
                if !first {
                    desk.tell(&refund).await;
                }
            }
            2 => {
                desk.tell(&booking).await;
                desk.tell(&told::refunded(&booking, RefundReason::LateCapture, so_many(9))).await;
            }
            _ => desk.tell(&booking).await,
        }
        if below(3) == 0 {
            desk.pass_ms(i64::try_from(below(9_000)).expect("a while")).await;
        }
    }
    desk.settle().await;
    // What came too early comes again, and is shown a little later.
    for _ in 0..4 {
        desk.pass_ms(60_000).await;
    }
    let log = desk.log().await;
    assert_eq!(shown_in(&log), truth(&log), "seed={seed}");
    let end = log.len();
    desk.replay(&[BOOKINGS, REFUNDS], work::work(Work::new())).await;
    desk.pass_ms(30_000).await;
    assert_eq!(desk.log().await.len(), end, "seed={seed}: replaying changes nothing");
    desk.close().await;
}
