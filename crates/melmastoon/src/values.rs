//! Values that several services' events share: languages, stays, guests, prices.
//!
//! Invariant: a value means the same in every event that carries it, so a consumer need not ask who wrote it.
//! Not here: ids (`ids`), instants and amounts (`karwan::envelope`).

use std::fmt;
use std::str::FromStr;

use karwan::envelope::money::{Currency, Micros, Money};
use karwan::envelope::time::{Date, Timestamp};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::{GuestId, PaymentMethodId, PropertyId, QuoteId, RatePlanId, RoomId, RoomTypeId};

/// A language as BCP 47 writes it: language, script if needed, region if needed (`ps`, `fa-AF`, `uz-Arab`).
///
/// ```
/// use melmastoon::values::Locale;
/// for good in ["ps", "fa-AF", "uz-Arab", "uz-Arab-AF", "es-419"] {
///     assert_eq!(good.parse::<Locale>().unwrap().to_string(), good);
/// }
/// for bad in ["", "p", "PS", "fa_AF", "fa-af", "fa-", "fa-AF-x", "uz-AF-Arab", "pashto"] {
///     assert!(bad.parse::<Locale>().is_err(), "{bad}");
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Locale(String);

/// Why a text is not a locale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLocale {
    text: String,
}

impl fmt::Display for BadLocale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a BCP 47 locale such as ps or fa-AF", self.text)
    }
}

impl std::error::Error for BadLocale {}

impl fmt::Display for Locale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Locale {
    type Err = BadLocale;

    /// Strict about case, so that a locale has one spelling.
    fn from_str(text: &str) -> Result<Self, BadLocale> {
        if is_locale(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadLocale { text: text.chars().take(64).collect() })
        }
    }
}

fn is_locale(text: &str) -> bool {
    let mut parts = text.split('-').peekable();
    let language = parts.next().unwrap_or_default();
    let script = |part: &&str| {
        part.len() == 4
            && part.bytes().take(1).all(|byte| byte.is_ascii_uppercase())
            && part.bytes().skip(1).all(|byte| byte.is_ascii_lowercase())
    };
    let region = |part: &&str| {
        part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_uppercase())
            || part.len() == 3 && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    (2..=3).contains(&language.len()) && language.bytes().all(|byte| byte.is_ascii_lowercase()) && {
        parts.next_if(script);
        parts.next_if(region);
        parts.next().is_none()
    }
}

impl Serialize for Locale {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Locale {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Locale {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Locale".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$" })
    }
}

/// A text in one language; a list of them is a translated text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalText {
    /// The language.
    pub locale: Locale,
    /// The text.
    #[schemars(length(min = 1, max = 4000))]
    pub text: String,
}

/// What a value was and what it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Change<T> {
    /// Before.
    pub from: T,
    /// After.
    pub to: T,
}

/// Nights or days, the end excluded: a stay from the 12th until the 15th sells three nights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DateRange {
    /// The first day.
    pub from: Date,
    /// The day after the last.
    pub until: Date,
}

/// The window of a stay, as nights and as instants.
///
/// The instants apply the property's house times and time zone once, where the booking is decided, so that a key's
/// validity needs no look at the property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StayWindow {
    /// The day of arrival, in the property's time zone.
    pub check_in: Date,
    /// The day of departure, in the property's time zone.
    pub check_out: Date,
    /// How many nights that is.
    #[schemars(range(min = 1, max = 366))]
    pub nights: u32,
    /// From when the room may be entered.
    pub check_in_at: Timestamp,
    /// Until when the room may be entered.
    pub check_out_at: Timestamp,
}

/// How many people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Party {
    /// Adults.
    #[schemars(range(min = 1, max = 200))]
    pub adults: u32,
    /// Children.
    #[schemars(range(min = 0, max = 200))]
    pub children: u32,
}

/// The guest who answers for a booking, with what it takes to write to them in their language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuestContact {
    /// The guest.
    #[schemars(extend("x-pii" = "identifier"))]
    pub guest_id: GuestId,
    /// The name as the guest writes it.
    #[schemars(length(min = 1, max = 200), extend("x-pii" = "name"))]
    pub full_name: String,
    /// Where mail goes; absent for a guest without an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 3, max = 254), extend("x-pii" = "contact"))]
    pub email: Option<String>,
    /// Where SMS and WhatsApp go, in E.164 form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^\+[1-9][0-9]{6,14}$"), extend("x-pii" = "contact"))]
    pub phone: Option<String>,
    /// The language that messages are written in.
    pub preferred_locale: Locale,
}

/// One booked room: what was sold, and the room itself once one is assigned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BookedRoom {
    /// The room type that was sold.
    pub room_type_id: RoomTypeId,
    /// Its name in the guest's language, as the guest saw it.
    #[schemars(length(min = 1, max = 200))]
    pub room_type_name: String,
    /// The rate plan it was sold under.
    pub rate_plan_id: RatePlanId,
    /// Who sleeps in it.
    pub party: Party,
    /// The assigned room; absent while none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room_id: Option<RoomId>,
    /// The number on its door; absent while none is assigned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 20))]
    pub room_label: Option<String>,
}

