//! Two releases of one consumer beside each other, the newer of which handles a subject more.

use karwan_engine::{Consumer, Policy, Received, Verdict};
use karwan_registry::Event as _;
use karwan_store::{Error, TenantTx};

use crate::fixture::{Fixture, note};
use crate::shop::{OrderChanged, OrderPlaced};

on_both! {
    a_subject_that_a_newer_release_handles_is_passed_by_no_process_of_the_older,
    what_the_older_release_does_not_handle_waits_with_its_key_until_the_newer_is_back,
    what_no_release_has_come_for_is_a_letter_and_its_key_goes_on,
    a_lane_is_taken_from_who_does_not_know_of_a_subject_before_it_counts,
}

fed_too! {
    a_subject_that_a_newer_release_handles_is_passed_by_no_process_of_the_older,
    what_the_older_release_does_not_handle_waits_with_its_key_until_the_newer_is_back,
    what_no_release_has_come_for_is_a_letter_and_its_key_goes_on,
}

const NAME: &str = "sales-service.secretary";

/// What waits for something is tried again at once.
const POLICY: Policy =
    Policy { attempts_max: 7, first_ms: 1_000, most_ms: 1_000, later_ms: 0, later_most_ms: 90 * 60_000 };

/// Notes every change of an order.
fn older() -> Consumer {
    Consumer::new("sales-service", "secretary")
        .on(async |tx: TenantTx, received: Received<OrderChanged>| {
            note(&tx, &received.event.order_id, &received.event.revision.to_string()).await?;
            Ok::<_, Error>(Verdict::Done)
        })
        .policy(POLICY)
}

/// And that it was placed.
fn newer() -> Consumer {
    older().on(async |tx: TenantTx, received: Received<OrderPlaced>| {
        note(&tx, &received.event.order_id, "placed ").await?;
        Ok::<_, Error>(Verdict::Done)
    })
}

/// Waits until the store knows that somebody handles placed orders: from here on they count.
async fn declared(fixture: &Fixture) {
    let known = async || {
        let subjects = fixture.store.subjects(NAME).await.expect("it can be asked");
        subjects.iter().any(|subject| subject == OrderPlaced::SUBJECT)
    };
    while !known().await {
        tokio::task::yield_now().await;
    }
}

async fn a_subject_that_a_newer_release_handles_is_passed_by_no_process_of_the_older(fixture: Fixture) {
    let [one, two] = ["n-1", "n-2"].map(|node| fixture.start(node, vec![older()]));
    fixture.order(1, "before", 2).await;
    fixture.settle(&one).await;
    assert_eq!(fixture.notes(1, "before").await, "12");
    let three = fixture.start("n-3", vec![newer()]);
    declared(&fixture).await;
    for number in 0..40 {
        fixture.order(1, &format!("o-{number}"), 2).await;
    }
    fixture.settle(&three).await;
    for number in 0..40 {
        assert_eq!(fixture.notes(1, &format!("o-{number}")).await, "placed 12", "{number}");
    }
    assert_eq!((fixture.parked(NAME).await, fixture.dead(NAME).await.len()), (0, 0));
    one.stop().await;
    two.stop().await;
    three.stop().await;
}

async fn what_the_older_release_does_not_handle_waits_with_its_key_until_the_newer_is_back(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![newer()]);
    fixture.order(1, "before", 1).await;
    fixture.settle(&engine).await;
    engine.stop().await;
    // Rolled back: nobody who lives handles it.
    let engine = fixture.start("n-2", vec![older().policy(Policy { later_ms: 1_000, ..POLICY })]);
    fixture.order(1, "o", 2).await;
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "o").await, "", "its key went on without it");
    assert_eq!(fixture.parked(NAME).await, 3);
    fixture.change(1, "before", 2).await;
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "before").await, "placed 12", "other keys go on");
    engine.stop().await;
    fixture.clock.advance_ms(2_000);
    let engine = fixture.start("n-3", vec![newer()]);
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "o").await, "placed 12");
    assert_eq!((fixture.parked(NAME).await, fixture.dead(NAME).await.len()), (0, 0));
    engine.stop().await;
}

async fn what_no_release_has_come_for_is_a_letter_and_its_key_goes_on(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![newer()]);
    fixture.settle(&engine).await;
    engine.stop().await;
    let engine = fixture.start("n-2", vec![older().policy(Policy { later_ms: 1_000, ..POLICY })]);
    // More than would suspend a consumer whose keys fail.
    for number in 0..120 {
        fixture.order(1, &format!("o-{number}"), 1).await;
    }
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "o-7").await, "");
    fixture.parked_for_hours(2).await;
    fixture.clock.advance_ms(2_000);
    fixture.settle(&engine).await;
    for number in 0..120 {
        assert_eq!(fixture.notes(1, &format!("o-{number}")).await, "1", "{number}");
    }
    let dead = fixture.dead(NAME).await;
    assert_eq!(dead.len(), 120, "an operator can send them again");
    assert!(dead[0].event.error.contains("shop.sales.order.placed.v1"), "{}", dead[0].event.error);
    assert_eq!(fixture.store.suspensions().await.expect("it can be asked"), [], "nothing is wrong with it");
    engine.stop().await;
}

/// Whoever holds a lane and was not told would handle what comes behind such an event.
async fn a_lane_is_taken_from_who_does_not_know_of_a_subject_before_it_counts(fixture: Fixture) {
    let lane = karwan_store::consumer::Lane { consumer: NAME.to_owned(), number: 0, of: 4 };
    let told = |subjects: &[&str]| karwan_store::Declared {
        consumer: NAME.to_owned(),
        subjects: subjects.iter().map(|subject| (*subject).to_owned()).collect(),
        ..karwan_store::Declared::default()
    };
    let store = &fixture.store;
    store.declare(&[told(&["a"])]).await.expect("it can be told");
    let taken = store.take_lane(&lane, "old", 60_000).await.expect("it can be asked").expect("it is free");
    let hold = karwan_store::write_set::LaneHold { consumer: NAME.to_owned(), lane: 0, epoch: taken.epoch };
    // What it handles already takes nothing from anybody.
    store.declare(&[told(&["a"])]).await.expect("it can be told");
    store.save_position(&hold, 1, false).await.expect("it holds the lane");
    store.declare(&[told(&["a", "b"])]).await.expect("it can be told");
    let refused = store.save_position(&hold, 2, false).await;
    assert!(matches!(refused, Err(Error::LaneLost { .. })), "{refused:?}");
    let taken = store.take_lane(&lane, "old", 60_000).await.expect("it can be asked").expect("it is free again");
    assert_eq!(taken.position, 1);
    assert_eq!(store.subjects(NAME).await.expect("it can be asked"), ["a", "b"]);
    // A release that handles less takes nothing away.
    store.declare(&[told(&["a"])]).await.expect("it can be told");
    assert_eq!(store.subjects(NAME).await.expect("it can be asked"), ["a", "b"]);
}
