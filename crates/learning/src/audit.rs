//! The outside anchor of the audit trail.

use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::TenantId;
use crate::types::{LABEL_MAX, Sha256};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![MerkleAnchored].into()
}

/// A day's Merkle root was anchored outside.
///
/// The platform's own event: the tree covers every tenant unless the payload names one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "audit.merkle.anchored.v1",
    owner = "audit-service",
    retention = "regulated",
    tenancy = "platform",
    key = "{date}",
    idempotency = "{date}:anchored:{root_hash}"
)]
pub struct MerkleAnchored {
    /// The tenant whose tree it is; the platform's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// The day that is anchored.
    pub date: Timestamp,
    /// The root of the tree.
    pub root_hash: Sha256,
    /// Where the anchor is found.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub anchor_ref: String,
}
