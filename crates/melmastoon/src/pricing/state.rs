//! What pricing keeps: what it must know of a tenant and a house, rate plans, their calendars, quotes.

use std::collections::BTreeMap;

use karwan::envelope::money::Currency;
use karwan::envelope::time::{Date, Timestamp};
use karwan::{Document, Kind};
use serde::{Deserialize, Serialize};

use super::{CalendarDay, RatePlanPublished, exchange};
use crate::ids::{BookingIntentId, PropertyId, QuoteId, RatePlanId, ReservationId, RoomTypeId};
use crate::values::{CurrencySnapshot, LocalText, Locale, Offer, Party, QuoteSnapshot};

/// What a tenant's settings say of prices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// The version of the settings; an older one does not replace a newer.
    pub version: u32,
    /// The tax on a stay, in hundredths of a percent.
    pub tax_basis_points: u32,
    /// Whether prices of the calendar have the tax in them.
    #[serde(default)]
    pub tax_included: bool,
    /// Whether the tenant may sell.
    pub sells: bool,
}

impl Terms {
    /// The one of a tenant.
    pub const ID: &'static str = "terms";
}

impl Document for Terms {
    const KIND: Kind = Kind::named("pricing_terms");
    fn id(&self) -> String {
        Self::ID.to_owned()
    }
}

/// A property, as quotes print it and count its days.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct House {
    /// The property.
    pub property_id: PropertyId,
    /// Its name.
    pub name: Vec<LocalText>,
    /// Its zone.
    pub time_zone: String,
    /// From when on rooms are ready.
    pub check_in_from: String,
    /// Until when they are left.
    pub check_out_by: String,
    /// The currency that it sells in.
    pub currency: Currency,
}

impl Document for House {
    const KIND: Kind = Kind::named("pricing_house");
    fn id(&self) -> String {
        self.property_id.to_string()
    }
}

/// A room type, as quotes print it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sleeps {
    /// The room type.
    pub room_type_id: RoomTypeId,
    /// Its version.
    pub version: u32,
    /// Its name.
    pub name: Vec<LocalText>,
    /// How many it sleeps.
    pub capacity: Party,
}

impl Document for Sleeps {
    const KIND: Kind = Kind::named("pricing_room_type");
    fn id(&self) -> String {
        self.room_type_id.to_string()
    }
}

/// The text in a language, or in the first there is.
pub fn in_language(texts: &[LocalText], locale: &Locale) -> String {
    let text = texts.iter().find(|text| text.locale == *locale).or(texts.first());
    text.map(|text| text.text.clone()).unwrap_or_default()
}

/// A rate plan, as it was published last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What was published.
    pub published: RatePlanPublished,
    /// The version of its calendar.
    pub calendar_version: u32,
}

impl Document for Plan {
    const KIND: Kind = Kind { carries: Some("melmastoon.pricing.rate_plan"), ..Kind::named("pricing_rate_plan") };
    fn id(&self) -> String {
        self.published.rate_plan_id.to_string()
    }
}

/// The prices of some days: as many as a quote usually needs, so that it reads one or two of these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// The rate plan.
    pub rate_plan_id: RatePlanId,
    /// The room type.
    pub room_type_id: RoomTypeId,
    /// Which days: those of a block.
    pub block: i32,
    /// The days.
    pub days: BTreeMap<Date, CalendarDay>,
}

/// Days of a block of prices.
const BLOCK_DAYS: i32 = 32;

impl Prices {
    /// The block of a day.
    pub const fn block(date: Date) -> i32 {
        date.unix_days().div_euclid(BLOCK_DAYS)
    }

    /// The id of a block.
    pub fn key(plan: RatePlanId, room_type: RoomTypeId, block: i32) -> String {
        format!("{plan}:{room_type}:{block}")
    }
}

impl Document for Prices {
    const KIND: Kind = Kind::named("pricing_prices");
    fn id(&self) -> String {
        Self::key(self.rate_plan_id, self.room_type_id, self.block)
    }
}

/// How a guest's currency stands to a property's; the last one that was told counts, and quotes keep the one they were made at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// The rate, as a quote freezes it.
    pub rate: CurrencySnapshot,
}

impl Document for Exchange {
    const KIND: Kind = Kind::named("pricing_exchange");
    fn id(&self) -> String {
        exchange::key(self.rate.guest_currency, self.rate.property_currency)
    }
}

/// A quote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quote {
    /// The quote.
    pub quote_id: QuoteId,
    /// What was offered.
    pub offer: Offer,
    /// The funnel's intent.
    pub booking_intent_id: Option<BookingIntentId>,
    /// When it was made.
    pub quoted_at: Timestamp,
    /// The reservation that accepted it, and the price that it was accepted at.
    pub accepted: Option<(ReservationId, QuoteSnapshot)>,
}

impl Document for Quote {
    const KIND: Kind = Kind { carries: Some("melmastoon.pricing.quote"), ..Kind::named("pricing_quote") };
    fn id(&self) -> String {
        self.quote_id.to_string()
    }
}
