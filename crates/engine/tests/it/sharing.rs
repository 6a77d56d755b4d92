//! Several processes share a consumer's lanes; one that is gone is followed by another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use karwan_engine::{Consumer, LEASE_MS, Received, Verdict};
use karwan_store::{Error, TenantTx};

use crate::fixture::{Fixture, note};
use crate::shop::{OrderChanged, OrderPlaced};

on_both! {
    two_processes_share_the_lanes_and_every_event_is_handled_once,
    the_lanes_of_a_crashed_process_are_taken_over_and_nothing_is_lost,
    who_does_not_run_a_consumer_has_no_share_of_its_lanes,
    a_consumer_that_says_nothing_of_lanes_has_those_of_its_service,
    a_consumer_with_another_number_of_lanes_goes_on_where_it_was,
    a_process_with_another_number_of_lanes_waits_until_the_others_are_gone,
    a_process_that_comes_back_under_its_name_keeps_nothing_of_its_former_life_alive,
}

fed_too! {
    two_processes_share_the_lanes_and_every_event_is_handled_once,
    the_lanes_of_a_crashed_process_are_taken_over_and_nothing_is_lost,
    a_consumer_with_another_number_of_lanes_goes_on_where_it_was,
    who_does_not_run_a_consumer_has_no_share_of_its_lanes,
    a_process_with_another_number_of_lanes_waits_until_the_others_are_gone,
    a_process_that_comes_back_under_its_name_keeps_nothing_of_its_former_life_alive,
}

fn secretary() -> Consumer {
    Consumer::new("sales-service", "secretary")
        .on(async |tx: TenantTx, received: Received<OrderChanged>| {
            note(&tx, &received.event.order_id, &received.event.revision.to_string()).await?;
            Ok::<_, Error>(Verdict::Done)
        })
        .lanes(8)
}

async fn all_noted(fixture: &Fixture, orders: u64) {
    for number in 0..orders {
        assert_eq!(fixture.notes(1, &format!("o-{number}")).await, "12345", "o-{number}");
    }
}

async fn two_processes_share_the_lanes_and_every_event_is_handled_once(fixture: Fixture) {
    let [one, two] = ["n-1", "n-2"].map(|node| fixture.start(node, vec![secretary()]));
    let mut last = None;
    for number in 0..40 {
        last = Some(fixture.order(1, &format!("o-{number}"), 5).await.position);
    }
    fixture.wait_for(&one, "sales-service.secretary", last.expect("there were orders")).await.expect("it gets there");
    all_noted(&fixture, 40).await;
    one.stop().await;
    two.stop().await;
}

async fn the_lanes_of_a_crashed_process_are_taken_over_and_nothing_is_lost(fixture: Fixture) {
    let one = fixture.start("n-1", vec![secretary()]);
    for number in 0..20 {
        fixture.order(1, &format!("o-{number}"), 5).await;
    }
    // It is gone in the middle of it, and releases nothing.
    drop(one);
    let two = fixture.start("n-2", vec![secretary()]);
    let mut last = None;
    for number in 20..40 {
        last = Some(fixture.order(1, &format!("o-{number}"), 5).await.position);
    }
    fixture.lease_runs_out().await;
    fixture.wait_for(&two, "sales-service.secretary", last.expect("there were orders")).await.expect("it gets there");
    all_noted(&fixture, 40).await;
    two.stop().await;
}

/// Two services of one platform share a store: each does all of its own work.
async fn who_does_not_run_a_consumer_has_no_share_of_its_lanes(fixture: Fixture) {
    let other = Consumer::new("delivery-service", "porter")
        .on(async |_: TenantTx, _: Received<OrderPlaced>| Ok::<_, Error>(Verdict::Done));
    let stranger = fixture.start("n-1", vec![other]);
    fixture.settle(&stranger).await;
    let one = fixture.start("n-2", vec![secretary()]);
    for number in 0..40 {
        fixture.order(1, &format!("o-{number}"), 5).await;
    }
    let settled = tokio::time::timeout(Duration::from_secs(60), fixture.settle(&one)).await;
    settled.expect("some lanes were left to somebody who does not want them");
    all_noted(&fixture, 40).await;
    one.stop().await;
    stranger.stop().await;
}

