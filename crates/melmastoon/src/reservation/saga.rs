//! The booking saga: from a hold to a confirmed booking, or back (R-172…R-181).
//!
//! ```text
//!  confirm ─► booking.held ──┬──────────────► inventory ─► allocation.committed ─┬─► payment ─► intent.captured
//!             │              │                    └─► oversell.blocked           │      │          (cash: received 0)
//!             │              └─────────────────── held ──────────────────────────┘      └─► intent.failed
//!             ▼
//!       ┌───────────┐ committed + captured, in either order   ┌──────────────────────────────────────┐
//!       │   Held    │ ───────────────────────────────────────►│ Confirmed, or ConfirmedCashPending   │─► booking.confirmed
//!       └───────────┘                                         └──────────────────────────────────────┘
//!             │ blocked                                → oversell_blocked ┐
//!             │ 30 s without committed (deadline 1)    → hold_expired     │  ┌───────────┐
//!             │ intent.failed                          → payment_failed   ├─►│ Cancelled │─► booking.cancelled
//!             │ 10 min without an end (deadline 2)     → hold_expired     ┘  └───────────┘
//! ```
//!
//! Compensations are facts, not calls: whoever has done something for the hold undoes it when it hears `booking.cancelled`.
//! Inventory releases its rooms, also those that it committed too late; payment gives back what it captured, also when the capture
//! came after the end. Nothing un-cancels a booking.
//!
//! Not here: the fan-out after `booking.confirmed`, which is everybody's own affair; a key that cannot be issued leaves the
//! booking confirmed.

use karwan::envelope::time::Timestamp;

use super::CancellationReason;
use super::booking::{Booking, Paid, State};

/// What the saga hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// Inventory has given its rooms.
    Allocated,
    /// Inventory has no rooms.
    Blocked,
    /// Payment has received the money, or the promise of cash.
    Paid(Paid),
    /// Payment has given up.
    PaymentFailed,
    /// Half a minute is over.
    AllocationDue,
    /// Ten minutes are over.
    HoldExpired,
    /// The promised cash was counted.
    CashCounted(Paid),
}

/// What follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing: it was heard before, or comes too late.
    Nothing,
    /// It goes on; there is more to come.
    Wait {
        /// Whether inventory has given its rooms.
        allocated: bool,
        /// What payment has received.
        paid: Option<Paid>,
    },
    /// Both answers are there.
    Confirm(Paid),
    /// It is over.
    Cancel(CancellationReason),
    /// Nobody was told of it: it is forgotten.
    Forget,
    /// Promised cash has become money.
    Settle(Paid),
}

/// What a fact counts as when it is heard at an instant: after a deadline it is the deadline, whoever is quicker, it or its timer.
pub fn heard_at(booking: &Booking, heard: Heard, now: Timestamp) -> Heard {
    match (&booking.state, heard) {
        (State::Held { .. }, Heard::Allocated | Heard::Paid(_)) if now >= booking.hold_expires_at => Heard::HoldExpired,
        (State::Held { allocated: false, .. }, Heard::Allocated) if now >= booking.allocation_due_at() => {
            Heard::AllocationDue
        }
        _ => heard,
    }
}

/// The saga: where it stands, what it hears, what follows. No clock, no I/O.
pub fn next(state: &State, heard: Heard) -> Step {
    use CancellationReason::{HoldExpired, OversellBlocked, PaymentFailed};
    match (state, heard) {
        (State::Held { paid: Some(paid), .. }, Heard::Allocated) => Step::Confirm(*paid),
        (State::Held { paid: None, .. }, Heard::Allocated) => Step::Wait { allocated: true, paid: None },
        (State::Held { allocated: true, .. }, Heard::Paid(paid)) => Step::Confirm(paid),
        (State::Held { allocated: false, .. }, Heard::Paid(paid)) => Step::Wait { allocated: false, paid: Some(paid) },
        (State::Held { .. }, Heard::Blocked) => Step::Cancel(OversellBlocked),
        (State::Held { .. }, Heard::PaymentFailed) => Step::Cancel(PaymentFailed),
        (State::Held { allocated: false, .. }, Heard::AllocationDue) => Step::Cancel(HoldExpired),
        (State::Held { .. }, Heard::HoldExpired) => Step::Cancel(HoldExpired),
        (State::Draft, Heard::HoldExpired) => Step::Forget,
        (State::ConfirmedCashPending(_), Heard::CashCounted(paid)) => Step::Settle(paid),
        // Deadlines that were passed, answers that come twice, and whatever comes after the end.
        (State::Held { .. }, Heard::AllocationDue | Heard::CashCounted(_))
        | (State::Draft | State::Confirmed(_) | State::ConfirmedCashPending(_) | State::Cancelled { .. }, _) => {
            Step::Nothing
        }
    }
}
