//! Rate plans, calendars, deltas and quotes.

use karwan::Event;
use karwan::envelope::money::{Currency, Micros, Money};
use karwan::envelope::time::{Date, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{
    BookingIntentId, FolioId, HumanDecisionId, PropertyId, QuoteId, RatePlanId, ReservationId, RoomTypeId, SagaId,
    StaffId,
};
use crate::values::{DateRange, LocalText, Party, PaymentChoice, QuoteSnapshot, StayWindow};

/// A rate plan was published and is active for sale.
///
/// Decided here: carries the plan whole; a new version replaces the old, and bookings made before keep what they were
/// sold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.pricing.rate_plan.published.v1",
    owner = "pricing-service",
    retention = "warm",
    key = "{rate_plan_id}",
    idempotency = "{rate_plan_id}:published:{version}",
    decided_here
)]
pub struct RatePlanPublished {
    /// The rate plan.
    pub rate_plan_id: RatePlanId,
    /// Its version.
    pub version: u32,
    /// The property.
    pub property_id: PropertyId,
    /// Its code, such as `BAR`.
    #[schemars(regex(pattern = r"^[A-Z][A-Z0-9_]{0,31}$"))]
    pub code: String,
    /// Its name.
    #[schemars(length(min = 1, max = 20))]
    pub name: Vec<LocalText>,
    /// The room types that it sells.
    #[schemars(length(min = 1, max = 100))]
    pub room_type_ids: Vec<RoomTypeId>,
    /// The currency of its prices.
    pub currency: Currency,
    /// What is eaten for it.
    pub meals: MealPlan,
    /// What cancelling costs.
    pub cancellation: CancellationTerms,
    /// How much is captured at booking.
    #[schemars(range(min = 0, max = 100))]
    pub deposit_percent: u32,
    /// The shortest stay.
    #[schemars(range(min = 1, max = 366))]
    pub stay_nights_min: u32,
    /// The longest stay.
    #[schemars(range(min = 1, max = 366))]
    pub stay_nights_max: u32,
    /// The nights that it is sold for; absent when there is no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sold_on: Option<DateRange>,
    /// When it was published.
    pub published_at: Timestamp,
}

/// What is eaten for a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MealPlan {
    /// Nothing.
    RoomOnly,
    /// Breakfast.
    Breakfast,
    /// Breakfast and dinner.
    HalfBoard,
    /// All meals.
    FullBoard,
}

/// A rate plan's rule of cancellation; each booking freezes it into a policy with dates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancellationTerms {
    /// Hours before check-in until which cancelling is free; absent when it never is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 8760))]
    pub free_until_hours_before: Option<u32>,
    /// How much is given back after that.
    #[schemars(range(min = 0, max = 100))]
    pub late_refund_percent: u32,
    /// How much is given back to a guest who never came.
    #[schemars(range(min = 0, max = 100))]
    pub no_show_refund_percent: u32,
}

/// A rate plan was archived.
///
/// Decided here: nothing more is sold under it; bookings made before keep it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.pricing.rate_plan.archived.v1",
    owner = "pricing-service",
    retention = "warm",
    key = "{rate_plan_id}",
    idempotency = "{rate_plan_id}:archived:{version}",
    decided_here
)]
pub struct RatePlanArchived {
    /// The rate plan.
    pub rate_plan_id: RatePlanId,
    /// Its version.
    pub version: u32,
    /// The property.
    pub property_id: PropertyId,
    /// Its code.
    #[schemars(regex(pattern = r"^[A-Z][A-Z0-9_]{0,31}$"))]
    pub code: String,
    /// The room types that it sold.
    #[schemars(length(min = 1, max = 100))]
    pub room_type_ids: Vec<RoomTypeId>,
    /// When it was archived.
    pub archived_at: Timestamp,
}

