//! Locks on doors: paired, watched, and what happened at them.

use std::fmt;

use karwan::Event;
use karwan::envelope::time::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::terms::KeyKind;
use super::vendor::LockVendor;
use crate::ids::{AccessAttemptId, KeyCredentialId, LockDeviceId, PropertyId, RoomId};

/// A lock device was paired to a property.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.device.paired.v1",
    aliases("melmastoon.lock.device.registered.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    key = "{device_id}",
    idempotency = "{device_id}:paired:{registered_at}"
)]
pub struct DevicePaired {
    /// The lock.
    pub device_id: LockDeviceId,
    /// The property it hangs in.
    pub property_id: PropertyId,
    /// Who made it.
    pub vendor: LockVendor,
    /// What the staff call it.
    #[schemars(length(min = 1, max = 120))]
    pub label: String,
    /// The rooms it gives access to; empty for a door of a common area.
    #[schemars(length(max = 50))]
    pub rooms: Vec<RoomId>,
    /// What it can do.
    pub capabilities: LockCapabilities,
    /// Its firmware, in the vendor's spelling.
    #[schemars(length(min = 1, max = 60))]
    pub firmware: String,
    /// When it was paired.
    pub registered_at: Timestamp,
}

/// A health check of a lock crossed a threshold: battery, clock, silence or firmware.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.device.health_alert.v1",
    aliases("melmastoon.lock.device.health_alert.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    key = "{device_id}",
    idempotency = "{device_id}:health:{alert}:{observed_at}"
)]
pub struct DeviceHealthAlert {
    /// The lock.
    pub device_id: LockDeviceId,
    /// Its property.
    pub property_id: PropertyId,
    /// What is wrong.
    pub alert: HealthAlert,
    /// How bad it is.
    pub severity: HealthSeverity,
    /// What was measured.
    pub metric: HealthMetric,
    /// What it was held against.
    pub threshold: HealthThreshold,
    /// When it was measured.
    pub observed_at: Timestamp,
}

/// The battery of a lock fell below its threshold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.device.battery_low.v1",
    aliases("melmastoon.lock.device.battery_low.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    key = "{device_id}",
    idempotency = "{device_id}:battery_low:{observed_at}"
)]
pub struct BatteryLow {
    /// The lock.
    pub device_id: LockDeviceId,
    /// Its property.
    pub property_id: PropertyId,
    /// What is left, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub battery_pct: u8,
    /// Below which this is told, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub threshold_pct: u8,
    /// When it was measured.
    pub observed_at: Timestamp,
}

/// A lock went silent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.device.offline.v1",
    aliases("melmastoon.lock.device.offline.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    key = "{device_id}",
    idempotency = "{device_id}:offline:{since}"
)]
pub struct DeviceOffline {
    /// The lock.
    pub device_id: LockDeviceId,
    /// Its property.
    pub property_id: PropertyId,
    /// From when it counts as offline.
    pub since: Timestamp,
    /// Its last sign of life.
    pub last_seen_at: Timestamp,
    /// How this is known.
    pub reason: OfflineReason,
}

/// A lock that had been silent answered again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.device.online.v1",
    aliases("melmastoon.lock.device.online.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    key = "{device_id}",
    idempotency = "{device_id}:online:{since}"
)]
pub struct DeviceOnline {
    /// The lock.
    pub device_id: LockDeviceId,
    /// Its property.
    pub property_id: PropertyId,
    /// From when it counts as online.
    pub since: Timestamp,
    /// Its last sign of life before the silence, so that `since` minus this is how long it lasted.
    pub last_seen_at: Timestamp,
    /// How this is known.
    pub reason: OnlineReason,
}

/// A vendor reported that a door was tried.
///
/// The key is the lock, so that the trail of one door is read in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.lock_integration.audit.attempt.v1",
    aliases("melmastoon.lock.audit.attempt.v1"),
    owner = "lock-integration-service",
    retention = "cold",
    merkle,
    key = "{device_id}",
    idempotency = "{device_id}:attempt:{vendor_event_id}"
)]
pub struct AccessAttempted {
    /// This attempt.
    pub attempt_id: AccessAttemptId,
    /// The property.
    pub property_id: PropertyId,
    /// The lock.
    pub device_id: LockDeviceId,
    /// The key that was tried; absent when the lock did not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_credential_id: Option<KeyCredentialId>,
    /// Whether the door opened.
    pub outcome: AccessOutcome,
    /// Why it did not; null when it did, and then written out, since an auditor must see that it was considered.
    #[schemars(schema_with = "deny_reason_or_null")]
    pub deny_reason: Option<DenyReason>,
    /// Who made the lock.
    pub vendor: LockVendor,
    /// The vendor's name for this report, opaque; a report that comes twice has the same.
    #[schemars(length(min = 1, max = 200))]
    pub vendor_event_id: String,
    /// When the door was tried, by the lock's clock.
    pub attempted_at: Timestamp,
    /// When the report came in.
    pub ingested_at: Timestamp,
}

