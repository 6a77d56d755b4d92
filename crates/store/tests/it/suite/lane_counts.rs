//! Into how many lanes a consumer is parted: agreed on by all who work on it, and changed when nobody does.

use karwan_store::Error;
use karwan_store::consumer::{Lane, LaneTaken, Node, Run};
use karwan_store::effect;
use karwan_store::log::LogRow;
use karwan_store::write_set::LaneHold;

use crate::fixture::{Fixture, first};
use crate::shop::counter;

on_both! {
    lanes_that_are_parted_anew_begin_at_the_lowest_position,
    a_lane_that_was_never_taken_has_everything_before_it,
    what_is_parked_goes_to_the_lane_of_its_key,
    a_consumer_is_not_parted_anew_while_somebody_holds_a_lane,
    who_held_a_lane_before_it_was_parted_anew_writes_nothing,
    the_lanes_of_others_stay_as_they_are,
    lanes_that_somebody_holds_are_not_free_until_their_lease_has_run_out,
    a_node_says_what_it_works_on,
    a_node_that_leaves_holds_nothing_and_does_not_live,
}

const LEASE_MS: i64 = 60_000;

fn lane(number: u16, of: u16) -> Lane {
    Lane { consumer: "mailer".to_owned(), number, of }
}

async fn take(fixture: &Fixture, number: u16, of: u16) -> LaneTaken {
    let taken = fixture.store.take_lane(&lane(number, of), "n-1", LEASE_MS).await;
    taken.expect("it can be asked for").expect("it is free")
}

async fn hold(fixture: &Fixture, number: u16, of: u16) -> LaneHold {
    let epoch = take(fixture, number, of).await.epoch;
    LaneHold { consumer: "mailer".to_owned(), lane: number, epoch }
}

async fn events(fixture: &Fixture, count: usize) -> Vec<LogRow> {
    for number in 0..count {
        fixture.place(1, &format!("o-{number}")).await;
    }
    fixture.log().await
}

async fn release(fixture: &Fixture, hold: &LaneHold, position: i64) {
    fixture.store.save_position(hold, position, true).await.expect("the lane is held");
}

/// Works in two lanes, up to these places, and stops.
async fn worked(fixture: &Fixture, positions: [i64; 2]) {
    for (number, position) in (0..).zip(positions) {
        let hold = hold(fixture, number, 2).await;
        release(fixture, &hold, position).await;
    }
}

async fn lanes_that_are_parted_anew_begin_at_the_lowest_position(fixture: Fixture) {
    let rows = events(&fixture, 4).await;
    worked(&fixture, [rows[3].seq, rows[1].seq]).await;
    for number in 0..5 {
        assert_eq!(take(&fixture, number, 5).await.position, rows[1].seq, "lane {number}");
    }
    let relay = fixture.store.relay();
    assert_eq!(relay.positions("mailer").await.expect("it can be asked").len(), 5);
    fixture.pass(LEASE_MS + 100);
    assert_eq!(take(&fixture, 0, 1).await.position, rows[1].seq);
    assert_eq!(relay.positions("mailer").await.expect("it can be asked").len(), 1);
}

async fn a_lane_that_was_never_taken_has_everything_before_it(fixture: Fixture) {
    let rows = events(&fixture, 2).await;
    let only = hold(&fixture, 0, 2).await;
    release(&fixture, &only, rows[1].seq).await;
    assert_eq!(take(&fixture, 0, 3).await.position, 0);
}

async fn what_is_parked_goes_to_the_lane_of_its_key(fixture: Fixture) {
    let rows = events(&fixture, 12).await;
    let mut holds = Vec::new();
    for number in 0..2 {
        holds.push(hold(&fixture, number, 2).await);
    }
    for row in &rows {
        let parked = row.clone().parked(None, 1, "no".to_owned());
        fixture.store.park(&holds[usize::from(row.slot % 2)], &[parked]).await.expect("the lane is held");
    }
    for hold in &holds {
        release(&fixture, hold, rows[11].seq).await;
    }
    take(&fixture, 0, 7).await;
    for number in 0..7 {
        let found = fixture.store.parked(&lane(number, 7), 100).await.expect("it can be asked");
        let found: Vec<_> = found.into_iter().map(|event| event.event).collect();
        let its_own: Vec<_> = rows.iter().filter(|row| row.slot % 7 == number).map(|row| row.event).collect();
        assert_eq!(found, its_own, "lane {number}");
    }
}

