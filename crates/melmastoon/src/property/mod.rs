//! Properties: buildings, room types, rooms and amenities as they are sold.
//!
//! An address here is a business's, never a guest's.

pub mod commands;
mod events;
pub mod state;

use karwan::{EventType, events};

pub use events::{
    Address, AmenityChanged, ArchiveReason, Bed, BedKind, PropertyCreated, PropertyKind, RoomAdded, RoomArchived,
    RoomTypePublished,
};

/// Its name.
pub const SERVICE: &str = "property-service";

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![PropertyCreated, RoomAdded, RoomArchived, RoomTypePublished, AmenityChanged].into()
}
