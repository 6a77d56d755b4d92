//! audit-service: the append-only trail, and its daily anchor outside.

pub mod events;

use karwan_registry::{EventType, events};

use self::events::{EntryAppended, MerkleAnchored};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![EntryAppended, MerkleAnchored].into()
}
