//! Allocations, stop-sells, and the guard against overselling.

use karwan::Event;
use karwan::envelope::time::{Date, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{
    AllocationId, MaintenanceTicketId, PropertyId, ReservationId, RoomId, RoomTypeId, SagaId, StaffId, StopSellId,
};
use crate::values::DateRange;

/// One room's share of an allocation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllocatedRoom {
    /// What was sold.
    pub room_type_id: RoomTypeId,
    /// The room itself; absent while none is assigned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room_id: Option<RoomId>,
    /// The nights.
    pub dates: DateRange,
}

/// What is left of a room type on one night.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoomAvailability {
    /// The room type.
    pub room_type_id: RoomTypeId,
    /// The night.
    pub date: Date,
    /// Rooms that can be sold at all, closed ones excluded.
    #[schemars(range(min = 0, max = 100000))]
    pub total: u32,
    /// Rooms still free.
    #[schemars(range(min = 0, max = 100000))]
    pub available: u32,
}

/// An allocation moved from hold to commit.
///
/// Decided here: payment waits for this and for the hold, in either order; a commit for a booking already cancelled is
/// released again, which `reservationVersion` lets one see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.inventory.allocation.committed.v1",
    owner = "inventory-service",
    retention = "warm",
    key = "{allocation_id}",
    idempotency = "{allocation_id}:committed:{version}",
    decided_here
)]
pub struct AllocationCommitted {
    /// The allocation.
    pub allocation_id: AllocationId,
    /// Its version.
    pub version: u32,
    /// The reservation that it serves.
    pub reservation_id: ReservationId,
    /// The version of the hold that it answers.
    pub reservation_version: u32,
    /// The booking saga; absent for an imported booking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saga_id: Option<SagaId>,
    /// The property.
    pub property_id: PropertyId,
    /// What is allocated.
    #[schemars(length(min = 1, max = 10))]
    pub rooms: Vec<AllocatedRoom>,
    /// What is left on the nights it touches.
    #[schemars(length(max = 3660))]
    pub availability: Vec<RoomAvailability>,
    /// When it was committed.
    pub committed_at: Timestamp,
}

/// An allocation was released.
///
/// Decided here: after an early check-out only the unused nights are released, and the allocation lives on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.inventory.allocation.released.v1",
    owner = "inventory-service",
    retention = "warm",
    key = "{allocation_id}",
    idempotency = "{allocation_id}:released:{version}",
    decided_here
)]
pub struct AllocationReleased {
    /// The allocation.
    pub allocation_id: AllocationId,
    /// Its version.
    pub version: u32,
    /// The reservation that it served.
    pub reservation_id: ReservationId,
    /// The property.
    pub property_id: PropertyId,
    /// Why.
    pub reason: ReleaseReason,
    /// What is free again.
    #[schemars(length(min = 1, max = 10))]
    pub rooms: Vec<AllocatedRoom>,
    /// What is left on the nights it touches.
    #[schemars(length(max = 3660))]
    pub availability: Vec<RoomAvailability>,
    /// When it was released.
    pub released_at: Timestamp,
}

/// Why an allocation was released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseReason {
    /// The booking was cancelled.
    Cancelled,
    /// The hold ran out of time.
    HoldExpired,
    /// The payment failed.
    PaymentFailed,
    /// The guest never came.
    NoShow,
    /// The guest left early.
    EarlyCheckout,
}

/// An allocation was moved to other dates.
///
/// Decided here: the old nights are released only because the new ones were committed, in one transaction; there is no
/// event for half of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.inventory.allocation.reallocated.v1",
    owner = "inventory-service",
    retention = "warm",
    key = "{allocation_id}",
    idempotency = "{allocation_id}:reallocated:{version}",
    decided_here
)]
pub struct AllocationReallocated {
    /// The allocation.
    pub allocation_id: AllocationId,
    /// Its version.
    pub version: u32,
    /// The reservation that it serves.
    pub reservation_id: ReservationId,
    /// The version of the date change that it answers.
    pub reservation_version: u32,
    /// The date-change saga.
    pub saga_id: SagaId,
    /// The property.
    pub property_id: PropertyId,
    /// What was given up.
    #[schemars(length(min = 1, max = 10))]
    pub released: Vec<AllocatedRoom>,
    /// What was taken instead.
    #[schemars(length(min = 1, max = 10))]
    pub committed: Vec<AllocatedRoom>,
    /// What is left on the nights it touches, old and new.
    #[schemars(length(max = 7320))]
    pub availability: Vec<RoomAvailability>,
    /// When it was reallocated.
    pub reallocated_at: Timestamp,
}

