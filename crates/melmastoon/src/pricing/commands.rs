//! What a caller asks of pricing: to publish a plan, to set its prices, and what a stay costs.

use std::collections::{BTreeMap, BTreeSet};

use karwan::envelope::money::Currency;
use karwan::{Context, Store, TenantTx};

use super::decide::{Ask, Book, forget_at, offer};
use super::exchange::{Rate, key as exchange_key};
use super::state::{Exchange, House, Plan, Prices, Quote, Sleeps, Terms};
use super::work::QUOTE_EXPIRED;
use super::{CalendarDay, CalendarSource, CalendarUpdated, CancellationTerms, MealPlan, RatePlanPublished};
use crate::ids::{PropertyId, QuoteId, RatePlanId, RoomTypeId};
use crate::refusal::Refusal;
use crate::values::{CurrencySnapshot, LocalText, Offer};

/// The most days whose prices are set at once.
pub const DAYS_MAX: usize = 366;
/// The longest stay that is quoted.
const NIGHTS_MAX: i32 = 366;

/// Publish a rate plan.
#[derive(Debug, Clone)]
pub struct Publish {
    /// The property.
    pub property_id: PropertyId,
    /// Its code.
    pub code: String,
    /// Its name.
    pub name: Vec<LocalText>,
    /// The room types that it sells.
    pub room_type_ids: Vec<RoomTypeId>,
    /// The currency of its prices.
    pub currency: Currency,
    /// What cancelling costs.
    pub cancellation: CancellationTerms,
    /// How much is captured at booking.
    pub deposit_percent: u32,
}

/// Publishes a rate plan.
pub async fn publish_rate_plan(store: &Store, context: &Context, publish: &Publish) -> Result<RatePlanId, Refusal> {
    let unit = async |tx: TenantTx| {
        let rate_plan_id: RatePlanId = tx.fresh();
        let of = publish.clone();
        let published = RatePlanPublished {
            rate_plan_id,
            version: 1,
            property_id: of.property_id,
            code: of.code,
            name: of.name,
            room_type_ids: of.room_type_ids,
            currency: of.currency,
            meals: MealPlan::Breakfast,
            cancellation: of.cancellation,
            deposit_percent: of.deposit_percent,
            stay_nights_min: 1,
            stay_nights_max: 30,
            sold_on: None,
            published_at: tx.now(),
        };
        tx.put(Plan { published: published.clone(), calendar_version: 0 });
        tx.emit(published);
        Ok(rate_plan_id)
    };
    Ok(store.unit::<_, Refusal, _>(context, unit).await?.answer)
}

/// Sets the prices of days.
pub async fn set_prices(
    store: &Store,
    context: &Context,
    plan: RatePlanId,
    of: RoomTypeId,
    days: &[CalendarDay],
) -> Result<(), Refusal> {
    if days.is_empty() || days.len() > DAYS_MAX {
        return Err(Refusal::invalid("days", format!("from 1 to {DAYS_MAX} days at once")));
    }
    let unit = async |tx: TenantTx| {
        let found = tx.find::<Plan>(&plan.to_string()).await?;
        let mut found = found.ok_or_else(|| Refusal::not_found("rate plan", plan))?;
        let blocks: BTreeSet<i32> = days.iter().map(|day| Prices::block(day.date)).collect();
        for block in blocks {
            let prices = tx.find::<Prices>(&Prices::key(plan, of, block)).await?;
            let empty = Prices { rate_plan_id: plan, room_type_id: of, block, days: BTreeMap::new() };
            let mut prices = prices.unwrap_or(empty);
            let own = days.iter().filter(|day| Prices::block(day.date) == block);
            prices.days.extend(own.map(|day| (day.date, day.clone())));
            tx.put(prices);
        }
        found.calendar_version += 1;
        tx.emit(CalendarUpdated {
            rate_plan_id: plan,
            version: found.calendar_version,
            property_id: found.published.property_id,
            room_type_id: of,
            currency: found.published.currency,
            days: days.to_vec(),
            source: CalendarSource::Staff,
            decision_id: None,
            updated_by: None,
            updated_at: tx.now(),
        });
        tx.put(found);
        Ok(())
    };
    store.unit::<_, Refusal, _>(context, unit).await.map(drop)
}

