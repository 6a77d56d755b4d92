//! Device sync, as the `sync.status` stream and the operator's list of conflicts read it.

use karwan::Event;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{ConflictId, DeviceId, PropertyId, StaffId};

/// The sync cursor of a device moved forward.
///
/// Decided here: told only when the position grows, so one position of one device is one fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.sync.cursor.advanced.v1",
    owner = "sync-service",
    retention = "hot",
    key = "{device_id}",
    idempotency = "{device_id}:cursor:{position}",
    decided_here
)]
pub struct CursorAdvanced {
    /// The device.
    pub device_id: DeviceId,
    /// The property it stands in; absent for a device that is bound to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property_id: Option<PropertyId>,
    /// Where it had read to; absent when it starts anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub previous_position: Option<u64>,
    /// Where it has read to.
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_u64))]
    pub position: u64,
    /// Where the device's log ended at that moment, so that what is missing can be shown.
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_u64))]
    pub log_end: u64,
    /// How many changes it took.
    #[schemars(range(max = 10_000_000))]
    pub changes: u32,
    /// Whether it read everything anew, after a cursor that was too old.
    pub rebased: bool,
    /// When it moved.
    pub advanced_at: Timestamp,
}

/// A conflict between a device and the server was recorded for an operator to see.
///
/// Decided here: names the mutation, the policy and the winner, never the values: those stay with the aggregate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.sync.conflict.recorded.v1",
    owner = "sync-service",
    retention = "warm",
    key = "{conflict_id}",
    idempotency = "{device_id}:{client_mutation_id}:conflict",
    decided_here
)]
pub struct ConflictRecorded {
    /// The conflict.
    pub conflict_id: ConflictId,
    /// The device that pushed.
    pub device_id: DeviceId,
    /// The property whose operators see it; absent when the aggregate belongs to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property_id: Option<PropertyId>,
    /// The mutation, by the device's own ULID.
    #[schemars(regex(pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"))]
    pub client_mutation_id: String,
    /// What kind of thing was changed on both sides.
    pub aggregate_type: SyncedAggregate,
    /// Which one; it may be a guest.
    #[schemars(regex(pattern = "^[a-z][a-z_]*_[0-7][0-9A-HJKMNP-TV-Z]{25}$"), extend("x-pii" = "identifier"))]
    pub aggregate_id: String,
    /// The version that the device had changed.
    pub base_version: u32,
    /// The version that the server has.
    pub server_version: u32,
    /// The fields that differ, by name.
    #[schemars(length(max = 100), inner(length(min = 1, max = 100)))]
    pub fields: Vec<String>,
    /// The policy that decided.
    pub policy: ConflictPolicy,
    /// Whose change stands.
    pub winner: ConflictWinner,
    /// Why.
    pub reason: ConflictReason,
    /// Whether a person still has to decide.
    pub decision_required: bool,
    /// Who had made the change on the device; absent when nobody was signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub staff_id: Option<StaffId>,
    /// When the change was made, by the device's clock.
    pub mutated_at: Timestamp,
    /// When the conflict was recorded.
    pub recorded_at: Timestamp,
}

/// What a device keeps a copy of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncedAggregate {
    /// Reservations.
    Reservation,
    /// Rooms and their states.
    Room,
    /// Folios that are being written.
    FolioDraft,
    /// Housekeeping tasks.
    HousekeepingTask,
    /// Keys.
    KeyCredential,
    /// Who works when.
    StaffSchedule,
    /// Guests.
    GuestProfile,
}

/// How a conflict is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictPolicy {
    /// Both stand: nothing is overwritten.
    AppendOnly,
    /// The server's.
    ServerAuthoritative,
    /// The higher state.
    MaxOf,
    /// The later change.
    Lww,
}

/// Whose change stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictWinner {
    /// The server's.
    Server,
    /// The device's.
    Client,
    /// Both.
    Both,
}

/// Why that change stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictReason {
    /// The server's change is later.
    ServerTimestampLater,
    /// The device's change is later.
    ClientTimestampLater,
    /// The device may not change this.
    ServerOwnsState,
    /// The server's state is the higher one.
    ServerStateHigher,
    /// The device's state is the higher one.
    ClientStateHigher,
    /// The change is not allowed from the state that the server has.
    TransitionRefused,
    /// The reservation had changed under a key that was issued offline.
    ReservationChanged,
    /// Both entries were kept.
    Appended,
}
