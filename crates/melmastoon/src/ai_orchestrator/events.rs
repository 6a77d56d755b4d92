//! What models produced, and what people decided about it. Which model, prompt and input is in the envelope's
//! `metadata.aiProvenance`, mandatory on every event here.
//!
//! Not here: prompts and outputs. An output is a stored file or a hash; neither goes through the log.

use karwan::Event;
use karwan::envelope::money::Money;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{
    AnomalyId, CompletionId, DeviceId, FileId, HumanDecisionId, KeyCredentialId, LockDeviceId, PaymentIntentId,
    PropertyId, ReservationId, UserId,
};
use crate::values::StaffRole;

/// A completion of a language model finished, with its provenance.
///
/// Decided here: the suggestions stream filters by role and property, and cost is counted per use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.ai_orchestrator.completion.completed.v1",
    owner = "ai-orchestrator-service",
    retention = "cold",
    key = "{completion_id}",
    idempotency = "{completion_id}:completed",
    ai_provenance = "metadata",
    decided_here
)]
pub struct CompletionCompleted {
    /// The completion.
    pub completion_id: CompletionId,
    /// What it was asked for.
    pub use_case: AiUseCase,
    /// The property it is about; absent when it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property_id: Option<PropertyId>,
    /// The stay it is about; absent when it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<ReservationId>,
    /// Who asked; absent when a service did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub requested_by: Option<UserId>,
    /// Who may see it as a suggestion; empty when it is none.
    #[schemars(length(max = 20))]
    pub audience: Vec<StaffRole>,
    /// Where the output is kept; absent when it was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_file_id: Option<FileId>,
    /// The hash of the output.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub output_hash: String,
    /// Whether the model was cut off at its limit.
    pub truncated: bool,
    /// Whether a person has to decide before anything follows from it.
    pub decision_required: bool,
    /// Tokens read.
    pub input_tokens: u32,
    /// Tokens written.
    pub output_tokens: u32,
    /// What it cost; absent for a model of our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// How long it took, in milliseconds.
    pub latency_ms: u32,
    /// When it finished.
    pub completed_at: Timestamp,
}

/// Moderation refused a completion, before or after the model ran.
///
/// Decided here: names the policy and the categories, never the text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.ai_orchestrator.completion.refused.v1",
    owner = "ai-orchestrator-service",
    retention = "cold",
    key = "{completion_id}",
    idempotency = "{completion_id}:refused",
    ai_provenance = "metadata",
    decided_here
)]
pub struct CompletionRefused {
    /// The completion.
    pub completion_id: CompletionId,
    /// What it was asked for.
    pub use_case: AiUseCase,
    /// The property it is about; absent when it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property_id: Option<PropertyId>,
    /// Who asked; absent when a service did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub requested_by: Option<UserId>,
    /// Whether the input or the output was refused.
    pub stage: ModerationStage,
    /// What it was refused for.
    #[schemars(length(min = 1, max = 20))]
    pub categories: Vec<ModerationCategory>,
    /// The policy that refused it.
    #[schemars(length(min = 1, max = 100))]
    pub policy_version: String,
    /// When it was refused.
    pub refused_at: Timestamp,
}

/// An inference that ran on a device was recorded.
///
/// Decided here: the device mints the id, so a replay after an offline spell gives the same key and is recorded once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.ai_orchestrator.inference.local_completed.v1",
    owner = "ai-orchestrator-service",
    retention = "cold",
    key = "{inference_id}",
    idempotency = "{inference_id}:local_completed",
    ai_provenance = "metadata",
    decided_here
)]
pub struct LocalInferenceCompleted {
    /// The inference, minted on the device.
    pub inference_id: CompletionId,
    /// The device it ran on.
    pub device_id: DeviceId,
    /// Its place among the device's inferences, so that a gap is seen.
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_u64))]
    pub device_sequence: u64,
    /// What it was asked for.
    pub use_case: AiUseCase,
    /// The property; absent for a device that is bound to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property_id: Option<PropertyId>,
    /// The stay it is about; absent when it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<ReservationId>,
    /// The hash of the model file that ran.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub model_hash: String,
    /// The hash of the output.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub output_hash: String,
    /// How long it took, in milliseconds.
    pub latency_ms: u32,
    /// When it ran, by the device's clock.
    pub inferred_at: Timestamp,
    /// When the cloud recorded it.
    pub recorded_at: Timestamp,
}

