//! Consumers that an operator moves while they run: nothing twice that was not asked for, and order per key throughout.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use karwan_engine::fed_consumer::Error as FedError;
use karwan_engine::{Consumer, Received, Verdict};
use karwan_store::log::Filter;
use karwan_store::operator::{ActionFilter, Again, Chosen, Place};
use karwan_store::{Error, TenantTx};

use crate::fixture::{Fixture, note};
use crate::hand::{Hand, operator, who};
use crate::shop::{self, OrderChanged, OrderPlaced};

on_both! {
    a_running_consumer_that_is_sent_back_handles_nothing_twice,
    what_is_cleared_is_handled_again_in_order_while_more_comes,
    what_is_handled_again_goes_before_what_waits_in_its_key,
    a_letter_keeps_its_claim,
    a_consumer_that_only_goes_forward_is_not_sent_back,
    what_lies_below_the_floor_or_beyond_the_end_is_refused,
    a_consumer_is_found_again_where_it_was,
    a_replay_is_seen_by_its_consumer_alone_and_keeps_the_order,
    what_is_replayed_has_the_id_the_key_and_the_place_that_it_had,
    a_replay_that_nobody_has_handled_is_taken_back,
    a_replay_that_was_read_again_and_not_tried_is_taken_back_whole,
    a_replay_that_was_tried_is_not_taken_back_and_nothing_is_recorded,
    an_operator_who_dies_half_way_leaves_an_order_that_holds_and_doing_it_again_finishes_it,
    a_consumer_that_nobody_runs_is_forgotten_and_remembered,
}

fed_too! {
    a_running_consumer_that_is_sent_back_handles_nothing_twice,
    what_is_cleared_is_handled_again_in_order_while_more_comes,
    what_is_handled_again_goes_before_what_waits_in_its_key,
    a_letter_keeps_its_claim,
    a_consumer_that_only_goes_forward_is_not_sent_back,
    a_consumer_is_found_again_where_it_was,
    a_replay_is_seen_by_its_consumer_alone_and_keeps_the_order,
    what_is_replayed_has_the_id_the_key_and_the_place_that_it_had,
    a_replay_that_nobody_has_handled_is_taken_back,
    a_replay_that_was_read_again_and_not_tried_is_taken_back_whole,
    a_replay_that_was_tried_is_not_taken_back_and_nothing_is_recorded,
    a_consumer_that_nobody_runs_is_forgotten_and_remembered,
}

const NAME: &str = "sales-service.secretary";

/// Notes every event of an order.
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

/// Waits until a consumer has saved that it is at the end of the log or of its stream, and nothing of it is parked.
async fn caught_up(fixture: &Fixture, consumer: &str) {
    let relay = fixture.store.relay();
    let wait = async {
        loop {
            let end = fixture.end().await;
            let positions = relay.positions(consumer).await.expect("positions can be asked for");
            let parked = fixture.parked(consumer).await;
            if parked == 0 && !positions.is_empty() && positions.iter().all(|position| *position >= end) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("it comes to the end");
}

async fn a_running_consumer_that_is_sent_back_handles_nothing_twice(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![secretary()]);
    fixture.order(1, "a", 4).await;
    caught_up(&fixture, NAME).await;
    let moved = Hand::on(&fixture, NAME).await.seek(Place::Start).await;
    assert!(moved.was.iter().all(|position| *position > 0) && moved.now == [0; 4], "{moved:?}");
    fixture.order(1, "b", 2).await;
    caught_up(&fixture, NAME).await;
    assert_eq!(fixture.notes(1, "a").await, "p1234");
    assert_eq!(fixture.notes(1, "b").await, "p12");
    engine.stop().await;
}

/// Two processes, and a writer that does not stop for the operator.
async fn what_is_cleared_is_handled_again_in_order_while_more_comes(fixture: Fixture) {
    const KEYS: u64 = 12;
    let engines = [fixture.start("n-1", vec![secretary()]), fixture.start("n-2", vec![secretary()])];
    for key in 0..KEYS {
        fixture.order(key % 3, &format!("o-{key}"), 3).await;
    }
    // Who has not begun cannot be sent back.
    caught_up(&fixture, NAME).await;
    for round in 0..3 {
        let (back, write) = (Hand::on(&fixture, NAME).await, async {
            for key in 0..KEYS {
                let (context, id) = (shop::context(key % 3), format!("o-{key}"));
                let changed = fixture.producer().unit(&context, async |tx: TenantTx| {
                    let order: shop::Order = tx.get(&id).await?;
                    tx.put(order);
                    tx.emit(shop::changed(&id, 4 + round));
                    Ok::<_, Error>(())
                });
                changed.await.expect("an order can be changed");
            }
        });
        tokio::join!(back.seek_and_clear(), write);
    }
    caught_up(&fixture, NAME).await;
    for key in 0..KEYS {
        let notes = fixture.notes(key % 3, &format!("o-{key}")).await;
        let passes: Vec<&str> = notes.split('p').skip(1).collect();
        assert!(passes.iter().all(|pass| "123456".starts_with(pass)), "out of order: {notes}");
        assert_eq!(passes.last(), Some(&"123456"), "{notes}");
    }
    for engine in engines {
        engine.stop().await;
    }
}

/// Fails with the second revision of order `bad` as long as it is broken.
fn picky(broken: &Arc<AtomicBool>, verdict: Verdict) -> Consumer {
    let broken = broken.clone();
    Consumer::new("sales-service", "secretary").on(move |tx: TenantTx, received: Received<OrderChanged>| {
        let (broken, verdict) = (broken.clone(), verdict.clone());
        async move {
            let OrderChanged { order_id, revision } = received.event;
            if order_id == "bad" && revision == 2 && broken.load(Ordering::Relaxed) {
                return Ok(verdict);
            }
            note(&tx, &order_id, &revision.to_string()).await?;
            Ok::<_, Error>(Verdict::Done)
        }
    })
}

async fn what_is_handled_again_goes_before_what_waits_in_its_key(fixture: Fixture) {
    let broken = Arc::new(AtomicBool::new(true));
    let engine = fixture.start("n-1", vec![picky(&broken, Verdict::Retry("no".to_owned()))]);
    fixture.order(1, "bad", 4).await;
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "bad").await, "1");
    assert_eq!(Hand::on(&fixture, NAME).await.seek_and_clear().await.cleared, 1);
    broken.store(false, Ordering::Relaxed);
    fixture.clock.advance_ms(2_000);
    caught_up(&fixture, NAME).await;
    assert_eq!(fixture.notes(1, "bad").await, "11234");
    engine.stop().await;
}

