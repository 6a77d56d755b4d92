//! Every event once, in order per key, in the unit that claims it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use karwan_engine::{Consumer, Received, Verdict};
use karwan_store::log::Filter;
use karwan_store::{Error, Query, TenantTx};

use crate::fixture::{Fixture, note};
use crate::shop::{Order, OrderChanged, OrderPlaced, ParcelSent, order, sent};

on_both! {
    every_event_is_handled_once_and_in_order_per_key,
    what_a_handler_emits_is_caused_by_its_event_and_handled_in_turn,
    a_consumer_that_comes_later_reads_from_the_beginning,
    a_consumer_that_stops_and_starts_again_handles_nothing_twice,
    a_handler_sees_its_own_tenant_alone,
    a_small_tenant_does_not_wait_for_a_flood,
    two_consumers_of_one_event_both_handle_it,
    one_handler_takes_each_event_of_many_subjects,
    events_that_rest_on_one_document_are_not_run_twice,
    a_stop_ends_although_a_handler_does_not_and_the_event_is_the_heirs,
}

fed_too! {
    every_event_is_handled_once_and_in_order_per_key,
    a_consumer_that_comes_later_reads_from_the_beginning,
    a_consumer_that_stops_and_starts_again_handles_nothing_twice,
    two_consumers_of_one_event_both_handle_it,
    one_handler_takes_each_event_of_many_subjects,
    events_that_rest_on_one_document_are_not_run_twice,
    a_small_tenant_does_not_wait_for_a_flood,
    a_stop_ends_although_a_handler_does_not_and_the_event_is_the_heirs,
}

/// Notes every revision of an order.
fn secretary() -> Consumer {
    Consumer::new("sales-service", "secretary")
        .on(async |tx: TenantTx, received: Received<OrderPlaced>| {
            note(&tx, &received.event.order_id, "p").await?;
            Ok::<_, Error>(Verdict::Done)
        })
        .on(async |tx: TenantTx, received: Received<OrderChanged>| {
            note(&tx, &received.event.order_id, &received.event.revision.to_string()).await?;
            Ok::<_, Error>(Verdict::Done)
        })
}

/// A handler may take an hour; a stop takes its twenty seconds, and lets go of everything.
async fn a_stop_ends_although_a_handler_does_not_and_the_event_is_the_heirs(fixture: Fixture) {
    let (told, mut reached) = tokio::sync::mpsc::unbounded_channel();
    let hangs = Consumer::new("sales-service", "secretary").limit(std::time::Duration::from_secs(3_600)).on(
        move |tx: TenantTx, received: Received<OrderPlaced>| {
            let told = told.clone();
            async move {
                note(&tx, &received.event.order_id, "half").await?;
                told.send(()).expect("the test listens");
                std::future::pending::<Result<Verdict, Error>>().await
            }
        },
    );
    let engine = fixture.start("n-1", vec![hangs]);
    fixture.order(1, "o", 0).await;
    reached.recv().await.expect("it is handled");
    engine.stop().await;
    assert_eq!(fixture.notes(1, "o").await, "");
    let heir = fixture.start("n-2", vec![secretary()]);
    fixture.settle(&heir).await;
    assert_eq!(fixture.notes(1, "o").await, "p");
    heir.stop().await;
}

/// It sees the envelope, and nothing of the payload's type.
async fn one_handler_takes_each_event_of_many_subjects(fixture: Fixture) {
    let subjects = ["shop.sales.order.placed.v1", "shop.sales.order.changed.v1"];
    let keeper = Consumer::new("sales-service", "keeper").on_each(subjects, async |tx: TenantTx, envelope| {
        let envelope: Arc<karwan_envelope::Envelope> = envelope;
        note(&tx, &envelope.key, envelope.subject.as_str().rsplit('.').nth(1).unwrap_or_default()).await?;
        Ok::<_, Error>(Verdict::Done)
    });
    assert!(keeper.takes_each() && !secretary().takes_each());
    let engine = fixture.start("n-1", vec![keeper]);
    fixture.order(1, "o", 2).await;
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "o").await, "placedchangedchanged");
    engine.stop().await;
}

/// An audit keeps one chain a tenant: run beside each other, all but the first would run for nothing.
async fn events_that_rest_on_one_document_are_not_run_twice(fixture: Fixture) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let chain = move |tx: TenantTx, _: Received<OrderPlaced>| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            note(&tx, "chain", ".").await?;
            Ok::<_, Error>(Verdict::Done)
        }
    };
    for number in 0..120 {
        fixture.order(1, &format!("o-{number}"), 0).await;
    }
    let engine = fixture.start("n-1", vec![Consumer::new("sales-service", "chain").lanes(1).batch(20).on(chain)]);
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "chain").await.len(), 120);
    // Most of the first batch ran twice, and nothing after it.
    let runs = runs.load(Ordering::Relaxed);
    assert!(runs < 120 + 20, "{runs} runs");
    engine.stop().await;
}

async fn every_event_is_handled_once_and_in_order_per_key(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![secretary()]);
    for number in 0..30 {
        fixture.order(number % 3, &format!("o-{number}"), 9).await;
    }
    fixture.settle(&engine).await;
    for number in 0..30 {
        assert_eq!(fixture.notes(number % 3, &format!("o-{number}")).await, "p123456789");
    }
    engine.stop().await;
}

