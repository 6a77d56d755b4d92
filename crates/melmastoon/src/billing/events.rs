//! Folios and invoices.

use karwan::Event;
use karwan::envelope::money::Money;
use karwan::envelope::time::{Date, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{
    FileId, FolioId, FolioLineId, GuestId, InvoiceId, PaymentIntentId, PropertyId, RefundId, ReservationId, SagaId,
    StaffId,
};
use crate::values::{Locale, PaymentChoice};

/// A folio was opened on check-in.
///
/// Decided here: one of the three facts that the check-in saga waits for; `sagaId` tells it which check-in it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.billing.folio.opened.v1",
    owner = "billing-service",
    retention = "cold",
    key = "{folio_id}",
    idempotency = "{folio_id}:opened:{version}",
    decided_here
)]
pub struct FolioOpened {
    /// The folio.
    pub folio_id: FolioId,
    /// Its version.
    pub version: u32,
    /// The reservation.
    pub reservation_id: ReservationId,
    /// The check-in saga; absent for an imported stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saga_id: Option<SagaId>,
    /// The property.
    pub property_id: PropertyId,
    /// Whose folio it is.
    #[schemars(extend("x-pii" = "identifier"))]
    pub guest_id: GuestId,
    /// What it begins with.
    #[schemars(length(min = 1, max = 4000))]
    pub lines: Vec<FolioLine>,
    /// What had been paid before.
    pub prepaid: Money,
    /// What is to be paid now; negative when too much was paid.
    pub balance: Money,
    /// When it was opened.
    pub opened_at: Timestamp,
}

/// One line of a folio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FolioLine {
    /// The line.
    pub folio_line_id: FolioLineId,
    /// What for.
    pub kind: ChargeKind,
    /// What is printed.
    #[schemars(length(min = 1, max = 200))]
    pub description: String,
    /// How much, taxes included.
    pub amount: Money,
    /// The taxes in it.
    pub tax: Money,
    /// The day that it is for.
    pub service_date: Date,
}

/// What a charge is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChargeKind {
    /// A night.
    RoomNight,
    /// Something consumed or used.
    Extra,
    /// The difference of a changed stay.
    DatesChange,
    /// What a cancellation costs.
    CancellationFee,
    /// What a no-show costs.
    NoShowFee,
    /// Something broken.
    Damage,
    /// Nothing new: the balance fell due at check-out.
    Settlement,
}

/// A charge was posted to a folio.
///
/// Decided here: `collect` asks no one: it states that the amount is due now, and payment reacts. At check-out a line
/// of kind `settlement` and amount zero makes the balance due, so that it is captured before the folio closes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.billing.folio.charge_posted.v1",
    owner = "billing-service",
    retention = "cold",
    key = "{folio_id}",
    idempotency = "{folio_line_id}:charge_posted",
    decided_here
)]
pub struct FolioChargePosted {
    /// The folio.
    pub folio_id: FolioId,
    /// Its version.
    pub version: u32,
    /// The line.
    pub folio_line_id: FolioLineId,
    /// The reservation.
    pub reservation_id: ReservationId,
    /// The property.
    pub property_id: PropertyId,
    /// Whose folio it is.
    #[schemars(extend("x-pii" = "identifier"))]
    pub guest_id: GuestId,
    /// The saga that it belongs to; absent for a charge of daily business.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saga_id: Option<SagaId>,
    /// What for.
    pub kind: ChargeKind,
    /// What is printed.
    #[schemars(length(min = 1, max = 200))]
    pub description: String,
    /// How much, taxes included.
    pub amount: Money,
    /// The taxes in it.
    pub tax: Money,
    /// The day that it is for.
    pub service_date: Date,
    /// What is to be paid after it.
    pub balance: Money,
    /// What falls due with it; absent when it waits for check-out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collect: Option<DueNow>,
    /// Who posted it; absent when a saga did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub posted_by: Option<StaffId>,
    /// When it was posted.
    pub posted_at: Timestamp,
}

/// An amount that is due now, and how it is to be paid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DueNow {
    /// How much.
    #[schemars(extend("x-payment" = "amount"))]
    pub amount: Money,
    /// How it is to be paid.
    #[schemars(extend("x-payment" = "method"))]
    pub payment: PaymentChoice,
}

/// A refund was posted to a folio.
///
/// Decided here: the folio's side of a refund; the money itself moves with `payment.intent.refunded`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.billing.folio.refund_posted.v1",
    owner = "billing-service",
    retention = "cold",
    key = "{folio_id}",
    idempotency = "{folio_line_id}:refund_posted",
    decided_here
)]
pub struct FolioRefundPosted {
    /// The folio.
    pub folio_id: FolioId,
    /// Its version.
    pub version: u32,
    /// The line.
    pub folio_line_id: FolioLineId,
    /// The reservation.
    pub reservation_id: ReservationId,
    /// The property.
    pub property_id: PropertyId,
    /// Whose folio it is.
    #[schemars(extend("x-pii" = "identifier"))]
    pub guest_id: GuestId,
    /// The refund that moved the money; absent when none has yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-payment" = "reference"))]
    pub refund_id: Option<RefundId>,
    /// The payment that is given back; absent when it was in cash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-payment" = "reference"))]
    pub payment_intent_id: Option<PaymentIntentId>,
    /// Why.
    pub reason: FolioRefundReason,
    /// What is printed.
    #[schemars(length(min = 1, max = 200))]
    pub description: String,
    /// How much, taxes included, as a positive amount.
    #[schemars(extend("x-payment" = "amount"))]
    pub amount: Money,
    /// The taxes in it.
    pub tax: Money,
    /// What is to be paid after it.
    pub balance: Money,
    /// Who posted it; absent when a saga did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub posted_by: Option<StaffId>,
    /// When it was posted.
    pub posted_at: Timestamp,
}

