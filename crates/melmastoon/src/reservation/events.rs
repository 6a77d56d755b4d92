//! The booking: held, confirmed, changed, cancelled.

use karwan::Event;
use karwan::envelope::money::Money;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{
    AnomalyId, BookingIntentId, FolioId, GuestId, PaymentIntentId, PropertyId, ReservationId, RoomId, SagaId, StaffId,
};
use crate::values::{
    BookedRoom, BookingStatus, CancellationPolicy, Change, GuestContact, Party, PaymentChoice, PaymentRail,
    QuoteSnapshot, RefundDecision, StayWindow,
};

/// An inventory hold was placed for a booking, for ten minutes.
///
/// Decided here: starts the booking saga. Two timers run: the allocation must be committed by `allocationDueAt` (30
/// seconds), and the hold as a whole ends at `holdExpiresAt` (10 minutes). The draft folio's id is minted with the
/// hold, so that a payment intent has a folio to refer to before billing opens it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.reservation.booking.held.v1",
    owner = "reservation-service",
    retention = "warm",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:held:{version}",
    decided_here
)]
pub struct BookingHeld {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// Its version.
    pub version: u32,
    /// `held`.
    pub status: BookingStatus,
    /// The booking saga.
    pub saga_id: SagaId,
    /// The funnel's intent; absent for a booking made at the desk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub booking_intent_id: Option<BookingIntentId>,
    /// Where it was booked.
    pub channel: Channel,
    /// The property.
    pub property_id: PropertyId,
    /// Its name in the guest's language.
    #[schemars(length(min = 1, max = 200))]
    pub property_name: String,
    /// The stay.
    pub stay: StayWindow,
    /// The rooms that are sold, one entry a room.
    #[schemars(length(min = 1, max = 10))]
    pub rooms: Vec<BookedRoom>,
    /// How many come, over all rooms.
    pub party: Party,
    /// The guest who answers for it.
    pub guest: GuestContact,
    /// What the guest asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2000), extend("x-pii" = "free_text"))]
    pub special_requests: Option<String>,
    /// The agreed price.
    pub quote: QuoteSnapshot,
    /// What cancelling costs.
    pub cancellation: CancellationPolicy,
    /// How it is to be paid.
    #[schemars(extend("x-payment" = "method"))]
    pub payment: PaymentChoice,
    /// How much is to be captured before it is confirmed; zero for cash on arrival.
    pub due_now: Money,
    /// The draft folio.
    pub folio_id: FolioId,
    /// When the hold was placed.
    pub held_at: Timestamp,
    /// By when inventory must have committed.
    pub allocation_due_at: Timestamp,
    /// When the hold ends by itself.
    pub hold_expires_at: Timestamp,
}

/// Where a booking was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// The tenant's booking site.
    TenantSite,
    /// The meta-search, handed over to the tenant's site.
    ConsumerMeta,
    /// The front desk.
    FrontDesk,
    /// By telephone.
    Phone,
    /// An earlier system's history.
    Imported,
}

/// A booking was confirmed, after payment or with cash pending.
///
/// Decided here: carries everything that the fan-out needs without asking back: billing the folio, locks the rooms and
/// the window, notification the guest and what it prints, analytics the nights, search the property and dates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.reservation.booking.confirmed.v1",
    owner = "reservation-service",
    retention = "warm",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:confirmed:{version}",
    decided_here
)]
pub struct BookingConfirmed {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// Its version.
    pub version: u32,
    /// `confirmed`, or `confirmed_cash_pending`.
    pub status: BookingStatus,
    /// The booking saga; absent for an imported booking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saga_id: Option<SagaId>,
    /// The funnel's intent; absent for a booking made at the desk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub booking_intent_id: Option<BookingIntentId>,
    /// Where it was booked.
    pub channel: Channel,
    /// The property.
    pub property_id: PropertyId,
    /// Its name in the guest's language.
    #[schemars(length(min = 1, max = 200))]
    pub property_name: String,
    /// The stay.
    pub stay: StayWindow,
    /// The rooms that are sold, one entry a room.
    #[schemars(length(min = 1, max = 10))]
    pub rooms: Vec<BookedRoom>,
    /// How many come, over all rooms.
    pub party: Party,
    /// The guest who answers for it.
    pub guest: GuestContact,
    /// What the guest asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2000), extend("x-pii" = "free_text"))]
    pub special_requests: Option<String>,
    /// The agreed price.
    pub quote: QuoteSnapshot,
    /// What cancelling costs.
    pub cancellation: CancellationPolicy,
    /// How it was or will be paid.
    #[schemars(extend("x-payment" = "method"))]
    pub payment: PaymentChoice,
    /// The payment intent; absent for an imported booking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-payment" = "reference"))]
    pub payment_intent_id: Option<PaymentIntentId>,
    /// What was received.
    pub paid: Money,
    /// What is still to be paid.
    #[schemars(extend("x-payment" = "amount"))]
    pub balance_due: Money,
    /// The draft folio.
    pub folio_id: FolioId,
    /// Whether a key may be issued now: paid, not in cash on arrival, and every room assigned.
    pub key_eligible: bool,
    /// When it was confirmed.
    pub confirmed_at: Timestamp,
}

