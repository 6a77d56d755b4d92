//! A whole booking is one trace, from the request to the last service, with spans named after what became of things.

use std::collections::{BTreeMap, BTreeSet};

use karwan::store::metrics::Outcome;
use karwan::testing::SpanRecord;
use melmastoon::ids::StaffId;
use melmastoon::payment::commands as payment;
use melmastoon::payment::decide::Count;
use melmastoon::payment::port::{Captured, Notice, Told};
use melmastoon::payment::{IntentCreated, PaymentFailure};
use melmastoon::values::PaymentRail;

use crate::desk::{Trouble, run};
use crate::world::gateway::Fault;
use crate::world::{FIRST_NIGHT, World, from};

/// The spans of the trace that has this one.
fn trace_with(spans: &[SpanRecord], name: &str) -> Vec<SpanRecord> {
    let one = spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no span is called {name}"));
    spans.iter().filter(|span| span.trace == one.trace).cloned().collect()
}

/// one trace id, nobody without a parent in it but the request, and all the services on the way.
#[test]
fn a_booking_is_one_trace_through_all_services_with_spans_named_after_transitions() {
    run(async || {
        let mut world = World::with_rooms(1).await;
        world.book(FIRST_NIGHT, 2, PaymentRail::Card).await;
        world.settle().await;
        world.pass_ms(30_000).await;
        world.stop().await;
        let trace = trace_with(&world.place.spans(), "booking: held → confirmed");
        let named: BTreeSet<&str> = trace.iter().map(|span| span.name.as_str()).collect();
        for transition in [
            "booking: draft → held",
            "allocation: none → committed",
            "intent: none → created",
            "intent: created → captured",
            "booking: held → confirmed",
            "folio: none → draft",
            "key_credential: none → requested",
            "key_credential: requested → issued",
            "message: queued → dispatched",
        ] {
            assert!(named.contains(transition), "{transition} in {named:?}");
        }
        let services: BTreeSet<&str> = trace.iter().map(|span| span.service.as_str()).collect();
        for service in [
            "reservation-service",
            "inventory-service",
            "payment-gateway-service",
            "billing-service",
            "lock-integration-service",
            "notification-service",
            "analytics-service",
            "search-aggregation-service",
            "audit-service",
        ] {
            assert!(services.contains(service), "{service} in {services:?}");
        }
        hangs_together(&trace);
    });
}

/// each span is the child of one that is there; the only one that is not is the caller's own.
fn hangs_together(trace: &[SpanRecord]) {
    let ids: BTreeMap<u64, &str> = trace.iter().map(|span| (span.id, span.name.as_str())).collect();
    let roots: BTreeSet<u64> =
        trace.iter().map(|span| span.parent).filter(|parent| !ids.contains_key(parent)).collect();
    assert_eq!(roots.len(), 1, "one root: {roots:?}");
    let consumed = |span: &&SpanRecord| span.name.starts_with("consume ");
    for span in trace.iter().filter(consumed) {
        let parent = ids.get(&span.parent).copied().unwrap_or_default();
        assert_eq!(parent, span.name.replacen("consume", "publish", 1), "handling hangs on telling");
    }
}

/// what is counted of sagas follows from their transitions, each once, service by service.
#[test]
fn every_saga_that_begins_is_counted_once_and_ends_once() {
    use melmastoon::sagas::{BOOKING, CANCELLATION, Counted};
    run(async || {
        let mut world = World::with_rooms(2).await;
        let kept = world.book(FIRST_NIGHT, 1, PaymentRail::Card).await.reservation_id;
        let request = karwan::context("reservation-service", 1);
        world.gateway.next(Fault::Declined(PaymentFailure::Declined));
        world.book(FIRST_NIGHT, 1, PaymentRail::Card).await;
        melmastoon::reservation::commands::cancel_for_guest(world.store(), &request, kept).await.expect("it can be");
        world.settle().await;
        world.locks.spoil(Trouble::Refuses);
        world.gateway.next(Fault::RefundDeclined(1));
        let partial = world.book(FIRST_NIGHT, 1, PaymentRail::Card).await.reservation_id;
        melmastoon::reservation::commands::cancel_for_guest(world.store(), &request, partial).await.expect("it can be");
        world.settle().await;
        world.stop().await;
        let mut counts: BTreeMap<(String, Counted), u32> = BTreeMap::new();
        for span in world.place.spans() {
            for counted in melmastoon::sagas::counted(&span.name) {
                *counts.entry((span.service.clone(), *counted)).or_default() += 1;
            }
        }
        let count = |service: &str, counted| counts.get(&(service.to_owned(), counted)).copied().unwrap_or_default();
        let (reservation, lock) = ("reservation-service", "lock-integration-service");
        assert_eq!(count(reservation, Counted::Began(BOOKING)), 3, "{counts:?}");
        assert_eq!(count(reservation, Counted::Ended(BOOKING, Outcome::Success)), 2, "{counts:?}");
        assert_eq!(count(reservation, Counted::Ended(BOOKING, Outcome::Compensated)), 1, "{counts:?}");
        assert_eq!(count(reservation, Counted::Ended(CANCELLATION, Outcome::Success)), 2, "{counts:?}");
        assert_eq!(count(lock, Counted::Began(BOOKING)), 2, "{counts:?}");
        assert_eq!(count(lock, Counted::Ended(BOOKING, Outcome::Success)), 1, "{counts:?}");
        assert_eq!(count(lock, Counted::Ended(BOOKING, Outcome::Partial)), 1, "{counts:?}");
        assert_eq!(count(lock, Counted::Ended(CANCELLATION, Outcome::Success)), 1, "{counts:?}");
        let refunds = [Counted::Began(CANCELLATION), Counted::Ended(CANCELLATION, Outcome::Partial)];
        assert_eq!(refunds.map(|it| count("payment-gateway-service", it)), [2, 1], "{counts:?}");
    });
}

