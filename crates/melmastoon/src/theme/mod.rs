//! The look of a tenant's booking site and messages.

mod events;

use karwan::{EventType, events};

pub use events::{BrandToken, ContentBlockChanged, PresetPublished, TokensChanged};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![PresetPublished, TokensChanged, ContentBlockChanged].into()
}
