//! Reports. Not here: their content, which is a stored file.

use karwan::Event;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{FileId, PropertyId, ReportId, UserId};
use crate::values::{DateRange, Locale};

/// A report was rendered as PDF or CSV.
///
/// Decided here: what a notification needs to offer it, and the audit trail to say who asked for which data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.reporting.report.generated.v1",
    owner = "reporting-service",
    retention = "warm",
    key = "{report_id}",
    idempotency = "{report_id}:generated",
    decided_here
)]
pub struct ReportGenerated {
    /// The report; rendering it again is another.
    pub report_id: ReportId,
    /// What it reports.
    pub kind: ReportKind,
    /// How it is rendered.
    pub format: ReportFormat,
    /// The language it is written in.
    pub locale: Locale,
    /// The properties it covers.
    #[schemars(length(min = 1, max = 500))]
    pub property_ids: Vec<PropertyId>,
    /// The days it covers.
    pub period: DateRange,
    /// Where it is kept.
    pub file_id: FileId,
    /// How many rows it has.
    #[schemars(range(max = 100_000_000))]
    pub rows: u32,
    /// Whether it shows personal data.
    pub personal_data: bool,
    /// Who asked for it; absent when the schedule did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub requested_by: Option<UserId>,
    /// When it was rendered.
    pub generated_at: Timestamp,
    /// When its file is deleted; absent when it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// What a report reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportKind {
    /// Who arrives.
    Arrivals,
    /// Who leaves.
    Departures,
    /// Who is in the house, as the authorities ask for it.
    GuestRegister,
    /// Rooms sold.
    Occupancy,
    /// Money earned.
    Revenue,
    /// The close of the day.
    NightAudit,
    /// Taxes.
    Tax,
    /// Work of housekeeping and maintenance.
    Operations,
    /// Doors and keys.
    Access,
}

/// How a report is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportFormat {
    /// For people.
    Pdf,
    /// For spreadsheets.
    Csv,
}
