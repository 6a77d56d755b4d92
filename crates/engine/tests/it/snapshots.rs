//! Read models: what a consumer has written is its snapshot, and what it has finished is the watermark; both are committed together,
//! so that every commit is one (R-112, docs/adr/0012-operators.md).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use karwan_engine::{Consumer, Engine, Received, Relay, Verdict, Work};
use karwan_store::{Error, TenantTx};
use karwan_testkit::nats::Server;

use crate::fixture::{self, Fixture, note};
use crate::processes::yard::until;
use crate::relay::{broker, server, topology};
use crate::shop::{OrderChanged, OrderPlaced};

on_both! {
    a_model_that_goes_on_from_a_copy_equals_one_that_is_built_anew,
    a_model_that_goes_on_after_a_crash_equals_one_that_is_built_anew,
}

fed_too! {
    a_model_that_goes_on_after_a_crash_equals_one_that_is_built_anew,
}

/// A model whose documents depend on the order of events, and on none being applied twice; it counts what it handles.
fn model(what: &'static str, handled: &Arc<AtomicUsize>) -> Consumer {
    let (placing, changing) = (handled.clone(), handled.clone());
    let name = move |order: &str| format!("{what}-{order}");
    Consumer::new("sales-service", what)
        .on(move |tx: TenantTx, received: Received<OrderPlaced>| {
            placing.fetch_add(1, Ordering::Relaxed);
            async move {
                note(&tx, &name(&received.event.order_id), "p").await?;
                Ok::<_, Error>(Verdict::Done)
            }
        })
        .on(move |tx: TenantTx, received: Received<OrderChanged>| {
            changing.fetch_add(1, Ordering::Relaxed);
            async move {
                let OrderChanged { order_id, revision } = received.event;
                note(&tx, &name(&order_id), &revision.to_string()).await?;
                Ok::<_, Error>(Verdict::Done)
            }
        })
}

const ORDERS: u64 = 12;
const CHANGES: i64 = 3;
/// Of the first half, and of the second: both go on with the same orders.
const HALF: usize = 4 * ORDERS as usize;

fn order(number: u64) -> (u64, String) {
    (number % 3, format!("o-{number}"))
}

async fn first_half(producer: &Fixture) {
    for (tenant, id) in (0..ORDERS).map(order) {
        producer.order(tenant, &id, CHANGES).await;
    }
}

async fn second_half(producer: &Fixture) {
    for revision in CHANGES + 1..=2 * CHANGES + 1 {
        for (tenant, id) in (0..ORDERS).map(order) {
            producer.change(tenant, &id, revision).await;
        }
    }
}

/// The documents of a model.
async fn documents(fixture: &Fixture, what: &str) -> Vec<String> {
    let mut documents = Vec::new();
    for (tenant, id) in (0..ORDERS).map(order) {
        documents.push(fixture.notes(tenant, &format!("{what}-{id}")).await);
    }
    documents
}

/// Waits until every document says the same.
async fn all_say(fixture: &Fixture, what: &str, text: &str) {
    until(text, async || {
        let documents = documents(fixture, what).await;
        assert!(documents.iter().all(|found| text.starts_with(found)), "{documents:?} on the way to {text}");
        documents.iter().all(|found| found == text).then_some(())
    })
    .await;
}

/// The model in a database of its own, fed from the stream.
async fn started(fixture: &Fixture, server: &Server, handled: &Arc<AtomicUsize>) -> Engine {
    let consumer = model("model", handled).from_stream("SALES");
    fixture.start_work("n-1", Work::new().consumer(consumer).broker(broker(server).await))
}

async fn a_model_that_goes_on_from_a_copy_equals_one_that_is_built_anew(producer: Fixture) {
    let Some(server) = server(Default::default()) else { return };
    let fresh = async || if producer.database.is_some() { fixture::postgres().await } else { fixture::sqlite().await };
    let (Some(live), Some(anew)) = (fresh().await, fresh().await) else { return };
    let relay = producer.start_work("relay", Work::new().relay(Relay::new(broker(&server).await, topology())));
    let [handled, again, all] = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
    let engine = started(&live, &server, &handled).await;
    first_half(&producer).await;
    all_say(&live, "model", "p123").await;
    // It is at work while it is copied.
    let copy = live.back_up().await;
    second_half(&producer).await;
    all_say(&live, "model", "p1234567").await;
    engine.stop().await;
    let restored = live.restored(copy).await;
    assert_eq!(documents(&restored, "model").await, vec!["p123"; ORDERS as usize]);
    restored.lease_runs_out().await;
    let from_copy = started(&restored, &server, &again).await;
    let from_nothing = started(&anew, &server, &all).await;
    all_say(&restored, "model", "p1234567").await;
    all_say(&anew, "model", "p1234567").await;
    assert_eq!(documents(&restored, "model").await, documents(&anew, "model").await);
    let counts = [handled, again, all].map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counts, [2 * HALF, HALF, 2 * HALF], "a copy is gone on from, and not begun anew");
    for engine in [from_copy, from_nothing, relay] {
        engine.stop().await;
    }
}

async fn a_model_that_goes_on_after_a_crash_equals_one_that_is_built_anew(fixture: Fixture) {
    let [handled, all] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let engine = fixture.start("n-1", vec![model("model", &handled)]);
    first_half(&fixture).await;
    all_say(&fixture, "model", "p123").await;
    // As a crash would: nothing is finished, released or saved.
    drop(engine);
    second_half(&fixture).await;
    fixture.lease_runs_out().await;
    let engine = fixture.start("n-2", vec![model("model", &handled), model("anew", &all)]);
    all_say(&fixture, "model", "p1234567").await;
    all_say(&fixture, "anew", "p1234567").await;
    assert_eq!([handled, all].map(|count| count.load(Ordering::Relaxed)), [2 * HALF; 2]);
    engine.stop().await;
}
