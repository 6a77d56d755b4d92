//! lock-integration-service: keys, doors, and the vendors behind them.
//!
//! Invariant: no event that leaves the device carries a vendor's reference to a credential; only the desk's own offline
//! rows (`local`) do, and the reconciler strips it.

pub mod commands;
pub mod credentials;
pub mod decide;
pub mod devices;
pub mod keys;
pub mod latch;
pub mod local;
pub mod port;
pub mod state;
pub mod terms;
pub mod vendor;
pub mod work;

use karwan::KindType;
use karwan::{EventType, events};

pub use self::credentials::KeyCredentialIssued;
use self::credentials::{
    KeyCredentialFailed, KeyCredentialRequested, KeyCredentialRevoked, KeyCredentialSuspended,
    KeyCredentialUnsuspended, KeyCredentialUpdated,
};
use self::devices::{AccessAttempted, BatteryLow, DeviceHealthAlert, DeviceOffline, DeviceOnline, DevicePaired};
pub use self::keys::MasterKeyScope;
use self::keys::{EncoderSessionClosed, EncoderSessionOpened, MasterKeyExpired, MasterKeyIssued};
use self::local::{KeyIssuedLocally, KeyRevokedLocally};
use self::vendor::{AdapterHealthChanged, VendorErrorRecorded, VendorWebhookProcessed, VendorWebhookReceived};

/// Its name.
pub const SERVICE: &str = "lock-integration-service";

/// The documents that it keeps.
pub fn kinds() -> Vec<KindType> {
    vec![
        KindType::of::<state::KeyRing>(),
        KindType::of::<state::Credential>(),
        KindType::of::<state::Policy>(),
        KindType::of::<state::ManualKey>(),
        KindType::of::<state::Heard>(),
    ]
}

/// The events of this service, and the two that never leave the desk.
pub fn events() -> Vec<EventType> {
    events![
        KeyCredentialRequested,
        KeyCredentialIssued,
        KeyCredentialFailed,
        KeyCredentialUpdated,
        KeyCredentialRevoked,
        KeyCredentialSuspended,
        KeyCredentialUnsuspended,
        VendorErrorRecorded,
        DevicePaired,
        DeviceHealthAlert,
        BatteryLow,
        DeviceOffline,
        DeviceOnline,
        MasterKeyIssued,
        MasterKeyExpired,
        EncoderSessionOpened,
        EncoderSessionClosed,
        AccessAttempted,
        VendorWebhookReceived,
        VendorWebhookProcessed,
        AdapterHealthChanged,
        KeyIssuedLocally,
        KeyRevokedLocally,
    ]
    .into()
}
