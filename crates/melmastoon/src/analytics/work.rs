//! What analytics does with events: it counts, and tells what it has counted a few seconds later.
//!
//! Invariant: an event is counted before it is shown, and shown within [`SNAPSHOT_MS`] and the time that its deadline takes
//! (R-184 wants thirty seconds). A flood of bookings makes one snapshot a day and interval, not one a booking.
//! Not here: no-shows and check-ins, which come with the stay; rooms out of order, which come with housekeeping.

use karwan::envelope::Envelope;
use karwan::envelope::money::Currency;
use karwan::envelope::time::{Date, Timestamp};
use karwan::{Consumer, Due, Error, Query, Received, TenantTx, Timer, Verdict, Work};

use super::SERVICE;
use super::decide::{Deltas, converted, figures, of_cancelled, of_confirmed};
use super::events::{Granularity, SnapshotComputed};
use super::state::{Day, House, HouseRoom, Rate, SHARES, Snapshot, Sums};
use crate::house_time::day;
use crate::ids::{PropertyId, RoomId};
use crate::payment::{IntentRefunded, RefundReason};
use crate::property::{PropertyCreated, RoomAdded, RoomArchived};
use crate::reservation::{BookingCancelled, BookingConfirmed};

/// The deadline of a snapshot.
pub const SNAPSHOT: &str = "analytics.snapshot";
/// How long after the first thing that is new in it a snapshot is computed, in milliseconds.
pub const SNAPSHOT_MS: i64 = 5_000;
/// The most days of a property that are computed anew because its rooms changed.
const DAYS_MAX: usize = 1000;

karwan::consumers! {
    platform: &crate::platform::PLATFORM,
    kinds: crate::analytics::kinds(),
    houses => crate::told::a_property_opens_and_a_room_goes,
    bookings => crate::told::a_booking_at_a_known_property_is_confirmed_and_cancelled,
    refunds => crate::told::a_refund_at_a_known_property,
}

/// Adds what this service does to a node's work.
pub fn work(work: Work) -> Work {
    consumers().into_iter().fold(work, Work::consumer).timer(Timer::new(SERVICE, SNAPSHOT, compute))
}

fn houses() -> Consumer {
    Consumer::new(SERVICE, "houses").background().on(created).on(added).on(archived)
}

fn bookings() -> Consumer {
    Consumer::new(SERVICE, "bookings").background().lanes(SHARES).on(confirmed).on(cancelled)
}

fn refunds() -> Consumer {
    Consumer::new(SERVICE, "refunds").background().lanes(SHARES).on(refunded)
}

async fn created(tx: TenantTx, created: Received<PropertyCreated>) -> Result<Verdict, Error> {
    let PropertyCreated { property_id, currency, time_zone, .. } = created.event;
    let mut house = house(&tx, property_id).await?;
    house.books = Some((currency, time_zone));
    tx.put(house);
    Ok(Verdict::Done)
}

async fn added(tx: TenantTx, added: Received<RoomAdded>) -> Result<Verdict, Error> {
    let RoomAdded { room_id, property_id, added_at, .. } = added.event;
    let mut house = house(&tx, property_id).await?;
    // A room can be sold from the day on which it is added, by whatever clock: the day before is over in all of them.
    let from = day(added_at, "UTC");
    room(&mut house, room_id).from = Some(from);
    tx.put(house);
    again(&tx, property_id, from).await?;
    Ok(Verdict::Done)
}

async fn archived(tx: TenantTx, archived: Received<RoomArchived>) -> Result<Verdict, Error> {
    let RoomArchived { room_id, property_id, from_date, .. } = archived.event;
    let mut house = house(&tx, property_id).await?;
    room(&mut house, room_id).until = Some(from_date);
    tx.put(house);
    again(&tx, property_id, from_date).await?;
    Ok(Verdict::Done)
}

async fn house(tx: &TenantTx, property: PropertyId) -> Result<House, Error> {
    let known: Option<House> = tx.find(&property.to_string()).await?;
    Ok(known.unwrap_or_else(|| House::unknown(property)))
}

fn room(house: &mut House, room_id: RoomId) -> &mut HouseRoom {
    let place = house.rooms.iter().position(|room| room.room_id == room_id).unwrap_or_else(|| {
        house.rooms.push(HouseRoom { room_id, from: None, until: None });
        house.rooms.len() - 1
    });
    &mut house.rooms[place]
}

/// The days from a date on are computed anew: another number of rooms can be sold.
async fn again(tx: &TenantTx, property: PropertyId, from: Date) -> Result<(), Error> {
    let mut days = Query::<Day>::new().equal("property", property.to_string());
    days = days.at_least("day", i64::from(from.unix_days())).limit(DAYS_MAX);
    for counted in tx.query(days).await?.items {
        tx.deadline(SNAPSHOT, &deadline(property, counted.date), due(tx), &(property, counted.date));
    }
    Ok(())
}

fn deadline(property: PropertyId, date: Date) -> String {
    format!("{property}:{date}")
}

fn due(tx: &TenantTx) -> Timestamp {
    Timestamp::from_unix_ms(tx.now().unix_ms() + SNAPSHOT_MS)
}

