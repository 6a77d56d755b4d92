//! Certificates and claims to them.

use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{CertificateId, CourseVersionId, EnrollmentId, TenantId, UserId};
use crate::types::{Jws, LABEL_MAX, TEXT_MAX};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![CertificateIssued, OfflineClaimVerified, CertificateRevoked].into()
}

/// A certificate was issued to a learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "certification.certificate.issued.v1",
    owner = "certification-service",
    retention = "regulated",
    key = "{certificate_id}",
    idempotency = "{certificate_id}:issued"
)]
pub struct CertificateIssued {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The certificate.
    pub certificate_id: CertificateId,
    /// The user.
    pub user_id: UserId,
    /// The version of the course.
    pub course_version_id: CourseVersionId,
    /// The enrolment.
    pub enrollment_id: EnrollmentId,
    /// The template it was printed from.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub template_id: String,
    /// When it ends, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The signed proof.
    pub proof: Jws,
    /// When it happened.
    pub at: Timestamp,
}

/// A claim to a certificate that was made offline proved true.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "certification.offline_claim.verified.v1",
    owner = "certification-service",
    retention = "regulated",
    key = "{claim_id}",
    idempotency = "{claim_id}:verified"
)]
pub struct OfflineClaimVerified {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The claim.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub claim_id: String,
    /// The certificate.
    pub certificate_id: CertificateId,
    /// When it happened.
    pub at: Timestamp,
}

/// A certificate was taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "certification.certificate.revoked.v1",
    owner = "certification-service",
    retention = "regulated",
    key = "{certificate_id}",
    idempotency = "{certificate_id}:revoked"
)]
pub struct CertificateRevoked {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The certificate.
    pub certificate_id: CertificateId,
    /// Why.
    #[schemars(length(min = 1, max = TEXT_MAX), extend("x-pii" = "free_text"))]
    pub reason: String,
    /// When it happened.
    pub at: Timestamp,
}
