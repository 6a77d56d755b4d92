//! What a listing shows of what is known. No clock, no I/O.

use std::collections::BTreeMap;

use karwan::envelope::money::Micros;
use karwan::envelope::time::{Date, Timestamp};

use super::events::{IndexReason, ListedNight, ListedRoomType, ListingIndexed};
use super::state::{Month, Place, ShownNight, ShownRoom};
use crate::ids::RoomTypeId;
use crate::values::DateRange;

/// How many nights ahead are listed.
pub const WINDOW_NIGHTS: i32 = 90;

/// The nights that a listing covers from a day on.
pub fn window(today: Date) -> DateRange {
    DateRange { from: today, until: Date::from_unix_days(today.unix_days() + WINDOW_NIGHTS) }
}

/// The nights of a range.
pub fn nights(dates: DateRange) -> impl Iterator<Item = Date> {
    (dates.from.unix_days()..dates.until.unix_days()).map(Date::from_unix_days)
}

/// The months that a range touches.
pub fn months(dates: DateRange) -> Vec<String> {
    let mut months: Vec<String> = nights(dates).map(Month::of).collect();
    months.dedup();
    months
}

/// What is known of the nights of a place, by room type.
pub type Calendar = BTreeMap<RoomTypeId, BTreeMap<Date, ShownNight>>;

/// A listing as it would be indexed now; none where there is nothing to list. Its version is the caller's business.
pub fn listing(place: &Place, calendar: &Calendar, dates: DateRange, now: Timestamp) -> Option<ListingIndexed> {
    let front = place.front.as_ref().filter(|_| place.closed.is_none())?;
    let room_types: Vec<ListedRoomType> = place
        .room_types
        .iter()
        .map(|(id, of)| ListedRoomType {
            room_type_id: *id,
            name: of.name.clone(),
            adults_max: of.adults,
            children_max: of.children,
            nights: nights(dates).filter_map(|night| listed(place, calendar.get(id), *id, night)).collect(),
        })
        .collect();
    if room_types.is_empty() {
        return None;
    }
    let prices = || room_types.iter().flat_map(|of| of.nights.iter().map(|night| night.price_micro));
    Some(ListingIndexed {
        property_id: place.property_id,
        version: 0,
        name: front.name.clone(),
        geo: front.geo,
        city: front.city.clone(),
        country: front.country.clone(),
        rating_centi: None,
        amenities: place.amenities.1.clone(),
        thumbnail_id: front.thumbnail,
        currency: front.currency,
        min_price_micro: prices().min(),
        max_price_micro: prices().max(),
        window: dates,
        room_types,
        reason: IndexReason::Rebuild,
        facts_until: now,
        indexed_at: now,
    })
}

/// A night that can be booked: a room is free, nothing closes it, and a plan sells it.
fn listed(
    place: &Place,
    known: Option<&BTreeMap<Date, ShownNight>>,
    of: RoomTypeId,
    night: Date,
) -> Option<ListedNight> {
    let sold = |room: &&ShownRoom| room.of == of && room.until.is_none_or(|until| night < until);
    let rooms = u32::try_from(place.rooms.values().filter(sold).count()).unwrap_or(u32::MAX);
    let known = known?.get(&night)?;
    let rooms_free = rooms.checked_sub(known.taken.1).filter(|free| *free > 0 && known.closed_by.is_empty())?;
    let price_micro = price(place, known, of, night)?;
    Some(ListedNight { date: night, rooms_free, price_micro })
}

/// The lowest price of the plans that sell a room type on a night.
fn price(place: &Place, known: &ShownNight, of: RoomTypeId, night: Date) -> Option<Micros> {
    let sells = |id: &crate::ids::RatePlanId| {
        place.plans.get(id).is_some_and(|plan| {
            let dates = plan.sold_on.is_none_or(|dates| dates.from <= night && night < dates.until);
            plan.active && dates && plan.room_types.contains(&of)
        })
    };
    known.prices.iter().filter(|(id, _)| sells(id)).filter_map(|(_, price)| *price).min()
}

/// Whether two listings show the same; when and why they were made is nobody's business.
pub fn same(a: &ListingIndexed, b: &ListingIndexed) -> bool {
    let bare = |it: &ListingIndexed| ListingIndexed {
        version: 0,
        reason: IndexReason::Rebuild,
        facts_until: Timestamp::from_unix_ms(0),
        indexed_at: Timestamp::from_unix_ms(0),
        ..it.clone()
    };
    bare(a) == bare(b)
}
