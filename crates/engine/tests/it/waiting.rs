//! What waits in a lane: how much of it is tried at once, for how long it waits, and what becomes of it when its consumer is
//! resumed.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use karwan_engine::{Consumer, Policy, Received, Verdict};
use karwan_store::{Error, TenantTx};
use tokio::sync::Semaphore;

use crate::fixture::{Fixture, note};
use crate::shop::{OrderChanged, OrderPlaced};

on_both! {
    a_worker_tries_at_most_a_batch_of_what_is_due_before_what_is_new_has_its_turn,
    waiting_for_a_predecessor_is_measured_from_the_first_time_that_it_was_missing,
    an_event_that_was_parked_and_handled_is_parked_no_more,
    more_keys_than_a_process_keeps_are_handled_when_their_consumer_is_resumed,
    more_keys_than_the_lanes_of_a_process_keep_together_are_handled_when_their_consumer_is_resumed,
    a_resumed_consumer_with_too_many_keys_takes_nothing_new_and_says_so,
}

fed_too! {
    waiting_for_a_predecessor_is_measured_from_the_first_time_that_it_was_missing,
    an_event_that_was_parked_and_handled_is_parked_no_more,
    more_keys_than_a_process_keeps_are_handled_when_their_consumer_is_resumed,
    more_keys_than_the_lanes_of_a_process_keep_together_are_handled_when_their_consumer_is_resumed,
    a_resumed_consumer_with_too_many_keys_takes_nothing_new_and_says_so,
}

const NAME: &str = "sales-service.secretary";
const BATCH: usize = 4;

