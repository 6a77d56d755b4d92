//! What analytics keeps: the house, the sums of each day, and the figures that dashboards show.

use std::ops::AddAssign;

use karwan::envelope::money::{Currency, Micros};
use karwan::envelope::time::{Date, Timestamp};
use karwan::{Document, Field, FieldType, FieldValue, Kind};
use serde::{Deserialize, Serialize};

use super::events::{BookingFigures, RevenueFigures, RoomFigures};
use crate::digest::bits_of;
use crate::ids::{PropertyId, ReservationId, RoomId, SnapshotId};

/// A property as analytics knows it. Its rooms may be known before it is itself: they are told under other keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct House {
    /// The property.
    pub property_id: PropertyId,
    /// The currency of its books, and its time zone; none before the property was told of.
    pub books: Option<(Currency, String)>,
    /// Its rooms.
    pub rooms: Vec<HouseRoom>,
}

/// A room, and the nights on which it can be sold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HouseRoom {
    /// The room.
    pub room_id: RoomId,
    /// The first night; none where only its end was told of so far.
    pub from: Option<Date>,
    /// The first night on which it is not sold any more.
    pub until: Option<Date>,
}

impl House {
    /// A house of which nothing is known.
    pub fn unknown(property_id: PropertyId) -> Self {
        Self { property_id, books: None, rooms: Vec::new() }
    }

    /// How many rooms can be sold on a night.
    pub fn available(&self, night: Date) -> u32 {
        let sold = |room: &&HouseRoom| {
            room.from.is_some_and(|from| from <= night) && room.until.is_none_or(|until| night < until)
        };
        u32::try_from(self.rooms.iter().filter(sold).count()).unwrap_or(u32::MAX)
    }
}

impl Document for House {
    const KIND: Kind = Kind::named("analytics_house");
    fn id(&self) -> String {
        self.property_id.to_string()
    }
}

/// What is counted of a day. Sums alone, so that the order of events does not matter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// Room nights that are sold.
    pub sold: i64,
    /// What rooms earn, in the property's currency.
    pub rooms_micro: Micros,
    /// What was given back, in the property's currency.
    pub refunds_micro: Micros,
    /// Bookings confirmed.
    pub confirmed: i64,
    /// Of those, to be paid on arrival.
    pub cash_pending: i64,
    /// Confirmed bookings cancelled.
    pub cancelled: i64,
    /// Stays that begin.
    pub arrivals: i64,
    /// Stays that end.
    pub departures: i64,
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Self) {
        let micros = |a: Micros, b: Micros| Micros::new(a.get() + b.get());
        self.sold += other.sold;
        self.rooms_micro = micros(self.rooms_micro, other.rooms_micro);
        self.refunds_micro = micros(self.refunds_micro, other.refunds_micro);
        self.confirmed += other.confirmed;
        self.cash_pending += other.cash_pending;
        self.cancelled += other.cancelled;
        self.arrivals += other.arrivals;
        self.departures += other.departures;
    }
}

/// How many documents the sums of a day are spread over: as many as there are lanes, so that lanes do not wait for one another.
pub const SHARES: u16 = 4;

/// A share of a day's sums.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Day {
    /// The property.
    pub property_id: PropertyId,
    /// The day, in the property's time zone.
    pub date: Date,
    /// Which share.
    pub share: u16,
    /// The sums.
    pub sums: Sums,
    /// Facts up to this instant are in them.
    pub facts_until: Timestamp,
    /// Whether a snapshot with them is on its way.
    pub awaited: bool,
}

impl Day {
    /// The id of a share.
    pub fn key(property: PropertyId, date: Date, share: u16) -> String {
        format!("{property}:{date}:{share}")
    }
}

impl Document for Day {
    const KIND: Kind = Kind {
        name: "analytics_day",
        shape: 1,
        carries: None,
        fields: &[Field { name: "property", of: FieldType::Text }, Field { name: "day", of: FieldType::Integer }],
    };
    fn id(&self) -> String {
        Self::key(self.property_id, self.date, self.share)
    }
    fn fields(&self) -> Vec<FieldValue> {
        vec![self.property_id.to_string().into(), i64::from(self.date.unix_days()).into()]
    }
}

/// The rate of a booking whose guest pays in another currency than the property's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// The booking.
    pub reservation_id: ReservationId,
    /// Units of the property's currency for one of the guest's.
    pub rate: String,
}

impl Document for Rate {
    const KIND: Kind = Kind::named("analytics_rate");
    fn id(&self) -> String {
        self.reservation_id.to_string()
    }
}

/// The figures of a property's day as they were computed last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// How often it was computed.
    pub version: u32,
    /// The property.
    pub property_id: PropertyId,
    /// The day.
    pub date: Date,
    /// The rooms.
    pub rooms: RoomFigures,
    /// The money.
    pub revenue: RevenueFigures,
    /// The bookings.
    pub bookings: BookingFigures,
    /// Facts up to this instant are in it.
    pub facts_until: Timestamp,
}

impl Snapshot {
    /// The snapshot of a property's day: one, however often it is computed.
    pub fn of(property: PropertyId, date: Date) -> SnapshotId {
        let (property, day) = (property.bits().to_be_bytes(), date.unix_days().to_be_bytes());
        SnapshotId::from_bits(bits_of(&[b"snapshot", &property, &day]))
    }
}

impl Document for Snapshot {
    const KIND: Kind = Kind {
        name: "analytics_snapshot",
        shape: 1,
        carries: Some("melmastoon.analytics.snapshot"),
        fields: &[Field { name: "property", of: FieldType::Text }, Field { name: "day", of: FieldType::Integer }],
    };
    fn id(&self) -> String {
        self.snapshot_id.to_string()
    }
    fn fields(&self) -> Vec<FieldValue> {
        vec![self.property_id.to_string().into(), i64::from(self.date.unix_days()).into()]
    }
}
