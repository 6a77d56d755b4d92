//! Snapshots of key figures.
//!
//! Invariant: a snapshot is read across tenants, so it holds sums and counts, and says nothing about a person.

use karwan::Event;
use karwan::envelope::money::{Currency, Micros};
use karwan::envelope::time::{Date, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{PropertyId, SnapshotId};

/// A snapshot of a property's figures was computed.
///
/// Decided here: carries the sums beside the rates made from them, so that a reader can add periods and properties up;
/// occupancy is sold over available rooms, the average daily rate is room revenue over sold rooms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.analytics.snapshot.computed.v1",
    owner = "analytics-service",
    retention = "warm",
    tenancy = "cross_tenant",
    key = "{snapshot_id}",
    idempotency = "{snapshot_id}:computed:{version}",
    decided_here
)]
pub struct SnapshotComputed {
    /// The snapshot: one a property, granularity and period.
    pub snapshot_id: SnapshotId,
    /// Its version; the highest wins.
    pub version: u32,
    /// The property.
    pub property_id: PropertyId,
    /// How long the period is.
    pub granularity: Granularity,
    /// The first day of the period, in the property's time zone.
    pub period_start: Date,
    /// The rooms, sold and available.
    pub rooms: RoomFigures,
    /// The money.
    pub revenue: RevenueFigures,
    /// The bookings.
    pub bookings: BookingFigures,
    /// Facts up to this instant are in it.
    pub facts_until: Timestamp,
    /// When it was computed.
    pub computed_at: Timestamp,
}

/// How long a period is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Granularity {
    /// A business day.
    Day,
    /// A calendar month.
    Month,
}

/// Room nights of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoomFigures {
    /// Room nights that could be sold: without those out of order.
    #[schemars(range(max = 10_000_000))]
    pub available: u32,
    /// Room nights that were sold.
    #[schemars(range(max = 10_000_000))]
    pub sold: u32,
    /// Room nights lost to rooms out of order.
    #[schemars(range(max = 10_000_000))]
    pub out_of_order: u32,
    /// `sold` over `available` in hundredths of a percent, rounded down; over 10000 means oversold; absent when nothing
    /// could be sold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000))]
    pub occupancy_basis_points: Option<u32>,
}

/// Money of a period, in one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevenueFigures {
    /// The property's currency.
    pub currency: Currency,
    /// What rooms earned, taxes excluded.
    pub rooms_micro: Micros,
    /// What everything else earned, taxes excluded.
    pub other_micro: Micros,
    /// What was given back.
    pub refunds_micro: Micros,
    /// `rooms_micro` over sold room nights, rounded down; absent when none was sold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adr_micro: Option<Micros>,
    /// `rooms_micro` over available room nights, rounded down; absent when none was available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revpar_micro: Option<Micros>,
}

/// Bookings of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BookingFigures {
    /// Bookings confirmed in the period, whenever the stay is.
    #[schemars(range(max = 10_000_000))]
    pub confirmed: u32,
    /// Of those, how many are to be paid in cash on arrival.
    #[schemars(range(max = 10_000_000))]
    pub cash_pending: u32,
    /// Bookings cancelled in the period.
    #[schemars(range(max = 10_000_000))]
    pub cancelled: u32,
    /// Guests who did not come.
    #[schemars(range(max = 10_000_000))]
    pub no_shows: u32,
    /// Stays that begin in the period.
    #[schemars(range(max = 10_000_000))]
    pub arrivals: u32,
    /// Of those, how many have checked in.
    #[schemars(range(max = 10_000_000))]
    pub checked_in: u32,
    /// Stays that end in the period.
    #[schemars(range(max = 10_000_000))]
    pub departures: u32,
}
