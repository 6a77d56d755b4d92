//! The lock vendors: their failures, their webhooks, and the circuit breaker before each adapter.

use std::fmt;
use std::str::FromStr;

use karwan::Event;
use karwan::envelope::ids::BadId;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{KeyCredentialId, LockDeviceId, PropertyId, ReservationId, RoomId, VendorAdapterId, VendorWebhookId};

/// A call to a lock vendor failed.
///
/// Decided here: every failed call is told, not only the last; `next_attempt_at` is absent exactly when no other attempt
/// follows, which is what sends a key to the manual front-desk queue. The key of an event about a credential is that
/// credential, so that a reader sees `requested`, the errors and `failed` in this order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.vendor.error.v1",
    owner = "lock-integration-service",
    retention = "cold",
    key = "{target_id}",
    idempotency = "{operation_key}:error:{attempt}",
    decided_here
)]
pub struct VendorErrorRecorded {
    /// The credential or lock that the call was about.
    pub target_id: VendorTarget,
    /// The adapter that called.
    pub vendor_adapter_id: VendorAdapterId,
    /// Whom it called.
    pub vendor: LockVendor,
    /// What it asked for.
    pub operation: VendorOperation,
    /// The stable key under which the vendor was called: every attempt of one operation has the same.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub operation_key: String,
    /// The property whose front desk has to help.
    pub property_id: PropertyId,
    /// The stay that waits for it, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<ReservationId>,
    /// The rooms that a mechanical key must open meanwhile.
    #[schemars(length(max = 50))]
    pub rooms: Vec<RoomId>,
    /// What went wrong.
    pub failure: VendorFailure,
    /// What the vendor said, scrubbed of personal data and credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500), extend("x-pii" = "free_text"))]
    pub vendor_message: Option<String>,
    /// Which attempt failed, counted from one.
    #[schemars(range(min = 1, max = 100))]
    pub attempt: u32,
    /// How many attempts the policy allows.
    #[schemars(range(min = 1, max = 100))]
    pub attempts_max: u32,
    /// When the next attempt is due; absent when there is none, and a person has to act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// When the call failed.
    pub failed_at: Timestamp,
}

/// A vendor's webhook came in, and was recorded before it was dispatched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.vendor_webhook.received.v1",
    aliases("melmastoon.lock.vendor_webhook.received.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    key = "{webhook_id}",
    idempotency = "{webhook_id}:received"
)]
pub struct VendorWebhookReceived {
    /// This receipt; a redelivery is another.
    pub webhook_id: VendorWebhookId,
    /// Who sent it.
    pub vendor: LockVendor,
    /// The vendor's name for what it reports, opaque; a redelivery has the same.
    #[schemars(length(min = 1, max = 200))]
    pub external_event_id: String,
    /// What it reports, such as `access.granted`.
    #[serde(rename = "type")]
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]*([.][a-z][a-z0-9_]*)*$"), length(max = 100))]
    pub webhook_type: String,
    /// When it came in.
    pub received_at: Timestamp,
    /// Whether its signature was good; one that was not is never dispatched.
    pub signature_ok: bool,
}

/// A vendor's webhook was processed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.vendor_webhook.processed.v1",
    aliases("melmastoon.lock.vendor_webhook.processed.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    key = "{webhook_id}",
    idempotency = "{webhook_id}:processed"
)]
pub struct VendorWebhookProcessed {
    /// The receipt.
    pub webhook_id: VendorWebhookId,
    /// Who sent it.
    pub vendor: LockVendor,
    /// What it reported, such as `access.granted`.
    #[serde(rename = "type")]
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]*([.][a-z][a-z0-9_]*)*$"), length(max = 100))]
    pub webhook_type: String,
    /// What became of it.
    pub outcome: WebhookOutcome,
    /// When it was processed.
    pub processed_at: Timestamp,
}

