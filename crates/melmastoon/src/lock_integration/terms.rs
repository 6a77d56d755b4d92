//! The terms of a key: what it is, who holds it, what it opens, how it is handed over, why it ends.

use std::fmt;
use std::str::FromStr;

use karwan::envelope::ids::BadId;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{RoomId, TokenId, UserId};
use crate::values::Change;

/// What a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyKind {
    /// A key in the guest's application.
    MobileApp,
    /// A code typed at the door.
    PinCode,
    /// A card or fob.
    RfidCard,
}

/// Who holds a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HolderKind {
    /// A guest, for a stay.
    Guest,
    /// A staff member, for a shift.
    Staff,
}

/// What a key opens besides rooms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessScope {
    /// Common areas, by the property's names for them: `lobby`, `gym`.
    #[schemars(length(max = 50), inner(length(min = 1, max = 60)))]
    pub areas: Vec<String>,
}

/// How a key reaches its holder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyDelivery {
    /// What is handed over.
    pub artifact: KeyArtifact,
    /// The link that opens it in the guest's application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^melmastoon://"), length(max = 300))]
    pub deep_link: Option<String>,
}

/// A reference to the key, never the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyArtifact {
    /// What the reference is exchanged for.
    #[serde(rename = "type")]
    pub artifact_type: ArtifactType,
    /// Single use: exchanged once at bff-tenant-booking-service.
    pub opaque_ref: TokenId,
}

/// What a reference is exchanged for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactType {
    /// The bytes of a mobile key.
    MobileToken,
    /// The digits of a PIN.
    PinToken,
}

/// What the front desk should know about an issuance that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IssuanceWarning {
    /// The first preferred kind was not possible.
    KindSubstituted,
    /// Some common areas could not be opened to it.
    AreasOmitted,
    /// The clock of a lock is off, so the window may be too.
    DeviceClockSkewed,
    /// A lock will soon need a battery.
    DeviceBatteryLow,
}

/// Why an issuance failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IssuanceFailure {
    /// The vendor did not answer.
    VendorUnreachable,
    /// The vendor refused.
    VendorRejected,
    /// A lock did not answer its vendor.
    DeviceOffline,
    /// No preferred kind is possible on these locks.
    KindUnsupported,
    /// A room has no lock of this vendor.
    DeviceMissing,
    /// The desk's card encoder did not answer.
    EncoderOffline,
}

/// What changed in a credential: at least one of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct CredentialChanges {
    /// The beginning of the window moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<Change<Timestamp>>,
    /// The end of the window moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Change<Timestamp>>,
    /// It opens other rooms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rooms: Option<RoomsChange>,
}

/// Rooms before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoomsChange {
    /// Before.
    #[schemars(length(max = 50))]
    pub from: Vec<RoomId>,
    /// After.
    #[schemars(length(max = 50))]
    pub to: Vec<RoomId>,
}

/// Why a credential was revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RevocationReason {
    /// The guest checked out.
    Checkout,
    /// The guest left before the end of the stay.
    EarlyCheckout,
    /// The booking was cancelled.
    Cancellation,
    /// The reservation had changed when an offline key was reconciled.
    ReservationChanged,
    /// The shift ended.
    ShiftEnded,
    /// The account of its holder was deactivated.
    UserDeactivated,
    /// The property was deactivated.
    PropertyDeactivated,
    /// It was lost, copied or abused.
    Security,
}

/// How a revocation went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevocationMetadata {
    /// Whether the credential was only known to the desk so far.
    pub was_provisional: bool,
    /// Whether the vendor confirmed; if not, the door may still open until the window ends.
    pub vendor_revoke_ok: bool,
}

/// Why a credential was suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuspensionReason {
    /// The guest did not come.
    NoShow,
    /// The booking was flagged as fraud.
    Fraud,
    /// The police asked for it.
    PoliceHold,
    /// The stay is disputed.
    Dispute,
}

/// Who lifted a suspension: `usr_<ulid>`, or `saga`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = "^(usr_[0-7][0-9A-HJKMNP-TV-Z]{25}|saga)$"))]
pub enum UnsuspendedBy {
    /// A staff member.
    User(UserId),
    /// The suspend saga, when its reason fell away.
    Saga,
}

impl fmt::Display for UnsuspendedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(user) => user.fmt(f),
            Self::Saga => f.write_str("saga"),
        }
    }
}

impl FromStr for UnsuspendedBy {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        if text == "saga" { Ok(Self::Saga) } else { text.parse().map(Self::User) }
    }
}

impl TryFrom<String> for UnsuspendedBy {
    type Error = BadId;

    fn try_from(text: String) -> Result<Self, BadId> {
        text.parse()
    }
}

impl From<UnsuspendedBy> for String {
    fn from(by: UnsuspendedBy) -> Self {
        by.to_string()
    }
}
