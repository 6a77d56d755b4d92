//! What pricing does with the events of others: it learns houses and terms, and records at which price a booking was made.

use karwan::{Consumer, Due, Error, Received, TenantTx, Timer, Verdict, Work};

use super::state::{House, Quote, Sleeps, Terms};
use super::{QuoteExpired, SERVICE};
use crate::ids::{QuoteId, RoomTypeId};
use crate::property::{PropertyCreated, RoomTypePublished};
use crate::reservation::BookingHeld;
use crate::tenant::{SettingsChanged, TenantCreated, TenantSettings, TenantSuspended};

/// The deadline of a quote.
pub const QUOTE_EXPIRED: &str = "pricing.quote_expired";

karwan::consumers! {
    platform: &crate::platform::PLATFORM,
    kinds: crate::hotel::kinds(),
    houses => crate::given::a_tenant_opens_a_house,
    final_quotes => crate::given::a_booking_is_held_and_cancelled,
}

/// Adds what this service does to a node's work.
pub fn work(work: Work) -> Work {
    let work = consumers().into_iter().fold(work, Work::consumer);
    work.timer(Timer::new(SERVICE, QUOTE_EXPIRED, quote_expired))
}

fn houses() -> Consumer {
    Consumer::new(SERVICE, "houses").on(onboarded).on(settings).on(suspended).on(opened).on(described)
}

fn final_quotes() -> Consumer {
    Consumer::new(SERVICE, "final-quotes").on(held)
}

async fn onboarded(tx: TenantTx, created: Received<TenantCreated>) -> Result<Verdict, Error> {
    learn(&tx, 1, &created.event.settings).await
}

async fn settings(tx: TenantTx, changed: Received<SettingsChanged>) -> Result<Verdict, Error> {
    learn(&tx, changed.event.version, &changed.event.settings).await
}

/// The newest settings count; created and changed have keys of their own, so in any order.
async fn learn(tx: &TenantTx, version: u32, settings: &TenantSettings) -> Result<Verdict, Error> {
    let known = tx.find::<Terms>(Terms::ID).await?;
    if known.as_ref().is_none_or(|known| known.version < version) {
        let sells = known.is_none_or(|known| known.sells);
        let TenantSettings { tax_basis_points, tax_included, .. } = *settings;
        tx.put(Terms { version, tax_basis_points, tax_included, sells });
    }
    Ok(Verdict::Done)
}

async fn suspended(tx: TenantTx, suspended: Received<TenantSuspended>) -> Result<Verdict, Error> {
    let known = tx.find::<Terms>(Terms::ID).await?;
    let terms = known.unwrap_or(Terms { version: 0, tax_basis_points: 0, tax_included: false, sells: true });
    tx.put(Terms { sells: terms.sells && !suspended.event.sales_stopped, ..terms });
    Ok(Verdict::Done)
}

async fn opened(tx: TenantTx, opened: Received<PropertyCreated>) -> Result<Verdict, Error> {
    let PropertyCreated { property_id, name, time_zone, check_in_from, check_out_by, currency, .. } = opened.event;
    tx.find::<House>(&property_id.to_string()).await?;
    tx.put(House { property_id, name, time_zone, check_in_from, check_out_by, currency });
    Ok(Verdict::Done)
}

async fn described(tx: TenantTx, described: Received<RoomTypePublished>) -> Result<Verdict, Error> {
    let RoomTypePublished { room_type_id, version, name, capacity, .. } = described.event;
    let known = tx.find::<Sleeps>(&room_type_id.to_string()).await?;
    if known.is_none_or(|known| known.version < version) {
        tx.put(Sleeps { room_type_id, version, name, capacity });
    }
    Ok(Verdict::Done)
}

/// The price that a booking was made at. A quote that was never made here is not ours to record.
async fn held(tx: TenantTx, held: Received<BookingHeld>) -> Result<Verdict, Error> {
    let BookingHeld { reservation_id, quote, .. } = held.event;
    let key = quote.quote_id.to_string();
    if let Some(own) = tx.find::<Quote>(&key).await?
        && own.accepted.is_none()
    {
        tx.cancel_deadline(QUOTE_EXPIRED, &key);
        tx.put(Quote { accepted: Some((reservation_id, quote)), ..own });
    }
    Ok(Verdict::Done)
}

/// Nobody has accepted it in time. Asked only when no hold can rest on it any more (`decide::forget_at`).
async fn quote_expired(tx: TenantTx, due: Due<QuoteId>) -> Result<(), Error> {
    let Some(quote) = tx.find::<Quote>(&due.told.to_string()).await? else { return Ok(()) };
    if quote.accepted.is_some() {
        return Ok(());
    }
    let offer = &quote.offer;
    let room_type_ids: Vec<RoomTypeId> = offer.rooms.iter().map(|room| room.room_type_id).collect();
    tx.emit(QuoteExpired {
        quote_id: quote.quote_id,
        booking_intent_id: quote.booking_intent_id,
        property_id: offer.property_id,
        stay: offer.stay,
        room_type_ids,
        party: offer.party,
        total: offer.quote.total,
        quoted_at: quote.quoted_at,
        expired_at: offer.quote.expires_at,
    });
    tx.delete::<Quote>(&due.told.to_string());
    Ok(())
}
