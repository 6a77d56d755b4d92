//! What search does with events: it keeps what properties show, and indexes a listing a little after something has changed.
//!
//! Invariant: no handler sees personal or payment data ([`public`]). A flood of bookings makes one listing a property and
//! interval, not one a booking. Of two events that tell of one night, the later in the log is right, in whatever order they are
//! handled. Not here: ratings; allocations that move to other dates, which come with the stay.

use std::collections::BTreeMap;

use karwan::envelope::time::{Date, Timestamp};
use karwan::store::log::Seq;
use karwan::{Consumer, Due, Error, Query, TenantTx, Timer, Verdict, Work};

use super::SERVICE;
use super::decide::{Calendar, listing, months, nights, same, window};
use super::events::{EvictionReason, IndexReason, ListingEvicted};
use super::public::{Public, public};
use super::state::{Awaited, Front, Listing, Month, Place, ShownNight, ShownPlan, ShownRoom, ShownType};
use crate::ids::{PropertyId, RoomTypeId};
use crate::inventory::{AllocationCommitted, AllocationReleased, RoomAvailability, StopSellActivated, StopSellCleared};
use crate::pricing::{CalendarUpdated, RatePlanArchived, RatePlanPublished};
use crate::property::{AmenityChanged, PropertyCreated, RoomAdded, RoomArchived, RoomTypePublished};
use crate::tenant::{PropertyDeactivated, TenantSuspended};

/// The deadline at which a listing is indexed.
pub const INDEX: &str = "search_aggregation.index";
/// How long after the first thing that is new in it a listing is indexed, in milliseconds.
pub const INDEX_MS: i64 = 2_000;
/// The most properties of a tenant that are taken down together.
const PLACES_MAX: usize = 1000;
const DAY_MS: i64 = 86_400_000;

karwan::consumers! {
    platform: &crate::platform::PLATFORM,
    kinds: crate::search_aggregation::kinds(),
    places => crate::told::a_property_opens_and_closes,
    nights_of_places => crate::told::nights_are_priced_sold_and_closed,
}

/// Adds what this service does to a node's work.
pub fn work(work: Work) -> Work {
    consumers().into_iter().fold(work, Work::consumer).timer(Timer::new(SERVICE, INDEX, index))
}

fn places() -> Consumer {
    let consumer = Consumer::new(SERVICE, "places")
        .background()
        .on(public(created))
        .on(public(amenities))
        .on(public(type_published));
    let consumer = consumer.on(public(added)).on(public(archived)).on(public(plan_published)).on(public(plan_archived));
    consumer.on(public(deactivated)).on(public(suspended))
}

fn nights_of_places() -> Consumer {
    let consumer =
        Consumer::new(SERVICE, "nights").background().on(public(priced)).on(public(committed)).on(public(released));
    consumer.on(public(stopped)).on(public(cleared))
}

/// Changes a place, and sees to it that it is indexed.
async fn change(tx: &TenantTx, property: PropertyId, change: impl FnOnce(&mut Place)) -> Result<Verdict, Error> {
    let known: Option<Place> = tx.find(&property.to_string()).await?;
    let mut place = known.unwrap_or_else(|| Place::unknown(property));
    change(&mut place);
    tx.put(place);
    soon(tx, property, IndexReason::Property).await
}

/// A listing is indexed soon. One that is on its way already is not put off by what comes meanwhile.
async fn soon(tx: &TenantTx, property_id: PropertyId, reason: IndexReason) -> Result<Verdict, Error> {
    if tx.find::<Awaited>(&property_id.to_string()).await?.is_none() {
        tx.put(Awaited { property_id });
        let due = Timestamp::from_unix_ms(tx.now().unix_ms() + INDEX_MS);
        tx.deadline(INDEX, &property_id.to_string(), due, &(property_id, reason));
    }
    Ok(Verdict::Done)
}

async fn created(tx: TenantTx, created: Public<PropertyCreated>) -> Result<Verdict, Error> {
    let event = created.event;
    let front = Front {
        name: event.name,
        geo: event.geo,
        city: event.address.city,
        country: event.address.country,
        currency: event.currency,
        zone: event.time_zone,
        thumbnail: event.photos.first().copied(),
    };
    change(&tx, event.property_id, |place| place.front = Some(front)).await
}

