//! Who takes which course. Its subjects have no aggregate segment: the service is the aggregate.

use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{AttemptId, CourseId, CourseVersionId, EnrollmentId, TenantId, UserId};
use crate::text::literals;
use crate::types::{LABEL_MAX, TEXT_MAX};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![EnrollmentCreated, EnrollmentCompleted, EnrollmentRevoked].into()
}

/// A learner was enrolled in a version of a course.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "enrollment.created.v1",
    owner = "enrollment-service",
    retention = "regulated",
    scope = "integration",
    key = "{enrollment_id}",
    idempotency = "{enrollment_id}:created"
)]
pub struct EnrollmentCreated {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The enrolment.
    pub enrollment_id: EnrollmentId,
    /// The learner.
    pub user_id: UserId,
    /// The course.
    pub course_id: CourseId,
    /// The version of the course.
    pub course_version_id: CourseVersionId,
    /// Where it comes from.
    pub source: EnrollmentSource,
    /// When it happened.
    pub at: Timestamp,
}

/// Where an enrolment comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnrollmentSource {
    /// What led to it.
    pub kind: EnrollmentSourceKind,
    /// The window, licence, order or decision behind it.
    #[serde(rename = "ref")]
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub reference: String,
}

/// A learner completed the course of an enrolment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "enrollment.completed.v1",
    owner = "enrollment-service",
    retention = "regulated",
    key = "{enrollment_id}",
    idempotency = "{enrollment_id}:completed:{attempt_id}"
)]
pub struct EnrollmentCompleted {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The enrolment.
    pub enrollment_id: EnrollmentId,
    /// When it was completed.
    pub completed_at: Timestamp,
    /// The attempt that completed it.
    pub attempt_id: AttemptId,
    /// The score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// An enrolment was taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "enrollment.revoked.v1",
    owner = "enrollment-service",
    retention = "regulated",
    key = "{enrollment_id}",
    idempotency = "{enrollment_id}:revoked"
)]
pub struct EnrollmentRevoked {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The enrolment.
    pub enrollment_id: EnrollmentId,
    /// Why.
    #[schemars(length(min = 1, max = TEXT_MAX), extend("x-pii" = "free_text"))]
    pub reason: String,
    /// When it happened.
    pub at: Timestamp,
}

literals! {
    /// What led to an enrolment.
    EnrollmentSourceKind {
        /// An assignment; the reference is the compliance window.
        Assignment = "assignment",
        /// A purchase; the reference is the licence or order.
        Purchase = "purchase",
        /// An administrator enrolled the learner.
        Manual = "manual",
        /// The learner enrolled.
        SelfSignup = "self_signup",
    }
}
