//! One event that fails and fails: its key stands, everything else flows, and a crash in between changes nothing.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use karwan_engine::{Consumer, Received, Verdict};
use karwan_store::consumer::Lane;
use karwan_store::{Error, TenantTx};

use crate::fixture::{Fixture, note};
use crate::shop::{OrderChanged, changed, context, order};

on_both! {
    a_poisoned_event_holds_back_its_key_alone_while_ten_thousand_flow,
    a_crash_between_park_and_the_next_step_loses_and_repeats_nothing,
}

fed_too! {
    a_poisoned_event_holds_back_its_key_alone_while_ten_thousand_flow,
    a_crash_between_park_and_the_next_step_loses_and_repeats_nothing,
}

const KEYS: usize = 10_000;
const POISONED: &str = "o-4321";

async fn a_poisoned_event_holds_back_its_key_alone_while_ten_thousand_flow(fixture: Fixture) {
    let (handled, healed) = (Arc::new(Mutex::new(BTreeSet::new())), Arc::new(AtomicBool::new(false)));
    let (seen, well) = (handled.clone(), healed.clone());
    let consumer = Consumer::new("sales-service", "counter").on(move |_: TenantTx, got: Received<OrderChanged>| {
        let OrderChanged { order_id, revision } = got.event;
        let verdict = if order_id == POISONED && revision == 1 && !well.load(Ordering::Relaxed) {
            Verdict::Retry("poison".to_owned())
        } else {
            seen.lock().expect("nobody panics").insert((order_id, revision));
            Verdict::Done
        };
        std::future::ready(Ok::<_, Error>(verdict))
    });
    let engine = fixture.start("n-1", vec![consumer]);
    let keys: Vec<String> = (0..KEYS).map(|number| format!("o-{number}")).collect();
    for some in keys.chunks(500) {
        let context = context(1);
        let unit = fixture.producer().unit(&context, async |tx: TenantTx| {
            some.iter().for_each(|key| tx.put(order(key)));
            for revision in [1, 2] {
                tx.emit(some.iter().map(|key| changed(key, revision)).collect::<karwan_store::Facts>());
            }
            Ok::<_, Error>(())
        });
        unit.await.expect("they can be placed");
    }
    fixture.settle(&engine).await;
    {
        let handled = handled.lock().expect("nobody panics");
        assert_eq!(handled.len(), 2 * (KEYS - 1));
        assert!(!handled.iter().any(|(key, _)| key == POISONED), "its key went on without it");
    }
    healed.store(true, Ordering::Relaxed);
    fixture.clock.advance_ms(2_000);
    fixture.settle(&engine).await;
    assert_eq!(handled.lock().expect("nobody panics").len(), 2 * KEYS);
    engine.stop().await;
}

/// Notes revisions, one a transaction; of order `bad` the second fails until it is healed.
fn picky(healed: bool, then: impl Fn() -> bool + Send + Sync + 'static) -> Consumer {
    let then = Arc::new(then);
    let consumer = Consumer::new("sales-service", "secretary").on(move |tx: TenantTx, got: Received<OrderChanged>| {
        let then = then.clone();
        async move {
            let OrderChanged { order_id, revision } = got.event;
            if order_id == "bad" && revision == 2 && !healed {
                return Ok(Verdict::Retry("no".to_owned()));
            }
            if order_id == "next" && then() {
                std::future::pending::<()>().await;
            }
            note(&tx, &order_id, &revision.to_string()).await?;
            Ok::<_, Error>(Verdict::Done)
        }
    });
    consumer.lanes(1).batch(1)
}

async fn a_crash_between_park_and_the_next_step_loses_and_repeats_nothing(fixture: Fixture) {
    let (told, mut parked) = tokio::sync::mpsc::unbounded_channel();
    for id in ["before", "bad", "next"] {
        fixture.order(1, id, 4).await;
    }
    // Whatever comes after the parking hangs: nothing of it is recorded, the position included.
    let engine = fixture.start("n-1", vec![picky(false, move || told.send(()).is_ok())]);
    parked.recv().await.expect("the next one is handled");
    drop(engine);
    let lane = Lane { consumer: "sales-service.secretary".to_owned(), number: 0, of: 1 };
    assert_eq!(fixture.store.parked(&lane, 10).await.expect("it can be asked").len(), 3);
    fixture.lease_runs_out().await;
    fixture.clock.advance_ms(2_000);
    let heir = fixture.start("n-2", vec![picky(true, || false)]);
    fixture.settle(&heir).await;
    for id in ["before", "bad", "next"] {
        assert_eq!(fixture.notes(1, id).await, "1234", "{id}");
    }
    heir.stop().await;
}