/// The shop gives its delivery service three instances that handle two events at once each.
async fn a_consumer_that_says_nothing_of_lanes_has_those_of_its_service(fixture: Fixture) {
    let idle = |service: &str, what: &str| {
        let consumer = Consumer::new(service, what);
        consumer.on(async |_: TenantTx, _: Received<OrderPlaced>| Ok::<_, Error>(Verdict::Done))
    };
    let porters = [idle("delivery-service", "porter"), idle("delivery-service", "guard").lanes(2)];
    let engine = fixture.start("n-1", porters.into_iter().chain([idle("sales-service", "clerk")]).collect());
    engine.settle().await.expect("it settles");
    for (consumer, lanes) in [("delivery-service.porter", 6), ("delivery-service.guard", 2), ("sales-service.clerk", 4)]
    {
        let positions = fixture.store.relay().positions(consumer).await.expect("it can be asked");
        assert_eq!(positions.len(), lanes, "{consumer}");
    }
    engine.stop().await;
}

/// A secretary with so many lanes, who cannot note the third revision of `o-7` before it is told to.
fn parted(lanes: u16, healed: &Arc<AtomicBool>, mark: &'static str) -> Consumer {
    let healed = healed.clone();
    Consumer::new("sales-service", "secretary")
        .on(move |tx: TenantTx, received: Received<OrderChanged>| {
            let healed = healed.clone();
            async move {
                let OrderChanged { order_id, revision } = received.event;
                if order_id == "o-7" && revision == 3 && !healed.load(Ordering::Relaxed) {
                    return Ok(Verdict::Retry("no".to_owned()));
                }
                note(&tx, &order_id, &format!("{revision}{mark}")).await?;
                Ok::<_, Error>(Verdict::Done)
            }
        })
        .lanes(lanes)
}

async fn a_consumer_with_another_number_of_lanes_goes_on_where_it_was(fixture: Fixture) {
    let healed = Arc::new(AtomicBool::new(false));
    for (round, lanes) in [8, 3, 13, 1].into_iter().enumerate() {
        for number in 0..10 {
            fixture.order(1, &format!("o-{}", 10 * round + number), 5).await;
        }
        let engine = fixture.start("n-1", vec![parted(lanes, &healed, "")]);
        fixture.settle(&engine).await;
        assert_eq!(fixture.notes(1, "o-7").await, "12", "{lanes} lanes: its key went on without it");
        engine.stop().await;
        fixture.clock.advance_ms(2_000);
    }
    healed.store(true, Ordering::Relaxed);
    fixture.clock.advance_ms(600_000);
    let engine = fixture.start("n-1", vec![parted(5, &healed, "")]);
    fixture.settle(&engine).await;
    all_noted(&fixture, 40).await;
    engine.stop().await;
}

async fn a_process_with_another_number_of_lanes_waits_until_the_others_are_gone(fixture: Fixture) {
    let healed = Arc::new(AtomicBool::new(true));
    let one = fixture.start("n-1", vec![parted(8, &healed, "a")]);
    fixture.settle(&one).await;
    let two = fixture.start("n-2", vec![parted(3, &healed, "b")]);
    for number in 0..10 {
        fixture.order(1, &format!("o-{number}"), 2).await;
    }
    // Long enough for the other one to beat, to be counted, and to ask.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    fixture.settle(&one).await;
    for number in 0..10 {
        assert_eq!(fixture.notes(1, &format!("o-{number}")).await, "1a2a");
    }
    one.stop().await;
    for number in 10..20 {
        fixture.order(1, &format!("o-{number}"), 2).await;
    }
    fixture.settle(&two).await;
    for number in 10..20 {
        assert_eq!(fixture.notes(1, &format!("o-{number}")).await, "1b2b");
    }
    two.stop().await;
}

/// Restarted at once after a crash, it beats before its former lease has run out.
async fn a_process_that_comes_back_under_its_name_keeps_nothing_of_its_former_life_alive(fixture: Fixture) {
    let healed = Arc::new(AtomicBool::new(true));
    let one = fixture.start("n-1", vec![parted(8, &healed, "")]);
    fixture.settle(&one).await;
    drop(one);
    let again = fixture.start("n-1", vec![parted(8, &healed, "")]);
    fixture.order(1, "o-1", 5).await;
    for _ in 0..2 {
        fixture.leases_grow_older(LEASE_MS * 3 / 5);
        // Time for a beat.
        tokio::time::sleep(Duration::from_millis(1_500)).await;
    }
    let settled = tokio::time::timeout(Duration::from_secs(60), fixture.settle(&again)).await;
    settled.expect("lanes of the former life are kept by the present one");
    assert_eq!(fixture.notes(1, "o-1").await, "12345");
    again.stop().await;
}