/// Sees to it that the worker stands still while the test prepares what it finds next.
#[derive(Clone)]
struct Gate {
    entered: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

async fn a_worker_tries_at_most_a_batch_of_what_is_due_before_what_is_new_has_its_turn(fixture: Fixture) {
    let tries: Arc<Mutex<Vec<String>>> = Arc::default();
    let gate = Gate { entered: Arc::new(Semaphore::new(0)), open: Arc::new(Semaphore::new(0)) };
    let (noted, passed) = (tries.clone(), gate.clone());
    let secretary = Consumer::new("sales-service", "secretary")
        .on(move |_: TenantTx, received: Received<OrderPlaced>| {
            let (id, tries, gate) = (received.event.order_id, noted.clone(), passed.clone());
            async move {
                if id == "gate" {
                    gate.entered.add_permits(1);
                    gate.open.acquire().await.expect("it is never closed").forget();
                }
                tries.lock().expect("nobody panics").push(id.clone());
                let fails = id.starts_with("due");
                Ok::<_, Error>(if fails { Verdict::Retry("not yet".to_owned()) } else { Verdict::Done })
            }
        })
        .lanes(1)
        .batch(BATCH);
    // What it has read, the other one has queued: rows are queued for everybody at once.
    let witness = Consumer::new("sales-service", "witness")
        .on(async |_: TenantTx, _: Received<OrderPlaced>| Ok::<_, Error>(Verdict::Done));
    let engine = fixture.start("n-1", vec![secretary, witness]);
    for number in 0..6 * BATCH {
        fixture.order(1, &format!("due-{number}"), 0).await;
    }
    fixture.settle(&engine).await;
    assert_eq!(fixture.parked(NAME).await, 6 * BATCH);
    fixture.order(1, "gate", 0).await;
    gate.entered.acquire().await.expect("it is never closed").forget();
    fixture.clock.advance_ms(60_000);
    let end = fixture.order(1, "new", 0).await.position;
    engine.wait_for("sales-service.witness", end).await.expect("it is not suspended");
    tries.lock().expect("nobody panics").clear();
    gate.open.add_permits(1);
    fixture.settle(&engine).await;
    let tries = tries.lock().expect("nobody panics").clone();
    let before = tries.iter().position(|id| id == "new").expect("it is handled");
    assert_eq!(before, 1 + BATCH, "the one at the gate and a batch of those that are due: {tries:?}");
    // Chance may let one be due again at once.
    let tried: HashSet<&String> = tries.iter().collect();
    assert_eq!(tried.len(), 2 + 6 * BATCH, "all that is due is tried: {tries:?}");
    engine.stop().await;
}

/// It lay in the log for longer than anything may wait, and then waits as long as anything may.
async fn waiting_for_a_predecessor_is_measured_from_the_first_time_that_it_was_missing(fixture: Fixture) {
    let secretary = Consumer::new("sales-service", "secretary")
        .on(async |tx: TenantTx, received: Received<OrderChanged>| {
            let OrderChanged { order_id, revision } = received.event;
            if revision == 1 {
                return Ok(Verdict::Later("its order has not come yet".to_owned()));
            }
            note(&tx, &order_id, &revision.to_string()).await?;
            Ok::<_, Error>(Verdict::Done)
        })
        .policy(Policy { attempts_max: 1, later_most_ms: 90 * 60_000, ..Policy::default() });
    fixture.order(1, "o", 2).await;
    fixture.sql("UPDATE log SET at = at - 36000000", "UPDATE karwan.log SET at = at - interval '10 hours'");
    let engine = fixture.start("n-1", vec![secretary]);
    for hour in 0..2 {
        fixture.settle(&engine).await;
        assert_eq!((fixture.dead(NAME).await.len(), fixture.parked(NAME).await), (0, 2), "after {hour} hours");
        fixture.parked_for_hours(1).await;
        fixture.clock.advance_ms(10_000);
    }
    fixture.settle(&engine).await;
    let dead: Vec<_> =
        fixture.dead(NAME).await.into_iter().map(|dead| (dead.event.attempts, dead.event.error)).collect();
    assert_eq!(dead, [(1, "its order has not come yet".to_owned())], "after two hours it has failed");
    assert_eq!(fixture.notes(1, "o").await, "2", "its key goes on");
    engine.stop().await;
}

/// A batch whose answer was lost may claim an event in the same moment in which it is parked.
async fn an_event_that_was_parked_and_handled_is_parked_no_more(fixture: Fixture) {
    let tries = Arc::new(AtomicU32::new(0));
    let counted = tries.clone();
    let secretary =
        Consumer::new("sales-service", "secretary").on(move |tx: TenantTx, received: Received<OrderChanged>| {
            let OrderChanged { order_id, revision } = received.event;
            let fails = revision == 2 && counted.fetch_add(1, Ordering::Relaxed) < 2;
            async move {
                if fails {
                    return Ok(Verdict::Retry("no".to_owned()));
                }
                note(&tx, &order_id, &revision.to_string()).await?;
                Ok::<_, Error>(Verdict::Done)
            }
        });
    fixture.order(1, "o", 4).await;
    let engine = fixture.start("n-1", vec![secretary]);
    fixture.settle(&engine).await;
    assert_eq!((fixture.notes(1, "o").await.as_str(), fixture.parked(NAME).await), ("1", 3));
    fixture.sql(
        "INSERT INTO inbox (consumer, event, tenant, seq, at)
         SELECT consumer, event, tenant, seq, logged FROM parked ORDER BY seq LIMIT 1",
        "INSERT INTO karwan.inbox (consumer, event_id, tenant_id, seq, at)
         SELECT consumer, event_id, tenant_id, seq, logged FROM karwan.parked ORDER BY seq LIMIT 1",
    );
    fixture.clock.advance_ms(60_000);
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "o").await, "134", "what was handled is not handled again, and its key goes on");
    assert_eq!((fixture.parked(NAME).await, fixture.dead(NAME).await.len()), (0, 0));
    engine.stop().await;
}

/// Notes orders that it has what it needs for; few of its keys may wait. What has no order yet waits without an attempt.
fn patient(healed: &Arc<AtomicBool>) -> Consumer {
    let healed = healed.clone();
    Consumer::new("sales-service", "secretary")
        .on(move |tx: TenantTx, received: Received<OrderChanged>| {
            let OrderChanged { order_id, revision } = received.event;
            let waits = !healed.load(Ordering::Relaxed);
            async move {
                if waits {
                    return Ok(Verdict::Later("something is missing".to_owned()));
                }
                note(&tx, &order_id, &revision.to_string()).await?;
                Ok::<_, Error>(Verdict::Done)
            }
        })
        .lanes(1)
        .batch(BATCH)
        .waiting_max(20)
}