async fn what_a_handler_emits_is_caused_by_its_event_and_handled_in_turn(fixture: Fixture) {
    let shipper =
        Consumer::new("delivery-service", "shipper").on(async |tx: TenantTx, received: Received<OrderPlaced>| {
            tx.emit(sent(&received.event.order_id, 1));
            Ok::<_, Error>(Verdict::Done)
        });
    let clerk = Consumer::new("sales-service", "clerk").on(async |tx: TenantTx, received: Received<ParcelSent>| {
        let cause = received.envelope.cause.causation.expect("it has a cause");
        note(&tx, &received.event.parcel_id, &cause.to_string()).await?;
        Ok::<_, Error>(Verdict::Done)
    });
    let engine = fixture.start("n-1", vec![shipper, clerk]);
    fixture.order(1, "o-1", 0).await;
    fixture.settle(&engine).await;
    let relay = fixture.store.relay();
    let rows = relay.rows(0, relay.safe().await.expect("it can be asked"), &Filter::default(), 10).await.expect("rows");
    assert_eq!(rows.len(), 2);
    assert_eq!(fixture.notes(1, "o-1").await, rows[0].event.to_string());
    engine.stop().await;
}

async fn a_consumer_that_comes_later_reads_from_the_beginning(fixture: Fixture) {
    let done = fixture.order(1, "o-1", 3).await;
    let engine = fixture.start("n-1", vec![secretary()]);
    fixture.wait_for(&engine, "sales-service.secretary", done.position).await.expect("it gets there");
    assert_eq!(fixture.notes(1, "o-1").await, "p123");
    engine.stop().await;
}

async fn a_consumer_that_stops_and_starts_again_handles_nothing_twice(fixture: Fixture) {
    for round in 0..3 {
        let engine = fixture.start("n-1", vec![secretary()]);
        fixture.order(1, &format!("o-{round}"), 5).await;
        if round == 1 {
            // As a crash would: nothing is finished, released or saved.
            drop(engine);
            fixture.lease_runs_out().await;
            continue;
        }
        fixture.settle(&engine).await;
        engine.stop().await;
    }
    for round in 0..3 {
        assert_eq!(fixture.notes(1, &format!("o-{round}")).await, "p12345");
    }
}

async fn a_handler_sees_its_own_tenant_alone(fixture: Fixture) {
    let spy = Consumer::new("sales-service", "spy").on(async |tx: TenantTx, received: Received<OrderPlaced>| {
        let orders = tx.query(Query::<Order>::new().equal("status", "open")).await?;
        let other: Option<Order> = tx.peek("o-of-1").await?;
        note(&tx, &received.event.order_id, &format!("{} {}", orders.items.len(), other.is_some())).await?;
        Ok::<_, Error>(Verdict::Done)
    });
    fixture.order(1, "o-of-1", 0).await;
    fixture.order(2, "o-of-2", 0).await;
    let engine = fixture.start("n-1", vec![spy]);
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(2, "o-of-2").await, "1 false");
    engine.stop().await;
}

/// Ten thousand events of one tenant lie before the one of another, in the same lane.
async fn a_small_tenant_does_not_wait_for_a_flood(fixture: Fixture) {
    let handled = Arc::new(AtomicUsize::new(0));
    for number in 0..12 {
        fixture.order(1, &format!("o-{number}"), 900).await;
    }
    fixture.order(2, "small", 0).await;
    let before = Arc::new(AtomicUsize::new(usize::MAX));
    let (count, seen) = (handled.clone(), before.clone());
    let counter = Consumer::new("sales-service", "counter")
        .on({
            let count = count.clone();
            move |_: TenantTx, _: Received<OrderChanged>| {
                count.fetch_add(1, Ordering::Relaxed);
                std::future::ready(Ok::<_, Error>(Verdict::Done))
            }
        })
        .on(move |_: TenantTx, received: Received<OrderPlaced>| {
            if received.event.order_id == "small" {
                seen.store(count.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            std::future::ready(Ok::<_, Error>(Verdict::Done))
        })
        .lanes(1);
    let engine = fixture.start("n-1", vec![counter]);
    fixture.settle(&engine).await;
    assert!(handled.load(Ordering::Relaxed) >= 10_800);
    let before = before.load(Ordering::Relaxed);
    assert!(before < 5_000, "{before} events of the flood were handled before the small tenant's one");
    engine.stop().await;
}

async fn two_consumers_of_one_event_both_handle_it(fixture: Fixture) {
    let copy = |name: &'static str| {
        Consumer::new("sales-service", name).on(move |tx: TenantTx, received: Received<OrderPlaced>| async move {
            tx.put(order(&format!("{name}-{}", received.event.order_id)));
            Ok::<_, Error>(Verdict::Done)
        })
    };
    let engine = fixture.start("n-1", vec![copy("one"), copy("two")]);
    fixture.order(1, "o", 0).await;
    fixture.settle(&engine).await;
    let unit = fixture.store.tenant(&crate::shop::context(1));
    for id in ["one-o", "two-o"] {
        assert!(unit.peek::<Order>(id).await.expect("it can be read").is_some(), "{id}");
    }
    engine.stop().await;
}
