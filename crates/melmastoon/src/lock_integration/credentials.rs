//! The life of a key credential: requested, then issued or failed; updated, suspended, revoked.
//!
//! A failure is final for its credential: another try is another credential, so `requested`, `issued`, `failed` and
//! `revoked` happen at most once each.
//! Not here: the vendor's reference to the credential, which stays inside the adapter.

use karwan::Event;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::terms::{
    AccessScope, CredentialChanges, HolderKind, IssuanceFailure, IssuanceWarning, KeyDelivery, KeyKind,
    RevocationMetadata, RevocationReason, SuspensionReason, UnsuspendedBy,
};
use super::vendor::LockVendor;
use crate::ids::{GuestId, KeyCredentialId, PropertyId, ReservationId, RoomId};

/// The issue saga started an issuance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.key_credential.requested.v1",
    aliases("melmastoon.lock.credential.requested.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    key = "{key_credential_id}",
    idempotency = "{key_credential_id}:requested"
)]
pub struct KeyCredentialRequested {
    /// The credential that is to be issued.
    pub key_credential_id: KeyCredentialId,
    /// Where it shall open.
    pub property_id: PropertyId,
    /// The stay it is for; absent for a staff key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<ReservationId>,
    /// The guest it is for; absent for a staff key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub guest_id: Option<GuestId>,
    /// The rooms it shall open; empty for a staff key whose scope is wider than rooms.
    #[schemars(length(max = 50))]
    pub rooms: Vec<RoomId>,
    /// From when it shall open them.
    pub valid_from: Timestamp,
    /// Until when.
    pub valid_until: Timestamp,
    /// The kinds to try, best first.
    #[schemars(length(min = 1, max = 10))]
    pub preferred_kinds: Vec<KeyKind>,
    /// Whose lock it is.
    pub vendor: LockVendor,
    /// The key of the intent, under which the vendor is called: the hash of what was asked for.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub idempotency_key: String,
}

/// The vendor confirmed the issuance, and the credential is active.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.key_credential.issued.v1",
    aliases("melmastoon.lock.credential.issued.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    merkle,
    key = "{key_credential_id}",
    idempotency = "{key_credential_id}:issued"
)]
pub struct KeyCredentialIssued {
    /// The credential.
    pub key_credential_id: KeyCredentialId,
    /// Where it opens.
    pub property_id: PropertyId,
    /// Who holds it.
    pub holder_kind: HolderKind,
    /// The stay it is for; absent for a staff key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<ReservationId>,
    /// The guest who holds it; absent for a staff key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub guest_id: Option<GuestId>,
    /// What it is.
    pub kind: KeyKind,
    /// The rooms it opens; empty for a staff key whose scope is wider than rooms.
    #[schemars(length(max = 50))]
    pub rooms: Vec<RoomId>,
    /// What it opens besides rooms.
    pub scope: AccessScope,
    /// From when it opens them.
    pub valid_from: Timestamp,
    /// Until when.
    pub valid_until: Timestamp,
    /// Whose lock it is.
    pub vendor: LockVendor,
    /// Whether the desk issued it offline before the vendor knew of it.
    pub provisional: bool,
    /// How it reaches its holder; absent for a card that the desk hands over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<KeyDelivery>,
    /// When the vendor confirmed it.
    pub issued_at: Timestamp,
    /// What the front desk should know about this issuance.
    #[schemars(length(max = 10))]
    pub warnings: Vec<IssuanceWarning>,
}

/// The issuance failed for good, after its last attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.key_credential.failed.v1",
    aliases("melmastoon.lock.credential.failed.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    merkle,
    key = "{key_credential_id}",
    idempotency = "{key_credential_id}:failed"
)]
pub struct KeyCredentialFailed {
    /// The credential that will not exist.
    pub key_credential_id: KeyCredentialId,
    /// The stay it was for; absent for a staff key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<ReservationId>,
    /// Whose lock it is.
    pub vendor: LockVendor,
    /// Why it failed.
    pub failure_reason: IssuanceFailure,
    /// What the vendor said, scrubbed of personal data and credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500), extend("x-pii" = "free_text"))]
    pub vendor_message: Option<String>,
    /// How often it was tried.
    #[schemars(range(min = 1, max = 100))]
    pub attempts: u32,
    /// When it was tried last.
    pub last_attempt_at: Timestamp,
}

/// The validity window or the rooms of a credential changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.key_credential.updated.v1",
    aliases("melmastoon.lock.credential.updated.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    merkle,
    key = "{key_credential_id}",
    idempotency = "{key_credential_id}:updated:{updated_at}"
)]
pub struct KeyCredentialUpdated {
    /// The credential.
    pub key_credential_id: KeyCredentialId,
    /// What changed.
    pub changes: CredentialChanges,
    /// Whose lock it is.
    pub vendor: LockVendor,
    /// When the vendor confirmed the change.
    pub updated_at: Timestamp,
}

/// A credential was revoked: at check-out, by a cancellation, or for security.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.key_credential.revoked.v1",
    aliases("melmastoon.lock.credential.revoked.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    merkle,
    key = "{key_credential_id}",
    idempotency = "{key_credential_id}:revoked"
)]
pub struct KeyCredentialRevoked {
    /// The credential.
    pub key_credential_id: KeyCredentialId,
    /// The stay it was for; absent for a staff key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<ReservationId>,
    /// Whose lock it is.
    pub vendor: LockVendor,
    /// Why it was revoked.
    pub reason: RevocationReason,
    /// When it ceased to be valid.
    pub revoked_at: Timestamp,
    /// How the revocation went.
    pub metadata: RevocationMetadata,
}

/// A credential was suspended for a time: after a no-show, on a police hold, in a dispute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.key_credential.suspended.v1",
    aliases("melmastoon.lock.credential.suspended.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    merkle,
    key = "{key_credential_id}",
    idempotency = "{key_credential_id}:suspended:{suspended_at}"
)]
pub struct KeyCredentialSuspended {
    /// The credential.
    pub key_credential_id: KeyCredentialId,
    /// Why it was suspended.
    pub reason: SuspensionReason,
    /// When it was suspended.
    pub suspended_at: Timestamp,
}

/// The suspension of a credential was lifted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.key_credential.unsuspended.v1",
    aliases("melmastoon.lock.credential.unsuspended.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    merkle,
    key = "{key_credential_id}",
    idempotency = "{key_credential_id}:unsuspended:{unsuspended_at}"
)]
pub struct KeyCredentialUnsuspended {
    /// The credential.
    pub key_credential_id: KeyCredentialId,
    /// Why it had been suspended.
    pub reason: SuspensionReason,
    /// When it became valid again.
    pub unsuspended_at: Timestamp,
    /// Who lifted the suspension.
    #[schemars(extend("x-pii" = "identifier"))]
    pub unsuspended_by: UnsuspendedBy,
}
