//! lock-integration-service: keys, doors, and the vendors behind them.
//!
//! Invariant: no event that leaves the device carries a vendor's reference to a credential; only the desk's own offline
//! rows (`local`) do, and the reconciler strips it.

pub mod credentials;
pub mod devices;
pub mod keys;
pub mod local;
pub mod terms;
pub mod vendor;

use karwan_registry::{EventType, events};

use self::credentials::{
    KeyCredentialFailed, KeyCredentialIssued, KeyCredentialRequested, KeyCredentialRevoked, KeyCredentialSuspended,
    KeyCredentialUnsuspended, KeyCredentialUpdated,
};
use self::devices::{AccessAttempted, BatteryLow, DeviceHealthAlert, DeviceOffline, DeviceOnline, DevicePaired};
use self::keys::{EncoderSessionClosed, EncoderSessionOpened, MasterKeyExpired, MasterKeyIssued};
use self::local::{KeyIssuedLocally, KeyRevokedLocally};
use self::vendor::{AdapterHealthChanged, VendorErrorRecorded, VendorWebhookProcessed, VendorWebhookReceived};

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
