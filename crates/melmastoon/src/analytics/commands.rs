//! What the dashboard asks of analytics: the figures of a property over some days.

use karwan::envelope::money::Micros;
use karwan::envelope::time::Date;
use karwan::{Context, Query, Store};

use super::decide::{revenue, rooms};
use super::events::{BookingFigures, RevenueFigures, RoomFigures};
use super::state::{House, Snapshot, Sums};
use crate::ids::PropertyId;
use crate::refusal::Refusal;
use crate::values::DateRange;

/// The most days that are added up.
pub const DAYS_MAX: i32 = 366;

/// Key figures of some days: the sums of their snapshots, and the rates made from the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kpis {
    /// The rooms.
    pub rooms: RoomFigures,
    /// The money.
    pub revenue: RevenueFigures,
    /// The bookings.
    pub bookings: BookingFigures,
}

/// The figures of a property over some days, as they were computed last.
pub async fn kpis(store: &Store, context: &Context, property: PropertyId, days: DateRange) -> Result<Kpis, Refusal> {
    let (from, until) = (days.from.unix_days(), days.until.unix_days());
    if until <= from || until - from > DAYS_MAX {
        return Err(Refusal::invalid("days", format!("choose from 1 to {DAYS_MAX} days")));
    }
    let tx = store.tenant(context);
    let house: Option<House> = tx.find(&property.to_string()).await?;
    let house = house.ok_or_else(|| Refusal::not_found("property", property))?;
    let (currency, _) = house.books.clone().ok_or_else(|| Refusal::not_found("property", property))?;
    let mut shown = Query::<Snapshot>::new().equal("property", property.to_string());
    shown = shown.at_least("day", i64::from(from)).less_than("day", i64::from(until)).limit(DAYS_MAX as usize);
    let (mut sums, mut sold, mut bookings) = (Sums::default(), 0, NONE);
    for day in tx.query(shown).await?.items {
        sold += day.rooms.sold;
        let micros = |a: Micros, b: Micros| Micros::new(a.get() + b.get());
        sums.sold += i64::from(day.rooms.sold);
        sums.rooms_micro = micros(sums.rooms_micro, day.revenue.rooms_micro);
        sums.refunds_micro = micros(sums.refunds_micro, day.revenue.refunds_micro);
        bookings = added(bookings, day.bookings);
    }
    let available = (from..until).map(|day| house.available(Date::from_unix_days(day))).sum();
    Ok(Kpis { rooms: rooms(available, sold), revenue: revenue(currency, &sums, available), bookings })
}

const NONE: BookingFigures = BookingFigures {
    confirmed: 0,
    cash_pending: 0,
    cancelled: 0,
    no_shows: 0,
    arrivals: 0,
    checked_in: 0,
    departures: 0,
};

fn added(a: BookingFigures, b: BookingFigures) -> BookingFigures {
    BookingFigures {
        confirmed: a.confirmed + b.confirmed,
        cash_pending: a.cash_pending + b.cash_pending,
        cancelled: a.cancelled + b.cancelled,
        no_shows: a.no_shows + b.no_shows,
        arrivals: a.arrivals + b.arrivals,
        checked_in: a.checked_in + b.checked_in,
        departures: a.departures + b.departures,
    }
}
