//! Rooms and nights.

use std::collections::{BTreeMap, HashMap};

use karwan::envelope::time::Date;

use super::Fact;
use crate::ids::{AllocationId, RoomId, RoomTypeId};
use crate::inventory::state::Night;
use crate::inventory::{AllocatedRoom, AllocationCommitted, AllocationReleased};
use crate::search_aggregation::state::Month;

/// No room-night is sold twice, at any moment of the log; and as many are taken as those who list them say.
#[derive(Debug, Default)]
pub struct Nights {
    /// Who has which room and night.
    taken: HashMap<(RoomId, Date), AllocationId>,
    /// And the other way round, so that a release looks at nothing else.
    of: HashMap<AllocationId, Vec<(RoomId, Date)>>,
    /// How many rooms of a type are taken.
    by_type: BTreeMap<(RoomTypeId, Date), i64>,
    broken: Vec<String>,
}

fn nights(room: &AllocatedRoom) -> impl Iterator<Item = Date> + use<> {
    (room.dates.from.unix_days()..room.dates.until.unix_days()).map(Date::from_unix_days)
}

impl Nights {
    pub(super) fn take(&mut self, fact: &Fact<'_>) {
        if let Some(committed) = fact.of::<AllocationCommitted>() {
            let id = committed.allocation_id;
            for room in &committed.rooms {
                for night in nights(room) {
                    *self.by_type.entry((room.room_type_id, night)).or_default() += 1;
                    let Some(room_id) = room.room_id else { continue };
                    if let Some(other) = self.taken.insert((room_id, night), id).filter(|other| *other != id) {
                        self.broken.push(format!("a room-night is sold twice: {room_id}, {night}: {other} and {id}"));
                    }
                    self.of.entry(id).or_default().push((room_id, night));
                }
            }
        } else if let Some(released) = fact.of::<AllocationReleased>() {
            for place in self.of.remove(&released.allocation_id).unwrap_or_default() {
                self.taken.remove(&place);
            }
            for room in &released.rooms {
                nights(room).for_each(|night| *self.by_type.entry((room.room_type_id, night)).or_default() -= 1);
            }
        }
    }

    /// What does not hold, where inventory keeps these nights, and these are listed.
    pub(super) fn broken(&self, kept: &[Night], months: &[Month]) -> Vec<String> {
        let mut broken = self.broken.clone();
        let held = |night: &Night| {
            let date = night.date;
            night.taken.iter().map(move |(room, id)| ((*room, date), *id)).collect::<Vec<_>>()
        };
        let kept: HashMap<(RoomId, Date), AllocationId> = kept.iter().flat_map(held).collect();
        let both = self.taken.keys().chain(kept.keys().filter(|place| !self.taken.contains_key(*place)));
        for (place, log, kept) in both.map(|place| (place, self.taken.get(place), kept.get(place))) {
            if log != kept {
                broken.push(format!("inventory keeps another night than the log: {place:?}: {kept:?}, not {log:?}"));
            }
        }
        broken.extend(months.iter().flat_map(|month| self.listed(month)));
        broken
    }

    /// Where a listing counts other nights as taken than the log.
    fn listed(&self, month: &Month) -> Vec<String> {
        let differ = month.nights.iter().filter_map(|(night, shown)| {
            let taken = self.by_type.get(&(month.room_type_id, *night)).copied().unwrap_or_default();
            let (of, shown) = (month.room_type_id, i64::from(shown.taken.1));
            (taken != shown).then(|| format!("{shown} rooms of {of} are listed as taken on {night}, and {taken} are"))
        });
        differ.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use crate::inventory::state::Night;
    use crate::rules::Kept;
    use crate::rules::made::Made;
    use crate::search_aggregation::state::{Month, ShownNight};
    use crate::told;

    #[test]
    fn a_night_that_is_sold_again_before_it_was_released_is_named() {
        let (one, mut two) = (told::confirmed(10), told::confirmed(11));
        two.rooms.clone_from(&one.rooms);
        let mut made = Made::default();
        made.tell(&told::committed(&one, 1, 0));
        made.tell(&told::released(&one, 1, 1));
        made.tell(&told::committed(&two, 1, 0));
        made.holds("sold twice", &Kept::default());
        made.tell(&told::committed(&one, 1, 0));
        made.is_named("a room-night is sold twice", &Kept::default());
    }

    #[test]
    fn a_night_that_is_kept_or_listed_otherwise_than_the_log_says_is_named() {
        let booking = told::confirmed(10);
        let room = booking.rooms[0].room_id.expect("it has one");
        let night = |day: i32| Night {
            room_type_id: told::room_type(),
            date: told::may(day),
            taken: BTreeMap::from([(room, told::id(10))]),
            closed_by: BTreeSet::new(),
        };
        let mut made = Made::default();
        made.tell(&told::committed(&booking, 1, 0));
        made.holds("inventory", &Kept { nights: vec![night(1), night(2)], ..Kept::default() });
        made.is_named("inventory keeps another night", &Kept { nights: vec![night(1)], ..Kept::default() });
        let nights = vec![night(1), night(2), night(3)];
        made.is_named("inventory keeps another night", &Kept { nights, ..Kept::default() });
        let listed = |rooms: u32| {
            let shown = ShownNight { taken: (1, rooms), ..ShownNight::default() };
            let nights = BTreeMap::from([(told::may(1), shown)]);
            let month = Month { room_type_id: told::room_type(), month: Month::of(told::may(1)), nights };
            Kept { months: vec![month], ..Kept::default() }
        };
        made.holds("are listed as taken", &listed(1));
        made.is_named("are listed as taken", &listed(0));
    }
}
