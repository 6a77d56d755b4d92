//! The hotel platform: its services and their events.

pub mod ai_orchestrator;
pub mod analytics;
pub mod audit;
pub mod billing;
pub mod file;
pub mod housekeeping;
pub mod iam;
pub mod ids;
pub mod inputs;
pub mod inventory;
pub mod lock_integration;
pub mod maintenance;
pub mod notification;
pub mod payment;
pub mod platform;
pub mod pricing;
pub mod property;
pub mod reporting;
pub mod reservation;
pub mod samples;
pub mod search_aggregation;
pub mod staff;
pub mod sync;
pub mod tenant;
pub mod theme;
pub mod values;

use karwan_registry::EventType;

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
