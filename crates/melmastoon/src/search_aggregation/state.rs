//! What search keeps: places, their nights month by month, and the listing that was indexed last.

use std::collections::{BTreeMap, BTreeSet};

use karwan::envelope::money::{Currency, Micros};
use karwan::envelope::time::Date;
use karwan::store::log::Seq;
use karwan::{Document, Kind};
use serde::{Deserialize, Serialize};

use super::events::{EvictionReason, ListingIndexed};
use crate::ids::{MediaId, PropertyId, RatePlanId, RoomId, RoomTypeId, StopSellId};
use crate::values::{DateRange, GeoPoint, LocalText};

/// A property with what it shows to everybody. Its parts are told under other keys, so any of them may come first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// The property.
    pub property_id: PropertyId,
    /// What it shows of itself; none before it was told of.
    pub front: Option<Front>,
    /// Its amenities, and the version of their list.
    pub amenities: (u32, Vec<String>),
    /// Its room types.
    pub room_types: BTreeMap<RoomTypeId, ShownType>,
    /// Its rooms.
    pub rooms: BTreeMap<RoomId, ShownRoom>,
    /// Its rate plans.
    pub plans: BTreeMap<RatePlanId, ShownPlan>,
    /// Why it is not listed; none while it may be.
    pub closed: Option<EvictionReason>,
}

/// What a property shows of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Front {
    /// Its name.
    pub name: Vec<LocalText>,
    /// Where it is.
    pub geo: GeoPoint,
    /// The city.
    pub city: String,
    /// The country.
    pub country: String,
    /// The currency of its prices.
    pub currency: Currency,
    /// Its time zone.
    pub zone: String,
    /// The picture of the list view.
    pub thumbnail: Option<MediaId>,
}

/// A room type that is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownType {
    /// The version of its specification.
    pub version: u32,
    /// Its name.
    pub name: Vec<LocalText>,
    /// How many adults.
    pub adults: u32,
    /// How many children besides.
    pub children: u32,
}

/// A room that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownRoom {
    /// What it is sold as.
    pub of: RoomTypeId,
    /// The first night on which it is not sold any more.
    pub until: Option<Date>,
}

/// A rate plan under which rooms are sold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownPlan {
    /// Its version.
    pub version: u32,
    /// The room types.
    pub room_types: Vec<RoomTypeId>,
    /// The nights it is sold for; none means all.
    pub sold_on: Option<DateRange>,
    /// Whether it is sold.
    pub active: bool,
}

impl Place {
    /// A place of which nothing is known.
    pub fn unknown(property_id: PropertyId) -> Self {
        Self {
            property_id,
            front: None,
            amenities: (0, Vec::new()),
            room_types: BTreeMap::new(),
            rooms: BTreeMap::new(),
            plans: BTreeMap::new(),
            closed: None,
        }
    }
}

impl Document for Place {
    const KIND: Kind = Kind::named("search_place");
    fn id(&self) -> String {
        self.property_id.to_string()
    }
}

/// The nights of one room type in one month.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Month {
    /// The room type.
    pub room_type_id: RoomTypeId,
    /// The month, such as `2026-05`.
    pub month: String,
    /// Its nights of which something is known.
    pub nights: BTreeMap<Date, ShownNight>,
}

/// What is known of a night.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ShownNight {
    /// How many rooms are taken, and where in the log that was told.
    pub taken: (Seq, u32),
    /// The stop-sells that close it.
    pub closed_by: BTreeSet<StopSellId>,
    /// Its price by rate plan; none where the plan does not sell it.
    pub prices: BTreeMap<RatePlanId, Option<Micros>>,
}

impl Month {
    /// The month of a date.
    pub fn of(date: Date) -> String {
        date.to_string().chars().take(7).collect()
    }

    /// The id of the month of a type.
    pub fn key(room_type: RoomTypeId, month: &str) -> String {
        format!("{room_type}:{month}")
    }
}

impl Document for Month {
    const KIND: Kind = Kind::named("search_month");
    fn id(&self) -> String {
        Self::key(self.room_type_id, &self.month)
    }
}

/// A listing that will be indexed soon. There is one while something new of a property is not indexed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaited {
    /// The property.
    pub property_id: PropertyId,
}

impl Document for Awaited {
    const KIND: Kind = Kind::named("search_awaited");
    fn id(&self) -> String {
        self.property_id.to_string()
    }
}

/// What was indexed last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    /// The property.
    pub property_id: PropertyId,
    /// How often it was indexed or evicted.
    pub version: u64,
    /// The listing; none where it was evicted.
    pub listed: Option<ListingIndexed>,
}

impl Document for Listing {
    const KIND: Kind =
        Kind { name: "search_listing", shape: 1, carries: Some("melmastoon.search_aggregation.listing"), fields: &[] };
    fn id(&self) -> String {
        self.property_id.to_string()
    }
}
