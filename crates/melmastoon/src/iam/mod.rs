//! Identity: accounts, sessions, paired devices and second factors.
//!
//! No event carries a token, a secret or a password; a session is known by its id alone.

pub mod commands;
pub mod decide;
mod events;
pub mod state;
pub mod work;

use karwan::KindType;
use karwan::{EventType, events};

pub use events::{
    AccountKind, DeactivationReason, DeviceBound, DevicePlatform, DeviceUnbound, MfaEnrolled, MfaMethod,
    RevocationReason, SessionIssued, SessionRevoked, SignInMethod, Surface, UnbindReason, UserCreated, UserDeactivated,
};

/// Its name.
pub const SERVICE: &str = "iam-service";

/// The documents that it keeps.
pub fn kinds() -> Vec<KindType> {
    vec![KindType::of::<state::User>(), KindType::of::<state::Address>(), KindType::of::<state::Access>()]
}

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![UserCreated, UserDeactivated, SessionIssued, SessionRevoked, DeviceBound, DeviceUnbound, MfaEnrolled].into()
}
