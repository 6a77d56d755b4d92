//! Work orders, as room states, boards and cost reports read them.

use karwan::Event;
use karwan::envelope::money::Money;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{LockDeviceId, MaintenanceTicketId, PropertyId, ReservationId, RoomId, UserId};

/// A work order was opened.
///
/// Decided here: says what it does to the room, so that housekeeping takes the room out without asking back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.maintenance.ticket.opened.v1",
    owner = "maintenance-service",
    retention = "warm",
    key = "{ticket_id}",
    idempotency = "{ticket_id}:opened",
    decided_here
)]
pub struct TicketOpened {
    /// The work order.
    pub ticket_id: MaintenanceTicketId,
    /// The work order's version, 1.
    pub version: u32,
    /// The property.
    pub property_id: PropertyId,
    /// The room; absent for what is in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room_id: Option<RoomId>,
    /// The lock, when it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_device_id: Option<LockDeviceId>,
    /// The trade it needs.
    pub category: TicketCategory,
    /// How soon.
    pub severity: TicketSeverity,
    /// What is broken, in a line.
    #[schemars(length(min = 1, max = 200), extend("x-pii" = "free_text"))]
    pub title: String,
    /// What it does to the room.
    pub room_impact: RoomImpact,
    /// Who noticed.
    pub origin: TicketOrigin,
    /// The stay during which it was noticed; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<ReservationId>,
    /// Who reported it; absent when a machine did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub reported_by: Option<UserId>,
    /// When it should be done, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_done_at: Option<Timestamp>,
    /// When it was opened.
    pub opened_at: Timestamp,
}

/// A work order was closed, with its parts and labour.
///
/// Decided here: repeats the room and what becomes of it, and carries the cost that reports add up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.maintenance.ticket.closed.v1",
    owner = "maintenance-service",
    retention = "warm",
    key = "{ticket_id}",
    idempotency = "{ticket_id}:closed:{version}",
    decided_here
)]
pub struct TicketClosed {
    /// The work order.
    pub ticket_id: MaintenanceTicketId,
    /// The work order's version after this; one that is opened again is closed again with a higher one.
    pub version: u32,
    /// The property.
    pub property_id: PropertyId,
    /// The room; absent for what is in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room_id: Option<RoomId>,
    /// The trade it needed.
    pub category: TicketCategory,
    /// How it ended.
    pub outcome: TicketOutcome,
    /// Whether the room can be cleaned and sold again.
    pub room_released: bool,
    /// What was used.
    #[schemars(length(max = 100))]
    pub parts: Vec<Part>,
    /// How long it was worked on.
    #[schemars(range(max = 1_000_000))]
    pub labour_minutes: u32,
    /// What the work cost.
    pub labour_cost: Money,
    /// What it cost in all, parts included, in the currency of `labour_cost`.
    pub total_cost: Money,
    /// Who closed it.
    #[schemars(extend("x-pii" = "identifier"))]
    pub closed_by: UserId,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it was closed.
    pub closed_at: Timestamp,
}

/// A part that was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// What it is.
    #[schemars(length(min = 1, max = 120))]
    pub name: String,
    /// How many.
    #[schemars(range(min = 1, max = 10_000))]
    pub quantity: u32,
    /// What one costs.
    pub unit_cost: Money,
}

/// The trade that a work order needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TicketCategory {
    /// Water and drains.
    Plumbing,
    /// Wiring and light.
    Electrical,
    /// Heating and cooling.
    Climate,
    /// Furniture and fittings.
    Furniture,
    /// Machines.
    Appliance,
    /// Locks and doors.
    Lock,
    /// Walls, roof, windows.
    Structure,
    /// Anything else.
    Other,
}

/// How soon a work order has to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TicketSeverity {
    /// When there is time.
    Low,
    /// In the usual order.
    Normal,
    /// Today.
    High,
    /// Now: people or the building are in danger.
    Critical,
}

/// What a work order does to its room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoomImpact {
    /// Nothing.
    None,
    /// It is kept back.
    OutOfService,
    /// It cannot be sold.
    OutOfOrder,
}

/// Who noticed what is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TicketOrigin {
    /// A guest.
    Guest,
    /// A staff member.
    Staff,
    /// Housekeeping, during a task.
    Housekeeping,
    /// The health check of a lock.
    LockHealth,
    /// The maintenance plan.
    Schedule,
}

/// How a work order ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TicketOutcome {
    /// It works again.
    Fixed,
    /// Something new is in its place.
    Replaced,
    /// Nothing was found.
    NotReproduced,
    /// Another work order covers it.
    Duplicate,
    /// It was given up.
    Cancelled,
}