/// What a lock can do. An adapter fills it once; issuing never asks the vendor for what is `false` here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LockCapabilities {
    /// The kinds of key it takes.
    #[schemars(length(min = 1, max = 10))]
    pub key_kinds: Vec<KeyKind>,
    /// Keys can be issued from afar.
    pub remote_issue: bool,
    /// Keys can be revoked from afar; otherwise they end with their window.
    pub remote_revoke: bool,
    /// Keys can be suspended and taken up again.
    pub remote_suspend: bool,
    /// The window of an issued key can be moved without a new key.
    pub window_update: bool,
    /// The desk can issue while the vendor is out of reach.
    pub offline_issue: bool,
    /// One key can open common areas too.
    pub common_areas: bool,
    /// It reports who tried the door.
    pub access_reports: bool,
    /// It reports its battery.
    pub battery_reports: bool,
    /// It reports its clock.
    pub clock_reports: bool,
    /// How many keys it holds at once.
    #[schemars(range(min = 1, max = 100_000))]
    pub credentials_max: u32,
}

/// What is wrong with a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthAlert {
    /// The battery is low.
    BatteryLow,
    /// The clock is off.
    ClockSkew,
    /// It does not answer.
    Offline,
    /// The firmware is too old.
    FirmwareOutdated,
}

impl fmt::Display for HealthAlert {
    /// As on the wire: it is part of the idempotency key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BatteryLow => "battery_low",
            Self::ClockSkew => "clock_skew",
            Self::Offline => "offline",
            Self::FirmwareOutdated => "firmware_outdated",
        })
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthSeverity {
    /// To be looked at.
    Warning,
    /// To be acted upon.
    Critical,
}

/// What was measured: the one that its alert is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct HealthMetric {
    /// How far the clock is ahead, in milliseconds; negative when behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -9_007_199_254_740_991_i64, max = 9_007_199_254_740_991_i64))]
    pub clock_skew_ms: Option<i64>,
    /// What is left of the battery, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub battery_pct: Option<u8>,
    /// How long it has been silent, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub silent_ms: Option<u64>,
    /// The firmware it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 60))]
    pub firmware: Option<String>,
}

/// The limits of a health check, in the unit of its metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct HealthThreshold {
    /// From where it is a warning, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub warn_at_ms: Option<u64>,
    /// From where it is an alert, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub alert_at_ms: Option<u64>,
    /// Below which it is a warning, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub warn_at_pct: Option<u8>,
    /// Below which it is an alert, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub alert_at_pct: Option<u8>,
    /// The oldest firmware that is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 60))]
    pub firmware_min: Option<String>,
}

/// How it is known that a lock is offline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OfflineReason {
    /// No heartbeat came.
    NoHeartbeat,
    /// The gateway it speaks through is down.
    GatewayDown,
    /// The vendor said so.
    VendorReported,
}

/// How it is known that a lock is back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnlineReason {
    /// A heartbeat came.
    HeartbeatResumed,
    /// The vendor said so.
    VendorReported,
}

/// Whether a door opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccessOutcome {
    /// It opened.
    Granted,
    /// It did not.
    Denied,
}

/// Why a door did not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DenyReason {
    /// The window had not begun.
    NotYetValid,
    /// The window had ended.
    Expired,
    /// The key was suspended.
    Suspended,
    /// The key was revoked.
    Revoked,
    /// The key is for another door.
    WrongDoor,
    /// The lock does not know the key.
    UnknownCredential,
    /// The door was bolted from inside.
    Bolted,
    /// The lock failed.
    DeviceFault,
}

/// The reasons and null, as one list of values: a null that must be written is no absent field.
fn deny_reason_or_null(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "x-nullable": true,
        "enum": [
            DenyReason::NotYetValid,
            DenyReason::Expired,
            DenyReason::Suspended,
            DenyReason::Revoked,
            DenyReason::WrongDoor,
            DenyReason::UnknownCredential,
            DenyReason::Bolted,
            DenyReason::DeviceFault,
            null
        ]
    })
}
