//! Playing a course, online and offline.

use karwan_envelope::row::AiProvenance;
use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{BundleId, CourseVersionId, DeviceId, EnrollmentId, PlaySessionId, TenantId, UserId};
use crate::text::literals;
use crate::types::{LABEL_MAX, LIST_MAX, TEXT_MAX};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![PlaySessionStarted, NavigationCursorMoved, AssistantTurnCompleted, OfflineTamperDetected].into()
}

/// A learner began to play a course on a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "delivery.play_session.started.v1",
    owner = "delivery-service",
    retention = "operational",
    key = "{play_session_id}",
    idempotency = "{play_session_id}:started"
)]
pub struct PlaySessionStarted {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The play session.
    pub play_session_id: PlaySessionId,
    /// The learner.
    pub user_id: UserId,
    /// The enrolment.
    pub enrollment_id: EnrollmentId,
    /// The version of the course.
    pub course_version_id: CourseVersionId,
    /// The device.
    pub device_id: DeviceId,
    /// The mounted offline bundle, when played offline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub offline_mount_id: Option<String>,
    /// When it happened.
    pub at: Timestamp,
}

/// A learner moved to another place of the course.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "delivery.navigation.cursor_moved.v1",
    owner = "delivery-service",
    retention = "operational",
    key = "{play_session_id}",
    idempotency = "{play_session_id}:cursor_moved:{at}"
)]
pub struct NavigationCursorMoved {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The play session.
    pub play_session_id: PlaySessionId,
    /// The new place.
    pub cursor: Cursor,
    /// When it happened.
    pub at: Timestamp,
}

/// A place in a course.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cursor {
    /// The module.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub module_id: String,
    /// The lesson.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub lesson_id: String,
    /// The block, when the place is that precise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub block_id: Option<String>,
    /// The choices that led there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LIST_MAX), inner(length(min = 1, max = LABEL_MAX)))]
    pub branch_path: Option<Vec<String>>,
}

/// The AI assistant answered a learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "delivery.assistant.turn.completed.v1",
    owner = "delivery-service",
    retention = "operational",
    ai_provenance = "payload",
    key = "{play_session_id}",
    idempotency = "{play_session_id}:{turn_id}:completed"
)]
pub struct AssistantTurnCompleted {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The play session.
    pub play_session_id: PlaySessionId,
    /// The turn of the conversation.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub turn_id: String,
    /// The beginning of what the learner asked.
    #[schemars(length(min = 1, max = TEXT_MAX), extend("x-pii" = "free_text"))]
    pub prompt_excerpt: String,
    /// Which model produced it, from what, and who answers for it.
    pub ai_provenance: AiProvenance,
    /// What the learner thought of it, if they said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<TurnRating>,
    /// When it happened.
    pub at: Timestamp,
}

/// A device reported that its offline bundle was tampered with.
///
/// Delivery reports; `content.play_package.tamper_detected.v1` records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "delivery.offline.bundle.tamper_detected.v1",
    owner = "delivery-service",
    retention = "operational",
    key = "{bundle_id}",
    idempotency = "{bundle_id}:tamper_reported:{device_id}:{at}"
)]
pub struct OfflineTamperDetected {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The bundle.
    pub bundle_id: BundleId,
    /// The device.
    pub device_id: DeviceId,
    /// When it happened.
    pub at: Timestamp,
}

literals! {
    /// What the learner thought of an answer.
    TurnRating {
        /// It helped.
        Helpful = "helpful",
        /// It did not.
        Unhelpful = "unhelpful",
    }
}