/// How many spans are called so.
fn spans(world: &World, name: &str) -> usize {
    world.place.spans().iter().filter(|span| span.name == name).count()
}

/// the answer to the call never came, and the gateway tells it by itself, twice.
#[test]
fn a_capture_that_is_learnt_by_a_notice_has_a_span_and_only_one() {
    run(async || {
        let mut world = World::with_rooms(1).await;
        world.gateway.next(Fault::SilentAfter(1));
        world.book(FIRST_NIGHT, 1, PaymentRail::Card).await;
        let created = world.told::<IntentCreated>().await.remove(0);
        let gateway_ref = format!("ch_{}", created.payment_intent_id);
        let told = Told::Captured(Captured { gateway_ref, amount: created.amount });
        let notice = Notice { notice_id: "evt".to_owned(), intent: created.payment_intent_id, told };
        for _ in 0..2 {
            payment::notice(world.store(), &from("payment-gateway-service"), &notice).await.expect("it is taken");
        }
        world.pass_ms(60_000).await;
        world.stop().await;
        assert_eq!(spans(&world, "intent: created → captured"), 1);
    });
}

/// the guest cancels while the charge is not answered, and the gateway tells by itself that it was made.
#[test]
fn a_capture_that_is_told_after_a_cancellation_is_of_its_bookings_trace() {
    run(async || {
        let mut world = World::with_rooms(1).await;
        world.gateway.next(Fault::SilentAfter(1));
        let id = world.book(FIRST_NIGHT, 1, PaymentRail::Card).await.reservation_id;
        let request = from("reservation-service");
        melmastoon::reservation::commands::cancel_for_guest(world.store(), &request, id).await.expect("it can be");
        world.settle().await;
        let created = world.told::<IntentCreated>().await.remove(0);
        let gateway_ref = format!("ch_{}", created.payment_intent_id);
        let told = Told::Captured(Captured { gateway_ref, amount: created.amount });
        let notice = Notice { notice_id: "evt".to_owned(), intent: created.payment_intent_id, told };
        payment::notice(world.store(), &from("payment-gateway-service"), &notice).await.expect("it is taken");
        world.settle().await;
        let log = world.log().await;
        let trace = |subject: &str| {
            let fact = log.iter().find(|envelope| envelope.subject.as_str() == subject);
            fact.unwrap_or_else(|| panic!("no {subject}")).cause.correlation
        };
        let booking = trace("melmastoon.payment.intent.created.v1");
        assert_ne!(trace("melmastoon.reservation.booking.cancelled.v1"), booking);
        assert_eq!(trace("melmastoon.payment.intent.captured.v1"), booking);
        world.stop().await;
    });
}

/// cash that is counted, and the folio of a booking that is cancelled after it.
#[test]
fn cash_that_is_counted_and_a_folio_that_is_cancelled_have_spans() {
    run(async || {
        let mut world = World::with_rooms(1).await;
        let id = world.book(FIRST_NIGHT, 1, PaymentRail::Cash).await.reservation_id;
        let received = world.booking(id).await.offer.quote.total;
        let count = Count { received, by: StaffId::from_bits(1 << 80), shift_id: None, device_id: None };
        let context = from("payment-gateway-service");
        payment::reconcile_cash(world.store(), &context, id, &count).await.expect("it is counted");
        world.settle().await;
        let request = from("reservation-service");
        melmastoon::reservation::commands::cancel_for_guest(world.store(), &request, id).await.expect("it can be");
        world.settle().await;
        world.stop().await;
        assert_eq!(spans(&world, "intent: cash_pending → captured"), 1);
        assert_eq!(spans(&world, "folio: draft → cancelled"), 1);
    });
}

/// The cancellation is a request of its own, so a trace of its own.
#[test]
fn a_cancellation_is_one_trace_until_the_key_is_revoked() {
    run(async || {
        let mut world = World::with_rooms(1).await;
        let placed = world.book(FIRST_NIGHT, 2, PaymentRail::Card).await;
        world.settle().await;
        let request = karwan::context("reservation-service", 1);
        let cancelled =
            melmastoon::reservation::commands::cancel_for_guest(world.store(), &request, placed.reservation_id).await;
        cancelled.expect("it can be cancelled");
        world.settle().await;
        world.stop().await;
        let trace = trace_with(&world.place.spans(), "booking: confirmed → cancelled");
        let named: BTreeSet<&str> = trace.iter().map(|span| span.name.as_str()).collect();
        for transition in [
            "allocation: committed → released",
            "refund: asked → done",
            "key_credential: issued → ending",
            "key_credential: ending → revoked",
        ] {
            assert!(named.contains(transition), "{transition} in {named:?}");
        }
        assert!(world.locks.open().is_empty(), "no key outlives its booking");
        hangs_together(&trace);
    });
}
