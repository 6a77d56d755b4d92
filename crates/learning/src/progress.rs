//! xAPI statements, attempts and completions.

use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{AttemptId, EnrollmentId, StatementId, TenantId};
use crate::text::literals;
use crate::types::LABEL_MAX;
use crate::xapi::{Actor, StatementObject, StatementResult, Verb};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![StatementRecorded, AttemptClosed, CompletionRecorded].into()
}

/// An xAPI statement about an attempt was stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "progress.statement.recorded.v1",
    owner = "progress-service",
    retention = "regulated",
    key = "{attempt_id}",
    idempotency = "{statement_id}:recorded"
)]
pub struct StatementRecorded {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The attempt.
    pub attempt_id: AttemptId,
    /// The statement.
    pub statement_id: StatementId,
    /// Who did it.
    #[schemars(extend("x-pii" = "identifier"))]
    pub actor: Actor,
    /// What they did.
    pub verb: Verb,
    /// To what.
    pub object: StatementObject,
    /// With what result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<StatementResult>,
    /// When it was done.
    pub timestamp: Timestamp,
    /// When it was stored.
    pub stored: Timestamp,
    /// The cmi5 session, when the content is launched that way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cmi5: Option<Cmi5Session>,
}

/// The cmi5 session of a statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cmi5Session {
    /// The session.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub session_id: String,
    /// The registration.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub registration: String,
}

/// An attempt ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "progress.attempt.closed.v1",
    owner = "progress-service",
    retention = "regulated",
    key = "{attempt_id}",
    idempotency = "{attempt_id}:closed"
)]
pub struct AttemptClosed {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The attempt.
    pub attempt_id: AttemptId,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// The score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// When it ended.
    pub closed_at: Timestamp,
}

/// The outcome of an enrolment was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "progress.completion.recorded.v1",
    owner = "progress-service",
    retention = "regulated",
    scope = "integration",
    key = "{enrollment_id}",
    idempotency = "{enrollment_id}:completion:{attempt_id}"
)]
pub struct CompletionRecorded {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The enrolment.
    pub enrollment_id: EnrollmentId,
    /// The attempt that decided it.
    pub attempt_id: AttemptId,
    /// How it ended.
    pub outcome: CompletionOutcome,
    /// The score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// When it was completed.
    pub completed_at: Timestamp,
}

literals! {
    /// How an attempt ended.
    AttemptOutcome {
        /// Passed.
        Passed = "passed",
        /// Failed.
        Failed = "failed",
        /// Ended before its end was reached.
        Incomplete = "incomplete",
        /// Left and never taken up again.
        Abandoned = "abandoned",
    }

    /// How an enrolment ended.
    CompletionOutcome {
        /// Passed.
        Passed = "passed",
        /// Failed.
        Failed = "failed",
    }
}
