//! Payments and subscriptions.

use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{InvoiceId, OrderId, PaymentId, SubscriptionId, TenantId};
use crate::types::{LABEL_MAX, Money, TEXT_MAX};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![PaymentSucceeded, PaymentFailed, SubscriptionStarted, SubscriptionChanged].into()
}

/// A payment was taken.
///
/// The order is optional here and absent from the failure: a saga correlates by the correlation id of the envelope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "billing.payment.succeeded.v1",
    owner = "billing-service",
    retention = "regulated",
    scope = "integration",
    key = "{payment_id}",
    idempotency = "{payment_id}:succeeded"
)]
pub struct PaymentSucceeded {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The payment.
    pub payment_id: PaymentId,
    /// The order it pays, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_id: Option<OrderId>,
    /// The invoice it pays, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invoice_id: Option<InvoiceId>,
    /// What was taken.
    pub amount: Money,
    /// The payment processor.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub processor: String,
    /// The processor's public reference.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub processor_ref: String,
    /// When it happened.
    pub at: Timestamp,
}

/// An attempt to take a payment failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "billing.payment.failed.v1",
    owner = "billing-service",
    retention = "regulated",
    scope = "integration",
    key = "{payment_id}",
    idempotency = "{payment_id}:failed:{at}"
)]
pub struct PaymentFailed {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The payment.
    pub payment_id: PaymentId,
    /// What went wrong.
    #[schemars(length(min = 1, max = TEXT_MAX), extend("x-pii" = "free_text"))]
    pub reason: String,
    /// The processor's code for the failure.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub code: String,
    /// When it happened.
    pub at: Timestamp,
}

/// A tenant subscribed to a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "billing.subscription.started.v1",
    owner = "billing-service",
    retention = "regulated",
    key = "{subscription_id}",
    idempotency = "{subscription_id}:started"
)]
pub struct SubscriptionStarted {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The subscription.
    pub subscription_id: SubscriptionId,
    /// The plan.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub plan_id: String,
    /// When the trial ends, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial_end: Option<Timestamp>,
    /// When it happened.
    pub at: Timestamp,
}

/// A subscription moved from one plan to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "billing.subscription.changed.v1",
    owner = "billing-service",
    retention = "regulated",
    key = "{subscription_id}",
    idempotency = "{subscription_id}:changed:{at}"
)]
pub struct SubscriptionChanged {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The subscription.
    pub subscription_id: SubscriptionId,
    /// The plan before.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub from_plan_id: String,
    /// The plan now.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub to_plan_id: String,
    /// When it happened.
    pub at: Timestamp,
}