async fn amenities(tx: TenantTx, changed: Public<AmenityChanged>) -> Result<Verdict, Error> {
    let AmenityChanged { property_id, version, amenities, .. } = changed.event;
    let newer = |place: &mut Place| {
        if place.amenities.0 < version {
            place.amenities = (version, amenities);
        }
    };
    change(&tx, property_id, newer).await
}

async fn type_published(tx: TenantTx, published: Public<RoomTypePublished>) -> Result<Verdict, Error> {
    let RoomTypePublished { room_type_id, version, property_id, name, capacity, .. } = published.event;
    let shown = ShownType { version, name, adults: capacity.adults.min(50), children: capacity.children.min(50) };
    let newer = |place: &mut Place| {
        if place.room_types.get(&room_type_id).is_none_or(|known| known.version < version) {
            place.room_types.insert(room_type_id, shown);
        }
    };
    change(&tx, property_id, newer).await
}

async fn added(tx: TenantTx, added: Public<RoomAdded>) -> Result<Verdict, Error> {
    let RoomAdded { room_id, property_id, room_type_id, .. } = added.event;
    // Added and archived share a key: an archived room is not added after it.
    change(&tx, property_id, |place| {
        place.rooms.insert(room_id, ShownRoom { of: room_type_id, until: None });
    })
    .await
}

async fn archived(tx: TenantTx, archived: Public<RoomArchived>) -> Result<Verdict, Error> {
    let RoomArchived { room_id, property_id, room_type_id, from_date, .. } = archived.event;
    change(&tx, property_id, |place| {
        place.rooms.insert(room_id, ShownRoom { of: room_type_id, until: Some(from_date) });
    })
    .await
}

async fn plan_published(tx: TenantTx, published: Public<RatePlanPublished>) -> Result<Verdict, Error> {
    let RatePlanPublished { rate_plan_id, version, property_id, room_type_ids, sold_on, .. } = published.event;
    change(&tx, property_id, |place| {
        place.plans.insert(rate_plan_id, ShownPlan { version, room_types: room_type_ids, sold_on, active: true });
    })
    .await
}

async fn plan_archived(tx: TenantTx, archived: Public<RatePlanArchived>) -> Result<Verdict, Error> {
    let RatePlanArchived { rate_plan_id, property_id, .. } = archived.event;
    change(&tx, property_id, |place| {
        place.plans.entry(rate_plan_id).and_modify(|plan| plan.active = false);
    })
    .await
}

async fn deactivated(tx: TenantTx, deactivated: Public<PropertyDeactivated>) -> Result<Verdict, Error> {
    change(&tx, deactivated.event.property_id, |place| place.closed = Some(EvictionReason::PropertyDeactivated)).await
}

async fn suspended(tx: TenantTx, suspended: Public<TenantSuspended>) -> Result<Verdict, Error> {
    if suspended.event.sales_stopped {
        for place in tx.query(Query::<Place>::new().limit(PLACES_MAX)).await?.items {
            change(&tx, place.property_id, |place| place.closed = Some(EvictionReason::TenantSuspended)).await?;
        }
    }
    Ok(Verdict::Done)
}

/// Changes nights of one room type, month by month.
async fn change_nights(
    tx: &TenantTx,
    of: RoomTypeId,
    dates: impl IntoIterator<Item = Date>,
    change: impl Fn(Date, &mut ShownNight),
) -> Result<(), Error> {
    let mut by_month: BTreeMap<String, Vec<Date>> = BTreeMap::new();
    dates.into_iter().for_each(|date| by_month.entry(Month::of(date)).or_default().push(date));
    for (month, dates) in by_month {
        let known: Option<Month> = tx.find(&Month::key(of, &month)).await?;
        let mut known = known.unwrap_or(Month { room_type_id: of, month, nights: BTreeMap::new() });
        dates.into_iter().for_each(|date| change(date, known.nights.entry(date).or_default()));
        tx.put(known);
    }
    Ok(())
}

async fn priced(tx: TenantTx, updated: Public<CalendarUpdated>) -> Result<Verdict, Error> {
    let CalendarUpdated { rate_plan_id, property_id, room_type_id, days, .. } = updated.event;
    let prices: BTreeMap<Date, _> =
        days.iter().map(|day| (day.date, (!day.closed).then_some(day.price_micro))).collect();
    // One plan's calendar has one key, so its changes come in their order.
    let price = |date, night: &mut ShownNight| {
        night.prices.insert(rate_plan_id, prices.get(&date).copied().flatten());
    };
    change_nights(&tx, room_type_id, prices.keys().copied(), price).await?;
    soon(&tx, property_id, IndexReason::Pricing).await
}

