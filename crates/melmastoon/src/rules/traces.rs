//! Causes and traces.

use std::collections::HashMap;

use super::Fact;
use crate::ids::ReservationId;
use crate::inventory::{AllocationCommitted, AllocationReleased, BlockedOperation, OversellBlocked};
use crate::lock_integration::credentials::{KeyCredentialIssued, KeyCredentialRequested};
use crate::payment::{IntentCaptured, IntentCreated, IntentFailed, PaymentPurpose};
use crate::reservation::{BookingCancelled, BookingConfirmed, BookingHeld, CancellationReason, CancelledBy};

/// What a request, a deadline of a request or an outside says first; everything else follows from something. A cancellation is
/// one of them only where somebody wished it, or the hold's deadline was what ended it (`begins`).
const ROOTS: [&str; 21] = [
    "reservation.booking.held",
    "payment.cash.reconciled",
    "pricing.quote.expired",
    "pricing.rate_plan.published",
    "pricing.calendar.updated",
    "pricing.rate_plan.archived",
    "tenant.tenant.created",
    "tenant.tenant.suspended",
    "tenant.role.granted",
    "tenant.settings.changed",
    "property.property.created",
    "property.room_type.published",
    "property.room.added",
    "property.room.archived",
    "property.amenity.changed",
    "inventory.stop_sell.activated",
    "inventory.stop_sell.cleared",
    "iam.user.created",
    "iam.user.deactivated",
    "lock_integration.vendor_webhook.received",
    "lock_integration.vendor_webhook.processed",
];

/// What follows from an event names it and shares its trace; only a request begins one; a saga has one, there and back, and the
/// rooms of a booking go back in the trace of its cancellation.
#[derive(Debug, Default)]
pub struct Traces {
    /// The trace of every event.
    known: HashMap<u128, u128>,
    /// The trace of every hold.
    sagas: HashMap<ReservationId, u128>,
    /// The trace of every cancellation.
    cancelled: HashMap<ReservationId, u128>,
    broken: Vec<String>,
}

/// Whether an event may be the first of what a request led to.
fn begins(fact: &Fact<'_>) -> bool {
    if let Some(cancelled) = fact.of::<BookingCancelled>() {
        // A saga goes back because of an answer, which it names; a deadline has none but the request that set it.
        return cancelled.cancelled_by != CancelledBy::Saga || cancelled.reason == CancellationReason::HoldExpired;
    }
    let (_, own) = fact.subject.split_once('.').unwrap_or(("", fact.subject));
    let own = own.rsplit_once('.').map_or(own, |(name, _)| name);
    ROOTS.contains(&own)
}

impl Traces {
    pub(super) fn take(&mut self, fact: &Fact<'_>) {
        let Fact { event, subject, correlation, causation, .. } = *fact;
        match causation.map(|cause| self.known.get(&cause)) {
            Some(Some(trace)) if *trace == correlation => {}
            Some(Some(_)) => self.broken.push(format!("an event's cause is of another trace: {subject}")),
            Some(None) => self.broken.push(format!("an event's cause is not in the log before it: {subject}")),
            None if begins(fact) => {}
            None => self.broken.push(format!("an event has no cause: {subject}")),
        }
        self.known.insert(event, correlation);
        if let Some(held) = fact.of::<BookingHeld>() {
            self.sagas.insert(held.reservation_id, correlation);
        } else if let Some(of) = step(fact)
            && self.sagas.get(&of).is_some_and(|trace| *trace != correlation)
        {
            self.broken.push(format!("the saga of {of} has another trace in {subject}"));
        }
        if let Some(cancelled) = fact.of::<BookingCancelled>() {
            self.cancelled.insert(cancelled.reservation_id, correlation);
        } else if let Some(released) = fact.of::<AllocationReleased>()
            && let Some(trace) = self.cancelled.get(&released.reservation_id)
            && *trace != correlation
        {
            let of = released.reservation_id;
            self.broken.push(format!("the cancellation of {of} has another trace in {subject}"));
        }
    }

    /// What does not hold.
    pub(super) fn broken(&self) -> &[String] {
        &self.broken
    }
}