async fn a_letter_keeps_its_claim(fixture: Fixture) {
    let broken = Arc::new(AtomicBool::new(true));
    let engine = fixture.start("n-1", vec![picky(&broken, Verdict::Dead("never".to_owned()))]);
    fixture.order(1, "bad", 4).await;
    caught_up(&fixture, NAME).await;
    broken.store(false, Ordering::Relaxed);
    assert_eq!(Hand::on(&fixture, NAME).await.seek_and_clear().await.cleared, 3);
    caught_up(&fixture, NAME).await;
    assert_eq!(fixture.notes(1, "bad").await, "134134");
    assert_eq!(fixture.dead(NAME).await.len(), 1);
    engine.stop().await;
}

///
async fn a_consumer_that_only_goes_forward_is_not_sent_back(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![secretary().forward_only()]);
    fixture.order(1, "a", 1).await;
    caught_up(&fixture, NAME).await;
    engine.stop().await;
    let hand = Hand::on(&fixture, NAME).await;
    let back = hand.try_seek(Place::Start).await;
    assert!(matches!(back, Err(FedError::Store(Error::ForwardOnly { asked: 0, .. }))), "{back:?}");
    let again = hand.try_replay(&Chosen::default()).await;
    assert!(matches!(again, Err(FedError::Store(Error::ForwardOnly { .. }))), "{again:?}");
    let cleared = hand.try_clear().await;
    assert!(matches!(cleared, Err(FedError::Store(Error::ForwardOnly { .. }))), "{cleared:?}");
    fixture.order(1, "b", 1).await;
    // What is not in its stream yet does not lie before the end.
    fixture.end().await;
    hand.seek(Place::End).await;
    let engine = fixture.start("n-2", vec![secretary().forward_only()]);
    caught_up(&fixture, NAME).await;
    assert_eq!(fixture.notes(1, "b").await, "", "it was passed over");
    engine.stop().await;
}

