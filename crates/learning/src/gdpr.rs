//! Requests of data subjects: a platform module that runs in the tenant service.
//!
//! All events of one request share a key, since they are correlated by tenant, subject and kind.

use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{TenantId, UserId};
use crate::text::literals;
use crate::types::{LABEL_MAX, URL_MAX};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![SubjectRequestReceived, SubjectRequestCompleted, SubjectRequestAcknowledged].into()
}

/// A person asked for a right over their data; every service in scope acts on it.
///
/// Requests have no id: they are told apart by tenant, subject, kind and time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "gdpr.subject_request.received.v1",
    owner = "tenant-service",
    retention = "regulated",
    scope = "integration",
    key = "{subject_user_id}:{kind}",
    idempotency = "{subject_user_id}:{kind}:received:{at}"
)]
pub struct SubjectRequestReceived {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The person whose data it is about.
    pub subject_user_id: UserId,
    /// The right that is asked for.
    pub kind: SubjectRequestKind,
    /// When it happened.
    pub at: Timestamp,
}

/// Every service in scope acknowledged a request, and it is closed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "gdpr.subject_request.completed.v1",
    owner = "tenant-service",
    retention = "regulated",
    key = "{subject_user_id}:{kind}",
    idempotency = "{subject_user_id}:{kind}:completed:{completed_at}"
)]
pub struct SubjectRequestCompleted {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The person whose data it is about.
    pub subject_user_id: UserId,
    /// The right that was asked for.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub kind: String,
    /// When it was completed.
    pub completed_at: Timestamp,
    /// Where an export is fetched, by somebody who is allowed to; it carries no credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = URL_MAX), extend("format" = "uri"))]
    pub delivery_url: Option<String>,
}

/// One service finished its part of a request.
///
/// Decided here: the document names this event in its erasure saga and gives no payload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "gdpr.subject_request.acknowledged.v1",
    owner = "tenant-service",
    producers(
        "identity-service",
        "tenant-service",
        "authoring-service",
        "content-service",
        "marketplace-service",
        "billing-service",
        "enrollment-service",
        "assignment-service",
        "delivery-service",
        "progress-service",
        "assessment-service",
        "certification-service",
        "notification-service",
        "media-service",
        "search-service",
        "analytics-service",
        "ai-gateway-service",
        "sync-service"
    ),
    retention = "regulated",
    scope = "integration",
    key = "{subject_user_id}:{kind}",
    idempotency = "{subject_user_id}:{kind}:acknowledged:{service}:{at}",
    decided_here
)]
pub struct SubjectRequestAcknowledged {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The person whose data it is about.
    pub subject_user_id: UserId,
    /// The right that was asked for.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub kind: String,
    /// The service that is done.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub service: String,
    /// When it happened.
    pub at: Timestamp,
}

literals! {
    /// The right that a person asks for.
    SubjectRequestKind {
        /// A copy of their data.
        Export = "export",
        /// Deletion.
        Erasure = "erasure",
        /// Correction.
        Rectification = "rectification",
        /// A stop to processing.
        Restriction = "restriction",
        /// An objection to processing.
        Objection = "objection",
    }
}
