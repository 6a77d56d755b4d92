//! Payment intents, refunds, and cash.

use karwan::Event;
use karwan::envelope::money::Money;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{
    DeviceId, FolioId, PaymentIntentId, PaymentMethodId, PropertyId, RefundId, ReservationId, SagaId, ShiftId, StaffId,
};
use crate::values::PaymentRail;

/// A payment intent was created against a folio.
///
/// Decided here: for a booking after both the hold and the allocation are known; for a delta or a settlement after the
/// charge that made it due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.payment.intent.created.v1",
    owner = "payment-gateway-service",
    retention = "cold",
    key = "{payment_intent_id}",
    idempotency = "{payment_intent_id}:create",
    decided_here
)]
pub struct IntentCreated {
    /// The intent.
    #[schemars(extend("x-payment" = "reference"))]
    pub payment_intent_id: PaymentIntentId,
    /// The folio; still a draft before check-in.
    pub folio_id: FolioId,
    /// The reservation.
    pub reservation_id: ReservationId,
    /// The saga that it belongs to; absent when the desk took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saga_id: Option<SagaId>,
    /// The property.
    pub property_id: PropertyId,
    /// What it pays for.
    pub purpose: PaymentPurpose,
    /// The rail that the money takes.
    #[schemars(extend("x-payment" = "method"))]
    pub rail: PaymentRail,
    /// The stored method; absent on rails that have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-payment" = "method"))]
    pub payment_method_id: Option<PaymentMethodId>,
    /// How much.
    #[schemars(extend("x-payment" = "amount"))]
    pub amount: Money,
    /// When it was created.
    pub created_at: Timestamp,
}

/// What a payment pays for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaymentPurpose {
    /// The booking itself.
    Booking,
    /// The difference of a changed stay.
    DatesChange,
    /// The balance at check-out.
    Settlement,
    /// A fee for a cancellation or a no-show.
    Fee,
}

/// A payment was captured, or promised in cash.
///
/// Decided here: with rail `cash_pending` nothing was received: `received` is zero and `amount` is owed on arrival.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.payment.intent.captured.v1",
    owner = "payment-gateway-service",
    retention = "cold",
    key = "{payment_intent_id}",
    idempotency = "{payment_intent_id}:capture",
    decided_here
)]
pub struct IntentCaptured {
    /// The intent.
    #[schemars(extend("x-payment" = "reference"))]
    pub payment_intent_id: PaymentIntentId,
    /// The folio.
    pub folio_id: FolioId,
    /// The reservation.
    pub reservation_id: ReservationId,
    /// The saga that waits for it; absent when the desk took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saga_id: Option<SagaId>,
    /// The property.
    pub property_id: PropertyId,
    /// What it pays for.
    pub purpose: PaymentPurpose,
    /// The rail that the money takes.
    #[schemars(extend("x-payment" = "method"))]
    pub rail: PaymentRail,
    /// How much the intent is for.
    #[schemars(extend("x-payment" = "amount"))]
    pub amount: Money,
    /// How much was received.
    #[schemars(extend("x-payment" = "amount"))]
    pub received: Money,
    /// When it was captured.
    pub captured_at: Timestamp,
}

/// A capture failed at the gateway, was declined, or lacked funds.
///
/// Decided here: emitted once, when the gateway gives up: a booking is then cancelled, a check-out goes on with a
/// balance pending. Another try is another intent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.payment.intent.failed.v1",
    owner = "payment-gateway-service",
    retention = "cold",
    key = "{payment_intent_id}",
    idempotency = "{payment_intent_id}:fail",
    decided_here
)]
pub struct IntentFailed {
    /// The intent.
    #[schemars(extend("x-payment" = "reference"))]
    pub payment_intent_id: PaymentIntentId,
    /// How often it was tried.
    #[schemars(range(min = 1, max = 100))]
    pub attempts: u32,
    /// The folio.
    pub folio_id: FolioId,
    /// The reservation.
    pub reservation_id: ReservationId,
    /// The saga that waits for it; absent when the desk took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saga_id: Option<SagaId>,
    /// The property.
    pub property_id: PropertyId,
    /// What it was to pay for.
    pub purpose: PaymentPurpose,
    /// The rail that the money takes.
    #[schemars(extend("x-payment" = "method"))]
    pub rail: PaymentRail,
    /// How much.
    #[schemars(extend("x-payment" = "amount"))]
    pub amount: Money,
    /// Why.
    #[schemars(extend("x-payment" = "failure"))]
    pub reason: PaymentFailure,
    /// When the last attempt failed.
    pub failed_at: Timestamp,
}

