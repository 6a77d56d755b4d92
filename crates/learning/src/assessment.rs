//! Scores and grades.

use karwan_envelope::row::AiProvenance;
use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{AttemptId, TenantId};
use crate::types::{INTEGER_MAX, LABEL_MAX, TEXT_MAX};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![AttemptScored, ShortAnswerAiGraded].into()
}

/// A quiz or scenario of an attempt was scored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "assessment.attempt.scored.v1",
    owner = "assessment-service",
    retention = "regulated",
    key = "{attempt_id}",
    idempotency = "{attempt_id}:scored:{at}"
)]
pub struct AttemptScored {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The attempt.
    pub attempt_id: AttemptId,
    /// The quiz bank, if it was a quiz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub quiz_bank_id: Option<String>,
    /// The scenario, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub scenario_id: Option<String>,
    /// The score, from -1 to 1 as in xAPI.
    #[schemars(range(min = -1.0, max = 1.0))]
    pub scaled_score: f64,
    /// Whether it was passed.
    pub passed: bool,
    /// How long it took, in seconds.
    #[schemars(range(max = INTEGER_MAX))]
    pub duration_seconds: u64,
    /// When it happened.
    pub at: Timestamp,
}

/// An AI graded a short answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "assessment.short_answer.ai_graded.v1",
    owner = "assessment-service",
    retention = "regulated",
    ai_provenance = "payload",
    key = "{attempt_id}",
    idempotency = "{attempt_id}:{question_id}:ai_graded:{at}"
)]
pub struct ShortAnswerAiGraded {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The attempt.
    pub attempt_id: AttemptId,
    /// The question.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub question_id: String,
    /// The score.
    pub score: f64,
    /// How sure the model is, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
    /// Why the AI says so.
    #[schemars(length(min = 1, max = TEXT_MAX), extend("x-pii" = "free_text"))]
    pub rationale: String,
    /// Which model produced it, from what, and who answers for it.
    pub ai_provenance: AiProvenance,
    /// When it happened.
    pub at: Timestamp,
}
