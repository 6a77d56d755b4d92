//! staff-service: who is on shift.

pub mod events;

use karwan::{EventType, events};

use self::events::{ShiftClosed, ShiftOpened};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![ShiftOpened, ShiftClosed].into()
}
