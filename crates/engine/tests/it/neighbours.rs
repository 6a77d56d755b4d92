//! Consumers of one process do not stand in each other's way, and what is waited for is really done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use karwan_engine::{Consumer, Due, ReadAhead, Received, Timer, Verdict, Work};
use karwan_envelope::time::Timestamp;
use karwan_store::consumer::Lane;
use karwan_store::{Error, Position, TenantTx};
use tokio::sync::{Semaphore, mpsc};

use crate::fixture::{Fixture, note};
use crate::shop::{self, OrderChanged, OrderPlaced, ParcelSent, context, sent};

on_both! {
    a_small_tenant_in_the_lane_of_a_flood_does_not_wait_for_the_batch_under_way,
    one_that_hangs_beside_a_flood_does_not_hang_again_before_it_is_parked,
    a_suspended_consumer_holds_no_neighbour_back,
    a_consumer_that_stands_still_holds_no_neighbour_back,
    a_handler_that_panics_before_its_first_wait_takes_nobody_along,
    a_consumer_that_gains_a_subject_gets_no_old_events_of_it,
    what_a_deadline_wrote_is_handled_when_it_has_settled,
    waiting_for_a_consumer_that_nobody_knows_is_refused,
}

fed_too! {
    a_suspended_consumer_holds_no_neighbour_back,
    a_consumer_that_stands_still_holds_no_neighbour_back,
    a_handler_that_panics_before_its_first_wait_takes_nobody_along,
    a_consumer_that_gains_a_subject_gets_no_old_events_of_it,
    waiting_for_a_consumer_that_nobody_knows_is_refused,
}

/// More than may be queued of one tenant.
const EVENTS: i64 = 6_000;

/// Counts changes.
fn counter(count: &Arc<AtomicUsize>) -> Consumer {
    let count = count.clone();
    Consumer::new("sales-service", "counter").on(move |_: TenantTx, _: Received<OrderChanged>| {
        count.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok::<_, Error>(Verdict::Done))
    })
}

async fn changes(fixture: &Fixture) -> Position {
    let mut position = None;
    for number in 0..EVENTS / 600 {
        position = Some(fixture.order(1, &format!("c-{number}"), 600).await.position);
    }
    position.expect("there were some")
}

/// Both have one lane. The flood's handlers stand still until the small tenant's event is committed.
async fn a_small_tenant_in_the_lane_of_a_flood_does_not_wait_for_the_batch_under_way(fixture: Fixture) {
    let (gate, (begun, mut beginning)) = (Arc::new(Semaphore::new(0)), mpsc::unbounded_channel());
    let at_gate = gate.clone();
    let noted = Consumer::new("sales-service", "noted").lanes(1).limit(Duration::from_secs(3_600)).on(
        move |tx: TenantTx, received: Received<OrderChanged>| {
            let (gate, begun) = (at_gate.clone(), begun.clone());
            async move {
                let OrderChanged { order_id, revision } = received.event;
                if order_id != "small" {
                    begun.send(()).expect("somebody hears it");
                    drop(gate.acquire().await);
                }
                note(&tx, &order_id, &revision.to_string()).await?;
                Ok::<_, Error>(Verdict::Done)
            }
        },
    );
    fixture.order(1, "flood", 600).await;
    let ahead = ReadAhead { tenant_rows: 64, ..ReadAhead::default() };
    let engine = fixture.start_ahead("n-1", Work::new().consumer(noted), ahead);
    beginning.recv().await.expect("the flood is handled");
    fixture.order(2, "small", 3).await;
    while fixture.notes(2, "small").await != "123" {
        tokio::task::yield_now().await;
    }
    assert_eq!(fixture.notes(1, "flood").await, "");
    gate.add_permits(Semaphore::MAX_PERMITS);
    fixture.settle(&engine).await;
    let all: String = (1..=600).map(|revision| revision.to_string()).collect();
    assert_eq!(fixture.notes(1, "flood").await, all);
    assert_eq!(fixture.notes(2, "small").await, "123");
    engine.stop().await;
}

