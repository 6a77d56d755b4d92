//! What must hold of a hotel once it is drained, each rule recomputed from the log, the documents and the gateway's own books.

use std::collections::{BTreeMap, BTreeSet};

use karwan::envelope::Envelope;
use karwan::{Consumer, Query, Store};
use melmastoon::billing::folio::Folio;
use melmastoon::ids::{FolioId, ReservationId};
use melmastoon::inventory::state::{Allocation, AllocationState};
use melmastoon::payment::state::{Case, Intent, IntentState, RefundState};
use melmastoon::reservation::BookingConfirmed;
use melmastoon::reservation::booking::{Booking, State};
use melmastoon::rules::{Fact, Kept, Rules};
use melmastoon::values::PaymentRail;
use melmastoon::{
    analytics, audit, billing, iam, inventory, lock_integration, notification, payment, pricing, reservation,
    search_aggregation,
};

use super::{documents, projections, repair};
use crate::world::{World, from};

/// The rules that do not hold, each with what is wrong: of the hotel as it is, once all that was left for a person is repaired, and
/// when everything is delivered once more.
pub async fn broken(world: &mut World) -> Vec<String> {
    let mut broken = broken_now(world).await;
    let repaired = repair::repaired(world).await;
    broken.extend(repaired.into_iter().map(|rule| format!("after everything was repaired: {rule}")));
    replay(world, &mut broken).await;
    broken
}

/// The same, of the hotel as it is.
pub async fn broken_now(world: &World) -> Vec<String> {
    let log = world.log().await;
    let bookings: Vec<Booking> = all(world).await;
    let mut broken = told(&log).broken(&kept(world).await);
    sagas(world, &bookings, &mut broken).await;
    money(world, &mut broken).await;
    folios(world, &bookings, &mut broken).await;
    projections::keys(world, &bookings, &mut broken).await;
    projections::figures(&log, &mut broken);
    projections::listings(world, &mut broken).await;
    projections::trail(&log, &mut broken);
    broken
}

/// What services keep and the log must agree with.
pub async fn kept(world: &World) -> Kept {
    Kept {
        folios: all(world).await,
        days: all(world).await,
        months: all(world).await,
        nights: all(world).await,
        alerts: all(world).await,
        manual: all(world).await,
    }
}

/// Whether every saga has ended and no gateway is being asked.
pub async fn is_drained(world: &World) -> bool {
    let bookings: Vec<Booking> = all(world).await;
    let intents: Vec<Intent> = all(world).await;
    let asked = |intent: &Intent| {
        intent.state == IntentState::Created || intent.refunds.iter().any(|it| it.state == RefundState::Asked)
    };
    // What was given up is undone at the gateway, which only its books show.
    let books = world.gateway.books();
    let undone = |intent: &Intent| {
        let charge = books.get(&intent.payment_intent_id.to_string());
        !matches!(intent.state, IntentState::Failed(_)) || charge.is_none_or(|charge| charge.net() == 0)
    };
    projections::are_drained(world).await
        && bookings.iter().all(|it| !matches!(it.state, State::Held { .. }))
        && intents.iter().all(|intent| !asked(intent) && undone(intent))
}

/// Every document of a kind.
pub async fn all<D: karwan::Document>(world: &World) -> Vec<D> {
    let mut query = Query::<D>::new().limit(1000);
    let mut items = Vec::new();
    loop {
        let page = world.store().tenant(&from("x")).query(query).await.expect("the store answers");
        items.extend(page.items);
        let Some(next) = page.next else { return items };
        query = Query::new().limit(1000).after(next);
    }
}

/// The rules that are told from the log, fed with it.
fn told(log: &[Envelope]) -> Rules {
    let mut rules = Rules::default();
    for it in log {
        rules.take(&Fact {
            event: it.id.bits(),
            subject: it.subject.as_str(),
            correlation: it.cause.correlation.bits(),
            causation: it.cause.causation.map(|cause| cause.bits()),
            payload: it.payload.get(),
        });
    }
    rules
}

/// Every saga has ended, and its allocation with it.
async fn sagas(world: &World, bookings: &[Booking], broken: &mut Vec<String>) {
    for booking in bookings {
        let id = booking.reservation_id;
        let allocation: Option<Allocation> = world.read(&Allocation::of(id).to_string()).await;
        let has_rooms = allocation.is_some_and(|allocation| allocation.state == AllocationState::Committed);
        match (&booking.state, has_rooms) {
            (State::Confirmed(_) | State::ConfirmedCashPending(_), true) | (State::Cancelled { .. }, false) => {}
            (state, has_rooms) => broken.push(format!("{id} is {state:?}, and its rooms are taken: {has_rooms}")),
        }
    }
}

