//! Inspection of assets when they come back.

use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NOTE_MAX;
use crate::ids::{AssetId, DamageReportId, ReservationId, UserId};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![DamageFlagged].into()
}

/// Damage was flagged when an asset was checked in; operations are alerted.
///
/// Decided here: ordered by asset, so that several reports about one asset arrive as they were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "panorama.damage.flagged",
    owner = "inspection-service",
    retention = "operational",
    key = "{asset_id}",
    idempotency = "{damage_report_id}:flagged",
    decided_here
)]
pub struct DamageFlagged {
    /// The report.
    pub damage_report_id: DamageReportId,
    /// What is damaged.
    pub asset_id: AssetId,
    /// The reservation that the asset came back from.
    pub reservation_id: ReservationId,
    /// Who flagged it.
    pub flagged_by_user_id: UserId,
    /// How bad it is.
    pub severity: DamageSeverity,
    /// What it looks like.
    #[schemars(length(min = 1, max = NOTE_MAX), extend("x-pii" = "free_text"))]
    pub description: String,
    /// When it was flagged, in UTC.
    #[schemars(extend("pattern" = "Z$"))]
    pub flagged_at: Timestamp,
}

/// How bad a damage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DamageSeverity {
    /// The asset can be used as it is.
    Cosmetic,
    /// The asset can be used, and needs repair.
    Functional,
    /// The asset must not be used.
    Unsafe,
}