/// A stop-sell was turned on for a room type and dates of a property.
///
/// Decided here: the search index closes these nights without looking at rooms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.inventory.stop_sell.activated.v1",
    owner = "inventory-service",
    retention = "warm",
    key = "{stop_sell_id}",
    idempotency = "{stop_sell_id}:activated:{version}",
    decided_here
)]
pub struct StopSellActivated {
    /// The stop-sell.
    pub stop_sell_id: StopSellId,
    /// Its version; it may be turned on again.
    pub version: u32,
    /// The property.
    pub property_id: PropertyId,
    /// The room type.
    pub room_type_id: RoomTypeId,
    /// The nights.
    pub dates: DateRange,
    /// Why.
    pub reason: StopSellReason,
    /// The repair behind it, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance_ticket_id: Option<MaintenanceTicketId>,
    /// Who did it; absent when a rule did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub activated_by: Option<StaffId>,
    /// When it was activated.
    pub activated_at: Timestamp,
}

/// Why nights are closed for sale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopSellReason {
    /// Rooms are under repair.
    Maintenance,
    /// Too few rooms are left to be safe.
    OversellRisk,
    /// The owner needs the rooms.
    OwnerUse,
    /// Closed for the season.
    Season,
    /// The property is out of service.
    PropertyDeactivated,
}

/// A stop-sell was cleared.
///
/// Decided here: carries what is left, since it counts again from here on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.inventory.stop_sell.cleared.v1",
    owner = "inventory-service",
    retention = "warm",
    key = "{stop_sell_id}",
    idempotency = "{stop_sell_id}:cleared:{version}",
    decided_here
)]
pub struct StopSellCleared {
    /// The stop-sell.
    pub stop_sell_id: StopSellId,
    /// Its version.
    pub version: u32,
    /// The property.
    pub property_id: PropertyId,
    /// The room type.
    pub room_type_id: RoomTypeId,
    /// The nights.
    pub dates: DateRange,
    /// What is left on these nights.
    #[schemars(length(max = 3660))]
    pub availability: Vec<RoomAvailability>,
    /// Who did it; absent when a rule did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub cleared_by: Option<StaffId>,
    /// When it was cleared.
    pub cleared_at: Timestamp,
}

/// The oversell guard prevented a booking from taking rooms that are not there.
///
/// Decided here: for a new booking the saga cancels, for a date change it keeps the original window. Ordered with its
/// reservation, since that is what it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.inventory.oversell.blocked.v1",
    owner = "inventory-service",
    retention = "warm",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:oversell_blocked:{reservation_version}",
    decided_here
)]
pub struct OversellBlocked {
    /// The reservation that was refused.
    pub reservation_id: ReservationId,
    /// The version of the fact that asked.
    pub reservation_version: u32,
    /// The saga that asked.
    pub saga_id: SagaId,
    /// What was refused.
    pub operation: BlockedOperation,
    /// The property.
    pub property_id: PropertyId,
    /// Where rooms are missing.
    #[schemars(length(min = 1, max = 3660))]
    pub shortages: Vec<Shortage>,
    /// When it was refused.
    pub blocked_at: Timestamp,
}

/// What the guard refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockedOperation {
    /// A new booking.
    Confirm,
    /// Other dates for a booking.
    DatesChange,
}

/// A night without enough rooms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shortage {
    /// The room type.
    pub room_type_id: RoomTypeId,
    /// The night.
    pub date: Date,
    /// How many were asked for.
    #[schemars(range(min = 1, max = 10))]
    pub requested: u32,
    /// How many were left.
    #[schemars(range(min = 0, max = 100000))]
    pub available: u32,
}
