//! Cancelling: what the policy gives back, decided once (R-185, R-186).
//!
//! ```text
//!  cancel ─► booking.cancelled ──┬─► inventory     allocation.released
//!            (refund decided)    ├─► payment       intent.refunded, if the decision gives something back
//!                                │                   └─► billing  folio.refund_posted
//!                                ├─► lock          key_credential.revoked, if one was issued
//!                                └─► notification  mail and SMS
//! ```
//!
//! Choreography: nobody waits for the others, and no row stands for the whole. A refund that fails leaves the booking cancelled,
//! and an alert with finance; it is repaired where it failed (`payment`).

use karwan::envelope::money::{Micros, Money};
use karwan::envelope::time::Timestamp;

use super::CancellationReason;
use super::booking::{Booking, Cancel, State};
use crate::refusal::Refusal;
use crate::values::{RefundDecision, RefundRule};

/// Whether a booking can be cancelled now.
pub fn admit(booking: &Booking) -> Result<(), Refusal> {
    match booking.state {
        State::Held { .. } | State::Confirmed(_) | State::ConfirmedCashPending(_) => Ok(()),
        State::Draft | State::Cancelled { .. } => {
            Err(Refusal::WrongState { id: booking.reservation_id.to_string(), status: booking.status() })
        }
    }
}

/// What is given back. A booking that was never confirmed gives back everything that payment has received for it, known or not:
/// payment sees to that, since it alone knows.
pub fn refund(booking: &Booking, why: &Cancel, now: Timestamp) -> RefundDecision {
    let currency = booking.offer.quote.total.currency;
    let of = |micros: i128| Money { amount_micro: Micros::new(micros), currency };
    let received = booking.paid().map_or(0, |paid| paid.received.amount_micro.get());
    let policy = booking.offer.cancellation;
    let confirmed = matches!(booking.state, State::Confirmed(_) | State::ConfirmedCashPending(_));
    let (rule, percent) = match why.reason {
        _ if received == 0 => (RefundRule::NothingPaid, 0),
        CancellationReason::PropertyRequest => (RefundRule::PropertyFault, 100),
        _ if !confirmed => (RefundRule::FreeWindow, 100),
        _ if policy.free_until.is_some_and(|until| now < until) => (RefundRule::FreeWindow, 100),
        CancellationReason::HoldExpired
        | CancellationReason::PaymentFailed
        | CancellationReason::OversellBlocked
        | CancellationReason::GuestRequest
        | CancellationReason::Fraud => (RefundRule::LateCancellation, i128::from(policy.late_refund_percent.min(100))),
    };
    // Rounded down to the micro-unit; the rest is the fee, so that both add up to what was received.
    let amount = received * percent / 100;
    RefundDecision { refundable: amount > 0, amount: of(amount), fee: of(received - amount), rule }
}