/// Why a capture failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaymentFailure {
    /// The gateway did not answer or was in error.
    GatewayUnavailable,
    /// It was declined.
    Declined,
    /// There was not enough money.
    InsufficientFunds,
    /// The stored method is no longer good.
    MethodExpired,
    /// The guest did not finish.
    Abandoned,
    /// The gateway suspects fraud.
    SuspectedFraud,
}

/// A refund was processed from end to end.
///
/// Decided here: an intent may be refunded in parts, each a fact of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.payment.intent.refunded.v1",
    owner = "payment-gateway-service",
    retention = "cold",
    key = "{payment_intent_id}",
    idempotency = "{payment_intent_id}:refund:{refund_id}",
    decided_here
)]
pub struct IntentRefunded {
    /// The refund.
    #[schemars(extend("x-payment" = "reference"))]
    pub refund_id: RefundId,
    /// The intent.
    #[schemars(extend("x-payment" = "reference"))]
    pub payment_intent_id: PaymentIntentId,
    /// The folio.
    pub folio_id: FolioId,
    /// The reservation.
    pub reservation_id: ReservationId,
    /// The property.
    pub property_id: PropertyId,
    /// Why.
    pub reason: RefundReason,
    /// How it went back.
    #[schemars(extend("x-payment" = "method"))]
    pub rail: PaymentRail,
    /// How much was given back.
    #[schemars(extend("x-payment" = "amount"))]
    pub amount: Money,
    /// How much of the capture is left.
    #[schemars(extend("x-payment" = "amount"))]
    pub captured_left: Money,
    /// When it was refunded.
    pub refunded_at: Timestamp,
}

/// Why a payment was given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefundReason {
    /// The booking was cancelled.
    Cancellation,
    /// The policy gives something back for a no-show.
    NoShow,
    /// The guest left early.
    EarlyCheckout,
    /// The changed stay costs less.
    DatesChange,
    /// It was captured after its booking had been cancelled.
    LateCapture,
    /// The property chose to.
    Goodwill,
}

/// Cash on arrival was counted and reconciled at the front desk.
///
/// Decided here: turns a promise into money: the reservation is paid from here on, and check-in may issue its key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.payment.cash.reconciled.v1",
    owner = "payment-gateway-service",
    retention = "cold",
    key = "{payment_intent_id}",
    idempotency = "{payment_intent_id}:reconcile",
    decided_here
)]
pub struct CashReconciled {
    /// The intent that promised it.
    #[schemars(extend("x-payment" = "reference"))]
    pub payment_intent_id: PaymentIntentId,
    /// The folio.
    pub folio_id: FolioId,
    /// The reservation.
    pub reservation_id: ReservationId,
    /// The property.
    pub property_id: PropertyId,
    /// What was promised.
    #[schemars(extend("x-payment" = "amount"))]
    pub expected: Money,
    /// What was counted.
    #[schemars(extend("x-payment" = "amount"))]
    pub received: Money,
    /// Received less expected; negative when short.
    #[schemars(extend("x-payment" = "amount"))]
    pub difference: Money,
    /// Who counted it.
    #[schemars(extend("x-pii" = "identifier"))]
    pub received_by: StaffId,
    /// The shift whose till it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift_id: Option<ShiftId>,
    /// The desk's device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_id: Option<DeviceId>,
    /// When it was reconciled.
    pub reconciled_at: Timestamp,
}
