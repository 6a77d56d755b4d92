//! The stay: check-in, check-out, early check-out, no-show.

use karwan::Event;
use karwan::envelope::money::Money;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{
    DeviceId, FolioId, GuestId, KeyCredentialId, MediaId, MessageId, PaymentIntentId, PropertyId, ReservationId,
    SagaId, StaffId,
};
use crate::values::{
    BookedRoom, BookingStatus, Change, GuestContact, Party, PaymentChoice, QuoteSnapshot, RefundDecision, StayWindow,
};

/// The check-in flow was started by the front desk.
///
/// Decided here: starts the check-in saga: folio, key and welcome message must all succeed by `dueAt` (30 seconds). A
/// retry of one step repeats the command in its owner, not this event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.reservation.booking.check_in_started.v1",
    owner = "reservation-service",
    retention = "warm",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:check_in_started:{version}",
    decided_here
)]
pub struct CheckInStarted {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// Its version.
    pub version: u32,
    /// `check_in_started`.
    pub status: BookingStatus,
    /// What it was; `confirmed_cash_pending` tells the desk to collect.
    pub previous_status: BookingStatus,
    /// The check-in saga.
    pub saga_id: SagaId,
    /// The property.
    pub property_id: PropertyId,
    /// Its name in the guest's language.
    #[schemars(length(min = 1, max = 200))]
    pub property_name: String,
    /// The stay.
    pub stay: StayWindow,
    /// The rooms, all assigned.
    #[schemars(length(min = 1, max = 10))]
    pub rooms: Vec<BookedRoom>,
    /// Who came.
    pub party: Party,
    /// The guest.
    pub guest: GuestContact,
    /// The folio to open.
    pub folio_id: FolioId,
    /// What the folio's first lines are made from.
    pub quote: QuoteSnapshot,
    /// What was received so far.
    pub paid: Money,
    /// What is still to be paid.
    #[schemars(extend("x-payment" = "amount"))]
    pub balance_due: Money,
    /// Whether a digital key is wanted.
    pub issue_key: bool,
    /// The lock vendor that the desk expects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[a-z][a-z0-9_]{0,63}$"))]
    pub key_vendor_hint: Option<String>,
    /// The identity document that was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<GuestDocument>,
    /// Who received the guest.
    #[schemars(extend("x-pii" = "identifier"))]
    pub started_by: StaffId,
    /// The desk's device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_id: Option<DeviceId>,
    /// When the desk started it.
    pub started_at: Timestamp,
    /// By when all three steps must have succeeded.
    pub due_at: Timestamp,
}

/// A document that a guest showed: its stored picture, never its number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuestDocument {
    /// The stored picture.
    #[schemars(extend("x-pii" = "identity"))]
    pub media_id: MediaId,
    /// What kind of document.
    pub kind: DocumentKind,
}

/// A kind of identity document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DocumentKind {
    /// A national identity card.
    NationalId,
    /// A passport.
    Passport,
    /// A driving licence.
    DrivingLicence,
    /// A residence permit.
    ResidencePermit,
}

/// Check-in was completed: folio opened, key issued, guest welcomed.
///
/// Decided here: emitted only when all three steps succeeded; housekeeping marks the rooms occupied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.reservation.booking.checked_in.v1",
    owner = "reservation-service",
    retention = "warm",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:checked_in:{version}",
    decided_here
)]
pub struct CheckedIn {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// Its version.
    pub version: u32,
    /// `checked_in`.
    pub status: BookingStatus,
    /// The check-in saga; absent for an imported stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saga_id: Option<SagaId>,
    /// The property.
    pub property_id: PropertyId,
    /// The stay.
    pub stay: StayWindow,
    /// The rooms.
    #[schemars(length(min = 1, max = 10))]
    pub rooms: Vec<BookedRoom>,
    /// Who is in the house.
    pub party: Party,
    /// The guest.
    #[schemars(extend("x-pii" = "identifier"))]
    pub guest_id: GuestId,
    /// The open folio.
    pub folio_id: FolioId,
    /// The keys; empty when none was wanted.
    #[schemars(length(max = 20))]
    pub key_credential_ids: Vec<KeyCredentialId>,
    /// The welcome message; absent for an imported stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub welcome_message_id: Option<MessageId>,
    /// When check-in was completed.
    pub checked_in_at: Timestamp,
}

