//! search-aggregation-service: the listings of all tenants, as travellers search them.

pub mod commands;
pub mod decide;
pub mod events;
pub mod public;
pub mod state;
pub mod work;

use karwan::KindType;
use karwan::{EventType, events};

use self::events::{ListingEvicted, ListingIndexed};

/// Its name.
pub const SERVICE: &str = "search-aggregation-service";

/// The documents that it keeps.
pub fn kinds() -> Vec<KindType> {
    vec![
        KindType::of::<state::Place>(),
        KindType::of::<state::Month>(),
        KindType::of::<state::Awaited>(),
        KindType::of::<state::Listing>(),
    ]
}

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![ListingIndexed, ListingEvicted].into()
}