/// Prices or restrictions of a rate plan were updated, day by day.
///
/// Decided here: carries each changed day whole; days that are not listed stand as they were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.pricing.calendar.updated.v1",
    owner = "pricing-service",
    retention = "warm",
    key = "{rate_plan_id}",
    idempotency = "{rate_plan_id}:calendar:{version}",
    decided_here
)]
pub struct CalendarUpdated {
    /// The rate plan.
    pub rate_plan_id: RatePlanId,
    /// The calendar's version.
    pub version: u32,
    /// The property.
    pub property_id: PropertyId,
    /// The room type.
    pub room_type_id: RoomTypeId,
    /// The currency of the prices.
    pub currency: Currency,
    /// The days that changed.
    #[schemars(length(min = 1, max = 366))]
    pub days: Vec<CalendarDay>,
    /// Who or what set them.
    pub source: CalendarSource,
    /// The human decision about the proposal, when an AI made one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_id: Option<HumanDecisionId>,
    /// Who did it; absent when a rule did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub updated_by: Option<StaffId>,
    /// When the days were updated.
    pub updated_at: Timestamp,
}

/// The price and the restrictions of one night.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CalendarDay {
    /// The night.
    pub date: Date,
    /// The best available rate, taxes excluded, in micro-units of the calendar's currency.
    pub price_micro: Micros,
    /// Not sold at all.
    pub closed: bool,
    /// No stay may begin.
    pub closed_to_arrival: bool,
    /// No stay may end.
    pub closed_to_departure: bool,
    /// The shortest stay that begins here; absent when the plan's own holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 366))]
    pub stay_nights_min: Option<u32>,
}

/// Who or what set prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CalendarSource {
    /// The staff.
    Staff,
    /// A rule of the tenant.
    Rule,
    /// An AI's proposal that a person accepted.
    AiProposal,
}

/// The price difference of a changed stay was computed.
///
/// Decided here: billing posts it and payment collects it with what is carried here; a negative delta is money to give
/// back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.pricing.delta.applied.v1",
    owner = "pricing-service",
    retention = "warm",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:delta:{reservation_version}",
    decided_here
)]
pub struct DeltaApplied {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// The version of the date change that it answers.
    pub reservation_version: u32,
    /// The date-change saga.
    pub saga_id: SagaId,
    /// The property.
    pub property_id: PropertyId,
    /// The folio to post it to.
    pub folio_id: FolioId,
    /// The window that was priced.
    pub stay: StayWindow,
    /// The quote that the booking had.
    pub quote_before: QuoteId,
    /// The quote that it has now.
    pub quote: QuoteSnapshot,
    /// What is to be paid more, taxes included; negative when it is less.
    pub delta: Money,
    /// The taxes in it.
    pub delta_tax: Money,
    /// How it is to be paid.
    #[schemars(extend("x-payment" = "method"))]
    pub payment: PaymentChoice,
    /// When it was applied.
    pub applied_at: Timestamp,
}

/// A quote of the booking funnel expired.
///
/// Decided here: the funnel asks for a new one; analytics counts what was not bought. No guest is named: none is known
/// yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.pricing.quote.expired.v1",
    owner = "pricing-service",
    retention = "warm",
    key = "{quote_id}",
    idempotency = "{quote_id}:expired",
    decided_here
)]
pub struct QuoteExpired {
    /// The quote.
    pub quote_id: QuoteId,
    /// The funnel's intent, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub booking_intent_id: Option<BookingIntentId>,
    /// The property.
    pub property_id: PropertyId,
    /// What was asked for.
    pub stay: StayWindow,
    /// The room types.
    #[schemars(length(min = 1, max = 10))]
    pub room_type_ids: Vec<RoomTypeId>,
    /// How many come, over all rooms.
    pub party: Party,
    /// The quoted price, taxes included.
    pub total: Money,
    /// When it was made.
    pub quoted_at: Timestamp,
    /// When it expired.
    pub expired_at: Timestamp,
}
