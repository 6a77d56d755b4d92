//! Prices: rate plans, their calendars, quotes and what a changed stay costs.

mod events;

use karwan_registry::{EventType, events};

pub use events::{
    CalendarDay, CalendarSource, CalendarUpdated, CancellationTerms, DeltaApplied, MealPlan, QuoteExpired,
    RatePlanArchived, RatePlanPublished,
};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![RatePlanPublished, RatePlanArchived, CalendarUpdated, DeltaApplied, QuoteExpired].into()
}
