//! The platform's ids: branded strings, one Rust type a kind, so that ids of two kinds cannot be confused.

use std::fmt;

use karwan_envelope::ids::{BadId, Form, TenantId as EnvelopeTenantId, ULID_PATTERN};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::texts;

/// A tenant as payloads spell it: the bare ULID, as this platform's envelope does, so that the two texts are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantId(EnvelopeTenantId);

impl From<EnvelopeTenantId> for TenantId {
    fn from(tenant: EnvelopeTenantId) -> Self {
        Self(tenant)
    }
}

impl From<TenantId> for EnvelopeTenantId {
    fn from(tenant: TenantId) -> Self {
        tenant.0
    }
}

impl std::str::FromStr for TenantId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        Form::Ulid.parse(text).map(|bits| Self(EnvelopeTenantId::from_bits(bits)))
    }
}

impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.ulid())
    }
}

impl Serialize for TenantId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TenantId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for TenantId {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TenantId".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": format!("^{ULID_PATTERN}$") })
    }
}

/// What every other id looks like: URL-safe and short, whoever minted it.
const ID_PATTERN: &str = "^[A-Za-z0-9_-]{1,64}$";

// Annotated as personal data where one id stands for one person, wherever the id appears.
texts! {
    /// A user account: a learner, an author, an administrator.
    UserId = { "type": "string", "pattern": ID_PATTERN, "x-pii": "identifier" }
    /// A device, bound to the one person who uses it.
    DeviceId = { "type": "string", "pattern": ID_PATTERN, "x-pii": "identifier" }
}

texts! {
    /// A login session.
    SessionId = { "type": "string", "pattern": ID_PATTERN }
    /// A role in a tenant.
    RoleId = { "type": "string", "pattern": ID_PATTERN }
    /// A unit of an organisation.
    OrgUnitId = { "type": "string", "pattern": ID_PATTERN }
    /// A course.
    CourseId = { "type": "string", "pattern": ID_PATTERN }
    /// A published version of a course.
    CourseVersionId = { "type": "string", "pattern": ID_PATTERN }
    /// The draft of a course.
    CourseDraftId = { "type": "string", "pattern": ID_PATTERN }
    /// A lesson.
    LessonId = { "type": "string", "pattern": ID_PATTERN }
    /// A block of a lesson.
    BlockId = { "type": "string", "pattern": ID_PATTERN }
    /// A playable package.
    PlayPackageId = { "type": "string", "pattern": ID_PATTERN }
    /// An offline bundle.
    BundleId = { "type": "string", "pattern": ID_PATTERN }
    /// A listing in the marketplace.
    ListingId = { "type": "string", "pattern": ID_PATTERN }
    /// An order.
    OrderId = { "type": "string", "pattern": ID_PATTERN }
    /// A licence.
    LicenseId = { "type": "string", "pattern": ID_PATTERN }
    /// A payment.
    PaymentId = { "type": "string", "pattern": ID_PATTERN }
    /// An invoice.
    InvoiceId = { "type": "string", "pattern": ID_PATTERN }
    /// A subscription.
    SubscriptionId = { "type": "string", "pattern": ID_PATTERN }
    /// An enrolment.
    EnrollmentId = { "type": "string", "pattern": ID_PATTERN }
    /// An assignment.
    AssignmentId = { "type": "string", "pattern": ID_PATTERN }
    /// A session of playing a course.
    PlaySessionId = { "type": "string", "pattern": ID_PATTERN }
    /// An attempt at a course.
    AttemptId = { "type": "string", "pattern": ID_PATTERN }
    /// An xAPI statement.
    StatementId = { "type": "string", "pattern": ID_PATTERN }
    /// A certificate.
    CertificateId = { "type": "string", "pattern": ID_PATTERN }
    /// A media asset.
    MediaAssetId = { "type": "string", "pattern": ID_PATTERN }
    /// A completed AI call.
    CompletionId = { "type": "string", "pattern": ID_PATTERN }
}
