//! housekeeping-service: the tasks that turn rooms over, and the state of every room.

pub mod events;

use karwan::{EventType, events};

use self::events::{RoomStatusChanged, TaskAssigned, TaskCompleted, TaskCreated};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![TaskCreated, TaskAssigned, TaskCompleted, RoomStatusChanged].into()
}