/// The check-out flow was started.
///
/// Decided here: starts the check-out saga. Keys are revoked whatever becomes of the folio; a stay that is not over by
/// `dueAt` raises an alert and nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.reservation.booking.check_out_started.v1",
    owner = "reservation-service",
    retention = "warm",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:check_out_started:{version}",
    decided_here
)]
pub struct CheckOutStarted {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// Its version.
    pub version: u32,
    /// `check_out_started`.
    pub status: BookingStatus,
    /// The check-out saga.
    pub saga_id: SagaId,
    /// The property.
    pub property_id: PropertyId,
    /// Its name in the guest's language.
    #[schemars(length(min = 1, max = 200))]
    pub property_name: String,
    /// The stay.
    pub stay: StayWindow,
    /// The rooms to clean.
    #[schemars(length(min = 1, max = 10))]
    pub rooms: Vec<BookedRoom>,
    /// The guest, for receipt and survey.
    pub guest: GuestContact,
    /// The folio to settle and close.
    pub folio_id: FolioId,
    /// How a remainder is to be paid.
    #[schemars(extend("x-payment" = "method"))]
    pub payment: PaymentChoice,
    /// Who let the guest go; absent when the guest did it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub started_by: Option<StaffId>,
    /// The desk's device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_id: Option<DeviceId>,
    /// When the desk started it.
    pub started_at: Timestamp,
    /// When an alert is raised if it is not over.
    pub due_at: Timestamp,
}

/// Check-out was completed, and the keys are revoked.
///
/// Decided here: status `checked_out` means that the folio is closed; `checked_out_balance_pending` that it stays open
/// with `outstanding` to pay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.reservation.booking.checked_out.v1",
    owner = "reservation-service",
    retention = "warm",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:checked_out:{version}",
    decided_here
)]
pub struct CheckedOut {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// Its version.
    pub version: u32,
    /// `checked_out`, or `checked_out_balance_pending`.
    pub status: BookingStatus,
    /// The check-out saga; absent for an imported stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saga_id: Option<SagaId>,
    /// The property.
    pub property_id: PropertyId,
    /// The stay.
    pub stay: StayWindow,
    /// The rooms.
    #[schemars(length(min = 1, max = 10))]
    pub rooms: Vec<BookedRoom>,
    /// The guest.
    #[schemars(extend("x-pii" = "identifier"))]
    pub guest_id: GuestId,
    /// The folio.
    pub folio_id: FolioId,
    /// What is left to pay; zero when the folio is closed.
    pub outstanding: Money,
    /// The keys that were revoked.
    #[schemars(length(max = 20))]
    pub revoked_key_credential_ids: Vec<KeyCredentialId>,
    /// When check-out was completed.
    pub checked_out_at: Timestamp,
}

/// A guest left before the end of the stay.
///
/// Decided here: keys are revoked at once, the unused nights go back on sale, and the policy decides what is given
/// back. The check-out saga runs beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.reservation.booking.early_checkout.v1",
    owner = "reservation-service",
    retention = "warm",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:early_checkout:{version}",
    decided_here
)]
pub struct EarlyCheckout {
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
    /// The stay as booked and as it was.
    pub stay: Change<StayWindow>,
    /// How many nights are given up.
    #[schemars(range(min = 1, max = 366))]
    pub unused_nights: u32,
    /// The rooms.
    #[schemars(length(min = 1, max = 10))]
    pub rooms: Vec<BookedRoom>,
    /// The guest.
    pub guest: GuestContact,
    /// The folio.
    pub folio_id: FolioId,
    /// What is given back.
    #[schemars(extend("x-payment" = "amount"))]
    pub refund: RefundDecision,
    /// The payment to refund; absent when none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-payment" = "reference"))]
    pub payment_intent_id: Option<PaymentIntentId>,
    /// Who reported it; absent when the guest did it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub reported_by: Option<StaffId>,
    /// When the guest left.
    pub left_at: Timestamp,
}

/// A guest was declared a no-show after the window for arrival ended.
///
/// Decided here: keys are suspended some hours later, as the tenant's key policy says; the allocation is released at
/// once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.reservation.booking.no_show.v1",
    owner = "reservation-service",
    retention = "warm",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:no_show:{version}",
    decided_here
)]
pub struct NoShow {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// Its version.
    pub version: u32,
    /// `no_show`.
    pub status: BookingStatus,
    /// The property.
    pub property_id: PropertyId,
    /// Its name in the guest's language.
    #[schemars(length(min = 1, max = 200))]
    pub property_name: String,
    /// The stay that did not happen.
    pub stay: StayWindow,
    /// The rooms that are free again.
    #[schemars(length(min = 1, max = 10))]
    pub rooms: Vec<BookedRoom>,
    /// The guest.
    pub guest: GuestContact,
    /// The price; what revenue is corrected from.
    pub quote: QuoteSnapshot,
    /// What is given back, and the fee that is kept.
    #[schemars(extend("x-payment" = "amount"))]
    pub refund: RefundDecision,
    /// The payment to refund; absent when none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-payment" = "reference"))]
    pub payment_intent_id: Option<PaymentIntentId>,
    /// The folio.
    pub folio_id: FolioId,
    /// When the window for arrival ended.
    pub arrival_window_ended_at: Timestamp,
    /// When it was declared; the suspension is counted from here.
    pub declared_at: Timestamp,
}
