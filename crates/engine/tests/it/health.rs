//! A consumer most of whose keys fail is broken, and stops by itself; one whose keys fail now and then is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use karwan_engine::{Consumer, Policy, Received, Verdict};
use karwan_store::{Error, TenantTx};

use crate::fixture::{Fixture, note};
use crate::shop::{OrderChanged, OrderPlaced};

on_both! {
    a_consumer_that_fails_for_every_key_suspends_says_so_and_goes_on_when_it_is_resumed,
    keys_that_fail_now_and_then_suspend_nobody,
    others_go_on_while_one_consumer_is_suspended,
    a_key_is_held_behind_an_event_that_is_given_up_where_the_consumer_says_so,
    a_key_with_many_events_behind_a_parked_one_goes_on_in_order,
}

fed_too! {
    a_consumer_that_fails_for_every_key_suspends_says_so_and_goes_on_when_it_is_resumed,
    keys_that_fail_now_and_then_suspend_nobody,
    others_go_on_while_one_consumer_is_suspended,
    a_key_is_held_behind_an_event_that_is_given_up_where_the_consumer_says_so,
    a_key_with_many_events_behind_a_parked_one_goes_on_in_order,
}

const NAME: &str = "sales-service.secretary";

/// Notes orders, as long as it is not broken.
fn secretary(broken: &Arc<AtomicBool>) -> Consumer {
    let broken = broken.clone();
    Consumer::new("sales-service", "secretary").on(move |tx: TenantTx, received: Received<OrderPlaced>| {
        let broken = broken.load(Ordering::Relaxed);
        async move {
            if broken {
                return Ok(Verdict::Retry("the printer is on fire".to_owned()));
            }
            note(&tx, &received.event.order_id, "p").await?;
            Ok::<_, Error>(Verdict::Done)
        }
    })
}

async fn suspended(fixture: &Fixture) -> Vec<(String, String)> {
    let suspensions = fixture.store.suspensions().await.expect("it can be asked");
    suspensions.into_iter().map(|it| (it.consumer, it.reason)).collect()
}

async fn orders(fixture: &Fixture, numbers: std::ops::Range<u32>) {
    for number in numbers {
        fixture.order(1, &format!("o-{number}"), 0).await;
    }
}

async fn a_consumer_that_fails_for_every_key_suspends_says_so_and_goes_on_when_it_is_resumed(fixture: Fixture) {
    let broken = Arc::new(AtomicBool::new(true));
    let engine = fixture.start("n-1", vec![secretary(&broken)]);
    orders(&fixture, 0..150).await;
    fixture.settle(&engine).await;
    let [(consumer, reason)] = &suspended(&fixture).await[..] else { panic!("it is suspended") };
    assert_eq!((consumer.as_str(), reason.ends_with(" keys failed")), (NAME, true), "{reason}");
    let end = fixture.order(1, "one-more", 0).await.position;
    let told = fixture.wait_for(&engine, NAME, end).await;
    assert!(matches!(told, Err(Error::ConsumerSuspended { .. })), "{told:?}");
    assert_eq!(fixture.dead(NAME).await, [], "nothing is given up");
    broken.store(false, Ordering::Relaxed);
    assert!(fixture.resume(NAME).await, "it was suspended");
    engine.resumed(NAME).await.expect("it goes on");
    fixture.clock.advance_ms(3_600_000);
    fixture.settle(&engine).await;
    for number in 0..150 {
        assert_eq!(fixture.notes(1, &format!("o-{number}")).await, "p", "{number}");
    }
    assert_eq!(fixture.notes(1, "one-more").await, "p");
    assert_eq!(suspended(&fixture).await, []);
    assert!(!fixture.resume(NAME).await, "it is suspended no more");
    engine.stop().await;
}

