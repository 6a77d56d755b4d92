//! Offline devices: pushes, conflicts, wipes.

use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{DeviceId, TenantId, UserId};
use crate::text::literals;
use crate::types::{INTEGER_MAX, LABEL_MAX};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![SyncPushApplied, SyncConflictDetected, SyncConflictResolved, SyncDeviceWiped].into()
}

/// A device's offline changes were applied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "sync.push.applied.v1",
    owner = "sync-service",
    retention = "operational",
    scope = "integration",
    key = "{device_id}",
    idempotency = "{device_id}:push_applied:{cursor_lamport}"
)]
pub struct SyncPushApplied {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The user.
    pub user_id: UserId,
    /// The device.
    pub device_id: DeviceId,
    /// How many changes were applied.
    #[schemars(range(max = INTEGER_MAX))]
    pub applied_count: u64,
    /// The device's Lamport time up to which all is applied.
    #[schemars(range(max = INTEGER_MAX))]
    pub cursor_lamport: u64,
    /// When it happened.
    pub at: Timestamp,
}

/// A device's change did not fit the server's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "sync.conflict.detected.v1",
    owner = "sync-service",
    retention = "operational",
    key = "{conflict_id}",
    idempotency = "{conflict_id}:detected"
)]
pub struct SyncConflictDetected {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The user.
    pub user_id: UserId,
    /// The device.
    pub device_id: DeviceId,
    /// The conflict.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub conflict_id: String,
    /// The kind of entity.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub entity_type: String,
    /// The entity.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub entity_id: String,
    /// How it is to be settled.
    pub policy: ConflictPolicy,
    /// When it happened.
    pub at: Timestamp,
}

/// A sync conflict was settled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "sync.conflict.resolved.v1",
    owner = "sync-service",
    retention = "operational",
    key = "{conflict_id}",
    idempotency = "{conflict_id}:resolved"
)]
pub struct SyncConflictResolved {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// Whose change it was.
    pub user_id: UserId,
    /// The conflict.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub conflict_id: String,
    /// How it was settled.
    pub resolution: ConflictResolution,
    /// Who settled it.
    pub resolved_by: UserId,
    /// When it happened.
    pub at: Timestamp,
}

/// The offline data of a device was wiped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "sync.device.wiped.v1",
    owner = "sync-service",
    retention = "operational",
    key = "{device_id}",
    idempotency = "{device_id}:wiped:{at}"
)]
pub struct SyncDeviceWiped {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The user.
    pub user_id: UserId,
    /// The device.
    pub device_id: DeviceId,
    /// Who ordered it.
    pub by: UserId,
    /// When it happened.
    pub at: Timestamp,
}

literals! {
    /// How conflicts of an entity are settled.
    ConflictPolicy {
        /// The last write wins.
        Lww = "lww",
        /// Merged as a Yjs document.
        CrdtYjs = "crdt_yjs",
        /// The server is right.
        ServerAuthoritative = "server_authoritative",
    }

    /// How a conflict was settled.
    ConflictResolution {
        /// The server's state stayed.
        KeptServer = "kept_server",
        /// The device's change won.
        KeptClient = "kept_client",
        /// Both were merged.
        Merged = "merged",
    }
}