/// What it did beside the batch was its attempt.
async fn one_that_hangs_beside_a_flood_does_not_hang_again_before_it_is_parked(fixture: Fixture) {
    let (gate, (begun, mut beginning)) = (Arc::new(Semaphore::new(0)), mpsc::unbounded_channel());
    let at_gate = gate.clone();
    let noted = Consumer::new("sales-service", "noted").lanes(1).limit(Duration::from_secs(2)).on(
        move |_: TenantTx, received: Received<OrderChanged>| {
            let (gate, begun) = (at_gate.clone(), begun.clone());
            async move {
                let small = received.event.order_id == "small";
                begun.send(small).expect("somebody hears it");
                if small {
                    std::future::pending::<()>().await;
                }
                drop(gate.acquire().await);
                Ok::<_, Error>(Verdict::Done)
            }
        },
    );
    fixture.order(1, "flood", 600).await;
    let ahead = ReadAhead { tenant_rows: 64, ..ReadAhead::default() };
    let engine = fixture.start_ahead("n-1", Work::new().consumer(noted), ahead);
    beginning.recv().await.expect("the flood is handled");
    fixture.order(2, "small", 1).await;
    while !beginning.recv().await.expect("somebody is handled") {}
    gate.add_permits(Semaphore::MAX_PERMITS);
    fixture.settle(&engine).await;
    let again = std::iter::from_fn(|| beginning.try_recv().ok()).filter(|small| *small).count();
    let lane = Lane { consumer: "sales-service.noted".to_owned(), number: 0, of: 1 };
    let parked = fixture.store.parked(&lane, 9).await.expect("it can be asked");
    let parked: Vec<_> = parked.iter().map(|event| (event.attempts, event.error.contains("took longer"))).collect();
    assert_eq!((parked, again), (vec![(1, true)], 0), "it has run once");
    engine.stop().await;
}

async fn a_suspended_consumer_holds_no_neighbour_back(fixture: Fixture) {
    let count = Arc::new(AtomicUsize::new(0));
    let broken = Consumer::new("sales-service", "broken")
        .on(async |_: TenantTx, _: Received<OrderPlaced>| Ok::<_, Error>(Verdict::Retry("no".to_owned())))
        .on(async |_: TenantTx, _: Received<OrderChanged>| Ok::<_, Error>(Verdict::Retry("no".to_owned())));
    let engine = fixture.start("n-1", vec![broken, counter(&count)]);
    for number in 0..150 {
        fixture.order(1, &format!("o-{number}"), 0).await;
    }
    fixture.settle(&engine).await;
    assert_eq!(fixture.store.suspensions().await.expect("it can be asked").len(), 1);
    let end = changes(&fixture).await;
    fixture.wait_for(&engine, "sales-service.counter", end).await.expect("it is not suspended");
    assert_eq!(count.load(Ordering::Relaxed), usize::try_from(EVENTS).expect("it is positive"));
    engine.stop().await;
}

async fn a_consumer_that_stands_still_holds_no_neighbour_back(fixture: Fixture) {
    let (count, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let at_gate = gate.clone();
    let slow = Consumer::new("sales-service", "slow").on(move |_: TenantTx, _: Received<OrderChanged>| {
        let gate = at_gate.clone();
        async move {
            let _passed = gate.acquire().await;
            Ok::<_, Error>(Verdict::Done)
        }
    });
    let slow = slow.limit(Duration::from_secs(3_600));
    let engine = fixture.start("n-1", vec![slow, counter(&count)]);
    let end = changes(&fixture).await;
    fixture.wait_for(&engine, "sales-service.counter", end).await.expect("it is not suspended");
    assert_eq!(count.load(Ordering::Relaxed), usize::try_from(EVENTS).expect("it is positive"));
    gate.close();
    fixture.wait_for(&engine, "sales-service.slow", end).await.expect("it goes on");
    engine.stop().await;
}

async fn a_handler_that_panics_before_its_first_wait_takes_nobody_along(fixture: Fixture) {
    let healed = Arc::new(AtomicBool::new(false));
    let well = healed.clone();
    let consumer =
        Consumer::new("sales-service", "rash").lanes(1).on(move |tx: TenantTx, got: Received<OrderPlaced>| {
            assert!(got.event.order_id != "bad" || well.load(Ordering::Relaxed), "not this one");
            async move {
                note(&tx, &got.event.order_id, "p").await?;
                Ok::<_, Error>(Verdict::Done)
            }
        });
    let engine = fixture.start("n-1", vec![consumer]);
    for id in ["a", "bad", "b"] {
        fixture.order(1, id, 0).await;
    }
    fixture.settle(&engine).await;
    assert_eq!((fixture.notes(1, "a").await, fixture.notes(1, "b").await), ("p".to_owned(), "p".to_owned()));
    healed.store(true, Ordering::Relaxed);
    fixture.clock.advance_ms(2_000);
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "bad").await, "p");
    engine.stop().await;
}

