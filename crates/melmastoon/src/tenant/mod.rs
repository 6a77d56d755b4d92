//! Tenants: their plan, settings, memberships, and whether a property is in service.

pub mod commands;
mod events;
pub mod state;

use karwan::{EventType, events};

pub use events::{
    KeyPolicy, Plan, PropertyDeactivated, PropertyDeactivationReason, RoleGranted, SettingsArea, SettingsChanged,
    SuspensionReason, TenantCreated, TenantSettings, TenantSuspended,
};

/// Its name.
pub const SERVICE: &str = "tenant-service";

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![TenantCreated, TenantSuspended, RoleGranted, SettingsChanged, PropertyDeactivated].into()
}
