//! Shifts: what begins and ends a staff member's master key and share of the tasks.

use karwan::Event;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{DeviceId, HousekeepingTaskId, PropertyId, ShiftId, StaffId, UserId};
use crate::lock_integration::MasterKeyScope;
use crate::values::StaffRole;

/// A staff member clocked in, and the shift was opened.
///
/// Decided here: carries what a master key needs (holder, property, doors, end), so that the lock service asks nobody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.staff.shift.opened.v1",
    aliases("melmastoon.staff.shift.started.v1"),
    owner = "staff-service",
    retention = "warm",
    key = "{shift_id}",
    idempotency = "{shift_id}:opened",
    decided_here
)]
pub struct ShiftOpened {
    /// The shift.
    pub shift_id: ShiftId,
    /// The shift's version, 1.
    pub version: u32,
    /// Who works.
    #[schemars(extend("x-pii" = "identifier"))]
    pub staff_id: StaffId,
    /// Their account, which holds the master key.
    #[schemars(extend("x-pii" = "identifier"))]
    pub user_id: UserId,
    /// Where.
    pub property_id: PropertyId,
    /// As what.
    pub role: StaffRole,
    /// The doors that the work needs; absent when it needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<MasterKeyScope>,
    /// The device they clocked in on; absent when somebody else did it for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_id: Option<DeviceId>,
    /// When they clocked in.
    pub opened_at: Timestamp,
    /// When the shift should end, and with it the master key's window.
    pub scheduled_until: Timestamp,
}

/// A staff member clocked out, and the shift was closed.
///
/// Decided here: carries what was left undone, so that it can be given to the next shift.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.staff.shift.closed.v1",
    aliases("melmastoon.staff.shift.ended.v1"),
    owner = "staff-service",
    retention = "warm",
    key = "{shift_id}",
    idempotency = "{shift_id}:closed",
    decided_here
)]
pub struct ShiftClosed {
    /// The shift.
    pub shift_id: ShiftId,
    /// The shift's version after this.
    pub version: u32,
    /// Who worked.
    #[schemars(extend("x-pii" = "identifier"))]
    pub staff_id: StaffId,
    /// Their account, which loses the master key.
    #[schemars(extend("x-pii" = "identifier"))]
    pub user_id: UserId,
    /// Where.
    pub property_id: PropertyId,
    /// As what.
    pub role: StaffRole,
    /// How it ended.
    pub reason: ShiftEnd,
    /// Tasks that were assigned in this shift and are not done.
    #[schemars(length(max = 200))]
    pub open_tasks: Vec<HousekeepingTaskId>,
    /// When they had clocked in.
    pub opened_at: Timestamp,
    /// When they clocked out.
    pub closed_at: Timestamp,
}

/// How a shift ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShiftEnd {
    /// They clocked out.
    ClockedOut,
    /// A manager closed it.
    ClosedByManager,
    /// It was forgotten, and closed some time after its end.
    Overdue,
    /// The account was deactivated.
    UserDeactivated,
}
