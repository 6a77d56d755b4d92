//! analytics-service: the figures that dashboards and the warehouse show.

pub mod events;

use karwan_registry::{EventType, events};

use self::events::SnapshotComputed;

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![SnapshotComputed].into()
}