async fn a_consumer_is_not_parted_anew_while_somebody_holds_a_lane(fixture: Fixture) {
    let holder = hold(&fixture, 1, 2).await;
    let other = fixture.store.take_lane(&lane(0, 4), "n-2", LEASE_MS).await;
    assert!(matches!(&other, Err(Error::LanesDiffer { stored: 2, wanted: 4, .. })), "{other:?}");
    assert_eq!(other.map_err(|error| error.code()), Err("store-lanes-differ"));
    // Those who agree go on.
    take(&fixture, 0, 2).await;
    fixture.store.save_position(&holder, 0, false).await.expect("the lane is held");
    fixture.pass(LEASE_MS + 100);
    take(&fixture, 0, 4).await;
    let late = fixture.store.take_lane(&lane(1, 2), "n-1", LEASE_MS).await;
    assert!(matches!(late, Err(Error::LanesDiffer { stored: 4, wanted: 2, .. })), "{late:?}");
}

/// Also where the lane is gone, and where it comes back and is taken as often as it was before.
async fn who_held_a_lane_before_it_was_parted_anew_writes_nothing(fixture: Fixture) {
    let rows = events(&fixture, 1).await;
    let mut zombies = vec![hold(&fixture, 0, 4).await];
    for _ in 0..3 {
        zombies.push(hold(&fixture, 3, 4).await);
        fixture.pass(LEASE_MS + 100);
    }
    let refused = async |when: &str| {
        for zombie in &zombies {
            let mut batch = fixture.store.batch(zombie);
            batch.handle(&first(), rows[0].claim()).put(counter("mail", 1));
            let flushed = batch.commit().await;
            assert!(matches!(flushed, Err(Error::LaneLost { .. })), "{when}: {flushed:?}");
            let saved = fixture.store.save_position(zombie, rows[0].seq, true).await;
            assert!(matches!(saved, Err(Error::LaneLost { .. })), "{when}: {saved:?}");
        }
    };
    take(&fixture, 1, 2).await;
    refused("two lanes").await;
    for _ in 0..4 {
        fixture.pass(LEASE_MS + 100);
        take(&fixture, 3, 4).await;
        refused("four lanes again").await;
    }
}

async fn the_lanes_of_others_stay_as_they_are(fixture: Fixture) {
    let others = [effect::lane("charge"), Lane { consumer: "biller".to_owned(), number: 0, of: 2 }];
    let mut holds = Vec::new();
    for other in &others {
        let taken = fixture.store.take_lane(other, "n-1", LEASE_MS).await.expect("it can be asked for");
        let epoch = taken.expect("it is free").epoch;
        holds.push(LaneHold { consumer: other.consumer.clone(), lane: other.number, epoch });
    }
    worked(&fixture, [0, 0]).await;
    take(&fixture, 0, 3).await;
    for hold in &holds {
        fixture.store.save_position(hold, 0, false).await.expect("the lane is held");
    }
}

async fn a_node_says_what_it_works_on(fixture: Fixture) {
    let run = |consumer: &str, lanes| Run { consumer: consumer.to_owned(), lanes, subjects: vec!["a".to_owned()] };
    let one = Node { name: "n-1".to_owned(), runs: vec![run("mailer", 2), run("say \"hi\"", 1024)] };
    let two = Node { name: "n-2".to_owned(), runs: vec![run("mailer", 4)] };
    fixture.store.beat(&one, &[], LEASE_MS).await.expect("it beats");
    assert_eq!(fixture.store.beat(&two, &[], LEASE_MS).await.expect("it beats").living, [one.clone(), two.clone()]);
    let stops = Node::named("n-1");
    assert_eq!(fixture.store.beat(&stops, &[], LEASE_MS).await.expect("it beats").living, [stops, two]);
}

async fn a_node_that_leaves_holds_nothing_and_does_not_live(fixture: Fixture) {
    let held = hold(&fixture, 0, 2).await;
    fixture.store.beat(&Node::named("n-1"), &[], LEASE_MS).await.expect("it beats");
    fixture.store.leave("n-1").await.expect("it can leave");
    assert_eq!(
        fixture.store.beat(&Node::named("n-2"), &[], LEASE_MS).await.expect("it beats").living,
        [Node::named("n-2")]
    );
    let late = fixture.store.save_position(&held, 9, false).await;
    assert!(matches!(late, Err(Error::LaneLost { .. })), "{late:?}");
    assert_eq!(take(&fixture, 0, 2).await.position, 0);
}

async fn lanes_that_somebody_holds_are_not_free_until_their_lease_has_run_out(fixture: Fixture) {
    let free = async |lanes| fixture.store.free_lanes("mailer", lanes, LEASE_MS).await.expect("it can be asked");
    assert_eq!(free(3).await, [0, 1, 2], "nobody has ever taken one");
    let kept = hold(&fixture, 1, 3).await;
    assert_eq!(free(3).await, [0, 2]);
    let released = hold(&fixture, 0, 3).await;
    release(&fixture, &released, 0).await;
    assert_eq!(free(3).await, [0, 2]);
    assert_eq!(free(2).await, [0, 1], "whoever parts it otherwise has to be told so");
    fixture.pass(LEASE_MS + 100);
    assert_eq!(free(3).await, [0, 1, 2]);
    assert!(take(&fixture, 1, 3).await.epoch > kept.epoch);
}
