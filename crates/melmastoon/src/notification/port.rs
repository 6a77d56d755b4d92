//! The port of messages: what a provider is asked to carry, what it answers, and what it tells by itself.
//!
//! Every attempt at one message carries the same idempotency key. A provider SHOULD carry a message under a key once; one that
//! cannot leaves a guest with the same text twice, which is the harm that is accepted here.
//!
//! A provider's own reference of a message stays behind this port: a document of this service keeps it, no event carries it.
//!
//! Not here: which message is sent to whom (`decide`), what it says (`templates`), how a provider is reached (its client).

use std::pin::Pin;

use karwan::envelope::time::Timestamp;
use karwan::{Refusal, TenantId};
use serde::{Deserialize, Serialize};

use super::events::{BounceReason, Channel};
use crate::ids::MessageId;
use crate::values::Locale;

/// The name of the calls that hand a message to a provider.
pub const SEND: &str = "notification.send";

/// What a provider decided. That it is against us is an answer, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ruling {
    /// It has the message, and tries to deliver it.
    Taken(Taken),
    /// It will never carry this message.
    Bounced(BounceReason),
}

/// An answer on its way: a ruling, or the reason why there is none ([`Refusal::Later`] where it may come another time).
pub type Asked<'a> = Pin<Box<dyn Future<Output = Result<Ruling, Refusal>> + Send + 'a>>;

/// Somebody who carries messages, on all channels that guests are written to.
pub trait Carrier: Send + Sync + 'static {
    /// Hands a message over.
    fn send(&self, message: Outgoing) -> Asked<'_>;
}

/// A message, ready to be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outgoing {
    /// The same for every attempt.
    pub idempotency_key: String,
    /// Whose message: webhooks about it say so.
    pub tenant: TenantId,
    /// The message, for the provider's books and for its webhooks.
    pub message: MessageId,
    /// The way it goes.
    pub channel: Channel,
    /// Where it goes: an address for mail, a number in E.164 form for everything else.
    pub to: String,
    /// The language of the text.
    pub locale: Locale,
    /// The subject of a mail; absent on other channels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The text.
    pub text: String,
}

/// A provider has a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Taken {
    /// The provider, such as `sandbox`: snake_case.
    pub provider: String,
    /// Its own reference of the message.
    pub provider_ref: String,
}

/// What a provider tells by itself, through a webhook: any number of times, in any order, before or after the answer to the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// The provider's id of the notice, the same when it is told again.
    pub notice_id: String,
    /// The message it is about.
    pub message: MessageId,
    /// When it happened, by the provider's clock.
    pub at: Timestamp,
    /// What happened.
    pub told: Told,
}

/// What a notice says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Told {
    /// It arrived.
    Delivered,
    /// It did not.
    Bounced(BounceReason),
}