/// The price that the guest agreed to, frozen when the hold was placed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuoteSnapshot {
    /// The quote.
    pub quote_id: QuoteId,
    /// What the guest pays in all, taxes included.
    pub total: Money,
    /// The taxes in it.
    pub tax: Money,
    /// Each night of each room, taxes excluded, in the currency of `total`; what revenue by date is counted from.
    #[schemars(length(min = 1, max = 3660))]
    pub nights: Vec<NightPrice>,
    /// How the guest's currency stood to the property's when the quote was made.
    pub currency_snapshot: CurrencySnapshot,
    /// Until when the quote could be accepted.
    pub expires_at: Timestamp,
}

/// What a guest may accept: rooms, nights and a price. Pricing makes it, reservation books it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// The property.
    pub property_id: PropertyId,
    /// Its name in the guest's language.
    pub property_name: String,
    /// The stay.
    pub stay: StayWindow,
    /// The rooms, one entry a room.
    pub rooms: Vec<BookedRoom>,
    /// How many come, over all rooms.
    pub party: Party,
    /// The price.
    pub quote: QuoteSnapshot,
    /// What cancelling costs.
    pub cancellation: CancellationPolicy,
    /// How much is captured before it is confirmed, where it is not paid in cash.
    pub deposit: Money,
}

/// One night of one room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NightPrice {
    /// The night.
    pub date: Date,
    /// The room type.
    pub room_type_id: RoomTypeId,
    /// Its price in micro-units of the quote's currency.
    pub amount_micro: Micros,
}

/// An exchange rate, frozen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CurrencySnapshot {
    /// The currency that the guest pays in.
    pub guest_currency: Currency,
    /// The currency that the property keeps its books in.
    pub property_currency: Currency,
    /// Units of the property's currency for one of the guest's, as a decimal; `1` when they are the same.
    #[schemars(regex(pattern = r"^(0|[1-9][0-9]{0,11})(\.[0-9]{1,12})?$"))]
    pub rate: String,
    /// When the rate was taken.
    pub taken_at: Timestamp,
}

/// What a cancellation costs. Frozen into the booking, so that a later change of the rate plan does not touch it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancellationPolicy {
    /// Until when cancelling is free; absent when it never is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_until: Option<Timestamp>,
    /// How much of the total is given back after that, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub late_refund_percent: u32,
    /// How much of the total is given back to a guest who never came, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub no_show_refund_percent: u32,
}

/// What the policy gives back when a stay ends before it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefundDecision {
    /// Whether anything is given back; if not, the refund is a no-op with an audit entry.
    pub refundable: bool,
    /// How much is given back; zero when nothing is.
    pub amount: Money,
    /// How much is kept.
    pub fee: Money,
    /// The rule that decided it.
    pub rule: RefundRule,
}

/// Why that much is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefundRule {
    /// Nothing was paid.
    NothingPaid,
    /// Cancelled while it was free.
    FreeWindow,
    /// Cancelled after the free window.
    LateCancellation,
    /// The guest never came.
    NoShow,
    /// The guest left early.
    EarlyCheckout,
    /// The property or the platform is at fault: all is given back.
    PropertyFault,
}

/// The means of payment that a guest chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PaymentChoice {
    /// The rail.
    #[schemars(extend("x-payment" = "method"))]
    pub rail: PaymentRail,
    /// The stored method to charge; absent on rails that have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-payment" = "method"))]
    pub payment_method_id: Option<PaymentMethodId>,
}

/// The way money travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaymentRail {
    /// PayPal.
    Paypal,
    /// A payment card.
    Card,
    /// A mobile financial service.
    Mfs,
    /// Cash on arrival: promised, not yet received.
    CashPending,
    /// Cash in hand.
    Cash,
}

/// Where a reservation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BookingStatus {
    /// Inventory is held, payment is under way.
    Held,
    /// Paid and confirmed.
    Confirmed,
    /// Confirmed, to be paid in cash on arrival.
    ConfirmedCashPending,
    /// The check-in saga runs.
    CheckInStarted,
    /// The check-in saga ran out of time; a step is missing.
    CheckInPartial,
    /// In house.
    CheckedIn,
    /// The check-out saga runs.
    CheckOutStarted,
    /// Gone, all paid.
    CheckedOut,
    /// Gone, with something left to pay.
    CheckedOutBalancePending,
    /// Cancelled.
    Cancelled,
    /// Never came.
    NoShow,
}

/// A point on the map.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GeoPoint {
    /// Degrees north.
    #[schemars(range(min = -90.0, max = 90.0))]
    pub lat: f64,
    /// Degrees east.
    #[schemars(range(min = -180.0, max = 180.0))]
    pub lng: f64,
}

/// The region that a tenant's data lives in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DataResidency {
    /// Doha.
    #[serde(rename = "me-central1")]
    MeCentral1,
    /// Mumbai.
    #[serde(rename = "asia-south1")]
    AsiaSouth1,
    /// Belgium.
    #[serde(rename = "europe-west1")]
    EuropeWest1,
    /// Iowa.
    #[serde(rename = "us-central1")]
    UsCentral1,
}

/// What a member of a tenant may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StaffRole {
    /// Owns the tenant.
    Owner,
    /// Runs a property.
    GeneralManager,
    /// Works at the front desk.
    FrontDesk,
    /// Turns rooms over.
    Housekeeping,
    /// Repairs.
    Maintenance,
    /// Keeps the books.
    Finance,
    /// Runs several properties.
    ChainOperator,
    /// Approves what is published.
    MarketingReviewer,
    /// Works for the platform.
    PlatformAdmin,
}
