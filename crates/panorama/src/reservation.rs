//! Reservations of assets: the decision about them, the reminder, the escalation.

use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NOTE_MAX;
use crate::ids::{AssetId, ReservationId, UserId};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![ReservationApproved, ReservationRejected, ReservationReminder, ReservationSlaEscalated].into()
}

/// An administrator approved a reservation; its requester is told.
///
/// A reservation that is changed and approved anew is another fact, hence asset and times in its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "panorama.reservation.approved",
    owner = "reservation-service",
    retention = "operational",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:approved:{asset_id}:{start_at}:{end_at}"
)]
pub struct ReservationApproved {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// What is reserved.
    pub asset_id: AssetId,
    /// Who asked for it, and is told.
    pub requester_user_id: UserId,
    /// When it begins, in UTC.
    #[schemars(extend("pattern" = "Z$"))]
    pub start_at: Timestamp,
    /// When it ends, in UTC.
    #[schemars(extend("pattern" = "Z$"))]
    pub end_at: Timestamp,
    /// What the administrator wrote to the requester.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = NOTE_MAX), extend("x-pii" = "free_text"))]
    pub note: Option<String>,
}

/// An administrator rejected a reservation; its requester is told.
///
/// A reservation that is changed and rejected anew is another fact, hence asset and times in its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "panorama.reservation.rejected",
    owner = "reservation-service",
    retention = "operational",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:rejected:{asset_id}:{start_at}:{end_at}"
)]
pub struct ReservationRejected {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// What was asked for.
    pub asset_id: AssetId,
    /// Who asked for it, and is told.
    pub requester_user_id: UserId,
    /// When it would have begun, in UTC.
    #[schemars(extend("pattern" = "Z$"))]
    pub start_at: Timestamp,
    /// When it would have ended, in UTC.
    #[schemars(extend("pattern" = "Z$"))]
    pub end_at: Timestamp,
    /// What the administrator wrote to the requester.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = NOTE_MAX), extend("x-pii" = "free_text"))]
    pub note: Option<String>,
}

/// A reservation came within an hour of its start; its driver is nudged.
///
/// Decided here: the start is part of the key, so that a reservation that is moved reminds again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "panorama.reservation.reminder",
    owner = "reservation-service",
    retention = "operational",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:reminder:{start_at}",
    decided_here
)]
pub struct ReservationReminder {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// What is reserved.
    pub asset_id: AssetId,
    /// Who drives it, and is nudged.
    pub driver_user_id: UserId,
    /// When it begins, in UTC.
    #[schemars(extend("pattern" = "Z$"))]
    pub start_at: Timestamp,
    /// When it ends, in UTC.
    #[schemars(extend("pattern" = "Z$"))]
    pub end_at: Timestamp,
}

/// A reservation stayed pending for longer than its tenant allows, and was routed to somebody else to decide.
///
/// Decided here: carries both what is to be decided and by whom, so that the new decider can be told without asking
/// back. A reservation that waits too long again is routed again, hence the time in its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "panorama.reservation.sla_escalated",
    owner = "reservation-service",
    retention = "operational",
    key = "{reservation_id}",
    idempotency = "{reservation_id}:sla_escalated:{escalated_at}",
    decided_here
)]
pub struct ReservationSlaEscalated {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// What is asked for.
    pub asset_id: AssetId,
    /// Who asked for it.
    pub requester_user_id: UserId,
    /// Who is to decide now, and is told.
    pub routed_to_user_id: UserId,
    /// When it would begin, in UTC.
    #[schemars(extend("pattern" = "Z$"))]
    pub start_at: Timestamp,
    /// When it would end, in UTC.
    #[schemars(extend("pattern" = "Z$"))]
    pub end_at: Timestamp,
    /// Since when it has been waiting for this decision, in UTC.
    #[schemars(extend("pattern" = "Z$"))]
    pub pending_since: Timestamp,
    /// How long it may wait, in minutes; at most a year.
    #[schemars(range(min = 1, max = 525_600))]
    pub sla_minutes: u32,
    /// When it was routed, in UTC.
    #[schemars(extend("pattern" = "Z$"))]
    pub escalated_at: Timestamp,
}
