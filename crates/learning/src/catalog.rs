//! Courses and their published versions.

use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{CourseId, CourseVersionId, PlayPackageId, TenantId, UserId};
use crate::text::literals;
use crate::types::{I18nString, INTEGER_MAX, LABEL_MAX, LIST_MAX, Locale, SemVer, TEXT_MAX};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![CourseRegistered, CourseVersionPublished, CourseVersionWithdrawn].into()
}

/// A course entered the catalogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "catalog.course.registered.v1",
    owner = "catalog-service",
    retention = "operational",
    key = "{course_id}",
    idempotency = "{course_id}:registered"
)]
pub struct CourseRegistered {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The course.
    pub course_id: CourseId,
    /// Its name in addresses.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub slug: String,
    /// Its title, by locale.
    pub title: I18nString,
    /// The locale that others fall back to.
    pub default_locale: Locale,
    /// Who may see it.
    pub visibility: Visibility,
}

/// A version of a course became available to learners.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "catalog.course_version.published.v1",
    owner = "catalog-service",
    retention = "operational",
    scope = "integration",
    key = "{course_version_id}",
    idempotency = "{course_version_id}:published"
)]
pub struct CourseVersionPublished {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The course.
    pub course_id: CourseId,
    /// The version of the course.
    pub course_version_id: CourseVersionId,
    /// The label of the version.
    pub version_label: SemVer,
    /// How long it takes, in minutes.
    #[schemars(range(max = INTEGER_MAX))]
    pub duration_minutes: u64,
    /// The locales it can be played in.
    #[schemars(length(max = LIST_MAX))]
    pub locales: Vec<Locale>,
    /// What is played.
    pub play_package_id: PlayPackageId,
    /// When it was published.
    pub published_at: Timestamp,
    /// Who published it.
    pub published_by: UserId,
}

/// A published version of a course was taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "catalog.course_version.withdrawn.v1",
    owner = "catalog-service",
    retention = "operational",
    key = "{course_version_id}",
    idempotency = "{course_version_id}:withdrawn"
)]
pub struct CourseVersionWithdrawn {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The version of the course.
    pub course_version_id: CourseVersionId,
    /// Why.
    #[schemars(length(min = 1, max = TEXT_MAX), extend("x-pii" = "free_text"))]
    pub reason: String,
    /// When it happened.
    pub at: Timestamp,
}

literals! {
    /// Who may see a course.
    Visibility {
        /// Its authors.
        Private = "private",
        /// The organisation.
        Org = "org",
        /// Buyers in the marketplace.
        Marketplace = "marketplace",
        /// Everyone.
        Public = "public",
    }
}
