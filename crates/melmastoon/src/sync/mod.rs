//! sync-service: how far each device has read, and where it disagreed.

pub mod events;

use karwan::{EventType, events};

use self::events::{ConflictRecorded, CursorAdvanced};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![CursorAdvanced, ConflictRecorded].into()
}
