//! Exports and insights.

use karwan_envelope::row::AiProvenance;
use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::TenantId;
use crate::text::literals;
use crate::types::{INTEGER_MAX, LABEL_MAX, LIST_MAX, TEXT_MAX, URL_MAX};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![AnalyticsExportCompleted, AnalyticsInsightGenerated].into()
}

/// An export of analytics data was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "analytics.export.completed.v1",
    owner = "analytics-service",
    retention = "operational",
    key = "{job_id}",
    idempotency = "{job_id}:completed"
)]
pub struct AnalyticsExportCompleted {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The export job.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub job_id: String,
    /// The file format.
    pub format: ExportFormat,
    /// How many rows it has.
    #[schemars(range(max = INTEGER_MAX))]
    pub row_count: u64,
    /// Where the result is fetched, by somebody who is allowed to; it carries no credentials.
    #[schemars(length(min = 1, max = URL_MAX), extend("format" = "uri"))]
    pub delivery_url: String,
    /// When it happened.
    pub at: Timestamp,
}

/// An AI told what a dashboard shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "analytics.insight.generated.v1",
    owner = "analytics-service",
    retention = "operational",
    ai_provenance = "payload",
    key = "{insight_id}",
    idempotency = "{insight_id}:generated"
)]
pub struct AnalyticsInsightGenerated {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The insight.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub insight_id: String,
    /// The dashboard, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub dashboard_id: Option<String>,
    /// What the AI says.
    #[schemars(length(min = 1, max = TEXT_MAX), extend("x-pii" = "free_text"))]
    pub narrative: String,
    /// The datasets it was read from.
    #[schemars(length(max = LIST_MAX), inner(length(min = 1, max = LABEL_MAX)))]
    pub sources: Vec<String>,
    /// Which model produced it, from what, and who answers for it.
    pub ai_provenance: AiProvenance,
    /// When it happened.
    pub at: Timestamp,
}

literals! {
    /// The file format of an export.
    ExportFormat {
        /// Comma-separated values.
        Csv = "csv",
        /// Apache Parquet.
        Parquet = "parquet",
        /// One JSON value a line.
        Jsonl = "jsonl",
    }
}