async fn committed(tx: TenantTx, committed: Public<AllocationCommitted>) -> Result<Verdict, Error> {
    left(&tx, committed.event.property_id, &committed.event.availability, committed.seq).await
}

async fn released(tx: TenantTx, released: Public<AllocationReleased>) -> Result<Verdict, Error> {
    left(&tx, released.event.property_id, &released.event.availability, released.seq).await
}

/// Keeps what is left of nights, where nothing later is known. A closed night says nothing of how many rooms are taken.
async fn left(tx: &TenantTx, property: PropertyId, told: &[RoomAvailability], seq: Seq) -> Result<Verdict, Error> {
    let mut by_type: BTreeMap<RoomTypeId, BTreeMap<Date, u32>> = BTreeMap::new();
    for night in told.iter().filter(|night| night.total > 0) {
        let taken = night.total.saturating_sub(night.available);
        by_type.entry(night.room_type_id).or_default().insert(night.date, taken);
    }
    for (of, taken) in by_type {
        let newer = |date, night: &mut ShownNight| {
            if night.taken.0 < seq {
                night.taken = (seq, taken.get(&date).copied().unwrap_or_default());
            }
        };
        change_nights(tx, of, taken.keys().copied(), newer).await?;
    }
    soon(tx, property, IndexReason::Inventory).await
}

async fn stopped(tx: TenantTx, stopped: Public<StopSellActivated>) -> Result<Verdict, Error> {
    let StopSellActivated { stop_sell_id, property_id, room_type_id, dates, .. } = stopped.event;
    let close = |_, night: &mut ShownNight| {
        night.closed_by.insert(stop_sell_id);
    };
    change_nights(&tx, room_type_id, nights(dates), close).await?;
    soon(&tx, property_id, IndexReason::Inventory).await
}

async fn cleared(tx: TenantTx, cleared: Public<StopSellCleared>) -> Result<Verdict, Error> {
    let StopSellCleared { stop_sell_id, property_id, room_type_id, dates, availability, .. } = cleared.event;
    let open = |_, night: &mut ShownNight| {
        night.closed_by.remove(&stop_sell_id);
    };
    change_nights(&tx, room_type_id, nights(dates), open).await?;
    left(&tx, property_id, &availability, cleared.seq).await
}

async fn index(tx: TenantTx, due: Due<(PropertyId, IndexReason)>) -> Result<(), Error> {
    let (property, reason) = due.told;
    let (id, now) = (property.to_string(), tx.now());
    if tx.find::<Awaited>(&id).await?.is_some() {
        tx.delete::<Awaited>(&id);
    }
    let Some(place) = tx.find::<Place>(&id).await? else { return Ok(()) };
    let zone = place.front.as_ref().map_or("UTC", |front| front.zone.as_str());
    let today = crate::house_time::day(now, zone);
    let dates = window(today);
    let calendar = calendar(&tx, &place, &months(dates)).await?;
    let before: Option<Listing> = tx.find(&id).await?;
    let version = before.as_ref().map_or(0, |before| before.version);
    let shown = before.and_then(|before| before.listed);
    match listing(&place, &calendar, dates, now) {
        Some(new) => {
            let tomorrow = Timestamp::from_unix_ms(now.unix_ms() + DAY_MS);
            tx.deadline(INDEX, &id, tomorrow, &(property, IndexReason::Window));
            if shown.is_some_and(|shown| same(&shown, &new)) {
                return Ok(());
            }
            let new = super::events::ListingIndexed { version: version + 1, reason, ..new };
            tx.emit(new.clone());
            tx.put(Listing { property_id: property, version: version + 1, listed: Some(new) });
        }
        None if shown.is_some() => {
            let reason = place.closed.unwrap_or(EvictionReason::NothingToList);
            tx.emit(ListingEvicted { property_id: property, version: version + 1, reason, evicted_at: now });
            tx.put(Listing { property_id: property, version: version + 1, listed: None });
        }
        None => {}
    }
    Ok(())
}

async fn calendar(tx: &TenantTx, place: &Place, months: &[String]) -> Result<Calendar, Error> {
    let mut calendar = Calendar::new();
    for of in place.room_types.keys() {
        for month in months {
            let Some(known) = tx.find::<Month>(&Month::key(*of, month)).await? else { continue };
            calendar.entry(*of).or_default().extend(known.nights);
        }
    }
    Ok(calendar)
}
