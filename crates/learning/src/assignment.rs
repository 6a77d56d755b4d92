//! Recurring duties and their compliance windows; owner of the compliance window saga.

use karwan_envelope::row::AiProvenance;
use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{AssignmentId, AttemptId, CourseId, OrgUnitId, RoleId, TenantId, UserId};
use crate::types::{LABEL_MAX, LIST_MAX, RRule, TEXT_MAX};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![
        ComplianceWindowOpened,
        ComplianceWindowCompleted,
        ComplianceWindowOverdue,
        AssignmentRecommendationGenerated
    ]
    .into()
}

/// An occurrence of a recurring assignment fell due to be done by a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "assignment.compliance_window.opened.v1",
    owner = "assignment-service",
    retention = "operational",
    key = "{window_id}",
    idempotency = "{window_id}:opened:{user_id}"
)]
pub struct ComplianceWindowOpened {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The assignment.
    pub assignment_id: AssignmentId,
    /// The compliance window.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub window_id: String,
    /// The user.
    pub user_id: UserId,
    /// When the occurrence begins.
    pub occurrence_start: Timestamp,
    /// By when it is to be done.
    pub due_at: Timestamp,
    /// Until when completion is still accepted.
    pub grace_until: Timestamp,
}

/// A user passed the course of a compliance window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "assignment.compliance_window.completed.v1",
    owner = "assignment-service",
    retention = "operational",
    key = "{window_id}",
    idempotency = "{window_id}:completed:{user_id}"
)]
pub struct ComplianceWindowCompleted {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The assignment.
    pub assignment_id: AssignmentId,
    /// The compliance window.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub window_id: String,
    /// The user.
    pub user_id: UserId,
    /// When it was completed.
    pub completed_at: Timestamp,
    /// The attempt that passed.
    pub attempt_id: AttemptId,
}

/// A compliance window passed its due time without completion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "assignment.compliance_window.overdue.v1",
    owner = "assignment-service",
    retention = "operational",
    key = "{window_id}",
    idempotency = "{window_id}:overdue:{user_id}"
)]
pub struct ComplianceWindowOverdue {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The assignment.
    pub assignment_id: AssignmentId,
    /// The compliance window.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub window_id: String,
    /// The user.
    pub user_id: UserId,
    /// Until when completion is still accepted.
    pub grace_until: Timestamp,
}

/// An AI proposed courses to assign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "assignment.recommendation.generated.v1",
    owner = "assignment-service",
    retention = "operational",
    ai_provenance = "payload",
    key = "{recommendation_id}",
    idempotency = "{recommendation_id}:generated"
)]
pub struct AssignmentRecommendationGenerated {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The recommendation.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub recommendation_id: String,
    /// For whom.
    pub scope: RecommendationScope,
    /// What is proposed.
    #[schemars(length(max = LIST_MAX))]
    pub items: Vec<RecommendedCourse>,
    /// Which model produced it, from what, and who answers for it.
    pub ai_provenance: AiProvenance,
}

/// For whom courses were proposed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecommendationScope {
    /// The unit, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org_unit_id: Option<OrgUnitId>,
    /// The role, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_id: Option<RoleId>,
}

/// A course that the AI proposes to assign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecommendedCourse {
    /// The course.
    pub course_id: CourseId,
    /// How often, if it is to recur.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rrule: Option<RRule>,
    /// Why the AI says so.
    #[schemars(length(min = 1, max = TEXT_MAX), extend("x-pii" = "free_text"))]
    pub rationale: String,
}
