//! The port of payment: what a rail is asked, what it answers, and what it tells by itself.
//!
//! Every call carries an idempotency key that is the same for every attempt. A rail MUST do what was asked under a key once, and
//! answer a repetition as it answered first; it MUST refuse a charge under a key that was voided before the charge came. With
//! these two a call that timed out is repeated, or given up and voided, and no guest pays twice or for nothing.
//!
//! A gateway's own reference stays behind this port: documents of this service keep it, no event carries it.
//!
//! Not here: cash, which asks nobody (`decide`); how a gateway is reached, signs and misbehaves (its client).

use std::pin::Pin;

use karwan::envelope::money::Money;
use karwan::{Refusal, TenantId};
use serde::{Deserialize, Serialize};

use super::PaymentFailure;
use crate::ids::{PaymentIntentId, PaymentMethodId, RefundId};

/// The name of the calls that charge a card: authorise, then capture.
pub const CHARGE: &str = "payment.charge";
/// The name of the calls that undo a charge of which nobody knows whether it was made.
pub const VOID: &str = "payment.void";
/// The name of the calls that give money back.
pub const REFUND: &str = "payment.refund";

/// What a rail decided. That it is against us is an answer, too: it would decide the same again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ruling<A> {
    /// It was done.
    Granted(A),
    /// It was not, and will not be.
    Declined(PaymentFailure),
}

/// An answer on its way: a ruling, or the reason why there is none ([`Refusal::Later`] where it may come another time).
pub type Asked<'a, A> = Pin<Box<dyn Future<Output = Result<Ruling<A>, Refusal>> + Send + 'a>>;

/// A way for money to travel that has somebody outside.
pub trait Rail: Send + Sync + 'static {
    /// Reserves an amount.
    fn authorise(&self, ask: Authorise) -> Asked<'_, Authorised>;

    /// Takes what was reserved.
    fn capture(&self, ask: Capture) -> Asked<'_, Captured>;

    /// Gives back some or all of what was taken.
    fn refund(&self, ask: Refund) -> Asked<'_, Refunded>;

    /// Undoes a charge, whatever became of it: what was taken under its key is given back, what was reserved is let go, and a
    /// charge that comes later under the key is refused. Never declined.
    fn void(&self, ask: Void) -> Asked<'_, Voided>;
}

/// Reserve an amount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Authorise {
    /// The same for every attempt; a capture of what is reserved has it, too.
    pub idempotency_key: String,
    /// Whose intent: webhooks about the charge say so.
    pub tenant: TenantId,
    /// The intent, for the gateway's books and for its webhooks.
    pub intent: PaymentIntentId,
    /// The stored method.
    pub method: PaymentMethodId,
    /// How much.
    pub amount: Money,
}

/// An amount is reserved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Authorised {
    /// The gateway's own reference of the charge.
    pub gateway_ref: String,
}

/// Take what was reserved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capture {
    /// The key under which it was reserved.
    pub idempotency_key: String,
    /// The gateway's reference of the charge.
    pub gateway_ref: String,
    /// How much; what was reserved.
    pub amount: Money,
}

/// An amount was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Captured {
    /// The gateway's reference of the charge.
    pub gateway_ref: String,
    /// How much was taken.
    pub amount: Money,
}

/// Give something back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refund {
    /// The same for every attempt at this refund, and another than the charge's.
    pub idempotency_key: String,
    /// The gateway's reference of the charge.
    pub gateway_ref: String,
    /// The refund, for the gateway's books and for its webhooks.
    pub refund: RefundId,
    /// How much.
    pub amount: Money,
}

/// Something was given back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refunded {
    /// The gateway's own reference of the refund.
    pub gateway_ref: String,
    /// How much was given back.
    pub amount: Money,
}

/// Undo a charge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Void {
    /// The key of the charge.
    pub charge_key: String,
    /// The intent.
    pub intent: PaymentIntentId,
}

/// A charge is undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Voided {
    /// How much had been taken and was given back; absent when nothing had.
    pub given_back: Option<Money>,
}

/// What a gateway tells by itself, through a webhook: any number of times, in any order, before or after the answer to the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// The gateway's id of the notice, the same when it is told again.
    pub notice_id: String,
    /// The intent it is about.
    pub intent: PaymentIntentId,
    /// What happened.
    pub told: Told,
}

/// What a notice says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Told {
    /// The amount was taken.
    Captured(Captured),
    /// The charge was declined.
    Declined(PaymentFailure),
    /// The amount was given back.
    Refunded {
        /// The refund.
        refund: RefundId,
        /// What was given back.
        done: Refunded,
    },
}
