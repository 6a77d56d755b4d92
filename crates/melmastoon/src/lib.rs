//! The hotel platform: its services and their events.
//!
//! A service is a folder: `events` (what it tells), `state` (the documents that it keeps), `decide` or a saga's own module (pure:
//! what it knows and what happened in, facts or a refusal out), `work` (what it does with events, deadlines and answers of
//! vendors), `commands` (what callers ask), `port` (what it asks of vendors). It knows nothing of another service but its events.
//! [`hotel`] puts them together.

// What tests share with `tests/it` names this crate as they do.
#[cfg(test)]
extern crate self as melmastoon;

pub mod ai_orchestrator;
pub mod analytics;
pub mod audit;
pub mod billing;
pub mod digest;
pub mod file;
#[cfg(test)]
mod given;
pub mod hotel;
pub mod house_time;
pub mod housekeeping;
pub mod iam;
pub mod ids;
pub mod inputs;
pub mod inventory;
pub mod kept_cause;
pub mod lock_integration;
pub mod maintenance;
pub mod notification;
pub mod payment;
pub mod platform;
pub mod pricing;
pub mod property;
pub mod refusal;
pub mod repair;
pub mod reporting;
pub mod reservation;
pub mod rules;
pub mod sagas;
pub mod samples;
pub mod search_aggregation;
pub mod staff;
pub mod sync;
pub mod tenant;
pub mod theme;
#[cfg(test)]
#[allow(dead_code, reason = "shared with `tests/it`; each of the two needs a part")]
mod told;
pub mod values;
pub mod webhook;
pub mod workers;

use karwan::EventType;

/// Every event of the platform, service by service.
pub fn events() -> Vec<EventType> {
    [
        iam::events(),
        tenant::events(),
        property::events(),
        theme::events(),
        reservation::events(),
        inventory::events(),
        pricing::events(),
        billing::events(),
        payment::events(),
        lock_integration::events(),
        housekeeping::events(),
        maintenance::events(),
        notification::events(),
        ai_orchestrator::events(),
        search_aggregation::events(),
        file::events(),
        reporting::events(),
        analytics::events(),
        audit::events(),
        sync::events(),
        staff::events(),
    ]
    .concat()
}
