//! Listings of the meta-search.
//!
//! Invariant: `indexed` is read across tenants, so it says nothing about a person or a payment: no guest, no staff, no
//! reservation, only what the property shows to everybody.

use karwan::Event;
use karwan::envelope::money::{Currency, Micros};
use karwan::envelope::time::{Date, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{MediaId, PropertyId, RoomTypeId};
use crate::values::{DateRange, GeoPoint, LocalText};

/// The snapshot of a property and its inventory was indexed anew.
///
/// Decided here: the whole listing, since the index keeps the last one written and a reader's cache asks nobody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.search_aggregation.listing.indexed.v1",
    owner = "search-aggregation-service",
    retention = "hot",
    tenancy = "cross_tenant",
    key = "{property_id}",
    idempotency = "{property_id}:indexed:{version}",
    decided_here
)]
pub struct ListingIndexed {
    /// The property.
    pub property_id: PropertyId,
    /// The listing's version; the highest wins.
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_u64))]
    pub version: u64,
    /// Its name, in the languages it is shown in.
    #[schemars(length(min = 1, max = 20))]
    pub name: Vec<LocalText>,
    /// Where it is.
    pub geo: GeoPoint,
    /// The city.
    #[schemars(length(min = 1, max = 120))]
    pub city: String,
    /// The country, as ISO 3166-1 writes it.
    #[schemars(regex(pattern = "^[A-Z]{2}$"))]
    pub country: String,
    /// What guests gave it, in hundredths of a star; absent when nobody rated it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 500))]
    pub rating_centi: Option<u32>,
    /// Facets, such as `wifi`.
    #[schemars(length(max = 200), inner(regex(pattern = "^[a-z][a-z0-9_]*$"), length(max = 60)))]
    pub amenities: Vec<String>,
    /// The picture of the list view; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thumbnail_id: Option<MediaId>,
    /// The currency of all prices here.
    pub currency: Currency,
    /// The lowest price of a night in the window; absent when nothing is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_price_micro: Option<Micros>,
    /// The highest price of a night in the window; absent when nothing is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_price_micro: Option<Micros>,
    /// The days that the availability below covers.
    pub window: DateRange,
    /// What can be booked.
    #[schemars(length(max = 100))]
    pub room_types: Vec<ListedRoomType>,
    /// Why it was indexed.
    pub reason: IndexReason,
    /// Facts up to this instant are in it.
    pub facts_until: Timestamp,
    /// When it was indexed.
    pub indexed_at: Timestamp,
}

/// A listing was removed from the index.
///
/// Decided here: carries the version, so that a late `indexed` does not bring it back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.search_aggregation.listing.evicted.v1",
    owner = "search-aggregation-service",
    retention = "hot",
    key = "{property_id}",
    idempotency = "{property_id}:evicted:{version}",
    decided_here
)]
pub struct ListingEvicted {
    /// The property.
    pub property_id: PropertyId,
    /// The listing's version after this.
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_u64))]
    pub version: u64,
    /// Why it was removed.
    pub reason: EvictionReason,
    /// When it was removed.
    pub evicted_at: Timestamp,
}

/// A room type as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedRoomType {
    /// The room type.
    pub room_type_id: RoomTypeId,
    /// Its name, in the languages it is shown in.
    #[schemars(length(min = 1, max = 20))]
    pub name: Vec<LocalText>,
    /// How many adults it takes.
    #[schemars(range(min = 1, max = 50))]
    pub adults_max: u32,
    /// How many children besides.
    #[schemars(range(max = 50))]
    pub children_max: u32,
    /// The nights on which it can be booked; a night that is not here cannot.
    #[schemars(length(max = 400))]
    pub nights: Vec<ListedNight>,
}

/// A night that can be booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedNight {
    /// The night.
    pub date: Date,
    /// How many are free.
    #[schemars(range(min = 1, max = 10_000))]
    pub rooms_free: u32,
    /// The lowest price, in micro-units of the listing's currency.
    pub price_micro: Micros,
}

/// Why a listing was indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IndexReason {
    /// The property, a room type or an amenity changed.
    Property,
    /// Availability changed.
    Inventory,
    /// A price or a restriction changed.
    Pricing,
    /// The window moved on by a day.
    Window,
    /// The index was built anew.
    Rebuild,
}

/// Why a listing was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvictionReason {
    /// The property was deactivated.
    PropertyDeactivated,
    /// The tenant was suspended.
    TenantSuspended,
    /// It has no room left to list.
    NothingToList,
    /// The tenant took it off the meta-search.
    Unlisted,
}
