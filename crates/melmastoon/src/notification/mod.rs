//! notification-service: what was sent to whom, and what became of it.

pub mod events;

use karwan_registry::{EventType, events};

use self::events::{MessageBounced, MessageDelivered, MessageDispatched};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![MessageDispatched, MessageDelivered, MessageBounced].into()
}
