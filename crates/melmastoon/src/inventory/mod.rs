//! Inventory: what is allocated, what is closed for sale, and what is left.
//!
//! Every event that changes what can be sold carries the availability that results, counted in the same transaction,
//! so that the search index and the occupancy figures need no second source.

mod events;

use karwan_registry::{EventType, events};

pub use events::{
    AllocatedRoom, AllocationCommitted, AllocationReallocated, AllocationReleased, BlockedOperation, OversellBlocked,
    ReleaseReason, RoomAvailability, Shortage, StopSellActivated, StopSellCleared, StopSellReason,
};

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
