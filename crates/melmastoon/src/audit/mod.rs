//! audit-service: the append-only trail, and its daily anchor outside.

pub mod decide;
pub mod events;
pub mod state;
pub mod work;

use karwan::KindType;
use karwan::{EventType, events};

use self::events::{EntryAppended, MerkleAnchored};

/// Its name.
pub const SERVICE: &str = "audit-service";

/// The documents that it keeps.
pub fn kinds() -> Vec<KindType> {
    vec![KindType::of::<state::Chain>()]
}

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![EntryAppended, MerkleAnchored].into()
}
