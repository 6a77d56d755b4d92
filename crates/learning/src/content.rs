//! Playable packages and the offline bundles made of them.

use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{BundleId, CourseVersionId, DeviceId, EnrollmentId, PlayPackageId, TenantId, UserId};
use crate::text::literals;
use crate::types::{INTEGER_MAX, Jws, Locale, Sha256};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![PlayPackageBuilt, BundlePublished, BundleLicenseIssued, BundleRevoked, BundleTamperDetected].into()
}

/// The playable package of a course version was built and signed for one locale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "content.play_package.built.v1",
    owner = "content-service",
    retention = "operational",
    scope = "integration",
    key = "{play_package_id}",
    idempotency = "{play_package_id}:built:{locale}:{hash}"
)]
pub struct PlayPackageBuilt {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The play package.
    pub play_package_id: PlayPackageId,
    /// The version of the course.
    pub course_version_id: CourseVersionId,
    /// The locale it was built for.
    pub locale: Locale,
    /// Hash of the package.
    pub hash: Sha256,
    /// The signature over the content.
    pub signature: Jws,
    /// When it was built.
    pub built_at: Timestamp,
}

/// The offline bundle of a play package was signed, encrypted and uploaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "content.play_package.bundle.published.v1",
    owner = "content-service",
    retention = "operational",
    scope = "integration",
    key = "{bundle_id}",
    idempotency = "{bundle_id}:published"
)]
pub struct BundlePublished {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The bundle.
    pub bundle_id: BundleId,
    /// The play package inside.
    pub play_package_id: PlayPackageId,
    /// Its size in bytes.
    #[schemars(range(max = INTEGER_MAX))]
    pub size_bytes: u64,
    /// The signature over the content.
    pub signature: Jws,
    /// When it happened.
    pub at: Timestamp,
}

/// A learner was licensed to use a bundle offline on one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "content.play_package.bundle.license_issued.v1",
    owner = "content-service",
    retention = "operational",
    key = "{bundle_id}",
    idempotency = "{bundle_id}:license_issued:{enrollment_id}:{device_id}:{expires_at}"
)]
pub struct BundleLicenseIssued {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The bundle.
    pub bundle_id: BundleId,
    /// The enrolment.
    pub enrollment_id: EnrollmentId,
    /// The user.
    pub user_id: UserId,
    /// The one device it is for.
    pub device_id: DeviceId,
    /// When the licence ends.
    pub expires_at: Timestamp,
    /// What it may do offline.
    pub features: BundleFeatures,
}

/// What a licensed bundle may do offline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BundleFeatures {
    /// Whether the AI tutor answers.
    pub ai_tutor: bool,
    /// Whether assessments can be taken.
    pub assessments: bool,
    /// Whether a certificate can be claimed.
    pub certificate: bool,
    /// Whether files can be taken out of it.
    pub copy_downloadable: bool,
}

/// A bundle was withdrawn from every device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "content.play_package.bundle.revoked.v1",
    owner = "content-service",
    retention = "operational",
    key = "{bundle_id}",
    idempotency = "{bundle_id}:revoked"
)]
pub struct BundleRevoked {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The bundle.
    pub bundle_id: BundleId,
    /// Why.
    pub reason: BundleRevocationReason,
    /// When it happened.
    pub at: Timestamp,
}

/// The content service recorded that a device's copy of a bundle does not have the expected hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "content.play_package.tamper_detected.v1",
    owner = "content-service",
    retention = "operational",
    key = "{bundle_id}",
    idempotency = "{bundle_id}:tamper_detected:{device_id}:{at}"
)]
pub struct BundleTamperDetected {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The bundle.
    pub bundle_id: BundleId,
    /// The device.
    pub device_id: DeviceId,
    /// The hash that the device found.
    pub client_reported_hash: Sha256,
    /// The hash that was published.
    pub expected_hash: Sha256,
    /// When it happened.
    pub at: Timestamp,
}

literals! {
    /// Why a bundle was revoked.
    BundleRevocationReason {
        /// The course version was withdrawn.
        Withdrawn = "withdrawn",
        /// The licence was revoked.
        LicenseRevoked = "license_revoked",
        /// A copy was tampered with.
        Tamper = "tamper",
        /// A new build replaces it.
        Rebuild = "rebuild",
        /// An operator decided so.
        Manual = "manual",
    }
}
