//! What is counted of which event, and the figures that come of it. No clock, no I/O.
//!
//! Occupancy is sold over available room nights, the average daily rate is room revenue over sold room nights (U-32); both are
//! rounded down. A booking counts from its confirmation on, and is taken back by its cancellation.

use std::collections::BTreeMap;

use karwan::envelope::money::{Currency, Micros};
use karwan::envelope::time::Date;

use super::events::{BookingFigures, RevenueFigures, RoomFigures};
use super::state::{House, Sums};
use crate::house_time::day;
use crate::reservation::{BookingCancelled, BookingConfirmed};
use crate::values::{BookingStatus, QuoteSnapshot, StayWindow};

/// What an event adds to which day.
pub type Deltas = BTreeMap<Date, Sums>;

/// A confirmed booking: its nights, its arrival and departure, and itself on the day of its confirmation.
pub fn of_confirmed(confirmed: &BookingConfirmed, zone: &str) -> Deltas {
    let mut deltas = of_stay(&confirmed.stay, &confirmed.quote, 1);
    let cash = confirmed.status == BookingStatus::ConfirmedCashPending;
    add(
        &mut deltas,
        day(confirmed.confirmed_at, zone),
        Sums { confirmed: 1, cash_pending: cash.into(), ..Sums::default() },
    );
    deltas
}

/// A cancelled booking, where it had been confirmed: a hold that ran out was never counted.
pub fn of_cancelled(cancelled: &BookingCancelled, zone: &str) -> Deltas {
    match cancelled.previous_status {
        BookingStatus::Confirmed | BookingStatus::ConfirmedCashPending => {}
        BookingStatus::Held
        | BookingStatus::CheckInStarted
        | BookingStatus::CheckInPartial
        | BookingStatus::CheckedIn
        | BookingStatus::CheckOutStarted
        | BookingStatus::CheckedOut
        | BookingStatus::CheckedOutBalancePending
        | BookingStatus::Cancelled
        | BookingStatus::NoShow => return Deltas::new(),
    }
    let mut deltas = of_stay(&cancelled.stay, &cancelled.quote, -1);
    add(&mut deltas, day(cancelled.cancelled_at, zone), Sums { cancelled: 1, ..Sums::default() });
    deltas
}

fn of_stay(stay: &StayWindow, quote: &QuoteSnapshot, sign: i64) -> Deltas {
    let mut deltas = Deltas::new();
    for night in &quote.nights {
        let earned = converted(night.amount_micro, &quote.currency_snapshot.rate);
        let rooms_micro = Micros::new(earned.get() * i128::from(sign));
        add(&mut deltas, night.date, Sums { sold: sign, rooms_micro, ..Sums::default() });
    }
    add(&mut deltas, stay.check_in, Sums { arrivals: sign, ..Sums::default() });
    add(&mut deltas, stay.check_out, Sums { departures: sign, ..Sums::default() });
    deltas
}

fn add(deltas: &mut Deltas, date: Date, sums: Sums) {
    *deltas.entry(date).or_default() += sums;
}

/// An amount at a rate, a decimal with at most twelve places, rounded down. A rate that cannot be read is 1: the event's schema
/// admits none.
pub fn converted(amount: Micros, rate: &str) -> Micros {
    let (whole, places) = rate.split_once('.').unwrap_or((rate, ""));
    let digits = format!("{whole}{places}").parse::<i128>();
    let scale = 10_i128.checked_pow(u32::try_from(places.len()).unwrap_or(u32::MAX));
    match (digits, scale) {
        (Ok(digits), Some(scale)) => Micros::new((amount.get() * digits).div_euclid(scale)),
        _ => amount,
    }
}

/// The figures of a day.
pub fn figures(
    house: &House,
    date: Date,
    sums: &Sums,
    currency: Currency,
) -> (RoomFigures, RevenueFigures, BookingFigures) {
    let available = house.available(date);
    (rooms(available, count(sums.sold)), revenue(currency, sums, available), bookings(sums))
}

/// Rooms with their occupancy.
pub fn rooms(available: u32, sold: u32) -> RoomFigures {
    let occupancy = (u64::from(sold) * 10_000).checked_div(u64::from(available));
    RoomFigures {
        available,
        sold,
        out_of_order: 0,
        occupancy_basis_points: occupancy.map(|points| u32::try_from(points).unwrap_or(u32::MAX).min(1_000_000)),
    }
}

/// Money with its averages.
pub fn revenue(currency: Currency, sums: &Sums, available: u32) -> RevenueFigures {
    let over = |rooms: i128| (rooms > 0).then(|| Micros::new(sums.rooms_micro.get().div_euclid(rooms)));
    RevenueFigures {
        currency,
        rooms_micro: sums.rooms_micro,
        other_micro: Micros::new(0),
        refunds_micro: sums.refunds_micro,
        adr_micro: over(sums.sold.into()),
        revpar_micro: over(available.into()),
    }
}

fn bookings(sums: &Sums) -> BookingFigures {
    BookingFigures {
        confirmed: count(sums.confirmed),
        cash_pending: count(sums.cash_pending),
        cancelled: count(sums.cancelled),
        no_shows: 0,
        arrivals: count(sums.arrivals),
        checked_in: 0,
        departures: count(sums.departures),
    }
}

/// A count is never negative: what is taken back was counted before.
fn count(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use karwan::envelope::money::Micros;

    use super::{converted, revenue, rooms};
    use crate::analytics::state::Sums;
    use crate::house_time::day;

    #[test]
    fn rates_are_decimals_and_what_is_over_is_dropped() {
        for (amount, rate, expected) in [(100, "1", 100), (100, "70.5", 7050), (7, "0.5", 3), (1, "0.000000000001", 0)]
        {
            assert_eq!(converted(Micros::new(amount), rate), Micros::new(expected), "{amount} at {rate}");
        }
    }

    #[test]
    fn a_day_begins_at_the_midnight_of_its_zone() {
        let at = "2026-05-01T19:30:00Z".parse().expect("an instant");
        assert_eq!(day(at, "Asia/Kabul").to_string(), "2026-05-02");
        assert_eq!(day(at, "UTC").to_string(), "2026-05-01");
    }

    /// U-32.
    #[test]
    fn occupancy_is_sold_over_available_and_the_daily_rate_is_revenue_over_sold() {
        assert_eq!(rooms(3, 2).occupancy_basis_points, Some(6666));
        assert_eq!(rooms(0, 2).occupancy_basis_points, None);
        assert_eq!(rooms(2, 3).occupancy_basis_points, Some(15_000), "oversold is shown");
        let sums = Sums { sold: 3, rooms_micro: Micros::new(100), ..Sums::default() };
        let money = revenue("AFN".parse().expect("a currency"), &sums, 7);
        assert_eq!((money.adr_micro, money.revpar_micro), (Some(Micros::new(33)), Some(Micros::new(14))));
        let nothing = revenue("AFN".parse().expect("a currency"), &Sums::default(), 0);
        assert_eq!((nothing.adr_micro, nothing.revpar_micro), (None, None));
    }
}