/// Why money is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FolioRefundReason {
    /// The booking was cancelled.
    Cancellation,
    /// The policy gives something back for a no-show.
    NoShow,
    /// The guest left early.
    EarlyCheckout,
    /// The changed stay costs less.
    DatesChange,
    /// The property chose to.
    Goodwill,
    /// A line was wrong.
    Correction,
}

/// A folio was closed at check-out, with nothing left to pay.
///
/// Decided here: emitted after the remainder was captured, never before; a folio that cannot be settled stays open. A
/// folio may be opened again for a correction and closed again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.billing.folio.closed.v1",
    owner = "billing-service",
    retention = "cold",
    key = "{folio_id}",
    idempotency = "{folio_id}:closed:{version}",
    decided_here
)]
pub struct FolioClosed {
    /// The folio.
    pub folio_id: FolioId,
    /// Its version.
    pub version: u32,
    /// The reservation.
    pub reservation_id: ReservationId,
    /// The check-out saga; absent when it was closed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saga_id: Option<SagaId>,
    /// The property.
    pub property_id: PropertyId,
    /// Whose folio it is.
    #[schemars(extend("x-pii" = "identifier"))]
    pub guest_id: GuestId,
    /// All charges, taxes included.
    pub charges: Money,
    /// The taxes in them.
    pub taxes: Money,
    /// All that was received.
    pub payments: Money,
    /// All that was given back.
    pub refunds: Money,
    /// The invoice made from it; absent when none was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invoice_id: Option<InvoiceId>,
    /// When it was closed.
    pub closed_at: Timestamp,
}

/// An invoice document was issued.
///
/// Decided here: carries what the receipt message prints and where the document is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.billing.invoice.issued.v1",
    owner = "billing-service",
    retention = "cold",
    key = "{invoice_id}",
    idempotency = "{invoice_id}:issued",
    decided_here
)]
pub struct InvoiceIssued {
    /// The invoice.
    pub invoice_id: InvoiceId,
    /// Its number, without gaps in the property's sequence.
    #[schemars(length(min = 1, max = 40))]
    pub number: String,
    /// The folio.
    pub folio_id: FolioId,
    /// The reservation.
    pub reservation_id: ReservationId,
    /// The property.
    pub property_id: PropertyId,
    /// Whom it is made out to.
    pub billed_to: BilledTo,
    /// The language it is written in.
    pub locale: Locale,
    /// The sum, taxes included.
    pub total: Money,
    /// The taxes in it.
    pub tax: Money,
    /// What was paid of it.
    pub paid: Money,
    /// The stored document.
    pub file_id: FileId,
    /// When it was issued.
    pub issued_at: Timestamp,
}

/// Whom an invoice is made out to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BilledTo {
    /// The guest.
    #[schemars(extend("x-pii" = "identifier"))]
    pub guest_id: GuestId,
    /// The name on it: the guest's or their company's.
    #[schemars(length(min = 1, max = 200), extend("x-pii" = "name"))]
    pub name: String,
    /// The address on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 500), extend("x-pii" = "contact"))]
    pub address: Option<String>,
    /// The tax number on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 50), extend("x-pii" = "identity"))]
    pub tax_number: Option<String>,
    /// Where it is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 254), extend("x-pii" = "contact"))]
    pub email: Option<String>,
}

/// An invoice was voided, with a reason.
///
/// Decided here: the document is kept; a corrected invoice has a number of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.billing.invoice.voided.v1",
    owner = "billing-service",
    retention = "cold",
    key = "{invoice_id}",
    idempotency = "{invoice_id}:voided",
    decided_here
)]
pub struct InvoiceVoided {
    /// The invoice.
    pub invoice_id: InvoiceId,
    /// Its number.
    #[schemars(length(min = 1, max = 40))]
    pub number: String,
    /// The folio.
    pub folio_id: FolioId,
    /// The reservation.
    pub reservation_id: ReservationId,
    /// The property.
    pub property_id: PropertyId,
    /// Why.
    pub reason: VoidReason,
    /// The same in words, as the books require.
    #[schemars(length(min = 1, max = 500), extend("x-pii" = "free_text"))]
    pub detail: String,
    /// The sum that no longer stands.
    pub total: Money,
    /// The corrected invoice; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<InvoiceId>,
    /// Who voided it.
    #[schemars(extend("x-pii" = "identifier"))]
    pub voided_by: StaffId,
    /// When it was voided.
    pub voided_at: Timestamp,
}

/// Why an invoice was voided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VoidReason {
    /// The amounts are wrong.
    WrongAmount,
    /// It is made out to the wrong person.
    WrongRecipient,
    /// It was issued twice.
    Duplicate,
    /// The stay did not happen.
    BookingCancelled,
}
