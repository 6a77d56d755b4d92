//! Recommendations.

use karwan_envelope::row::AiProvenance;
use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{TenantId, UserId};
use crate::types::{LABEL_MAX, LIST_MAX, TEXT_MAX};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![RecommendationGenerated].into()
}

/// An AI recommended items to a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "search.recommendation.generated.v1",
    owner = "search-service",
    retention = "operational",
    ai_provenance = "payload",
    key = "{user_id}",
    idempotency = "{user_id}:{scope}:recommended:{at}"
)]
pub struct RecommendationGenerated {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The user.
    pub user_id: UserId,
    /// What was asked for.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub scope: String,
    /// What is recommended, best first.
    #[schemars(length(max = LIST_MAX))]
    pub items: Vec<RecommendedItem>,
    /// Which model produced it, from what, and who answers for it.
    pub ai_provenance: AiProvenance,
    /// When it happened.
    pub at: Timestamp,
}

/// An item that the AI recommends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecommendedItem {
    /// The item.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub item_id: String,
    /// What kind of item it is.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub item_type: String,
    /// How well it fits.
    pub score: f64,
    /// Why it is recommended.
    #[schemars(length(min = 1, max = TEXT_MAX), extend("x-pii" = "free_text"))]
    pub reason: String,
}
