//! What happens to accounts, sessions, devices and factors.

use karwan::Event;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{DeviceId, MfaFactorId, PropertyId, SessionId, StaffId, UserId};
use crate::values::{Locale, StaffRole};

/// A user account was provisioned.
///
/// Decided here: notification keeps the address and language for later messages to this user; roles follow in
/// `tenant.role.granted`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.iam.user.created.v1",
    owner = "iam-service",
    retention = "warm",
    key = "{user_id}",
    idempotency = "{user_id}:created",
    decided_here
)]
pub struct UserCreated {
    /// The user.
    #[schemars(extend("x-pii" = "identifier"))]
    pub user_id: UserId,
    /// What kind of account it is.
    pub kind: AccountKind,
    /// The user's name.
    #[schemars(length(min = 1, max = 200), extend("x-pii" = "name"))]
    pub full_name: String,
    /// The address that signs in and receives mail.
    #[schemars(length(min = 1, max = 254), extend("x-pii" = "contact"))]
    pub email: String,
    /// A number for second factors and alerts, in E.164 form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^\+[1-9][0-9]{6,14}$"), extend("x-pii" = "contact"))]
    pub phone: Option<String>,
    /// The language of the user's screens and messages.
    pub preferred_locale: Locale,
    /// How the user proves who they are.
    pub sign_in: SignInMethod,
    /// Whether a second factor must be enrolled before the first session.
    pub mfa_required: bool,
    /// When the account was made.
    pub created_at: Timestamp,
}

/// What kind of account it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    /// Works for a tenant.
    Staff,
    /// Books stays.
    Guest,
    /// Works for the platform.
    PlatformStaff,
}

/// How a user proves who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignInMethod {
    /// A password, with a second factor where required.
    Password,
    /// The tenant's OpenID Connect provider.
    Oidc,
    /// The tenant's SAML provider.
    Saml,
}

/// A user account was deactivated, and may no longer sign in or hold a key.
///
/// Decided here: lock-integration revokes every master key that the user holds; sessions and devices follow with
/// events of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.iam.user.deactivated.v1",
    owner = "iam-service",
    retention = "warm",
    key = "{user_id}",
    idempotency = "{user_id}:deactivated:{version}",
    decided_here
)]
pub struct UserDeactivated {
    /// The user.
    #[schemars(extend("x-pii" = "identifier"))]
    pub user_id: UserId,
    /// The account's version; an account may be deactivated again after it was restored.
    pub version: u32,
    /// The staff record of this user, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub staff_id: Option<StaffId>,
    /// Why.
    pub reason: DeactivationReason,
    /// From when on.
    pub deactivated_at: Timestamp,
    /// Who decided it; absent when a rule did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub deactivated_by: Option<UserId>,
}

/// Why an account was deactivated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeactivationReason {
    /// The person left.
    Left,
    /// The account is suspected to be in wrong hands.
    Security,
    /// Unused for longer than the tenant allows.
    Inactive,
    /// The tenant was closed.
    TenantClosed,
}

/// A pair of access and refresh tokens was issued to a session.
///
/// Decided here: each refresh rotates the pair and is a fact of its own; the tokens themselves are never carried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.iam.session.issued.v1",
    owner = "iam-service",
    retention = "warm",
    key = "{session_id}",
    idempotency = "{session_id}:issued:{rotation}",
    decided_here
)]
pub struct SessionIssued {
    /// The session.
    pub session_id: SessionId,
    /// How often the pair was rotated; 0 at sign-in.
    pub rotation: u32,
    /// Whose session it is.
    #[schemars(extend("x-pii" = "identifier"))]
    pub user_id: UserId,
    /// The paired device that the refresh token is sealed to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_id: Option<DeviceId>,
    /// The front that the session may use.
    pub surface: Surface,
    /// Whether a second factor was shown.
    pub mfa_satisfied: bool,
    /// The address it was asked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9a-fA-F:.]{2,45}$"), extend("x-pii" = "network"))]
    pub ip: Option<String>,
    /// The client's own description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 400), extend("x-pii" = "network"))]
    pub user_agent: Option<String>,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// Until when the access token is good.
    pub access_expires_at: Timestamp,
    /// Until when the refresh token is good.
    pub refresh_expires_at: Timestamp,
}

/// The front that a session may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// The meta-search for travellers.
    Consumer,
    /// A tenant's booking site.
    TenantBooking,
    /// The staff's desktop.
    Backoffice,
}

