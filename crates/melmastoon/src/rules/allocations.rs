//! Rooms and bookings.

use std::collections::BTreeMap;

use super::Fact;
use crate::ids::{AllocationId, ReservationId};
use crate::inventory::{AllocatedRoom, AllocationCommitted, AllocationReleased};
use crate::reservation::{BookingCancelled, BookingConfirmed};
use crate::values::{BookedRoom, DateRange};

/// Whoever is confirmed has every room that was booked, for all its nights, and no other; whoever is cancelled has none.
#[derive(Debug, Default)]
pub struct Allocations {
    /// Those whose rooms are taken.
    taken: BTreeMap<AllocationId, (ReservationId, Vec<AllocatedRoom>)>,
    stays: BTreeMap<ReservationId, Stay>,
}

/// What the log says last of a booking.
#[derive(Debug)]
enum Stay {
    Confirmed(Vec<BookedRoom>, DateRange),
    Cancelled,
}

impl Allocations {
    pub(super) fn take(&mut self, fact: &Fact<'_>) {
        if let Some(it) = fact.of::<AllocationCommitted>() {
            self.taken.insert(it.allocation_id, (it.reservation_id, it.rooms));
        } else if let Some(it) = fact.of::<AllocationReleased>() {
            self.taken.remove(&it.allocation_id);
        } else if let Some(it) = fact.of::<BookingConfirmed>() {
            let dates = DateRange { from: it.stay.check_in, until: it.stay.check_out };
            self.stays.insert(it.reservation_id, Stay::Confirmed(it.rooms, dates));
        } else if let Some(it) = fact.of::<BookingCancelled>() {
            self.stays.insert(it.reservation_id, Stay::Cancelled);
        }
    }

    /// What does not hold.
    pub(super) fn broken(&self) -> Vec<String> {
        let mut broken = Vec::new();
        let mut has: BTreeMap<ReservationId, Vec<&AllocatedRoom>> = BTreeMap::new();
        for (allocation, (of, rooms)) in &self.taken {
            has.entry(*of).or_default().extend(rooms);
            if matches!(self.stays.get(of), Some(Stay::Cancelled)) {
                broken.push(format!("an allocation outlives its booking: {allocation} of {of}, which is cancelled"));
            }
        }
        for (of, stay) in &self.stays {
            let Stay::Confirmed(booked, dates) = stay else { continue };
            let mut left = has.remove(of).unwrap_or_default();
            for room in booked {
                let is_it = |it: &&AllocatedRoom| {
                    let same = room.room_id.is_none() || room.room_id == it.room_id;
                    same && it.room_type_id == room.room_type_id && it.dates == *dates
                };
                match left.iter().position(is_it) {
                    Some(place) => drop(left.remove(place)),
                    None => broken.push(format!("a confirmed booking lacks a room: {of} booked {room:?}, {dates:?}")),
                }
            }
            if !left.is_empty() {
                broken.push(format!("a confirmed booking has rooms that nobody booked: {of} has {left:?}"));
            }
        }
        broken
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::Kept;
    use crate::rules::made::Made;
    use crate::told;

    #[test]
    fn an_allocation_that_stays_after_a_cancellation_is_named() {
        let booking = told::confirmed(10);
        let mut made = Made::with(&booking);
        made.tell(&told::cancelled(&booking));
        made.is_named("an allocation outlives its booking", &Kept::default());
        made.tell(&told::released(&booking, 1, 1));
        made.holds("an allocation", &Kept::default());
    }

    #[test]
    fn a_confirmed_booking_without_a_room_of_its_own_is_named() {
        let booking = told::confirmed(10);
        let mut made = Made::with(&booking);
        made.holds("lacks a room", &Kept::default());
        made.tell(&told::released(&booking, 1, 1));
        made.is_named("a confirmed booking lacks a room", &Kept::default());
        // Another room, and another night.
        let mut other = told::committed(&booking, 1, 0);
        other.rooms[0].room_id = Some(told::id(99));
        made.tell(&other);
        made.is_named("a confirmed booking lacks a room", &Kept::default());
        made.is_named("rooms that nobody booked", &Kept::default());
        let mut other = told::committed(&booking, 1, 0);
        other.rooms[0].dates.until = told::may(2);
        made.tell(&other);
        made.is_named("a confirmed booking lacks a room", &Kept::default());
        made.tell(&told::committed(&booking, 1, 0));
        made.holds("lacks a room", &Kept::default());
        made.holds("nobody booked", &Kept::default());
    }
}
