//! What a stay costs. No clock, no I/O.

use std::collections::BTreeMap;

use karwan::envelope::money::{Currency, Micros, Money};
use karwan::envelope::time::{Date, Timestamp};

use super::exchange::{Rate, converted};
use super::state::{House, Plan, Sleeps, Terms, in_language};
use super::{CalendarDay, CancellationTerms};
use crate::house_time::window;
use crate::ids::{BookingIntentId, PropertyId, QuoteId, RatePlanId, RoomTypeId};
use crate::refusal::Refusal;
use crate::values::{
    BookedRoom, CancellationPolicy, CurrencySnapshot, Locale, NightPrice, Offer, Party, QuoteSnapshot, StayWindow,
};

/// How long a quote holds (U-14).
pub const QUOTE_MS: i64 = 15 * 60 * 1000;
/// How long a hold may rest on a quote that it has taken at its last moment, and a minute for the news of it: nobody tells pricing
/// of a hold before its guest confirms it.
pub const RESTS_MS: i64 = 11 * 60 * 1000;
const HOUR_MS: i64 = 3_600_000;
const BASIS_POINTS: i128 = 10_000;

/// What a guest asks the price of: rooms of one type under one plan.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The property.
    pub property_id: PropertyId,
    /// The rate plan.
    pub rate_plan_id: RatePlanId,
    /// The room type.
    pub room_type_id: RoomTypeId,
    /// The day of arrival.
    pub check_in: Date,
    /// The day of departure.
    pub check_out: Date,
    /// Who sleeps in each room.
    pub rooms: Vec<Party>,
    /// The guest's language.
    pub locale: Locale,
    /// The currency that the guest pays in; absent for that of the rate plan.
    pub currency: Option<Currency>,
    /// The funnel's intent.
    pub booking_intent_id: Option<BookingIntentId>,
}

/// What a price rests on.
#[derive(Debug)]
pub struct Book {
    /// The tenant's terms.
    pub terms: Terms,
    /// The house.
    pub house: House,
    /// The room type.
    pub sleeps: Sleeps,
    /// The plan.
    pub plan: Plan,
    /// The prices of the nights.
    pub days: BTreeMap<Date, CalendarDay>,
    /// How the guest's currency and the plan's stand to the house's, where they differ and that is known.
    pub exchange: Vec<CurrencySnapshot>,
}

/// The offer for what is asked, or why there is none.
pub fn offer(ask: &Ask, book: &Book, id: QuoteId, now: Timestamp) -> Result<Offer, Refusal> {
    let Book { terms, house, sleeps, plan, .. } = book;
    if !terms.sells {
        return Err(Refusal::SalesStopped);
    }
    let hours = (house.check_in_from.as_str(), house.check_out_by.as_str());
    let stay = window(&house.time_zone, hours, ask.check_in, ask.check_out);
    let stay = stay.ok_or_else(|| Refusal::invalid("checkOut", "a stay ends after it begins"))?;
    sellable(ask, book, &stay)?;
    let currency = ask.currency.unwrap_or(plan.published.currency);
    let (nights, net, tax) = priced(ask, book, currency)?;
    let money = |micros: i128| Money { amount_micro: Micros::new(micros), currency };
    let room = |party: &Party| BookedRoom {
        room_type_id: ask.room_type_id,
        room_type_name: in_language(&sleeps.name, &ask.locale),
        rate_plan_id: ask.rate_plan_id,
        party: *party,
        room_id: None,
        room_label: None,
    };
    Ok(Offer {
        property_id: ask.property_id,
        property_name: in_language(&house.name, &ask.locale),
        stay,
        rooms: ask.rooms.iter().map(room).collect(),
        party: Party {
            adults: ask.rooms.iter().map(|party| party.adults).sum(),
            children: ask.rooms.iter().map(|party| party.children).sum(),
        },
        quote: QuoteSnapshot {
            quote_id: id,
            total: money(net + tax),
            tax: money(tax),
            nights,
            currency_snapshot: snapshot(book, currency, now)?,
            expires_at: now.plus_ms(QUOTE_MS),
        },
        cancellation: policy(&plan.published.cancellation, &stay),
        deposit: money((net + tax) * i128::from(plan.published.deposit_percent.min(100)) / 100),
    })
}

/// How a currency stands to the house's, frozen.
fn snapshot(book: &Book, of: Currency, now: Timestamp) -> Result<CurrencySnapshot, Refusal> {
    let property_currency = book.house.currency;
    if of == property_currency {
        let rate = "1".to_owned();
        return Ok(CurrencySnapshot { guest_currency: of, property_currency, rate, taken_at: now });
    }
    let same = |known: &&CurrencySnapshot| (known.guest_currency, known.property_currency) == (of, property_currency);
    let known = book.exchange.iter().find(same).cloned();
    known.ok_or_else(|| Refusal::invalid("currency", format!("how {of} stands to {property_currency} is not known")))
}

