//! maintenance-service: work orders, and what they cost.

pub mod events;

use karwan::{EventType, events};

use self::events::{TicketClosed, TicketOpened};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![TicketOpened, TicketClosed].into()
}