/// A cancellation was accepted, checked against the policy.
///
/// Decided here: the refund is decided here, once; payment, billing and the guest's message all read the same amounts.
/// A refund that fails later does not undo the cancellation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.reservation.booking.cancelled.v1",
    owner = "reservation-service",
    retention = "warm",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:cancelled:{version}",
    decided_here
)]
pub struct BookingCancelled {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// Its version.
    pub version: u32,
    /// `cancelled`.
    pub status: BookingStatus,
    /// What it was before.
    pub previous_status: BookingStatus,
    /// Why.
    pub reason: CancellationReason,
    /// The same in the words of who cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 500), extend("x-pii" = "free_text"))]
    pub detail: Option<String>,
    /// Who decided it.
    pub cancelled_by: CancelledBy,
    /// The property.
    pub property_id: PropertyId,
    /// Its name in the guest's language.
    #[schemars(length(min = 1, max = 200))]
    pub property_name: String,
    /// The stay that will not happen.
    pub stay: StayWindow,
    /// The rooms that are free again.
    #[schemars(length(min = 1, max = 10))]
    pub rooms: Vec<BookedRoom>,
    /// The guest.
    pub guest: GuestContact,
    /// The price; what revenue is taken back from.
    pub quote: QuoteSnapshot,
    /// What is given back.
    #[schemars(extend("x-payment" = "amount"))]
    pub refund: RefundDecision,
    /// The payment to refund; absent when none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-payment" = "reference"))]
    pub payment_intent_id: Option<PaymentIntentId>,
    /// How it had been paid; absent when it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-payment" = "method"))]
    pub rail: Option<PaymentRail>,
    /// The folio.
    pub folio_id: FolioId,
    /// When it was cancelled.
    pub cancelled_at: Timestamp,
}

/// Why a booking was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CancellationReason {
    /// The allocation or the hold ran out of time.
    HoldExpired,
    /// The payment failed.
    PaymentFailed,
    /// The last room went to another booking.
    OversellBlocked,
    /// The guest asked for it.
    GuestRequest,
    /// The property cannot receive the guest.
    PropertyRequest,
    /// The booking was found to be fraudulent.
    Fraud,
}

/// Who decided a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CancelledBy {
    /// The guest.
    Guest,
    /// The staff.
    Staff,
    /// A deadline or a failed step.
    Saga,
}

/// A booking was modified without a change of dates.
///
/// Decided here: carries the booking's new state whole and names what changed. A changed room moves the guest's key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.reservation.booking.modified.v1",
    owner = "reservation-service",
    retention = "warm",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:modified:{version}",
    decided_here
)]
pub struct BookingModified {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// Its version.
    pub version: u32,
    /// What it is now.
    pub status: BookingStatus,
    /// The property.
    pub property_id: PropertyId,
    /// Its name in the guest's language.
    #[schemars(length(min = 1, max = 200))]
    pub property_name: String,
    /// What changed.
    #[schemars(length(min = 1, max = 4))]
    pub changed: Vec<ModifiedPart>,
    /// The stay, unchanged.
    pub stay: StayWindow,
    /// The rooms now.
    #[schemars(length(min = 1, max = 10))]
    pub rooms: Vec<BookedRoom>,
    /// The rooms that were assigned before; empty when none was or none changed.
    #[schemars(length(max = 10))]
    pub previous_room_ids: Vec<RoomId>,
    /// How many now.
    pub party: Party,
    /// The guest now.
    pub guest: GuestContact,
    /// What the guest asks for now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2000), extend("x-pii" = "free_text"))]
    pub special_requests: Option<String>,
    /// When it was modified.
    pub modified_at: Timestamp,
}

