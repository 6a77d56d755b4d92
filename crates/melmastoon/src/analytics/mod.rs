//! analytics-service: the figures that dashboards and the warehouse show.

pub mod commands;
pub mod decide;
pub mod events;
pub mod state;
pub mod work;

use karwan::KindType;
use karwan::{EventType, events};

use self::events::SnapshotComputed;

/// Its name.
pub const SERVICE: &str = "analytics-service";

/// The documents that it keeps.
pub fn kinds() -> Vec<KindType> {
    vec![
        KindType::of::<state::House>(),
        KindType::of::<state::Day>(),
        KindType::of::<state::Rate>(),
        KindType::of::<state::Snapshot>(),
    ]
}

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![SnapshotComputed].into()
}