/// The reservation whose booking saga this fact is a step of.
fn step(fact: &Fact<'_>) -> Option<ReservationId> {
    let paid = |purpose: PaymentPurpose, of: ReservationId| (purpose == PaymentPurpose::Booking).then_some(of);
    None.or_else(|| fact.of::<AllocationCommitted>().map(|it| it.reservation_id))
        .or_else(|| {
            let blocked = fact.of::<OversellBlocked>().filter(|it| it.operation == BlockedOperation::Confirm);
            blocked.map(|it| it.reservation_id)
        })
        .or_else(|| {
            let undone = fact.of::<BookingCancelled>().filter(|it| it.cancelled_by == CancelledBy::Saga);
            undone.map(|it| it.reservation_id)
        })
        .or_else(|| fact.of::<IntentCreated>().and_then(|it| paid(it.purpose, it.reservation_id)))
        .or_else(|| fact.of::<IntentCaptured>().and_then(|it| paid(it.purpose, it.reservation_id)))
        .or_else(|| fact.of::<IntentFailed>().and_then(|it| paid(it.purpose, it.reservation_id)))
        .or_else(|| fact.of::<BookingConfirmed>().map(|it| it.reservation_id))
        .or_else(|| fact.of::<KeyCredentialRequested>().and_then(|it| it.reservation_id))
        .or_else(|| fact.of::<KeyCredentialIssued>().and_then(|it| it.reservation_id))
}

#[cfg(test)]
mod tests {
    use crate::reservation::{BookingCancelled, CancellationReason, CancelledBy};
    use crate::rules::Kept;
    use crate::rules::made::{Made, blocked, created, held};
    use crate::told;

    #[test]
    fn an_event_that_follows_from_nothing_or_leaves_its_trace_is_named() {
        let mut made = Made::with(&told::confirmed(10));
        made.holds("cause", &Kept::default());
        made.holds("trace", &Kept::default());
        made.tell_in(&told::confirmed(11), 1, None);
        made.is_named("an event has no cause", &Kept::default());
        made.tell_in(&told::confirmed(12), 2, Some(1));
        made.is_named("an event's cause is of another trace", &Kept::default());
        made.tell_in(&told::confirmed(13), 1, Some(99));
        made.is_named("an event's cause is not in the log", &Kept::default());
    }

    #[test]
    fn a_saga_that_goes_on_in_another_trace_is_named() {
        let booking = told::confirmed(10);
        let mut made = Made::default();
        made.tell(&held(&booking));
        made.tell_in(&told::settings_changed(1, told::settings()), 2, None);
        made.tell_in(&told::committed(&booking, 1, 0), 2, Some(3));
        made.is_named("has another trace in melmastoon.inventory.allocation.committed", &Kept::default());
    }

    /// The booking of a guest who is declined, undone by its saga for this reason.
    fn undone(reason: CancellationReason) -> BookingCancelled {
        BookingCancelled { cancelled_by: CancelledBy::Saga, reason, ..told::cancelled(&told::confirmed(10)) }
    }

    #[test]
    fn a_saga_that_goes_back_because_of_nothing_is_named() {
        let no_cause = "an event has no cause: melmastoon.reservation.booking.cancelled";
        let mut made = Made::default();
        made.tell(&held(&told::confirmed(10)));
        made.tell_in(&told::cancelled(&told::confirmed(10)), 2, None);
        made.tell_in(&undone(CancellationReason::HoldExpired), 1, None);
        made.holds(no_cause, &Kept::default());
        made.tell_in(&undone(CancellationReason::PaymentFailed), 1, None);
        made.is_named(no_cause, &Kept::default());
    }

    #[test]
    fn a_saga_that_goes_back_in_another_trace_is_named() {
        let booking = told::confirmed(10);
        let plant = |plant: &dyn Fn(&mut Made)| {
            let mut made = Made::default();
            made.tell(&held(&booking));
            made.tell_in(&told::settings_changed(1, told::settings()), 2, None);
            plant(&mut made);
            made
        };
        let back = plant(&|made| made.tell_in(&undone(CancellationReason::PaymentFailed), 2, Some(3)));
        back.is_named("has another trace in melmastoon.reservation.booking.cancelled", &Kept::default());
        // A guest's wish is a request of its own.
        let wished = plant(&|made| made.tell_in(&told::cancelled(&booking), 2, Some(3)));
        wished.holds("another trace", &Kept::default());
        let blocked = plant(&|made| made.tell_in(&blocked(&booking), 2, Some(3)));
        blocked.is_named("has another trace in melmastoon.inventory.oversell.blocked", &Kept::default());
        let asked = plant(&|made| made.tell_in(&created(&booking), 2, Some(3)));
        asked.is_named("has another trace in melmastoon.payment.intent.created", &Kept::default());
    }

    #[test]
    fn a_room_that_goes_back_in_another_trace_than_its_cancellation_is_named() {
        let booking = told::confirmed(10);
        let mut made = Made::with(&booking);
        let other = "has another trace in melmastoon.inventory.allocation.released";
        made.tell_in(&told::cancelled(&booking), 2, None);
        made.tell_in(&told::released(&booking, 1, 1), 2, Some(6));
        made.holds(other, &Kept::default());
        made.tell(&told::released(&booking, 1, 1));
        made.is_named(other, &Kept::default());
    }
}
