//! Users, sessions and devices.

use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{DeviceId, SessionId, TenantId, UserId};
use crate::text::literals;
use crate::types::{Email, LABEL_MAX, LIST_MAX};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![UserRegistered, UserLoggedIn, DeviceBoundForOffline, SessionRevoked, PasswordResetRequested].into()
}

/// A person got a user account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "identity.user.registered.v1",
    owner = "identity-service",
    retention = "regulated",
    key = "{user_id}",
    idempotency = "{user_id}:registered"
)]
pub struct UserRegistered {
    /// The user.
    pub user_id: UserId,
    /// The address the account is known by.
    pub primary_email: Email,
    /// The tenant the person came through, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home_tenant_id: Option<TenantId>,
    /// When it was created.
    pub created_at: Timestamp,
    /// How the account came to be.
    pub registration_source: RegistrationSource,
}

/// A user logged in to a tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "identity.user.logged_in.v1",
    owner = "identity-service",
    retention = "regulated",
    key = "{user_id}",
    idempotency = "{user_id}:logged_in:{at}"
)]
pub struct UserLoggedIn {
    /// The user.
    pub user_id: UserId,
    /// The tenant that was entered.
    pub tenant_id: TenantId,
    /// The device, if it is a known one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_id: Option<DeviceId>,
    /// The authentication methods that were used, as RFC 8176 names them.
    #[schemars(length(max = LIST_MAX), inner(length(min = 1, max = LABEL_MAX)))]
    pub amr: Vec<String>,
    /// The network address it came from.
    #[schemars(length(min = 2, max = 45), extend("x-pii" = "network"))]
    pub ip: String,
    /// The user agent it came from.
    #[schemars(length(min = 1, max = 512), extend("x-pii" = "network"))]
    pub ua: String,
    /// When it happened.
    pub at: Timestamp,
}

/// A device was bound to a user, so that it may work offline until its certificate expires.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "identity.device.bound_for_offline.v1",
    owner = "identity-service",
    retention = "regulated",
    key = "{device_id}",
    idempotency = "{device_id}:bound:{user_id}:{cert_expires_at}"
)]
pub struct DeviceBoundForOffline {
    /// The user.
    pub user_id: UserId,
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The device.
    pub device_id: DeviceId,
    /// Fingerprint of the device's key.
    #[schemars(length(min = 1, max = LABEL_MAX), extend("x-pii" = "identifier"))]
    pub fingerprint: String,
    /// When the device's certificate ends.
    pub cert_expires_at: Timestamp,
}

/// A login session was ended before its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "identity.session.revoked.v1",
    owner = "identity-service",
    retention = "regulated",
    key = "{session_id}",
    idempotency = "{session_id}:revoked"
)]
pub struct SessionRevoked {
    /// The session.
    pub session_id: SessionId,
    /// The user.
    pub user_id: UserId,
    /// Why.
    pub reason: RevocationReason,
    /// When it happened.
    pub at: Timestamp,
}

/// Someone asked to reset the password of a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "identity.password.reset_requested.v1",
    owner = "identity-service",
    retention = "regulated",
    key = "{user_id}",
    idempotency = "{user_id}:password_reset_requested:{at}"
)]
pub struct PasswordResetRequested {
    /// The user.
    pub user_id: UserId,
    /// When it happened.
    pub at: Timestamp,
    /// The network address it came from.
    #[schemars(length(min = 2, max = 45), extend("x-pii" = "network"))]
    pub ip: String,
    /// The user agent it came from.
    #[schemars(length(min = 1, max = 512), extend("x-pii" = "network"))]
    pub ua: String,
}

literals! {
    /// How an account came to be.
    RegistrationSource {
        /// The person signed up.
        SelfService = "self",
        /// Made at the first single sign-on.
        SsoJit = "sso_jit",
        /// An invitation was accepted.
        Invite = "invite",
        /// Imported with many others.
        BulkImport = "bulk_import",
    }

    /// Why a session was ended.
    RevocationReason {
        /// The user logged out.
        Logout = "logout",
        /// A refresh credential was used twice.
        RotationReuse = "rotation_reuse",
        /// An administrator wiped the device.
        AdminWipe = "admin_wipe",
        /// The password was reset.
        PasswordReset = "password_reset",
        /// An incident made it unsafe.
        SecurityIncident = "security_incident",
    }
}
