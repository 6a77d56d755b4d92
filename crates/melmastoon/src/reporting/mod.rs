//! reporting-service: reports rendered for people.

pub mod events;

use karwan::{EventType, events};

use self::events::ReportGenerated;

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![ReportGenerated].into()
}