async fn confirmed(tx: TenantTx, confirmed: Received<BookingConfirmed>) -> Result<Verdict, Error> {
    let (event, envelope) = (confirmed.event, confirmed.envelope);
    let Some(zone) = zone(&tx, event.property_id).await? else { return Ok(unknown(event.property_id)) };
    let rate = &event.quote.currency_snapshot;
    if rate.guest_currency != rate.property_currency {
        tx.peek::<Rate>(&event.reservation_id.to_string()).await?;
        tx.put(Rate { reservation_id: event.reservation_id, rate: rate.rate.clone() });
    }
    count(&tx, event.property_id, &envelope, of_confirmed(&event, &zone)).await
}

async fn cancelled(tx: TenantTx, cancelled: Received<BookingCancelled>) -> Result<Verdict, Error> {
    let (event, envelope) = (cancelled.event, cancelled.envelope);
    let Some(zone) = zone(&tx, event.property_id).await? else { return Ok(unknown(event.property_id)) };
    count(&tx, event.property_id, &envelope, of_cancelled(&event, &zone)).await
}

async fn refunded(tx: TenantTx, refunded: Received<IntentRefunded>) -> Result<Verdict, Error> {
    let (event, envelope) = (refunded.event, refunded.envelope);
    // Never counted as revenue, so nothing of it is given back.
    if event.reason == RefundReason::LateCapture {
        return Ok(Verdict::Done);
    }
    let Some((currency, zone)) = books(&tx, event.property_id).await? else { return Ok(unknown(event.property_id)) };
    let amount = if event.amount.currency == currency {
        event.amount.amount_micro
    } else {
        // The confirmation, which told the rate, is under another key, and may come later.
        let Some(rate) = tx.peek::<Rate>(&event.reservation_id.to_string()).await? else {
            return Ok(Verdict::Later(format!("the rate of {} was not told of yet", event.reservation_id)));
        };
        converted(event.amount.amount_micro, &rate.rate)
    };
    let sums = Sums { refunds_micro: amount, ..Sums::default() };
    count(&tx, event.property_id, &envelope, Deltas::from([(day(event.refunded_at, &zone), sums)])).await
}

/// The time zone of a property; it never changes.
async fn zone(tx: &TenantTx, property: PropertyId) -> Result<Option<String>, Error> {
    Ok(books(tx, property).await?.map(|(_, zone)| zone))
}

/// The currency and the time zone of a property; they never change.
async fn books(tx: &TenantTx, property: PropertyId) -> Result<Option<(Currency, String)>, Error> {
    let house: Option<House> = tx.peek(&property.to_string()).await?;
    Ok(house.and_then(|house| house.books))
}

fn unknown(property: PropertyId) -> Verdict {
    Verdict::Later(format!("property {property} was not told of yet"))
}

/// Adds to the days, and sees to it that they are shown.
async fn count(tx: &TenantTx, property: PropertyId, of: &Envelope, deltas: Deltas) -> Result<Verdict, Error> {
    let tenant = karwan::store::stored::tenant_bits(of.tenant);
    let share = karwan::store::write_set::slot(tenant, &of.key) % SHARES;
    for (date, sums) in deltas {
        let known: Option<Day> = tx.find(&Day::key(property, date, share)).await?;
        let mut counted = known.unwrap_or(Day {
            property_id: property,
            date,
            share,
            sums: Sums::default(),
            facts_until: of.occurred_at,
            awaited: false,
        });
        counted.sums += sums;
        counted.facts_until = counted.facts_until.max(of.occurred_at);
        // One that is on its way is not put off by what comes meanwhile.
        if !counted.awaited {
            counted.awaited = true;
            tx.deadline(SNAPSHOT, &deadline(property, date), due(tx), &(property, date));
        }
        tx.put(counted);
    }
    Ok(Verdict::Done)
}

async fn compute(tx: TenantTx, due: Due<(PropertyId, Date)>) -> Result<(), Error> {
    let (property, date) = due.told;
    let Some(house) = tx.find::<House>(&property.to_string()).await? else { return Ok(()) };
    let Some((currency, _)) = house.books.clone() else { return Ok(()) };
    let (mut sums, mut facts_until) = (Sums::default(), None);
    for share in 0..SHARES {
        let id = Day::key(property, date, share);
        // One that begins meanwhile sees to a snapshot of its own: nothing rests on its absence.
        if tx.peek::<Day>(&id).await?.is_none() {
            continue;
        }
        let Some(counted) = tx.find::<Day>(&id).await? else { continue };
        sums += counted.sums;
        facts_until = facts_until.max(Some(counted.facts_until));
        tx.put(Day { awaited: false, ..counted });
    }
    let Some(facts_until) = facts_until else { return Ok(()) };
    let snapshot_id = Snapshot::of(property, date);
    let before: Option<Snapshot> = tx.find(&snapshot_id.to_string()).await?;
    let (rooms, revenue, bookings) = figures(&house, date, &sums, currency);
    if before.as_ref().is_some_and(|it| (it.rooms, it.revenue, it.bookings) == (rooms, revenue, bookings)) {
        return Ok(());
    }
    let version = before.map_or(0, |before| before.version) + 1;
    tx.emit(SnapshotComputed {
        snapshot_id,
        version,
        property_id: property,
        granularity: Granularity::Day,
        period_start: date,
        rooms,
        revenue,
        bookings,
        facts_until,
        computed_at: tx.now(),
    });
    tx.put(Snapshot { snapshot_id, version, property_id: property, date, rooms, revenue, bookings, facts_until });
    Ok(())
}
