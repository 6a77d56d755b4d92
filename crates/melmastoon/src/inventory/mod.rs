//! Inventory: what is allocated, what is closed for sale, and what is left.
//!
//! Every event that changes what can be sold carries the availability that results, counted in the same transaction,
//! so that the search index and the occupancy figures need no second source.

pub mod commands;
pub mod decide;
mod events;
pub mod state;
pub mod work;

use karwan::{EventType, events};

pub use events::{
    AllocatedRoom, AllocationCommitted, AllocationReallocated, AllocationReleased, BlockedOperation, OversellBlocked,
    ReleaseReason, RoomAvailability, Shortage, StopSellActivated, StopSellCleared, StopSellReason,
};

/// Its name.
pub const SERVICE: &str = "inventory-service";

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![
        AllocationCommitted,
        AllocationReleased,
        AllocationReallocated,
        StopSellActivated,
        StopSellCleared,
        OversellBlocked
    ]
    .into()
}