async fn keys_that_fail_now_and_then_suspend_nobody(fixture: Fixture) {
    let count = AtomicU32::new(0);
    let clumsy =
        Consumer::new("sales-service", "secretary").on(move |tx: TenantTx, received: Received<OrderPlaced>| {
            let fails = count.fetch_add(1, Ordering::Relaxed).is_multiple_of(3);
            async move {
                if fails {
                    return Ok(Verdict::Retry("it slipped".to_owned()));
                }
                note(&tx, &received.event.order_id, "p").await?;
                Ok::<_, Error>(Verdict::Done)
            }
        });
    let engine = fixture.start("n-1", vec![clumsy.batch(1).policy(Policy { attempts_max: 100, ..Policy::default() })]);
    orders(&fixture, 0..200).await;
    fixture.settle(&engine).await;
    assert_eq!(suspended(&fixture).await, []);
    engine.stop().await;
}

async fn others_go_on_while_one_consumer_is_suspended(fixture: Fixture) {
    let broken = Arc::new(AtomicBool::new(true));
    let clerk = Consumer::new("sales-service", "clerk").on(async |tx: TenantTx, received: Received<OrderPlaced>| {
        note(&tx, &received.event.order_id, "c").await?;
        Ok::<_, Error>(Verdict::Done)
    });
    let engine = fixture.start("n-1", vec![secretary(&broken), clerk]);
    orders(&fixture, 0..120).await;
    fixture.settle(&engine).await;
    orders(&fixture, 120..130).await;
    fixture.settle(&engine).await;
    assert_eq!(suspended(&fixture).await.len(), 1);
    assert_eq!(fixture.notes(1, "o-129").await, "c");
    engine.stop().await;
    // Another process learns of it before it does anything.
    let heir = fixture.start("n-2", vec![secretary(&Arc::new(AtomicBool::new(false)))]);
    fixture.settle(&heir).await;
    assert_eq!(fixture.notes(1, "o-129").await, "c");
    heir.stop().await;
}

async fn a_key_is_held_behind_an_event_that_is_given_up_where_the_consumer_says_so(fixture: Fixture) {
    let strict = Consumer::new("sales-service", "secretary")
        .on(async |tx: TenantTx, received: Received<OrderChanged>| {
            let OrderChanged { order_id, revision } = received.event;
            if revision == 2 && order_id == "bad" {
                return Ok(Verdict::Dead("it makes no sense".to_owned()));
            }
            note(&tx, &order_id, &revision.to_string()).await?;
            Ok::<_, Error>(Verdict::Done)
        })
        .hold_dead();
    let engine = fixture.start("n-1", vec![strict]);
    fixture.order(1, "bad", 4).await;
    fixture.order(1, "good", 4).await;
    fixture.settle(&engine).await;
    fixture.clock.advance_ms(86_400_000);
    fixture.settle(&engine).await;
    assert_eq!((fixture.notes(1, "bad").await, fixture.notes(1, "good").await), ("1".to_owned(), "1234".to_owned()));
    assert_eq!(fixture.dead(NAME).await, [], "it waits for a person");
    engine.stop().await;
}

async fn a_key_with_many_events_behind_a_parked_one_goes_on_in_order(fixture: Fixture) {
    let broken = Arc::new(AtomicBool::new(true));
    let told = broken.clone();
    let careful = move |tx: TenantTx, received: Received<OrderChanged>| {
        let broken = told.load(Ordering::Relaxed);
        async move {
            let OrderChanged { order_id, revision } = received.event;
            if broken && revision == 1 {
                return Ok(Verdict::Retry("not yet".to_owned()));
            }
            note(&tx, &order_id, &format!("{revision},")).await?;
            Ok::<_, Error>(Verdict::Done)
        }
    };
    let consumer = || Consumer::new("sales-service", "secretary").on(careful.clone());
    let engine = fixture.start("n-1", vec![consumer()]);
    fixture.order(1, "o", 300).await;
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "o").await, "");
    engine.stop().await;
    broken.store(false, Ordering::Relaxed);
    fixture.clock.advance_ms(3_600_000);
    let heir = fixture.start("n-2", vec![consumer()]);
    fixture.settle(&heir).await;
    let wanted: String = (1..=300).map(|revision| format!("{revision},")).collect();
    assert_eq!(fixture.notes(1, "o").await, wanted);
    heir.stop().await;
}
