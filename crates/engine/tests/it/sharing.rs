//! Several processes share a consumer's lanes; one that is gone is followed by another.

use karwan_engine::{Consumer, Received, Verdict};
use karwan_store::{Error, TenantTx};

use crate::fixture::{Fixture, note};
use crate::shop::OrderChanged;

on_both! {
    two_processes_share_the_lanes_and_every_event_is_handled_once,
    the_lanes_of_a_crashed_process_are_taken_over_and_nothing_is_lost,
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
    one.wait_for("sales-service.secretary", last.expect("there were orders")).await.expect("it gets there");
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
    fixture.lease_runs_out();
    two.wait_for("sales-service.secretary", last.expect("there were orders")).await.expect("it gets there");
    all_noted(&fixture, 40).await;
    two.stop().await;
}