/// An anomaly was detected in a booking, a payment or at a lock.
///
/// Decided here: points at what is strange and says what should follow, so that the check-in board can show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.ai_orchestrator.anomaly.detected.v1",
    owner = "ai-orchestrator-service",
    retention = "cold",
    key = "{anomaly_id}",
    idempotency = "{anomaly_id}:detected",
    ai_provenance = "metadata",
    decided_here
)]
pub struct AnomalyDetected {
    /// The anomaly.
    pub anomaly_id: AnomalyId,
    /// What is strange.
    pub about: AnomalySubject,
    /// The property; absent when it concerns the whole tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property_id: Option<PropertyId>,
    /// The stay on whose card the board shows it; absent when it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<ReservationId>,
    /// The pattern that was recognised, such as `many_cards_one_guest`.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]*$"), length(max = 100))]
    pub pattern: String,
    /// How bad it is.
    pub severity: AnomalySeverity,
    /// How sure the model is, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub score_pct: u8,
    /// One sentence for a person.
    #[schemars(length(min = 1, max = 500), extend("x-pii" = "free_text"))]
    pub explanation: String,
    /// What should follow; nothing follows without a decision.
    pub proposed_action: ProposedAction,
    /// When it was detected.
    pub detected_at: Timestamp,
}

/// A person decided about what a model proposed.
///
/// Decided here: names the proposal, the person and the action, which is what an irreversible step is checked against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.ai_orchestrator.hitl.decided.v1",
    owner = "ai-orchestrator-service",
    retention = "cold",
    key = "{decision_id}",
    idempotency = "{decision_id}:decided",
    ai_provenance = "metadata",
    decided_here
)]
pub struct HumanDecided {
    /// The decision.
    pub decision_id: HumanDecisionId,
    /// What was decided about.
    pub proposal: Proposal,
    /// The property; absent when it concerns the whole tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property_id: Option<PropertyId>,
    /// What was decided.
    pub verdict: Verdict,
    /// What follows from it.
    pub action: ProposedAction,
    /// Whether the action cannot be undone, so that the person needed the authority for it.
    pub irreversible: bool,
    /// Who decided.
    #[schemars(extend("x-pii" = "identifier"))]
    pub decided_by: UserId,
    /// In which role.
    pub role: StaffRole,
    /// Why, in the person's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1000), extend("x-pii" = "free_text"))]
    pub reason: Option<String>,
    /// When it was proposed.
    pub proposed_at: Timestamp,
    /// When it was decided.
    pub decided_at: Timestamp,
}

/// What a model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AiUseCase {
    /// Suggest a price.
    PricingSuggestion,
    /// Plan housekeeping.
    HousekeepingPlan,
    /// Draft an answer to a guest.
    GuestReply,
    /// Translate.
    Translation,
    /// Describe a property or a room.
    ListingText,
    /// Summarise reviews.
    ReviewSummary,
    /// Look for what is strange.
    AnomalyDetection,
    /// Read a document.
    DocumentReading,
}

/// Where moderation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModerationStage {
    /// Before the model: the input.
    Pre,
    /// After the model: the output.
    Post,
}

/// What moderation refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModerationCategory {
    /// Personal data that has no place there.
    PersonalData,
    /// Hate.
    Hate,
    /// Harassment.
    Harassment,
    /// Sexual content.
    Sexual,
    /// Violence.
    Violence,
    /// Instructions smuggled into the input.
    PromptInjection,
    /// Nothing that this use case is for.
    OffTopic,
    /// A claim that the data does not bear out.
    Ungrounded,
}

/// What is strange.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AnomalySubject {
    /// A booking.
    Booking {
        /// The reservation.
        reservation_id: ReservationId,
    },
    /// A payment.
    Payment {
        /// The intent.
        #[schemars(extend("x-payment" = "reference"))]
        payment_intent_id: PaymentIntentId,
    },
    /// The use of a key.
    KeyCredential {
        /// The credential.
        key_credential_id: KeyCredentialId,
    },
    /// A lock.
    Lock {
        /// The lock.
        device_id: LockDeviceId,
    },
}

/// How bad an anomaly is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnomalySeverity {
    /// To know.
    Info,
    /// To look at.
    Warning,
    /// To act upon.
    Critical,
}

/// What should follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProposedAction {
    /// Nothing.
    None,
    /// A person looks at it.
    Review,
    /// Flag the booking as fraud.
    FlagFraud,
    /// Suspend the key.
    SuspendKey,
    /// Hold the payment.
    HoldPayment,
    /// Apply the suggested price.
    ApplyPrice,
    /// Apply the suggested plan.
    ApplyPlan,
    /// Send the drafted text.
    SendText,
    /// Publish the drafted text.
    PublishText,
}

/// What a person decides about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Proposal {
    /// A completion.
    Completion {
        /// The completion.
        completion_id: CompletionId,
    },
    /// An anomaly.
    Anomaly {
        /// The anomaly.
        anomaly_id: AnomalyId,
    },
}

/// What a person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As proposed.
    Approved,
    /// With changes.
    ApprovedWithChanges,
    /// Not at all.
    Rejected,
}
