//! The AI gateway: calls, refusals, safety and budgets.

use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{CompletionId, DeviceId, TenantId, UserId};
use crate::text::literals;
use crate::types::{INTEGER_MAX, LABEL_MAX, SafetyCategory, SafetyVerdict, SemVer, Sha256};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![AiCallCompleted, AiCallRefused, AiLocalInferenceCompleted, AiSafetyFlagRaised, AiBudgetExceeded].into()
}

/// A model answered a call through the gateway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "ai.gateway.call.completed.v1",
    owner = "ai-gateway-service",
    retention = "regulated",
    key = "{completion_id}",
    idempotency = "{completion_id}:completed"
)]
pub struct AiCallCompleted {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The completion.
    pub completion_id: CompletionId,
    /// The user.
    pub user_id: UserId,
    /// The prompt in the prompt registry, if it is a registered one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub prompt_id: Option<String>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_version: Option<SemVer>,
    /// The model.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub model_id: String,
    /// How many tokens it took.
    pub tokens: TokenCount,
    /// What it cost, in millionths of a US dollar.
    #[serde(rename = "costMicroUSD")]
    #[schemars(range(max = INTEGER_MAX))]
    pub cost_micro_usd: u64,
    /// Whether the answer came from the cache.
    pub cache_hit: bool,
    /// What the safety checks said.
    pub safety: CallSafety,
    /// How long the answer took, in milliseconds.
    #[schemars(range(max = INTEGER_MAX))]
    pub latency_ms: u64,
    /// The trace of the call.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub trace_id: String,
    /// The human decision it serves, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub decision_id: Option<String>,
    /// When it happened.
    pub at: Timestamp,
}

/// How many tokens a call took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenCount {
    /// Tokens of the prompt.
    #[serde(rename = "in")]
    #[schemars(range(max = INTEGER_MAX))]
    pub input: u64,
    /// Tokens of the answer.
    #[serde(rename = "out")]
    #[schemars(range(max = INTEGER_MAX))]
    pub output: u64,
}

/// What the safety checks said about a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallSafety {
    /// About the prompt.
    pub input: SafetyVerdict,
    /// About the answer.
    pub output: SafetyVerdict,
}

/// The gateway refused to pass a call to a model or its answer back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "ai.gateway.call.refused.v1",
    owner = "ai-gateway-service",
    retention = "regulated",
    key = "{user_id}",
    idempotency = "{user_id}:call_refused:{reason}:{at}"
)]
pub struct AiCallRefused {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The user.
    pub user_id: UserId,
    /// Why.
    pub reason: RefusalReason,
    /// What the safety check found, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub category: Option<String>,
    /// When it happened.
    pub at: Timestamp,
}

/// A model on a device answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "ai.inference.local.completed.v1",
    owner = "ai-gateway-service",
    retention = "regulated",
    key = "{device_id}",
    idempotency = "{device_id}:inferred:{prompt_hash}:{at}"
)]
pub struct AiLocalInferenceCompleted {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The user.
    pub user_id: UserId,
    /// The device.
    pub device_id: DeviceId,
    /// Hash of the prompt, so that it can be matched without being kept.
    pub prompt_hash: Sha256,
    /// The model.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub model_id: String,
    /// How long the answer took, in milliseconds.
    #[schemars(range(max = INTEGER_MAX))]
    pub latency_ms: u64,
    /// When it happened.
    pub at: Timestamp,
}

/// A safety check found something in what a user or a model wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "ai.safety.flag.raised.v1",
    owner = "ai-gateway-service",
    retention = "regulated",
    key = "{user_id}",
    idempotency = "{user_id}:flagged:{category}:{at}"
)]
pub struct AiSafetyFlagRaised {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The user.
    pub user_id: UserId,
    /// What was found.
    pub category: SafetyCategory,
    /// What followed.
    pub action: SafetyAction,
    /// When it happened.
    pub at: Timestamp,
}

/// A tenant spent more on AI than its limit for the period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "ai.budget.exceeded.v1",
    owner = "ai-gateway-service",
    retention = "regulated",
    key = "{tenant_id}",
    idempotency = "{tenant_id}:budget_exceeded:{period}:{at}"
)]
pub struct AiBudgetExceeded {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The period of the budget.
    pub period: BudgetPeriod,
    /// The limit, in millionths of a US dollar.
    #[serde(rename = "limitMicroUSD")]
    #[schemars(range(max = INTEGER_MAX))]
    pub limit_micro_usd: u64,
    /// When it happened.
    pub at: Timestamp,
}

literals! {
    /// Why the gateway refused.
    RefusalReason {
        /// The prompt is unsafe.
        SafetyInput = "safety.input",
        /// The answer is unsafe.
        SafetyOutput = "safety.output",
        /// The budget is spent.
        Budget = "budget",
        /// A policy of the tenant forbids it.
        Policy = "policy",
        /// No provider answers.
        ProviderUnavailable = "provider_unavailable",
    }

    /// What followed a safety finding.
    SafetyAction {
        /// The user was warned.
        Warn = "warn",
        /// The text was held back.
        Block = "block",
    }

    /// The period of a budget.
    BudgetPeriod {
        /// A day.
        Day = "day",
        /// A month.
        Month = "month",
    }
}
