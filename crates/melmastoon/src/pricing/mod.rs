//! Prices: rate plans, their calendars, quotes and what a changed stay costs.

pub mod commands;
pub mod decide;
mod events;
pub mod exchange;
pub mod state;
pub mod work;

use karwan::{EventType, events};

pub use events::{
    CalendarDay, CalendarSource, CalendarUpdated, CancellationTerms, DeltaApplied, MealPlan, QuoteExpired,
    RatePlanArchived, RatePlanPublished,
};

/// Its name.
pub const SERVICE: &str = "pricing-service";

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![RatePlanPublished, RatePlanArchived, CalendarUpdated, DeltaApplied, QuoteExpired].into()
}