async fn what_lies_below_the_floor_or_beyond_the_end_is_refused(fixture: Fixture) {
    let operator = operator(&fixture);
    let unknown = operator.seek(&who(), NAME, Place::Start).await;
    assert!(matches!(unknown, Err(Error::ConsumerUnknown { .. })), "{unknown:?}");
    let engine = fixture.start("n-1", vec![secretary()]);
    fixture.order(1, "a", 4).await;
    caught_up(&fixture, NAME).await;
    engine.stop().await;
    let end = fixture.store.relay().end().await.expect("an end").seq;
    let beyond = operator.seek(&who(), NAME, Place::Seq(end + 1)).await;
    assert!(matches!(beyond, Err(Error::BeyondEnd { .. })), "{beyond:?}");
    fixture.raise_floor(3).await;
    let below = operator.seek(&who(), NAME, Place::Seq(2)).await;
    assert!(matches!(below, Err(Error::BelowFloor { asked: 2, floor: 3 })), "{below:?}");
    let before = operator.seek(&who(), NAME, Place::Time(0)).await;
    assert!(matches!(before, Err(Error::BeforeFloor { floor: 3, .. })), "{before:?}");
    operator.seek(&who(), NAME, Place::Seq(3)).await.expect("the floor itself is there");
}

async fn a_consumer_is_found_again_where_it_was(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![secretary()]);
    fixture.order(1, "a", 1).await;
    caught_up(&fixture, NAME).await;
    engine.stop().await;
    let before = fixture.store.relay().positions(NAME).await.expect("positions");
    fixture.order(1, "b", 2).await;
    let operator = operator(&fixture);
    Hand::on(&fixture, NAME).await.seek(Place::End).await;
    let undone = operator.undo_seek(&who(), NAME, None).await.expect("it can be undone");
    assert_eq!(undone.now, before);
    let twice = operator.undo_seek(&who(), NAME, None).await;
    assert!(matches!(twice, Err(Error::NoSeek { .. })), "{twice:?}");
    let engine = fixture.start("n-2", vec![secretary()]);
    caught_up(&fixture, NAME).await;
    assert_eq!(fixture.notes(1, "b").await, "p12");
    engine.stop().await;
}

/// the original id and key, and only one subscriber.
async fn a_replay_is_seen_by_its_consumer_alone_and_keeps_the_order(fixture: Fixture) {
    let others = Arc::new(AtomicUsize::new(0));
    let counted = others.clone();
    let other = Consumer::new("sales-service", "counter").on(move |_: TenantTx, _: Received<OrderChanged>| {
        counted.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok::<_, Error>(Verdict::Done))
    });
    let engine = fixture.start("n-1", vec![secretary(), other]);
    for id in ["a", "b"] {
        fixture.order(1, id, 4).await;
    }
    caught_up(&fixture, NAME).await;
    caught_up(&fixture, "sales-service.counter").await;
    let before = others.load(Ordering::Relaxed);
    let subject = "shop.sales.order.changed.v1".parse().expect("a pattern");
    let chosen = Chosen { subject: Some(subject), tenant: Some(shop::tenant_bits(1)), key: Some("a".to_owned()) };
    let hand = Hand::on(&fixture, NAME).await;
    let would = hand.would_replay(&chosen).await;
    assert_eq!((would.events, would.keys), (4, 1));
    assert_eq!(hand.replay(&chosen).await.events, 4);
    fixture.order(1, "c", 1).await;
    caught_up(&fixture, NAME).await;
    assert_eq!(fixture.notes(1, "a").await, "p12341234");
    assert_eq!(fixture.notes(1, "b").await, "p1234");
    caught_up(&fixture, "sales-service.counter").await;
    assert_eq!(others.load(Ordering::Relaxed), before + 1, "the new order's alone");
    engine.stop().await;
}

async fn what_is_replayed_has_the_id_the_key_and_the_place_that_it_had(fixture: Fixture) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let witness = Consumer::new("sales-service", "witness").on(move |_: TenantTx, it: Received<OrderChanged>| {
        noted.lock().expect("nobody panics").push((it.envelope.id, it.envelope.key.clone(), it.seq));
        std::future::ready(Ok::<_, Error>(Verdict::Done))
    });
    let name = "sales-service.witness";
    let engine = fixture.start("n-1", vec![witness]);
    fixture.order(1, "a", 3).await;
    caught_up(&fixture, name).await;
    assert_eq!(Hand::on(&fixture, name).await.replay(&Chosen::default()).await.events, 3);
    caught_up(&fixture, name).await;
    engine.stop().await;
    let seen = seen.lock().expect("nobody panics").clone();
    let (first, again) = seen.split_at(3);
    assert_eq!(first, again);
}

