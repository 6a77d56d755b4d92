//! Invitations into a tenant.

use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NOTE_MAX;
use crate::ids::{InvitationId, UserId};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![InvitationBounced].into()
}

/// The mail of an invitation could not be delivered; the invitation is marked, and administrators see a warning.
///
/// Decided here: carries the address, so that a warning can name it without asking back. An invitation that is sent
/// again can bounce again, hence the time in its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "panorama.invitation.bounced",
    owner = "invitation-service",
    retention = "operational",
    key = "{invitation_id}",
    idempotency = "{invitation_id}:bounced:{bounced_at}",
    decided_here
)]
pub struct InvitationBounced {
    /// The invitation.
    pub invitation_id: InvitationId,
    /// The administrator who invited, and is warned.
    pub invited_by_user_id: UserId,
    /// The address that the mail did not reach.
    #[schemars(length(min = 3, max = 254), extend("format" = "email", "x-pii" = "contact"))]
    pub email: String,
    /// Whether another attempt makes sense.
    pub bounce: BounceKind,
    /// What the mail server answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = NOTE_MAX), extend("x-pii" = "free_text"))]
    pub diagnostic: Option<String>,
    /// When the bounce arrived, in UTC.
    #[schemars(extend("pattern" = "Z$"))]
    pub bounced_at: Timestamp,
}

/// Whether another attempt makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BounceKind {
    /// The address does not exist or refuses for good.
    Permanent,
    /// The mailbox is full or the server does not answer.
    Transient,
}
