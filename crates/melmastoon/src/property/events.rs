//! What happens to properties, rooms and amenities.

use karwan::Event;
use karwan::envelope::money::Currency;
use karwan::envelope::time::{Date, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{MediaId, PropertyId, RoomId, RoomTypeId};
use crate::values::{GeoPoint, LocalText, Locale, Party};

/// A property was registered under a tenant.
///
/// Decided here: carries what the search listing and a guest's messages print.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.property.property.created.v1",
    owner = "property-service",
    retention = "warm",
    key = "{property_id}",
    idempotency = "{property_id}:created",
    decided_here
)]
pub struct PropertyCreated {
    /// The property.
    pub property_id: PropertyId,
    /// Its name in addresses of the booking site.
    #[schemars(regex(pattern = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"))]
    pub slug: String,
    /// Its name.
    #[schemars(length(min = 1, max = 20))]
    pub name: Vec<LocalText>,
    /// What kind of house it is.
    pub kind: PropertyKind,
    /// Where it stands.
    pub address: Address,
    /// The same on the map.
    pub geo: GeoPoint,
    /// The IANA time zone; stays are counted in it.
    #[schemars(regex(pattern = r"^[A-Za-z_]{1,32}(/[A-Za-z0-9_+-]{1,32}){0,2}$"))]
    pub time_zone: String,
    /// The currency that it sells in.
    pub currency: Currency,
    /// Its language, when it is not the tenant's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale_override: Option<Locale>,
    /// From when on rooms are ready, local time.
    #[schemars(regex(pattern = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"))]
    pub check_in_from: String,
    /// Until when rooms are left, local time.
    #[schemars(regex(pattern = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"))]
    pub check_out_by: String,
    /// The desk's number, in E.164 form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^\+[1-9][0-9]{6,14}$"))]
    pub phone: Option<String>,
    /// The desk's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 254))]
    pub email: Option<String>,
    /// Photographs, the first one the thumbnail.
    #[schemars(length(max = 50))]
    pub photos: Vec<MediaId>,
    /// When it was created.
    pub created_at: Timestamp,
}

/// What kind of house it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PropertyKind {
    /// A hotel.
    Hotel,
    /// A guesthouse.
    Guesthouse,
    /// A hostel.
    Hostel,
    /// Apartments.
    Apartment,
    /// A resort.
    Resort,
}

/// The address of a business.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    /// Street and number, or how the place is found.
    #[schemars(length(min = 1, max = 200))]
    pub line: String,
    /// District.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub district: Option<String>,
    /// City.
    #[schemars(length(min = 1, max = 100))]
    pub city: String,
    /// Province.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub province: Option<String>,
    /// Postal code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 20))]
    pub postal_code: Option<String>,
    /// Country, ISO 3166.
    #[schemars(regex(pattern = r"^[A-Z]{2}$"))]
    pub country: String,
}

/// A sellable room was added to a property.
///
/// Decided here: inventory counts it, housekeeping gives it a status, lock-integration expects a device if it has an
/// electronic lock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.property.room.added.v1",
    owner = "property-service",
    retention = "warm",
    key = "{room_id}",
    idempotency = "{room_id}:added",
    decided_here
)]
pub struct RoomAdded {
    /// The room.
    pub room_id: RoomId,
    /// Its property.
    pub property_id: PropertyId,
    /// What it is sold as.
    pub room_type_id: RoomTypeId,
    /// The number on its door.
    #[schemars(length(min = 1, max = 20))]
    pub label: String,
    /// Its floor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 20))]
    pub floor: Option<String>,
    /// Its building.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub building: Option<String>,
    /// Whether it can be reached and used in a wheelchair.
    pub accessible: bool,
    /// Whether its door takes digital keys.
    pub electronic_lock: bool,
    /// When it was added.
    pub added_at: Timestamp,
}

/// A room was retired from inventory.
///
/// Decided here: inventory stops counting it from the given day on; a room that returns is a new room.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.property.room.archived.v1",
    owner = "property-service",
    retention = "warm",
    key = "{room_id}",
    idempotency = "{room_id}:archived",
    decided_here
)]
pub struct RoomArchived {
    /// The room.
    pub room_id: RoomId,
    /// Its property.
    pub property_id: PropertyId,
    /// What it was sold as.
    pub room_type_id: RoomTypeId,
    /// The number on its door.
    #[schemars(length(min = 1, max = 20))]
    pub label: String,
    /// Why.
    pub reason: ArchiveReason,
    /// The first night that it is not sold.
    pub from_date: Date,
    /// When it was archived.
    pub archived_at: Timestamp,
}

/// Why a room was retired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArchiveReason {
    /// It serves another purpose now.
    Converted,
    /// It became part of another room.
    Merged,
    /// It is no longer let.
    Closed,
}

/// The specification of a room type was finalised.
///
/// Decided here: carries the whole specification; a new version replaces the old.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.property.room_type.published.v1",
    owner = "property-service",
    retention = "warm",
    key = "{room_type_id}",
    idempotency = "{room_type_id}:published:{version}",
    decided_here
)]
pub struct RoomTypePublished {
    /// The room type.
    pub room_type_id: RoomTypeId,
    /// The version of the specification.
    pub version: u32,
    /// Its property.
    pub property_id: PropertyId,
    /// Its name.
    #[schemars(length(min = 1, max = 20))]
    pub name: Vec<LocalText>,
    /// Its description.
    #[schemars(length(max = 20))]
    pub description: Vec<LocalText>,
    /// How many it sleeps at most.
    pub capacity: Party,
    /// Its beds.
    #[schemars(length(min = 1, max = 20))]
    pub beds: Vec<Bed>,
    /// Its amenities.
    #[schemars(length(max = 100), inner(regex(pattern = r"^[a-z][a-z0-9_]{0,63}$")))]
    pub amenities: Vec<String>,
    /// Photographs, the first one the thumbnail.
    #[schemars(length(max = 50))]
    pub photos: Vec<MediaId>,
    /// When it was published.
    pub published_at: Timestamp,
}

/// Beds of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bed {
    /// The kind.
    pub kind: BedKind,
    /// How many.
    #[schemars(range(min = 1, max = 20))]
    pub count: u32,
}

/// A kind of bed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BedKind {
    /// For one.
    Single,
    /// For two.
    Double,
    /// For two, wide.
    Queen,
    /// For two, widest.
    King,
    /// One above another.
    Bunk,
    /// A floor mattress.
    Toshak,
}

/// The amenity list of a property was updated.
///
/// Decided here: carries the list whole, because search facets are rebuilt from it, and the difference for those who
/// follow changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.property.amenity.changed.v1",
    owner = "property-service",
    retention = "warm",
    key = "{property_id}",
    idempotency = "{property_id}:amenities:{version}",
    decided_here
)]
pub struct AmenityChanged {
    /// The property.
    pub property_id: PropertyId,
    /// The version of the list.
    pub version: u32,
    /// The list now.
    #[schemars(length(max = 200), inner(regex(pattern = r"^[a-z][a-z0-9_]{0,63}$")))]
    pub amenities: Vec<String>,
    /// What is new in it.
    #[schemars(length(max = 200), inner(regex(pattern = r"^[a-z][a-z0-9_]{0,63}$")))]
    pub added: Vec<String>,
    /// What is gone from it.
    #[schemars(length(max = 200), inner(regex(pattern = r"^[a-z][a-z0-9_]{0,63}$")))]
    pub removed: Vec<String>,
    /// When it was changed.
    pub changed_at: Timestamp,
}
