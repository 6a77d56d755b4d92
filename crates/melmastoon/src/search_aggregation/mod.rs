//! search-aggregation-service: the listings of all tenants, as travellers search them.

pub mod events;

use karwan_registry::{EventType, events};

use self::events::{ListingEvicted, ListingIndexed};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![ListingIndexed, ListingEvicted].into()
}
