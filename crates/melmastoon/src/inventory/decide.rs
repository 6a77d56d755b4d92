//! Which rooms a booking gets. No clock, no I/O.

use std::collections::BTreeMap;

use karwan::envelope::time::Date;

use super::state::{Night, Stock, StockRoom};
use super::{AllocatedRoom, ReleaseReason, RoomAvailability, Shortage};
use crate::ids::{AllocationId, RoomId, RoomTypeId};
use crate::reservation::CancellationReason;
use crate::values::{BookedRoom, DateRange};

/// The longest range of nights that is looked at once.
pub const NIGHTS_MAX: usize = 366;

/// The days of a range, the end excluded, and no more than [`NIGHTS_MAX`].
pub fn days(range: DateRange) -> impl Iterator<Item = Date> {
    (range.from.unix_days()..range.until.unix_days()).take(NIGHTS_MAX).map(Date::from_unix_days)
}

/// What a decision about nights rests on: the rooms of some types, and every night of a range.
#[derive(Debug, Clone, Default)]
pub struct Sheet {
    /// The rooms by type.
    pub stock: BTreeMap<RoomTypeId, Stock>,
    /// The nights by type.
    pub nights: BTreeMap<(RoomTypeId, Date), Night>,
}

impl Sheet {
    /// What is left, night by night.
    pub fn availability(&self) -> Vec<RoomAvailability> {
        let left = |night: &Night| self.stock.get(&night.room_type_id).map(|stock| night.availability(stock));
        self.nights.values().filter_map(left).collect()
    }

    /// Takes a room for every wanted one, each for all nights; where one is missing, nothing is taken.
    pub fn allocate(
        &mut self,
        allocation: AllocationId,
        wanted: &[BookedRoom],
        dates: DateRange,
    ) -> Result<Vec<AllocatedRoom>, Vec<Shortage>> {
        let mut sheet = self.clone();
        let mut rooms = Vec::new();
        for want in wanted {
            let Some(room_id) = sheet.free_room(want, dates) else { return Err(self.shortages(wanted, dates)) };
            for date in days(dates) {
                sheet.night(want.room_type_id, date).taken.insert(room_id, allocation);
            }
            rooms.push(AllocatedRoom { room_type_id: want.room_type_id, room_id: Some(room_id), dates });
        }
        *self = sheet;
        Ok(rooms)
    }

    /// Frees what an allocation has; what is somebody else's stays.
    pub fn release(&mut self, allocation: AllocationId, rooms: &[AllocatedRoom]) {
        for room in rooms {
            let Some(room_id) = room.room_id else { continue };
            for date in days(room.dates) {
                let night = self.night(room.room_type_id, date);
                if night.taken.get(&room_id) == Some(&allocation) {
                    night.taken.remove(&room_id);
                }
            }
        }
    }

    /// The room that was asked for, or the first that is free on all nights.
    fn free_room(&self, want: &BookedRoom, dates: DateRange) -> Option<RoomId> {
        let rooms = &self.stock.get(&want.room_type_id)?.rooms;
        let asked = |room: &&StockRoom| want.room_id.is_none_or(|id| id == room.room_id);
        let free = |room: &&StockRoom| days(dates).all(|date| self.is_free(room, want.room_type_id, date));
        rooms.iter().filter(asked).find(free).map(|room| room.room_id)
    }

    fn is_free(&self, room: &StockRoom, of: RoomTypeId, date: Date) -> bool {
        let sold = room.archived_from.is_none_or(|from| date < from);
        let free = |night: &Night| night.closed_by.is_empty() && !night.taken.contains_key(&room.room_id);
        sold && self.nights.get(&(of, date)).is_none_or(free)
    }

    fn night(&mut self, of: RoomTypeId, date: Date) -> &mut Night {
        self.nights.entry((of, date)).or_insert_with(|| Night::empty(of, date))
    }

    /// Where rooms are missing: a night has too few, or enough, and none of them is free for the whole stay.
    fn shortages(&self, wanted: &[BookedRoom], dates: DateRange) -> Vec<Shortage> {
        let mut requested: BTreeMap<RoomTypeId, u32> = BTreeMap::new();
        for want in wanted {
            *requested.entry(want.room_type_id).or_default() += 1;
        }
        let all = requested.into_iter().flat_map(|(room_type_id, requested)| {
            days(dates).map(move |date| Shortage { room_type_id, date, requested, available: 0 })
        });
        let all: Vec<Shortage> =
            all.map(|it| Shortage { available: self.left(it.room_type_id, it.date), ..it }).collect();
        let missing: Vec<Shortage> = all.iter().filter(|it| it.available < it.requested).cloned().collect();
        if missing.is_empty() { all } else { missing }
    }

    fn left(&self, of: RoomTypeId, date: Date) -> u32 {
        let Some(stock) = self.stock.get(&of) else { return 0 };
        self.nights.get(&(of, date)).unwrap_or(&Night::empty(of, date)).availability(stock).available
    }
}

/// Why rooms are free again, from why the booking is gone.
pub const fn release_reason(reason: CancellationReason) -> ReleaseReason {
    match reason {
        CancellationReason::HoldExpired => ReleaseReason::HoldExpired,
        CancellationReason::PaymentFailed => ReleaseReason::PaymentFailed,
        CancellationReason::OversellBlocked
        | CancellationReason::GuestRequest
        | CancellationReason::PropertyRequest
        | CancellationReason::Fraud => ReleaseReason::Cancelled,
    }
}
