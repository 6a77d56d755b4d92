//! notification-service: what was sent to whom, and what became of it.

pub mod carrier;
pub mod commands;
pub mod decide;
pub mod events;
pub mod port;
pub mod state;
pub mod templates;
pub mod work;

use karwan::KindType;
use karwan::{EventType, events};

use self::events::{MessageBounced, MessageDelivered, MessageDispatched};

/// Its name.
pub const SERVICE: &str = "notification-service";

/// The documents that it keeps.
pub fn kinds() -> Vec<KindType> {
    vec![KindType::of::<state::Message>(), KindType::of::<state::Contact>(), KindType::of::<state::Languages>()]
}

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![MessageDispatched, MessageDelivered, MessageBounced].into()
}