async fn a_replay_that_nobody_has_handled_is_taken_back(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![secretary()]);
    fixture.order(1, "a", 4).await;
    caught_up(&fixture, NAME).await;
    engine.stop().await;
    let operator = operator(&fixture);
    let sent = Hand::on(&fixture, NAME).await.replay(&Chosen::default()).await;
    assert_eq!((sent.events, fixture.parked(NAME).await), (5, 5));
    let back = operator.undo_replay(&who(), sent.action).await.expect("nobody has tried it");
    assert_eq!((back.events, fixture.parked(NAME).await), (5, 0));
    let twice = operator.undo_replay(&who(), sent.action).await;
    assert!(matches!(twice, Err(Error::CannotUndo { .. })), "{twice:?}");
    operator.seek(&who(), NAME, Place::Start).await.expect("it can go back");
    let engine = fixture.start("n-2", vec![secretary()]);
    caught_up(&fixture, NAME).await;
    assert_eq!(fixture.notes(1, "a").await, "p1234", "the claims are there again");
    engine.stop().await;
}

/// Its key is stopped, so that whoever reads it again parks it again, and does not try it.
async fn a_replay_that_was_read_again_and_not_tried_is_taken_back_whole(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![secretary()]);
    fixture.order(1, "a", 4).await;
    caught_up(&fixture, NAME).await;
    engine.stop().await;
    let operator = operator(&fixture);
    let sent = Hand::on(&fixture, NAME).await.replay(&Chosen::default()).await;
    operator.pause_key(&who(), NAME, shop::tenant_bits(1), "a").await.expect("it can be stopped");
    operator.seek(&who(), NAME, Place::Start).await.expect("it can go back");
    let engine = fixture.start("n-2", vec![secretary()]);
    let end = fixture.producer().relay().end().await.expect("an end");
    fixture.wait_for(&engine, NAME, end).await.expect("it is read");
    engine.stop().await;
    assert_eq!(fixture.parked(NAME).await, 5);
    let back = operator.undo_replay(&who(), sent.action).await.expect("nobody has tried it");
    assert_eq!((back.events, fixture.parked(NAME).await), (5, 0));
}

async fn a_replay_that_was_tried_is_not_taken_back_and_nothing_is_recorded(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![secretary()]);
    fixture.order(1, "a", 4).await;
    caught_up(&fixture, NAME).await;
    let sent = Hand::on(&fixture, NAME).await.replay(&Chosen::default()).await;
    caught_up(&fixture, NAME).await;
    engine.stop().await;
    let (operator, every) = (operator(&fixture), ActionFilter::default());
    let recorded = async || operator.actions(&every, None, 10).await.expect("they can be listed").actions;
    let before = recorded().await;
    let undone = operator.undo_replay(&who(), sent.action).await.expect("there is such an action");
    assert_eq!((undone.action, undone.events), (0, 0));
    assert_eq!(recorded().await, before);
    assert_eq!(fixture.notes(1, "a").await, "p1234p1234");
}

async fn an_operator_who_dies_half_way_leaves_an_order_that_holds_and_doing_it_again_finishes_it(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![secretary()]);
    fixture.order(1, "a", 4).await;
    caught_up(&fixture, NAME).await;
    let (operator, relay) = (operator(&fixture), fixture.store.relay());
    let safe = relay.safe().await.expect("it can be asked");
    let rows = relay.rows(0, safe, &Filter::default(), 100).await.expect("they can be read");
    let mut in_hand = operator.in_hand(&who(), NAME, (Again::Seek, 0)).await.expect("it can be taken");
    in_hand.give(&rows[..3]).await.expect("it is held");
    // As a crash would: nothing is let go or completed.
    drop(in_hand);
    fixture.leases_grow_older(31_000);
    caught_up(&fixture, NAME).await;
    assert_eq!(fixture.notes(1, "a").await, "p1234p12");
    let whole = Chosen::default();
    let moved = operator.seek_and_clear(&who(), NAME, (Place::Start, &whole), &|_, _| {}).await.expect("once more");
    assert_eq!(moved.cleared, 5);
    caught_up(&fixture, NAME).await;
    assert_eq!(fixture.notes(1, "a").await, "p1234p12p1234");
    engine.stop().await;
}

async fn a_consumer_that_nobody_runs_is_forgotten_and_remembered(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![secretary()]);
    fixture.order(1, "a", 1).await;
    caught_up(&fixture, NAME).await;
    let operator = operator(&fixture);
    let runs = operator.forget(&who(), NAME).await;
    assert!(matches!(runs, Err(Error::ConsumerRuns { .. })), "{runs:?}");
    engine.stop().await;
    let before = fixture.store.relay().positions(NAME).await.expect("positions");
    operator.forget(&who(), NAME).await.expect("nobody runs it");
    assert_eq!(fixture.store.relay().positions(NAME).await.expect("positions"), [0; 0]);
    operator.undo_seek(&who(), NAME, None).await.expect("it can be undone");
    assert_eq!(fixture.store.relay().positions(NAME).await.expect("positions"), before);
}