/// Says how a guest's currency stands to a property's: units of the property's for one of the guest's, as a decimal. Quotes that
/// were made before keep theirs. Nobody is told: a rate is told with the quotes that are made at it.
pub async fn set_exchange_rate(
    store: &Store,
    context: &Context,
    guest_currency: Currency,
    property_currency: Currency,
    rate: &str,
) -> Result<(), Refusal> {
    if guest_currency == property_currency {
        return Err(Refusal::invalid("currency", format!("{guest_currency} stands to itself as it does")));
    }
    if Rate::parse(rate).is_none() {
        return Err(Refusal::invalid("rate", "a decimal above 0, with at most 12 digits on each side of its point"));
    }
    let unit = async |tx: TenantTx| {
        let taken_at = tx.now();
        tx.find::<Exchange>(&exchange_key(guest_currency, property_currency)).await?;
        tx.put(Exchange {
            rate: CurrencySnapshot { guest_currency, property_currency, rate: rate.to_owned(), taken_at },
        });
        Ok(())
    };
    store.unit::<_, Refusal, _>(context, unit).await.map(drop)
}

/// What a stay costs; the price holds for a quarter of an hour.
pub async fn quote(store: &Store, context: &Context, ask: &Ask) -> Result<Offer, Refusal> {
    let nights = ask.check_out.unix_days().saturating_sub(ask.check_in.unix_days());
    if !(1..=NIGHTS_MAX).contains(&nights) {
        return Err(Refusal::invalid("checkOut", format!("from 1 to {NIGHTS_MAX} nights, not {nights}")));
    }
    let unit = async |tx: TenantTx| {
        let book = book(&tx, ask).await?;
        let (quote_id, now): (QuoteId, _) = (tx.fresh(), tx.now());
        let offer = offer(ask, &book, quote_id, now)?;
        let booking_intent_id = ask.booking_intent_id;
        tx.deadline(QUOTE_EXPIRED, &quote_id.to_string(), forget_at(&offer.quote), &quote_id);
        tx.put(Quote { quote_id, offer: offer.clone(), booking_intent_id, quoted_at: now, accepted: None });
        Ok(offer)
    };
    Ok(store.unit::<_, Refusal, _>(context, unit).await?.answer)
}

/// Reads what a price rests on. A price may change right after it was quoted, so nothing of it is checked at the flush.
async fn book(tx: &TenantTx, ask: &Ask) -> Result<Book, Refusal> {
    let terms = tx.peek::<Terms>(Terms::ID).await?;
    let house = tx.peek::<House>(&ask.property_id.to_string()).await?;
    let sleeps = tx.peek::<Sleeps>(&ask.room_type_id.to_string()).await?;
    let plan = tx.peek::<Plan>(&ask.rate_plan_id.to_string()).await?;
    let mut days = BTreeMap::new();
    for block in Prices::block(ask.check_in)..=Prices::block(ask.check_out) {
        let key = Prices::key(ask.rate_plan_id, ask.room_type_id, block);
        days.extend(tx.peek::<Prices>(&key).await?.map(|prices| prices.days).unwrap_or_default());
    }
    let house = house.ok_or_else(|| Refusal::not_found("property", ask.property_id))?;
    let plan = plan.ok_or_else(|| Refusal::not_found("rate plan", ask.rate_plan_id))?;
    let mut exchange = Vec::new();
    for currency in ask.currency.into_iter().chain([plan.published.currency]) {
        exchange.extend(tx.peek::<Exchange>(&exchange_key(currency, house.currency)).await?.map(|known| known.rate));
    }
    Ok(Book {
        terms: terms.ok_or_else(|| Refusal::not_found("settings of the tenant of", ask.property_id))?,
        house,
        sleeps: sleeps.ok_or_else(|| Refusal::not_found("room type", ask.room_type_id))?,
        plan,
        days,
        exchange,
    })
}
