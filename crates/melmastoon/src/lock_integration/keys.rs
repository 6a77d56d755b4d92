//! What the staff hold and use: master keys for a shift, and the desk's card encoder.

use karwan::Event;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::terms::KeyKind;
use crate::ids::{DeviceId, EncoderSessionId, KeyCredentialId, MasterKeyId, PropertyId, RoomId, UserId};

/// A master key was issued to a staff member whose shift had begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.master_key.issued.v1",
    aliases("melmastoon.lock.master_key.issued.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    key = "{master_key_id}",
    idempotency = "{master_key_id}:issued"
)]
pub struct MasterKeyIssued {
    /// The master key.
    pub master_key_id: MasterKeyId,
    /// The credential behind it.
    pub key_credential_id: KeyCredentialId,
    /// Who holds it.
    #[schemars(extend("x-pii" = "identifier"))]
    pub staff_user_id: UserId,
    /// Where it opens.
    pub property_id: PropertyId,
    /// What it opens there.
    pub scope: MasterKeyScope,
    /// From when.
    pub valid_from: Timestamp,
    /// Until when.
    pub valid_until: Timestamp,
    /// What it is.
    pub kind: KeyKind,
    /// When it was issued.
    pub issued_at: Timestamp,
}

/// A master key ceased to be valid: its shift or its window ended, or it was taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.master_key.expired.v1",
    aliases("melmastoon.lock.master_key.expired.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    key = "{master_key_id}",
    idempotency = "{master_key_id}:expired"
)]
pub struct MasterKeyExpired {
    /// The master key.
    pub master_key_id: MasterKeyId,
    /// The credential behind it.
    pub key_credential_id: KeyCredentialId,
    /// Who held it.
    #[schemars(extend("x-pii" = "identifier"))]
    pub staff_user_id: UserId,
    /// When it ended.
    pub expired_at: Timestamp,
    /// What ended it.
    pub trigger: ExpiryTrigger,
}

/// A desktop opened a session with its card encoder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.encoder_session.opened.v1",
    aliases("melmastoon.lock.encoder_session.opened.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    key = "{encoder_session_id}",
    idempotency = "{encoder_session_id}:opened"
)]
pub struct EncoderSessionOpened {
    /// The session.
    pub encoder_session_id: EncoderSessionId,
    /// Where the encoder stands.
    pub property_id: PropertyId,
    /// The desktop it is plugged into.
    pub desktop_device_id: DeviceId,
    /// Its model, such as `hid_omnikey`.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]*$"), length(max = 60))]
    pub encoder_model: String,
    /// How it is connected.
    pub transport: EncoderTransport,
    /// When the session was opened.
    pub opened_at: Timestamp,
}

/// A desktop's session with its card encoder was closed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.encoder_session.closed.v1",
    aliases("melmastoon.lock.encoder_session.closed.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    key = "{encoder_session_id}",
    idempotency = "{encoder_session_id}:closed"
)]
pub struct EncoderSessionClosed {
    /// The session.
    pub encoder_session_id: EncoderSessionId,
    /// When it was closed.
    pub closed_at: Timestamp,
    /// Why.
    pub close_reason: CloseReason,
}

/// What a master key opens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum MasterKeyScope {
    /// Every door of the property.
    Property,
    /// The doors of one floor.
    Floor {
        /// The property's name for it.
        #[schemars(length(min = 1, max = 20))]
        floor: String,
    },
    /// These rooms.
    Rooms {
        /// The rooms.
        #[schemars(length(min = 1, max = 500))]
        rooms: Vec<RoomId>,
    },
}

/// What ended a master key: the name of the fact that did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ExpiryTrigger {
    /// The shift ended.
    #[serde(rename = "shift.ended")]
    ShiftEnded,
    /// The window ended first.
    #[serde(rename = "window.ended")]
    WindowEnded,
    /// The account of its holder was deactivated.
    #[serde(rename = "user.deactivated")]
    UserDeactivated,
    /// The property was deactivated.
    #[serde(rename = "property.deactivated")]
    PropertyDeactivated,
    /// It was reported lost.
    #[serde(rename = "key.lost")]
    KeyLost,
}

/// How a card encoder is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EncoderTransport {
    /// USB, as a human interface device.
    UsbHid,
    /// USB, as a smart-card reader.
    UsbCcid,
    /// A serial line.
    Serial,
    /// The local network.
    Network,
}

/// Why an encoder session was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    /// The desktop closed it.
    Graceful,
    /// The encoder was unplugged or lost.
    DeviceLost,
    /// Nothing was encoded for too long.
    IdleTimeout,
    /// The desktop went away without closing it.
    Abandoned,
}