/// The circuit breaker of a vendor adapter changed its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.vendor_adapter.health_changed.v1",
    aliases("melmastoon.lock.vendor_adapter.health_changed.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    key = "{vendor_adapter_id}",
    idempotency = "{vendor_adapter_id}:health:{changed_at}"
)]
pub struct AdapterHealthChanged {
    /// The adapter.
    pub vendor_adapter_id: VendorAdapterId,
    /// Whom it calls.
    pub vendor: LockVendor,
    /// Which of the vendor's systems.
    pub environment: VendorEnvironment,
    /// The state before.
    pub from: BreakerState,
    /// The state after.
    pub to: BreakerState,
    /// Why it changed.
    pub reason: BreakerReason,
    /// What the decision was made from.
    pub metric: BreakerMetric,
    /// When it changed.
    pub changed_at: Timestamp,
}

/// Who makes a lock, or the protocol it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LockVendor {
    /// TTLock.
    #[serde(rename = "ttlock")]
    TtLock,
    /// Salto.
    Salto,
    /// Assa Abloy.
    AssaAbloy,
    /// Any controller that speaks Wiegand.
    Wiegand,
}

/// What an adapter asks a vendor for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VendorOperation {
    /// Issue a key.
    Issue,
    /// Change a key.
    Update,
    /// Revoke a key.
    Revoke,
    /// Suspend a key.
    Suspend,
    /// Take a suspended key up again.
    Unsuspend,
    /// Pair a lock.
    PairDevice,
    /// Ask a lock how it is.
    HealthCheck,
}

/// What went wrong in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VendorFailure {
    /// No connection.
    Unreachable,
    /// No answer in time.
    TimedOut,
    /// Too many calls.
    RateLimited,
    /// The vendor does not accept our credentials.
    Unauthorised,
    /// The vendor refused what was asked.
    Rejected,
    /// The vendor could not reach the lock.
    DeviceOffline,
    /// The answer could not be understood.
    MalformedAnswer,
    /// Not called: the breaker is open.
    BreakerOpen,
}

/// What became of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookOutcome {
    /// It changed something.
    Applied,
    /// It had come before.
    Duplicate,
    /// It is about nothing of ours.
    Ignored,
}

/// Which of a vendor's systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VendorEnvironment {
    /// The one with real doors.
    Production,
    /// The one for trials.
    Sandbox,
}

/// The state of a circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BreakerState {
    /// Calls go through.
    Closed,
    /// Calls are refused at once.
    Open,
    /// A few calls try whether the vendor is back.
    HalfOpen,
}

/// Why a breaker changed its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BreakerReason {
    /// Too many calls failed.
    ErrorRateThreshold,
    /// It was open long enough to try again.
    CoolDownElapsed,
    /// A trial call succeeded.
    ProbeSucceeded,
    /// A trial call failed.
    ProbeFailed,
    /// An operator did it.
    Operator,
}

/// What a breaker decides from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakerMetric {
    /// The share of failed calls, in percent.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub error_rate_pct: f64,
    /// Among how many calls.
    #[schemars(range(min = 1, max = 100_000))]
    pub window_size: u32,
}

/// What a call to a vendor is about: `key_<ulid>` or `lck_<ulid>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = "^(key|lck)_[0-7][0-9A-HJKMNP-TV-Z]{25}$"))]
pub enum VendorTarget {
    /// A credential.
    Credential(KeyCredentialId),
    /// A lock.
    Device(LockDeviceId),
}

impl fmt::Display for VendorTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Credential(id) => id.fmt(f),
            Self::Device(id) => id.fmt(f),
        }
    }
}

impl FromStr for VendorTarget {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        if text.starts_with("lck_") { text.parse().map(Self::Device) } else { text.parse().map(Self::Credential) }
    }
}

impl TryFrom<String> for VendorTarget {
    type Error = BadId;

    fn try_from(text: String) -> Result<Self, BadId> {
        text.parse()
    }
}

impl From<VendorTarget> for String {
    fn from(target: VendorTarget) -> Self {
        target.to_string()
    }
}
