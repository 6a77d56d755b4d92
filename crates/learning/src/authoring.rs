//! Drafts of courses, and what AI writes into them.

use karwan_envelope::row::AiProvenance;
use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{BlockId, CourseDraftId, CourseId, LessonId, TenantId, UserId};
use crate::text::literals;
use crate::types::{I18nString, INTEGER_MAX, LABEL_MAX, Locale, SemVer};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![DraftCreated, BlockAdded, BlockAiGenerated, BlockAiAccepted, CourseDraftPublished].into()
}

/// An author began the draft of a course.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "authoring.draft.created.v1",
    owner = "authoring-service",
    retention = "operational",
    key = "{course_draft_id}",
    idempotency = "{course_draft_id}:created"
)]
pub struct DraftCreated {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The draft.
    pub course_draft_id: CourseDraftId,
    /// Its title, by locale.
    pub title: I18nString,
    /// The locale that others fall back to.
    pub default_locale: Locale,
    /// Who created it.
    pub created_by: UserId,
    /// When it happened.
    pub at: Timestamp,
}

/// A block was added to a lesson of a draft, by an author or by an AI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "authoring.draft.block.added.v1",
    owner = "authoring-service",
    retention = "operational",
    ai_provenance = "payload_optional",
    key = "{course_draft_id}",
    idempotency = "{block_id}:added"
)]
pub struct BlockAdded {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The draft.
    pub course_draft_id: CourseDraftId,
    /// The lesson.
    pub lesson_id: LessonId,
    /// The block.
    pub block_id: BlockId,
    /// The kind of block.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub kind: String,
    /// Who wrote it.
    pub status: BlockStatus,
    /// Which model wrote it, when one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ai_provenance: Option<AiProvenance>,
    /// When it happened.
    pub at: Timestamp,
}

/// An AI wrote the content of a block.
///
/// Ordered by block, as its acceptance is, which does not name the draft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "authoring.draft.ai.block_generated.v1",
    owner = "authoring-service",
    retention = "operational",
    key = "{block_id}",
    idempotency = "{block_id}:ai_generated:{trace_id}"
)]
pub struct BlockAiGenerated {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The draft.
    pub course_draft_id: CourseDraftId,
    /// The block.
    pub block_id: BlockId,
    /// The prompt in the prompt registry.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub prompt_id: String,
    /// Its version.
    pub prompt_version: SemVer,
    /// The trace of the call.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub trace_id: String,
    /// Whether the model ran on the device.
    pub local: bool,
    /// When it happened.
    pub at: Timestamp,
}

/// A reviewer accepted a block that an AI wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "authoring.draft.ai.block_accepted.v1",
    owner = "authoring-service",
    retention = "operational",
    key = "{block_id}",
    idempotency = "{block_id}:ai_accepted:{decision_id}"
)]
pub struct BlockAiAccepted {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The block.
    pub block_id: BlockId,
    /// Who accepted it.
    pub reviewed_by: UserId,
    /// The human decision about it.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub decision_id: String,
    /// When it happened.
    pub at: Timestamp,
}

/// An approved draft was handed over to be built and published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "authoring.course_draft.published.v1",
    owner = "authoring-service",
    retention = "operational",
    key = "{course_draft_id}",
    idempotency = "{course_draft_id}:published:{draft_version}"
)]
pub struct CourseDraftPublished {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The draft.
    pub course_draft_id: CourseDraftId,
    /// The course it becomes a version of.
    pub course_id: CourseId,
    /// Which state of the draft was published.
    #[schemars(range(max = INTEGER_MAX))]
    pub draft_version: u64,
    /// Who published it.
    pub published_by: UserId,
    /// When it happened.
    pub at: Timestamp,
}

literals! {
    /// Who wrote a block.
    BlockStatus {
        /// An author.
        Draft = "draft",
        /// An AI; it waits for a reviewer.
        DraftAi = "draft_ai",
    }
}
