//! Ends of sagas.

use std::collections::BTreeMap;

use super::Fact;
use crate::ids::ReservationId;
use crate::reservation::{BookingCancelled, BookingConfirmed, BookingHeld};

/// Every booking saga ends, and once: confirmed, or cancelled. What is left for a person then is in `money` and in `keys`.
#[derive(Debug, Default)]
pub struct Ends(BTreeMap<ReservationId, End>);

/// How often each was told of one booking.
#[derive(Debug, Default)]
struct End {
    confirmed: u32,
    cancelled: u32,
}

impl Ends {
    pub(super) fn take(&mut self, fact: &Fact<'_>) {
        if let Some(it) = fact.of::<BookingHeld>() {
            self.0.entry(it.reservation_id).or_default();
        } else if let Some(it) = fact.of::<BookingConfirmed>() {
            self.0.entry(it.reservation_id).or_default().confirmed += 1;
        } else if let Some(it) = fact.of::<BookingCancelled>() {
            self.0.entry(it.reservation_id).or_default().cancelled += 1;
        }
    }

    /// What does not hold.
    pub(super) fn broken(&self) -> Vec<String> {
        let wrong = self.0.iter().filter_map(|(id, end)| match (end.confirmed, end.cancelled) {
            (0, 0) => Some(format!("a booking never ended: {id}")),
            (0..=1, 0..=1) => None,
            _ => Some(format!("a booking ended more than once: {id}, {end:?}")),
        });
        wrong.collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::Kept;
    use crate::rules::made::{Made, held};
    use crate::told;

    #[test]
    fn a_booking_that_never_ended_and_one_that_ended_twice_are_named() {
        let booking = told::confirmed(10);
        let mut made = Made::default();
        made.tell(&held(&booking));
        made.is_named("a booking never ended", &Kept::default());
        made.tell(&booking);
        made.holds("a booking", &Kept::default());
        made.tell(&booking);
        made.is_named("a booking ended more than once", &Kept::default());
    }
}