/// A refresh token was revoked or a session was ended.
///
/// Decided here: the edge drops the session's streams, and sync stops serving its device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.iam.session.revoked.v1",
    owner = "iam-service",
    retention = "warm",
    key = "{session_id}",
    idempotency = "{session_id}:revoked",
    decided_here
)]
pub struct SessionRevoked {
    /// The session.
    pub session_id: SessionId,
    /// Whose session it was.
    #[schemars(extend("x-pii" = "identifier"))]
    pub user_id: UserId,
    /// The device that it was sealed to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_id: Option<DeviceId>,
    /// Why.
    pub reason: RevocationReason,
    /// From when on.
    pub revoked_at: Timestamp,
    /// Who decided it; absent when a rule did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub revoked_by: Option<UserId>,
}

/// Why a session ended before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RevocationReason {
    /// The user signed out.
    SignedOut,
    /// A refresh token was used twice.
    RefreshReused,
    /// The refresh token was used on another machine.
    DeviceMismatch,
    /// Its device was unpaired.
    DeviceUnbound,
    /// Its user was deactivated.
    UserDeactivated,
    /// Its tenant was suspended.
    TenantSuspended,
    /// An administrator ended it.
    Administrator,
}

/// A desktop device was paired.
///
/// Decided here: sync opens the device's log with this scope, and checks what the device signed offline against the
/// key's thumbprint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.iam.device.bound.v1",
    owner = "iam-service",
    retention = "warm",
    key = "{device_id}",
    idempotency = "{device_id}:bound:{pairing}",
    decided_here
)]
pub struct DeviceBound {
    /// The device.
    pub device_id: DeviceId,
    /// The number of this pairing; a device may be paired again.
    pub pairing: u32,
    /// Who paired it.
    #[schemars(extend("x-pii" = "identifier"))]
    pub user_id: UserId,
    /// What the property calls it.
    #[schemars(length(min = 1, max = 100))]
    pub label: String,
    /// Its operating system.
    pub platform: DevicePlatform,
    /// The version of the desktop application.
    #[schemars(length(min = 1, max = 50))]
    pub app_version: String,
    /// The properties whose data it may hold.
    #[schemars(length(min = 1, max = 200))]
    pub property_ids: Vec<PropertyId>,
    /// The roles that work at it; with the properties, the scope of its sync log.
    #[schemars(length(min = 1, max = 20))]
    pub roles: Vec<StaffRole>,
    /// The thumbprint of the device's public key.
    #[schemars(regex(pattern = r"^sha256:[0-9a-f]{64}$"))]
    pub key_thumbprint: String,
    /// When it was bound.
    pub bound_at: Timestamp,
}

/// An operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DevicePlatform {
    /// Windows.
    Windows,
    /// macOS.
    Macos,
    /// Linux.
    Linux,
}

/// The pairing of a device was revoked.
///
/// Decided here: sync closes the device's log and refuses what it pushes after this instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.iam.device.unbound.v1",
    owner = "iam-service",
    retention = "warm",
    key = "{device_id}",
    idempotency = "{device_id}:unbound:{pairing}",
    decided_here
)]
pub struct DeviceUnbound {
    /// The device.
    pub device_id: DeviceId,
    /// The number of the pairing that ended.
    pub pairing: u32,
    /// Who had paired it.
    #[schemars(extend("x-pii" = "identifier"))]
    pub user_id: UserId,
    /// Why.
    pub reason: UnbindReason,
    /// From when on.
    pub unbound_at: Timestamp,
    /// Who decided it; absent when a rule did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub unbound_by: Option<UserId>,
}

/// Why a pairing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnbindReason {
    /// Another device took its place.
    Replaced,
    /// Lost or stolen.
    Lost,
    /// Out of use.
    Retired,
    /// Its refresh token appeared elsewhere.
    RefreshReused,
    /// Its user was deactivated.
    UserDeactivated,
}

/// A second factor was added to an account.
///
/// Decided here: notification warns the user at the address known from `iam.user.created`; the factor's secret is
/// never carried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.iam.mfa.enrolled.v1",
    owner = "iam-service",
    retention = "warm",
    key = "{mfa_factor_id}",
    idempotency = "{mfa_factor_id}:enrolled",
    decided_here
)]
pub struct MfaEnrolled {
    /// The factor.
    pub mfa_factor_id: MfaFactorId,
    /// Whose account.
    #[schemars(extend("x-pii" = "identifier"))]
    pub user_id: UserId,
    /// What kind of factor.
    pub method: MfaMethod,
    /// What the user calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub label: Option<String>,
    /// Whether it is the account's first.
    pub first: bool,
    /// When the factor was added.
    pub enrolled_at: Timestamp,
}

/// A kind of second factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MfaMethod {
    /// A time-based code.
    Totp,
    /// A security key or passkey.
    Webauthn,
}
