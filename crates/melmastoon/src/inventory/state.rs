//! What inventory keeps: the rooms of a type, what is taken on each night, allocations, stop-sells.

use std::collections::{BTreeMap, BTreeSet};

use karwan::envelope::time::Date;
use karwan::{Document, Kind};
use serde::{Deserialize, Serialize};

use super::{AllocatedRoom, RoomAvailability};
use crate::ids::{AllocationId, PropertyId, ReservationId, RoomId, RoomTypeId, StopSellId};
use crate::values::DateRange;

/// The rooms of one type that can be sold, in the order in which they were added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stock {
    /// The room type.
    pub room_type_id: RoomTypeId,
    /// Its property.
    pub property_id: PropertyId,
    /// Its rooms.
    pub rooms: Vec<StockRoom>,
}

/// One room.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StockRoom {
    /// The room.
    pub room_id: RoomId,
    /// The first night on which it is not sold; none while there is none.
    pub archived_from: Option<Date>,
}

impl Document for Stock {
    const KIND: Kind = Kind::named("inventory_stock");
    fn id(&self) -> String {
        self.room_type_id.to_string()
    }
}

/// One night of one room type: the guard of its rooms. Whoever takes, frees or closes a room of the type on this night writes
/// it, so of two who want the last room one is re-run and sees that it is gone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Night {
    /// The room type.
    pub room_type_id: RoomTypeId,
    /// The night.
    pub date: Date,
    /// Who has which room.
    pub taken: BTreeMap<RoomId, AllocationId>,
    /// The stop-sells that close it.
    pub closed_by: BTreeSet<StopSellId>,
}

impl Night {
    /// A night on which nothing is taken.
    pub fn empty(room_type_id: RoomTypeId, date: Date) -> Self {
        Self { room_type_id, date, taken: BTreeMap::new(), closed_by: BTreeSet::new() }
    }

    /// The id of the night of a type.
    pub fn key(room_type_id: RoomTypeId, date: Date) -> String {
        format!("{room_type_id}:{date}")
    }

    /// What is left of it.
    pub fn availability(&self, stock: &Stock) -> RoomAvailability {
        let sold_here = |room: &&StockRoom| room.archived_from.is_none_or(|from| self.date < from);
        let total = if self.closed_by.is_empty() { stock.rooms.iter().filter(sold_here).count() } else { 0 };
        let available = stock.rooms.iter().filter(sold_here).filter(|room| !self.taken.contains_key(&room.room_id));
        let available = if total == 0 { 0 } else { available.count() };
        let count = |rooms: usize| u32::try_from(rooms).unwrap_or(u32::MAX);
        RoomAvailability {
            room_type_id: self.room_type_id,
            date: self.date,
            total: count(total),
            available: count(available),
        }
    }
}

impl Document for Night {
    const KIND: Kind = Kind::named("inventory_night");
    fn id(&self) -> String {
        Self::key(self.room_type_id, self.date)
    }
}

/// The rooms of one reservation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Allocation {
    /// The allocation.
    pub allocation_id: AllocationId,
    /// Its version.
    pub version: u32,
    /// The reservation that it serves.
    pub reservation_id: ReservationId,
    /// The property.
    pub property_id: PropertyId,
    /// What it has; what it had once it is released.
    pub rooms: Vec<AllocatedRoom>,
    /// Where it stands.
    pub state: AllocationState,
}

/// Where an allocation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AllocationState {
    /// Its rooms are taken.
    Committed,
    /// There were no rooms for it.
    Blocked,
    /// Its rooms are free again. A hold that comes later finds this and takes nothing.
    Released,
}

impl AllocationState {
    /// What spans call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::Blocked => "blocked",
            Self::Released => "released",
        }
    }
}

impl Allocation {
    /// The allocation of a reservation: there is one, so it needs no index to be found.
    pub const fn of(reservation: ReservationId) -> AllocationId {
        AllocationId::from_bits(reservation.bits())
    }
}

impl Document for Allocation {
    const KIND: Kind = Kind { carries: Some("melmastoon.inventory.allocation"), ..Kind::named("inventory_allocation") };
    fn id(&self) -> String {
        self.allocation_id.to_string()
    }
}

/// Nights of a room type that are closed for sale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StopSell {
    /// The stop-sell.
    pub stop_sell_id: StopSellId,
    /// Its version.
    pub version: u32,
    /// The property.
    pub property_id: PropertyId,
    /// The room type.
    pub room_type_id: RoomTypeId,
    /// The nights.
    pub dates: DateRange,
    /// Whether it holds.
    pub active: bool,
}

impl Document for StopSell {
    const KIND: Kind = Kind { carries: Some("melmastoon.inventory.stop_sell"), ..Kind::named("inventory_stop_sell") };
    fn id(&self) -> String {
        self.stop_sell_id.to_string()
    }
}