async fn a_consumer_that_gains_a_subject_gets_no_old_events_of_it(fixture: Fixture) {
    let placed = || {
        Consumer::new("sales-service", "growing").on(async |tx: TenantTx, got: Received<OrderPlaced>| {
            note(&tx, &got.event.order_id, "p").await?;
            Ok::<_, Error>(Verdict::Done)
        })
    };
    let engine = fixture.start("n-1", vec![placed()]);
    for number in 0..20 {
        fixture.order(1, &format!("o-{number}"), 3).await;
    }
    fixture.settle(&engine).await;
    engine.stop().await;
    let grown = placed().on(async |tx: TenantTx, got: Received<OrderChanged>| {
        note(&tx, &got.event.order_id, &got.event.revision.to_string()).await?;
        Ok::<_, Error>(Verdict::Done)
    });
    // Beside it one that is new, for which everything is read.
    let count = Arc::new(AtomicUsize::new(0));
    let engine = fixture.start("n-2", vec![grown, counter(&count)]);
    fixture.order(1, "late", 2).await;
    fixture.settle(&engine).await;
    assert_eq!(count.load(Ordering::Relaxed), 62);
    assert_eq!(fixture.notes(1, "late").await, "p12");
    for number in 0..20 {
        assert_eq!(fixture.notes(1, &format!("o-{number}")).await, "p");
    }
    engine.stop().await;
}

async fn what_a_deadline_wrote_is_handled_when_it_has_settled(fixture: Fixture) {
    let handled = Arc::new(AtomicUsize::new(0));
    let count = handled.clone();
    let clerk = Consumer::new("sales-service", "clerk").on(move |_: TenantTx, _: Received<ParcelSent>| {
        count.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok::<_, Error>(Verdict::Done))
    });
    let send = async |tx: TenantTx, due: Due<String>| {
        tx.emit(sent(&due.told, 1));
        Ok::<_, Error>(())
    };
    let work = Work::new().consumer(clerk).timer(Timer::new("delivery-service", "send", send));
    let engine = fixture.start_work("n-1", work);
    for round in 1..=60_usize {
        let (id, context) = (format!("p-{round}"), context(1));
        let unit = fixture.store.unit(&context, async |tx: TenantTx| {
            tx.put(shop::counter(&id, 1));
            tx.deadline("send", &id, Timestamp::from_unix_ms(0), &id);
            Ok::<_, Error>(())
        });
        unit.await.expect("it can be set");
        fixture.settle(&engine).await;
        assert_eq!(handled.load(Ordering::Relaxed), round);
    }
    engine.stop().await;
}

async fn waiting_for_a_consumer_that_nobody_knows_is_refused(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![counter(&Arc::default())]);
    let position = fixture.order(1, "o", 0).await.position;
    let told = fixture.wait_for(&engine, "sales-service.countre", position).await;
    assert!(matches!(told, Err(Error::ConsumerUnknown { .. })), "{told:?}");
    let elsewhere = Position { incarnation: position.incarnation + 1, ..position };
    let told = fixture.wait_for(&engine, "sales-service.counter", elsewhere).await;
    assert!(matches!(told, Err(Error::Reset { .. })), "{told:?}");
    engine.stop().await;
}
