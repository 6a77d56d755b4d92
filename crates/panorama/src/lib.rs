//! Asset reservations: the events that its notifications are made from.
//!
//! Subjects are dotted names without a version. What a notification needs is in the payload of its event:
//!
//! | notification | event | fields it needs |
//! |---|---|---|
//! | mail to the requester | `panorama.reservation.approved` | `requesterUserId`, `assetId`, `startAt`, `endAt`, `note` |
//! | mail to the requester | `panorama.reservation.rejected` | `requesterUserId`, `assetId`, `startAt`, `endAt`, `note` |
//! | alert to operations | `panorama.damage.flagged` | `assetId`, `reservationId`, `severity`, `description`, `flaggedAt` |
//! | invitation marked as bounced | `panorama.invitation.bounced` | `invitationId`, `bounce`, `bouncedAt` |
//! | warning to administrators | `panorama.invitation.bounced` | `invitedByUserId`, `email`, `diagnostic` |
//! | nudge to the driver | `panorama.reservation.reminder` | `driverUserId`, `assetId`, `startAt` |
//! | routing to another decider | `panorama.reservation.sla_escalated` | `routedToUserId`, `pendingSince`, `slaMinutes` |

pub mod ids;
pub mod inspection;
pub mod invitation;
pub mod platform;
pub mod reservation;
pub mod samples;

use karwan_registry::EventType;

/// The most characters of a note or another text that a person wrote.
pub const NOTE_MAX: usize = 500;

/// Every event of the platform, service by service.
pub fn events() -> Vec<EventType> {
    [reservation::events(), inspection::events(), invitation::events()].concat()
}
