//! The e-learning platform: its services and their events.
//!
//! Payloads have exactly the fields that the platform's document prints. What each saga needs from an event of its own
//! or of another service is in the payload, or in the envelope's correlation id where the payload has no reference:
//!
//! | saga | step | event | fields it needs |
//! |---|---|---|---|
//! | purchase | await the payment | `marketplace.order.placed.v1` | `orderId`, `buyerUserId`, `lines`, `total` |
//! | purchase | grant the licence | `billing.payment.succeeded.v1` | `paymentId`, `amount`, `orderId` |
//! | purchase | give up | `billing.payment.failed.v1` | `paymentId`, `reason`, `code` |
//! | purchase | enrol the buyer | `marketplace.license.granted.v1` | `licenseId`, `courseId`, `sourceRef` |
//! | purchase | take the licence back | `marketplace.license.revoked.v1` | `licenseId`, `reason` |
//! | purchase | finish | `enrollment.created.v1` | `enrollmentId`, `userId`, `source` |
//! | purchase | tell the buyer | `marketplace.order.failed.v1` | `orderId`, `reason` |
//! | course publish | build | `authoring.course_draft.published.v1` | `courseDraftId`, `courseId`, `draftVersion` |
//! | course publish | catalogue | `content.play_package.built.v1` | `playPackageId`, `courseVersionId`, `locale`, `hash` |
//! | course publish | bundle | `catalog.course_version.published.v1` | `courseVersionId`, `playPackageId` |
//! | course publish | finish | `content.play_package.bundle.published.v1` | `bundleId`, `playPackageId` |
//! | compliance window | begin | `enrollment.created.v1` | `source`, `enrollmentId`, `userId` |
//! | compliance window | complete | `progress.completion.recorded.v1` | `enrollmentId`, `attemptId`, `outcome` |
//! | compliance window | escalate | `assignment.compliance_window.overdue.v1` | `windowId`, `userId`, `graceUntil` |
//! | erasure | fan out | `gdpr.subject_request.received.v1` | `tenantId`, `subjectUserId`, `kind` |
//! | erasure | count the services | `gdpr.subject_request.acknowledged.v1` | `tenantId`, `subjectUserId`, `kind`, `service` |
//! | erasure | tell the subject | `gdpr.subject_request.completed.v1` | `subjectUserId`, `kind`, `completedAt` |
//! | residency migration | route to the new region | `tenant.data_residency.changed.v1` | `fromRegion`, `toRegion` |
//! | bundle publish | project to devices | `content.play_package.bundle.published.v1` | `bundleId`, `sizeBytes`, `signature` |
//! | bundle publish | device acknowledged | `sync.push.applied.v1` | `deviceId`, `cursorLamport` |
//! | bundle publish | give up | `content.play_package.bundle.revoked.v1` | `bundleId`, `reason` |

pub mod ai;
pub mod analytics;
pub mod assessment;
pub mod assignment;
pub mod audit;
pub mod authoring;
pub mod billing;
pub mod catalog;
pub mod certification;
pub mod content;
pub mod delivery;
pub mod enrollment;
pub mod gdpr;
pub mod identity;
pub mod ids;
pub mod marketplace;
pub mod media;
pub mod notification;
pub mod platform;
pub mod progress;
pub mod samples;
pub mod search;
pub mod sync;
pub mod tenant;
mod text;
pub mod types;
pub mod xapi;

use karwan_registry::EventType;

/// Every event of the platform, service by service.
pub fn events() -> Vec<EventType> {
    [
        identity::events(),
        tenant::events(),
        catalog::events(),
        authoring::events(),
        content::events(),
        marketplace::events(),
        billing::events(),
        enrollment::events(),
        assignment::events(),
        delivery::events(),
        progress::events(),
        assessment::events(),
        certification::events(),
        notification::events(),
        media::events(),
        search::events(),
        analytics::events(),
        ai::events(),
        sync::events(),
        gdpr::events(),
        audit::events(),
    ]
    .concat()
}
