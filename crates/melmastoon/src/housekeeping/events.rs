//! Tasks and room states, as the housekeeping board and the check-out saga read them.

use karwan::Event;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{
    HousekeepingTaskId, MaintenanceTicketId, PropertyId, ReservationId, RoomId, RoomTypeId, ShiftId, StaffId,
};

/// A housekeeping task was created, after a check-out or as scheduled.
///
/// Decided here: the board draws a card from it, and the check-out saga finds its stay in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.housekeeping.task.created.v1",
    owner = "housekeeping-service",
    retention = "warm",
    key = "{task_id}",
    idempotency = "{task_id}:created",
    decided_here
)]
pub struct TaskCreated {
    /// The task.
    pub task_id: HousekeepingTaskId,
    /// The task's version, 1.
    pub version: u32,
    /// The property.
    pub property_id: PropertyId,
    /// The room to work on.
    pub room_id: RoomId,
    /// What is to be done.
    pub kind: TaskKind,
    /// Why there is a task.
    pub origin: TaskOrigin,
    /// How urgent it is.
    pub priority: TaskPriority,
    /// The stay that ended in the room; absent when none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<ReservationId>,
    /// How long it should take.
    #[schemars(range(min = 1, max = 1440))]
    pub expected_minutes: u32,
    /// When it should be done: before the next arrival, if one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
}

/// A housekeeping task was assigned to a staff member.
///
/// Decided here: carries whom it was taken from, so that both boards change at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.housekeeping.task.assigned.v1",
    owner = "housekeeping-service",
    retention = "warm",
    key = "{task_id}",
    idempotency = "{task_id}:assigned:{version}",
    decided_here
)]
pub struct TaskAssigned {
    /// The task.
    pub task_id: HousekeepingTaskId,
    /// The task's version after this.
    pub version: u32,
    /// The property.
    pub property_id: PropertyId,
    /// The room to work on.
    pub room_id: RoomId,
    /// Who is to do it.
    #[schemars(extend("x-pii" = "identifier"))]
    pub assignee_id: StaffId,
    /// Who was to do it before; absent when nobody was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub previous_assignee_id: Option<StaffId>,
    /// The shift in which it is to be done; absent when it is planned ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift_id: Option<ShiftId>,
    /// When it should be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// When it was assigned.
    pub assigned_at: Timestamp,
}

/// A housekeeping task was completed, and the room is turned over.
///
/// Decided here: carries the times that staffing is planned from, and the defects that were found on the way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.housekeeping.task.completed.v1",
    owner = "housekeeping-service",
    retention = "warm",
    key = "{task_id}",
    idempotency = "{task_id}:completed:{version}",
    decided_here
)]
pub struct TaskCompleted {
    /// The task.
    pub task_id: HousekeepingTaskId,
    /// The task's version after this; higher ones come when an inspection sends it back.
    pub version: u32,
    /// The property.
    pub property_id: PropertyId,
    /// The room that was worked on.
    pub room_id: RoomId,
    /// What was done.
    pub kind: TaskKind,
    /// Who did it.
    #[schemars(extend("x-pii" = "identifier"))]
    pub completed_by: StaffId,
    /// When work began; absent when nobody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was done, by the clock of the device it was told on.
    pub completed_at: Timestamp,
    /// Whether somebody has to look before the room is clean.
    pub inspection_required: bool,
    /// Work orders opened for what was found broken.
    #[schemars(length(max = 20))]
    pub tickets_opened: Vec<MaintenanceTicketId>,
}

/// The state of a room changed: clean, dirty, out of order or out of service.
///
/// Decided here: carries the room type, so that inventory and search count without a lookup, and the version that
/// decides between two devices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.housekeeping.room.status_changed.v1",
    owner = "housekeeping-service",
    retention = "warm",
    key = "{room_id}",
    idempotency = "{room_id}:status:{version}",
    decided_here
)]
pub struct RoomStatusChanged {
    /// The room.
    pub room_id: RoomId,
    /// The room state's version after this.
    pub version: u32,
    /// The property.
    pub property_id: PropertyId,
    /// What it is sold as.
    pub room_type_id: RoomTypeId,
    /// The state before.
    pub from: RoomStatus,
    /// The state after.
    pub to: RoomStatus,
    /// Why it changed.
    pub reason: RoomStatusReason,
    /// The stay that caused it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<ReservationId>,
    /// The task that caused it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<HousekeepingTaskId>,
    /// The work order that caused it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket_id: Option<MaintenanceTicketId>,
    /// When the room should be sellable again; only out of order and out of service, and only if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_back_at: Option<Timestamp>,
    /// When it changed.
    pub changed_at: Timestamp,
}

/// What a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// Make a room ready for the next guest.
    Turnover,
    /// Clean a room whose guest stays.
    Stayover,
    /// Clean thoroughly.
    DeepClean,
    /// Look whether it is clean.
    Inspection,
}

/// Why there is a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskOrigin {
    /// A guest checked out.
    CheckOut,
    /// The schedule said so.
    Schedule,
    /// A guest asked.
    GuestRequest,
    /// A staff member asked.
    Staff,
    /// A repair is done.
    Maintenance,
}

/// How urgent a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskPriority {
    /// When there is time.
    Low,
    /// In the usual order.
    Normal,
    /// Before the others: somebody arrives today.
    High,
    /// Now: somebody waits.
    Urgent,
}

/// The state of a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoomStatus {
    /// Ready for a guest.
    Clean,
    /// To be cleaned.
    Dirty,
    /// Broken: not sellable, and counted as lost.
    OutOfOrder,
    /// Kept back: not sellable for now, and still counted.
    OutOfService,
}

/// Why the state of a room changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoomStatusReason {
    /// A guest checked in.
    CheckedIn,
    /// A guest is leaving.
    CheckedOut,
    /// A task was completed.
    TaskCompleted,
    /// An inspection found it wanting.
    InspectionFailed,
    /// A work order takes the room.
    TicketOpened,
    /// A work order gives it back.
    TicketClosed,
    /// A staff member said so.
    Staff,
}