/// From the currency of the plan's prices to the guest's: both stand to the house's.
fn rates(book: &Book, currency: Currency) -> Result<(Rate, Rate), Refusal> {
    let of = book.plan.published.currency;
    if of == currency {
        return Ok((Rate::ONE, Rate::ONE));
    }
    let rate = |of: Currency| {
        let known = snapshot(book, of, Timestamp::from_unix_ms(0))?;
        Rate::parse(&known.rate).ok_or_else(|| Refusal::invalid("currency", format!("the rate of {of} is none")))
    };
    Ok((rate(of)?, rate(currency)?))
}

/// Each night without its tax, what they add up to, and the tax. A price is converted before it is taxed and added up, so that
/// everything after it is whole in one currency.
fn priced(ask: &Ask, book: &Book, currency: Currency) -> Result<(Vec<NightPrice>, i128, i128), Refusal> {
    let Book { terms, days, .. } = book;
    let (from, to) = rates(book, currency)?;
    let (mut nights, mut shown) = (Vec::new(), 0);
    for _ in &ask.rooms {
        for date in (ask.check_in.unix_days()..ask.check_out.unix_days()).map(Date::from_unix_days) {
            let day = days.get(&date).filter(|day| !day.closed);
            let day = day.ok_or_else(|| Refusal::invalid("checkIn", format!("{date} is not sold under this rate")))?;
            let price = converted(day.price_micro.get(), from, to);
            let price = price.ok_or_else(|| Refusal::invalid("currency", "a price is too large at this rate"))?;
            shown += price;
            let amount_micro = Micros::new(without_tax(price, terms));
            nights.push(NightPrice { date, room_type_id: ask.room_type_id, amount_micro });
        }
    }
    let net: i128 = nights.iter().map(|night| night.amount_micro.get()).sum();
    let on_top = net * i128::from(terms.tax_basis_points) / BASIS_POINTS;
    let tax = if terms.tax_included { shown - net } else { on_top };
    Ok((nights, net, tax))
}

/// When a quote that nobody was told to have accepted is forgotten: not while a hold may rest on it.
pub fn forget_at(quote: &QuoteSnapshot) -> Timestamp {
    quote.expires_at.plus_ms(RESTS_MS)
}

/// A price without its tax. Rounded down; what is left is tax, so that both add up to what the guest was shown.
fn without_tax(price: i128, terms: &Terms) -> i128 {
    if terms.tax_included { price * BASIS_POINTS / (BASIS_POINTS + i128::from(terms.tax_basis_points)) } else { price }
}

/// Whether the plan sells such a stay at all.
fn sellable(ask: &Ask, book: &Book, stay: &StayWindow) -> Result<(), Refusal> {
    let plan = &book.plan.published;
    if plan.property_id != ask.property_id || !plan.room_type_ids.contains(&ask.room_type_id) {
        return Err(Refusal::invalid("ratePlanId", "it does not sell this room type here"));
    }
    if ask.rooms.is_empty() || ask.rooms.len() > 10 {
        return Err(Refusal::invalid("rooms", "from 1 to 10 rooms"));
    }
    let fits = |party: &Party| {
        let capacity = &book.sleeps.capacity;
        party.adults >= 1 && party.adults + party.children <= capacity.adults + capacity.children
    };
    if !ask.rooms.iter().all(fits) {
        return Err(Refusal::invalid("rooms", "the room type does not sleep so many"));
    }
    let first = book.days.get(&ask.check_in);
    let least = first.and_then(|day| day.stay_nights_min).unwrap_or(plan.stay_nights_min);
    if !(least..=plan.stay_nights_max).contains(&stay.nights) {
        let reason = format!("from {least} to {} nights under this rate", plan.stay_nights_max);
        return Err(Refusal::invalid("checkOut", reason));
    }
    if first.is_some_and(|day| day.closed_to_arrival) {
        return Err(Refusal::invalid("checkIn", "no stay begins on this day"));
    }
    Ok(())
}

/// The plan's rule, with the dates of a stay.
fn policy(terms: &CancellationTerms, stay: &StayWindow) -> CancellationPolicy {
    let before = |hours: u32| stay.check_in_at.plus_ms(-i64::from(hours) * HOUR_MS);
    CancellationPolicy {
        free_until: terms.free_until_hours_before.map(before),
        late_refund_percent: terms.late_refund_percent,
        no_show_refund_percent: terms.no_show_refund_percent,
    }
}
