//! Causes and traces.

use std::collections::HashMap;

use super::Fact;
use crate::ids::ReservationId;
use crate::inventory::AllocationCommitted;
use crate::lock_integration::credentials::{KeyCredentialIssued, KeyCredentialRequested};
use crate::payment::{IntentCaptured, IntentFailed, PaymentPurpose};
use crate::reservation::{BookingConfirmed, BookingHeld};

/// What a request, a deadline of a request or an outside says first; everything else follows from something.
const ROOTS: [&str; 22] = [
    "reservation.booking.held",
    "reservation.booking.cancelled",
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

/// What follows from an event names it and shares its trace; only a request begins one; a saga has one.
#[derive(Debug, Default)]
pub struct Traces {
    /// The trace of every event.
    known: HashMap<u128, u128>,
    /// The trace of every hold.
    sagas: HashMap<ReservationId, u128>,
    broken: Vec<String>,
}

/// Whether an event of this subject may begin a trace.
fn begins(subject: &str) -> bool {
    let (_, own) = subject.split_once('.').unwrap_or(("", subject));
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
            None if begins(subject) => {}
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
        .or_else(|| fact.of::<IntentCaptured>().and_then(|it| paid(it.purpose, it.reservation_id)))
        .or_else(|| fact.of::<IntentFailed>().and_then(|it| paid(it.purpose, it.reservation_id)))
        .or_else(|| fact.of::<BookingConfirmed>().map(|it| it.reservation_id))
        .or_else(|| fact.of::<KeyCredentialRequested>().and_then(|it| it.reservation_id))
        .or_else(|| fact.of::<KeyCredentialIssued>().and_then(|it| it.reservation_id))
}

#[cfg(test)]
mod tests {
    use crate::rules::Kept;
    use crate::rules::made::{Made, held};
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
}
