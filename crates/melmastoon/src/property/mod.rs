//! Properties: buildings, room types, rooms and amenities as they are sold.
//!
//! An address here is a business's, never a guest's.

mod events;

use karwan_registry::{EventType, events};

pub use events::{
    Address, AmenityChanged, ArchiveReason, Bed, BedKind, PropertyCreated, PropertyKind, RoomAdded, RoomArchived,
    RoomTypePublished,
};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![PropertyCreated, RoomAdded, RoomArchived, RoomTypePublished, AmenityChanged].into()
}
