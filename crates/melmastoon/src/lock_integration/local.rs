//! What the desk writes while it is offline. These rows never reach a broker: sync-service drains them on push, and the
//! reconciler emits the canonical `issued` or `revoked` in their place.
//!
//! Invariant: `vendor_ref` exists only here. The reconciler checks the signature and the certificate, and strips it.

use karwan::Event;
use karwan::envelope::ids::TenantId;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::terms::{KeyKind, RevocationReason};
use crate::ids::{KeyCredentialId, PropertyId, ProvisionalKeyId, ReservationId, RoomId};

/// The desk issued a credential while it was offline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock.credential.issued.local.v1",
    owner = "sync-service",
    retention = "hot",
    local_only,
    key = "{local_id}",
    idempotency = "{local_id}:issued"
)]
pub struct KeyIssuedLocally {
    /// The desk's own id of the credential, until the cloud gives it one.
    pub local_id: ProvisionalKeyId,
    /// The tenant, since a local row has no envelope yet.
    pub tenant_id: TenantId,
    /// Where it opens.
    pub property_id: PropertyId,
    /// The stay it is for.
    pub reservation_id: ReservationId,
    /// What it is.
    pub kind: KeyKind,
    /// The rooms it opens.
    #[schemars(length(min = 1, max = 50))]
    pub rooms: Vec<RoomId>,
    /// From when it opens them.
    pub valid_from: Timestamp,
    /// Until when.
    pub valid_until: Timestamp,
    /// The serial number of the encoded card.
    #[schemars(length(min = 1, max = 100))]
    pub vendor_ref: String,
    /// The certificate that allows this desk to issue offline.
    #[schemars(regex(pattern = "^lock-oic-[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-7][0-9A-HJKMNP-TV-Z]{25}$"))]
    pub cert_serial: String,
    /// When it was issued, by the desk's clock.
    pub issued_at: Timestamp,
    /// The desk's Ed25519 signature of the other fields, in base64.
    #[schemars(regex(pattern = "^[A-Za-z0-9+/]{86}==$"))]
    pub device_sig: String,
}

/// The desk revoked a credential while it was offline, at a check-out or a cancellation.
///
/// Decided here: the fields of its sibling that a revocation has, and the cloud's id when the credential has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock.credential.revoked.local.v1",
    owner = "sync-service",
    retention = "hot",
    local_only,
    key = "{local_id}",
    idempotency = "{local_id}:revoked",
    decided_here
)]
pub struct KeyRevokedLocally {
    /// The desk's own id of the credential; for one that was issued online, minted when it is revoked.
    pub local_id: ProvisionalKeyId,
    /// The cloud's id of the credential; absent for one that only the desk knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_credential_id: Option<KeyCredentialId>,
    /// The tenant, since a local row has no envelope yet.
    pub tenant_id: TenantId,
    /// Where it opened.
    pub property_id: PropertyId,
    /// The stay it was for.
    pub reservation_id: ReservationId,
    /// Why it was revoked.
    pub reason: RevocationReason,
    /// The serial number of the card, when the desk encoded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub vendor_ref: Option<String>,
    /// The certificate that allows this desk to act offline.
    #[schemars(regex(pattern = "^lock-oic-[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-7][0-9A-HJKMNP-TV-Z]{25}$"))]
    pub cert_serial: String,
    /// When it was revoked, by the desk's clock.
    pub revoked_at: Timestamp,
    /// The desk's Ed25519 signature of the other fields, in base64.
    #[schemars(regex(pattern = "^[A-Za-z0-9+/]{86}==$"))]
    pub device_sig: String,
}