/// A part of a booking besides its dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModifiedPart {
    /// The guest or how to reach them.
    Guest,
    /// How many come.
    Party,
    /// What was asked for.
    SpecialRequests,
    /// The assigned rooms.
    Rooms,
}

/// The stay window of a booking was changed.
///
/// Decided here: starts the date-change saga. When the new window turns out to be sold, the same event leads back with
/// cause `reverted`, and everyone who moved with the first moves back with the second; the booking is never cancelled
/// for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.reservation.booking.dates_changed.v1",
    owner = "reservation-service",
    retention = "warm",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:dates_changed:{version}",
    decided_here
)]
pub struct BookingDatesChanged {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// Its version; what the key update is deduplicated by.
    pub version: u32,
    /// What it is, unchanged.
    pub status: BookingStatus,
    /// The date-change saga.
    pub saga_id: SagaId,
    /// Why.
    pub cause: DatesChangeCause,
    /// The property.
    pub property_id: PropertyId,
    /// Its name in the guest's language.
    #[schemars(length(min = 1, max = 200))]
    pub property_name: String,
    /// The window before and after.
    pub stay: Change<StayWindow>,
    /// The rooms, of the same types.
    #[schemars(length(min = 1, max = 10))]
    pub rooms: Vec<BookedRoom>,
    /// The guest.
    pub guest: GuestContact,
    /// The agreed price, of the last window that inventory granted; the delta is computed against it.
    pub quote: QuoteSnapshot,
    /// What cancelling costs, for the window after.
    pub cancellation: CancellationPolicy,
    /// How a delta is to be paid.
    #[schemars(extend("x-payment" = "method"))]
    pub payment: PaymentChoice,
    /// The folio.
    pub folio_id: FolioId,
    /// When it was changed.
    pub changed_at: Timestamp,
}

/// Why dates changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DatesChangeCause {
    /// The guest asked for it.
    GuestRequest,
    /// The staff did it.
    StaffRequest,
    /// The new window was not available; the original is kept.
    Reverted,
}

/// A booking was flagged as suspected fraud.
///
/// Decided here: lock-integration suspends its keys until someone decides; the booking's own state does not change.
/// When an AI raised it, the anomaly's event carries the provenance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.reservation.booking.fraud_flagged.v1",
    owner = "reservation-service",
    retention = "warm",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:fraud_flagged:{version}",
    decided_here
)]
pub struct BookingFraudFlagged {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// Its version.
    pub version: u32,
    /// What it is, unchanged.
    pub status: BookingStatus,
    /// The property.
    pub property_id: PropertyId,
    /// The rooms.
    #[schemars(length(min = 1, max = 10))]
    pub rooms: Vec<BookedRoom>,
    /// The guest.
    #[schemars(extend("x-pii" = "identifier"))]
    pub guest_id: GuestId,
    /// What raised the suspicion.
    pub signal: FraudSignal,
    /// How strong it is, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub risk_score: u32,
    /// The detected anomaly, when one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anomaly_id: Option<AnomalyId>,
    /// The payment in doubt, when one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-payment" = "reference"))]
    pub payment_intent_id: Option<PaymentIntentId>,
    /// Who flagged it; absent when a rule did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub flagged_by: Option<StaffId>,
    /// When it was flagged.
    pub flagged_at: Timestamp,
}

/// What raised a suspicion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FraudSignal {
    /// The payment was disputed.
    PaymentDispute,
    /// The means of payment was reported stolen.
    StolenMethod,
    /// The document does not match the guest.
    IdentityMismatch,
    /// A detector found it unusual.
    Anomaly,
    /// The staff saw something.
    StaffReport,
}
