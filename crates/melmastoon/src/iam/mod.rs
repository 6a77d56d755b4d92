//! Identity: accounts, sessions, paired devices and second factors.
//!
//! No event carries a token, a secret or a password; a session is known by its id alone.

mod events;

use karwan_registry::{EventType, events};

pub use events::{
    AccountKind, DeactivationReason, DeviceBound, DevicePlatform, DeviceUnbound, MfaEnrolled, MfaMethod,
    RevocationReason, SessionIssued, SessionRevoked, SignInMethod, Surface, UnbindReason, UserCreated, UserDeactivated,
};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![UserCreated, UserDeactivated, SessionIssued, SessionRevoked, DeviceBound, DeviceUnbound, MfaEnrolled].into()
}