/// The gateway's own books agree, to the micro-unit; nothing is taken twice, nothing given back beyond what was taken.
async fn money(world: &World, broken: &mut Vec<String>) {
    let books = world.gateway.books();
    for intent in all::<Intent>(world).await {
        let id = intent.payment_intent_id;
        let done = intent.refunds.iter().filter(|refund| refund.state == RefundState::Done);
        let done: i128 = done.map(|refund| refund.amount.get()).sum();
        let ours = intent.received.get() - done;
        if ours < 0 || intent.left() < 0 {
            broken.push(format!("{id}: more is given back than was received: {intent:?}"));
        }
        match books.get(&id.to_string()) {
            Some(charge) if charge.taken.len() > 1 => broken.push(format!("{id} is charged twice: {charge:?}")),
            Some(charge) if charge.net() != ours => {
                broken.push(format!("{id}: the gateway has {}, we think {ours}: {intent:?} {charge:?}", charge.net()));
            }
            None if intent.rail == PaymentRail::Card && ours != 0 => {
                broken.push(format!("{id}: we think {ours}, the gateway knows nothing"));
            }
            Some(_) | None => {}
        }
        if intent.state == IntentState::Created {
            broken.push(format!("{id} is still being asked for"));
        }
        if let Some(refund) = intent.refunds.iter().find(|refund| refund.state == RefundState::Asked) {
            broken.push(format!("{id}: refund {} is still being asked for", refund.refund_id));
        }
    }
}

/// A confirmed booking has one folio, others have none; its entries are what payment received and gave back.
async fn folios(world: &World, bookings: &[Booking], broken: &mut Vec<String>) {
    let confirmed = world.told::<BookingConfirmed>().await;
    let confirmed: BTreeMap<FolioId, ReservationId> =
        confirmed.into_iter().map(|it| (it.folio_id, it.reservation_id)).collect();
    let folios: BTreeMap<FolioId, Folio> =
        all::<Folio>(world).await.into_iter().map(|folio| (folio.folio_id, folio)).collect();
    if confirmed.keys().ne(folios.keys()) {
        broken.push(format!("confirmed bookings have folios {confirmed:?}, there are {:?}", folios.keys()));
    }
    for booking in bookings {
        let Some(folio) = folios.get(&booking.folio_id) else { continue };
        let case: Case = world.read(&booking.reservation_id.to_string()).await.expect("a paid booking has a case");
        let intent = case.intent.expect("and an intent").to_string();
        let intent: Intent = world.read(&intent).await.expect("which is there");
        let of = |wanted: fn(RefundState) -> bool| -> i128 {
            let refunds = intent.refunds.iter().filter(|refund| wanted(refund.state));
            refunds.map(|refund| refund.amount.get()).sum()
        };
        let (done, failed) = (of(|it| it == RefundState::Done), of(|it| matches!(it, RefundState::Failed(_))));
        let sums = folio.sums();
        if (sums.payments, sums.refunds) != (intent.received.get(), done) {
            broken.push(format!("{}: {sums:?}, but payment has {intent:?}", folio.folio_id));
        }
        let balance = match booking.state {
            // What finance still owes the guest.
            State::Cancelled { .. } => -failed,
            _ => booking.offer.quote.total.amount_micro.get() - intent.received.get(),
        };
        if sums.balance() != balance {
            broken.push(format!("{}: {sums:?} leave {}, not {balance}", folio.folio_id, sums.balance()));
        }
    }
}

/// Everything delivered once more changes nothing: no event, and no document of anybody.
async fn replay(world: &mut World, broken: &mut Vec<String>) {
    world.stop().await;
    let events = world.log().await.len();
    let before = documents::kept(world).await;
    let of = [
        billing::work::consumers(),
        inventory::work::consumers(),
        payment::work::consumers(),
        pricing::work::consumers(),
        reservation::work::consumers(),
        lock_integration::work::consumers(),
        notification::work::consumers(),
        iam::work::consumers(),
        search_aggregation::work::consumers(),
        analytics::work::consumers(),
        audit::work::consumers(),
    ];
    let consumers: BTreeSet<&str> = of.iter().flatten().map(Consumer::name).collect();
    let observer = Store::observe(&world.place.address()).await.expect("the store is there");
    let known = observer.consumers().await.expect("the store answers");
    assert_eq!(consumers, known.iter().map(|report| report.consumer.as_str()).collect(), "nobody is left out");
    for consumer in consumers {
        assert!(world.store().seek(consumer, 0).await.expect("the store answers"), "{consumer} is held");
    }
    world.run(&[]).await;
    let after = world.log().await.len();
    if after != events {
        broken.push(format!("delivered again, {events} events have become {after}"));
    }
    let mut again = documents::changed(&before, &documents::kept(world).await);
    again.extend(told(&world.log().await).broken(&kept(world).await));
    money(world, &mut again).await;
    broken.extend(again.into_iter().map(|rule| format!("after everything was delivered again: {rule}")));
}