async fn reason(fixture: &Fixture) -> Option<String> {
    fixture.store.suspensions().await.expect("it can be asked").pop().map(|suspension| suspension.reason)
}

async fn resumed(fixture: &Fixture, engine: &karwan_engine::Engine) {
    assert!(fixture.resume(NAME).await, "it was suspended");
    engine.resumed(NAME).await.expect("it goes on");
    fixture.settle(engine).await;
}

async fn more_keys_than_a_process_keeps_are_handled_when_their_consumer_is_resumed(fixture: Fixture) {
    found_and_handled(fixture, 1).await;
}

/// All lanes have one bound together: the first ones take what there is, and the others know only that something waits.
async fn more_keys_than_the_lanes_of_a_process_keep_together_are_handled_when_their_consumer_is_resumed(
    fixture: Fixture,
) {
    found_and_handled(fixture, 4).await;
}

/// Whoever takes lanes over may find more than it may keep.
async fn found_and_handled(fixture: Fixture, lanes: u16) {
    let patient = |healed: &Arc<AtomicBool>| patient(healed).lanes(lanes);
    let healed = Arc::new(AtomicBool::new(false));
    for number in 0..45 {
        fixture.order(1, &format!("o-{number}"), 2).await;
    }
    let engine = fixture.start("n-1", vec![patient(&healed).waiting_max(100)]);
    fixture.settle(&engine).await;
    assert_eq!(reason(&fixture).await, None);
    engine.stop().await;
    // Of a key that waits beyond what is kept, and of one that does not wait at all.
    fixture.change(1, "o-44", 3).await;
    fixture.order(1, "new", 1).await;
    let engine = fixture.start("n-2", vec![patient(&healed)]);
    fixture.settle(&engine).await;
    assert_eq!(reason(&fixture).await.as_deref(), Some("more than 20 keys wait"));
    // A lane of several may still take what it knows to be new, until all of them know too many together.
    let parked = fixture.parked(NAME).await;
    assert!(parked == 90 || lanes > 1 && parked <= 92, "{parked}");
    healed.store(true, Ordering::Relaxed);
    fixture.clock.advance_ms(60_000);
    resumed(&fixture, &engine).await;
    assert_eq!(reason(&fixture).await, None);
    for number in 0..44 {
        assert_eq!(fixture.notes(1, &format!("o-{number}")).await, "12", "{number}");
    }
    assert_eq!((fixture.notes(1, "o-44").await, fixture.notes(1, "new").await), ("123".to_owned(), "1".to_owned()));
    assert_eq!((fixture.parked(NAME).await, fixture.dead(NAME).await.len()), (0, 0));
    engine.stop().await;
}

async fn a_resumed_consumer_with_too_many_keys_takes_nothing_new_and_says_so(fixture: Fixture) {
    let healed = Arc::new(AtomicBool::new(false));
    let engine = fixture.start("n-1", vec![patient(&healed)]);
    for number in 0..40 {
        fixture.order(1, &format!("o-{number}"), 1).await;
    }
    fixture.settle(&engine).await;
    assert_eq!(reason(&fixture).await.as_deref(), Some("more than 20 keys wait"));
    let waiting = fixture.parked(NAME).await;
    // Nothing has become better: what waits is tried, and waits again.
    fixture.clock.advance_ms(60_000);
    resumed(&fixture, &engine).await;
    assert_eq!(reason(&fixture).await.as_deref(), Some("more than 20 keys wait"));
    assert_eq!(fixture.parked(NAME).await, waiting, "nothing is added to it");
    healed.store(true, Ordering::Relaxed);
    fixture.clock.advance_ms(60_000);
    resumed(&fixture, &engine).await;
    for number in 0..40 {
        assert_eq!(fixture.notes(1, &format!("o-{number}")).await, "1", "{number}");
    }
    engine.stop().await;
}
