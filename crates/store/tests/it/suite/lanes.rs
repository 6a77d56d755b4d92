//! What consumers keep: lanes under an epoch, claims, parked events, dead letters.

use karwan_store::Error;
use karwan_store::consumer::{Dead, Lane, LaneTaken, Node, Parked};
use karwan_store::log::LogRow;
use karwan_store::write_set::{Claim, LaneHold};

use crate::fixture::{Fixture, first};
use crate::shop::{counter, order, placed};

on_both! {
    a_lane_is_held_by_one_until_its_lease_runs_out,
    a_beat_prolongs_leases_and_names_the_living,
    a_lane_that_its_holder_does_not_know_of_runs_out_while_the_holder_lives,
    a_released_lane_can_be_taken_at_once_and_keeps_its_position,
    a_zombies_flush_is_refused_and_leaves_nothing,
    a_zombies_park_save_and_bury_are_refused,
    an_event_is_handled_once,
    a_failed_attempt_leaves_no_claim,
    a_parked_event_waits_with_its_envelope_and_goes_when_it_is_handled,
    parking_again_moves_the_due_time,
    a_parked_event_cannot_be_handled_as_if_it_were_not,
    a_dead_event_is_claimed_and_listed,
    a_clock_that_jumps_back_an_hour_keeps_no_lane_and_loses_nothing,
    an_event_that_is_twice_in_a_batch_is_refused,
    an_event_that_was_handled_cannot_be_parked,
    a_position_never_goes_back,
    a_beat_does_not_revive_a_lease_that_has_run_out,
    an_event_of_one_tenant_is_not_handled_in_another_tenants_name,
}

const LEASE_MS: i64 = 60_000;

fn lane() -> Lane {
    Lane { consumer: "mailer".to_owned(), number: 3, of: 8 }
}

async fn take(fixture: &Fixture, node: &str) -> Option<LaneTaken> {
    fixture.store.take_lane(&lane(), node, LEASE_MS).await.expect("it can be asked for")
}

async fn hold(fixture: &Fixture, node: &str) -> LaneHold {
    let taken = take(fixture, node).await.expect("it is free");
    LaneHold { consumer: lane().consumer, lane: lane().number, epoch: taken.epoch }
}

/// Rows to handle.
async fn events(fixture: &Fixture, count: usize) -> Vec<LogRow> {
    for number in 0..count {
        fixture.place(1, &format!("o-{number}")).await;
    }
    fixture.log().await
}

fn parked(row: &LogRow) -> Parked {
    row.clone().parked(Some(1_780_000_060_000), 1, "no answer".to_owned())
}

/// Handles an event: a mail is counted.
async fn handle(fixture: &Fixture, hold: &LaneHold, row: &LogRow, was_parked: bool) -> Result<(), Error> {
    let mut batch = fixture.store.batch(hold);
    let unit = batch.handle(&first(), Claim { parked: was_parked, ..row.claim() });
    unit.put(counter(&format!("mail-{}", row.key), 1));
    batch.commit().await.map(drop)
}

fn lost<T: std::fmt::Debug>(outcome: &Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::LaneLost { consumer, lane: 3 }) if consumer == "mailer")
}

fn claimed<T>(outcome: &Result<T, Error>, row: &LogRow) -> bool {
    matches!(outcome, Err(Error::Claimed { event, .. }) if *event == row.event)
}

async fn a_lane_is_held_by_one_until_its_lease_runs_out(fixture: Fixture) {
    events(&fixture, 2).await;
    let taken = take(&fixture, "n-1").await.expect("it is free");
    assert_eq!(taken.position, 0);
    assert_eq!(taken.seen, fixture.log().await[1].seq);
    assert_eq!(take(&fixture, "n-2").await, None);
    fixture.pass(LEASE_MS / 2);
    assert_eq!(take(&fixture, "n-2").await, None);
    fixture.pass(LEASE_MS);
    let over = take(&fixture, "n-2").await.expect("the lease has run out");
    assert!(over.epoch > taken.epoch);
    let other = Lane { number: 4, ..lane() };
    assert!(fixture.store.take_lane(&other, "n-1", LEASE_MS).await.expect("it can be asked for").is_some());
}

async fn a_beat_prolongs_leases_and_names_the_living(fixture: Fixture) {
    let hold = hold(&fixture, "n-1").await;
    assert_eq!(
        fixture.store.beat(&Node::named("n-2"), &[], LEASE_MS).await.expect("it beats").living,
        [Node::named("n-2")]
    );
    fixture.pass(LEASE_MS * 3 / 5);
    let known = std::slice::from_ref(&hold);
    assert_eq!(
        fixture.store.beat(&Node::named("n-1"), known, LEASE_MS).await.expect("it beats").living,
        [Node::named("n-1"), Node::named("n-2")]
    );
    fixture.pass(LEASE_MS * 3 / 5);
    assert_eq!(take(&fixture, "n-2").await, None, "the beat prolonged the lease");
    let beat = fixture.store.beat(&Node::named("n-1"), known, LEASE_MS).await.expect("it beats");
    assert_eq!((beat.living, beat.lost), (vec![Node::named("n-1")], vec![]));
}

async fn a_lane_that_its_holder_does_not_know_of_runs_out_while_the_holder_lives(fixture: Fixture) {
    let unknown = hold(&fixture, "n-1").await;
    let before = LaneHold { epoch: unknown.epoch - 1, ..unknown };
    fixture.pass(LEASE_MS * 3 / 5);
    let beat =
        fixture.store.beat(&Node::named("n-1"), std::slice::from_ref(&before), LEASE_MS).await.expect("it beats");
    assert_eq!(beat.lost, [before]);
    fixture.pass(LEASE_MS * 3 / 5);
    assert!(take(&fixture, "n-1").await.is_some(), "it is anybody's, its holder's too");
}

async fn a_released_lane_can_be_taken_at_once_and_keeps_its_position(fixture: Fixture) {
    let rows = events(&fixture, 2).await;
    let hold = hold(&fixture, "n-1").await;
    fixture.store.save_position(&hold, rows[1].seq, true).await.expect("the lane is held");
    let taken = take(&fixture, "n-2").await.expect("it was released");
    assert_eq!(taken.position, rows[1].seq);
    assert!(lost(&fixture.store.save_position(&hold, rows[0].seq, false).await));
    let stats = fixture.store.stats().await.expect("it can be told");
    assert_eq!(stats.positions, [("mailer".to_owned(), 3, rows[1].seq)]);
}

/// It was stopped for longer than its lease, another took over, and it goes on as if nothing had happened.
async fn a_zombies_flush_is_refused_and_leaves_nothing(fixture: Fixture) {
    let rows = events(&fixture, 1).await;
    let zombie = hold(&fixture, "n-1").await;
    fixture.pass(LEASE_MS + 100);
    let heir = hold(&fixture, "n-2").await;
    assert!(lost(&handle(&fixture, &zombie, &rows[0], false).await));
    assert_eq!(fixture.counter(1, "mail-o-0").await, None);
    assert_eq!(fixture.store.handled("mailer", &[rows[0].claim()]).await.expect("it can be asked"), []);
    handle(&fixture, &heir, &rows[0], false).await.expect("the holder handles it");
}

async fn a_zombies_park_save_and_bury_are_refused(fixture: Fixture) {
    let rows = events(&fixture, 1).await;
    let zombie = hold(&fixture, "n-1").await;
    fixture.pass(LEASE_MS + 100);
    hold(&fixture, "n-2").await;
    assert!(lost(&fixture.store.park(&zombie, &[parked(&rows[0])]).await));
    assert!(lost(&fixture.store.save_position(&zombie, rows[0].seq, false).await));
    assert!(lost(&fixture.store.save_position(&zombie, rows[0].seq, true).await));
    assert!(lost(&fixture.store.bury(&zombie, &Dead { event: parked(&rows[0]), at: 0 }).await));
    assert_eq!(fixture.store.parked(&lane(), 10).await.expect("it can be asked"), []);
    assert_eq!(fixture.store.dead("mailer", 0, 10).await.expect("it can be asked"), []);
    assert_eq!(take(&fixture, "n-3").await, None, "a zombie released the lane of its heir");
}

async fn an_event_is_handled_once(fixture: Fixture) {
    let rows = events(&fixture, 2).await;
    let hold = hold(&fixture, "n-1").await;
    handle(&fixture, &hold, &rows[0], false).await.expect("it is new");
    let mut batch = fixture.store.batch(&hold);
    batch.handle(&first(), rows[1].claim()).put(counter("again", 1));
    batch.handle(&first(), rows[0].claim());
    let again = batch.commit().await;
    assert!(claimed(&again, &rows[0]), "{again:?}");
    assert_eq!(fixture.counter(1, "again").await, None);
    let handled = fixture.store.handled("mailer", &[rows[0].claim(), rows[1].claim()]).await.expect("it can be asked");
    assert_eq!(handled, [rows[0].event], "the claim beside the refused one went with it");
    assert_eq!(fixture.store.handled("biller", &[rows[0].claim()]).await.expect("it can be asked"), []);
}

async fn a_failed_attempt_leaves_no_claim(fixture: Fixture) {
    let rows = events(&fixture, 1).await;
    let hold = hold(&fixture, "n-1").await;
    let mut batch = fixture.store.batch(&hold);
    let unit = batch.handle(&first(), rows[0].claim());
    unit.put(order("o-0"));
    unit.emit(placed("o-0"));
    let failed = batch.commit().await;
    assert!(matches!(failed, Err(Error::Exists { .. })), "{failed:?}");
    assert_eq!(fixture.store.handled("mailer", &[rows[0].claim()]).await.expect("it can be asked"), []);
    handle(&fixture, &hold, &rows[0], false).await.expect("it was not handled yet");
}

async fn a_parked_event_waits_with_its_envelope_and_goes_when_it_is_handled(fixture: Fixture) {
    let rows = events(&fixture, 3).await;
    let hold = hold(&fixture, "n-1").await;
    let waiting = [parked(&rows[2]), parked(&rows[0])];
    fixture.store.park(&hold, &waiting).await.expect("the lane is held");
    let fixture = fixture.reopened().await;
    let found = fixture.store.parked(&lane(), 10).await.expect("it can be asked");
    assert_eq!(found, [parked(&rows[0]), parked(&rows[2])]);
    assert_eq!(fixture.store.parked(&lane(), 1).await.expect("it can be asked"), [parked(&rows[0])]);
    assert_eq!(fixture.store.parked(&Lane { number: 2, ..lane() }, 10).await.expect("it can be asked"), []);
    handle(&fixture, &hold, &rows[0], true).await.expect("it is parked");
    assert_eq!(fixture.store.parked(&lane(), 10).await.expect("it can be asked"), [parked(&rows[2])]);
    let unparked = handle(&fixture, &hold, &rows[1], true).await;
    assert!(claimed(&unparked, &rows[1]), "what is not parked cannot be handled as if it were: {unparked:?}");
}

async fn parking_again_moves_the_due_time(fixture: Fixture) {
    let rows = events(&fixture, 1).await;
    let hold = hold(&fixture, "n-1").await;
    fixture.store.park(&hold, &[parked(&rows[0])]).await.expect("the lane is held");
    let later = Parked { due: None, attempts: 2, error: "still none".to_owned(), ..parked(&rows[0]) };
    fixture.store.park(&hold, std::slice::from_ref(&later)).await.expect("the lane is held");
    assert_eq!(fixture.store.parked(&lane(), 10).await.expect("it can be asked"), [later]);
}

async fn a_parked_event_cannot_be_handled_as_if_it_were_not(fixture: Fixture) {
    let rows = events(&fixture, 1).await;
    let hold = hold(&fixture, "n-1").await;
    fixture.store.park(&hold, &[parked(&rows[0])]).await.expect("the lane is held");
    let live = handle(&fixture, &hold, &rows[0], false).await;
    assert!(claimed(&live, &rows[0]), "{live:?}");
    assert_eq!(fixture.store.parked(&lane(), 10).await.expect("it can be asked").len(), 1);
}

async fn a_dead_event_is_claimed_and_listed(fixture: Fixture) {
    let rows = events(&fixture, 2).await;
    let hold = hold(&fixture, "n-1").await;
    fixture.store.park(&hold, &[parked(&rows[0])]).await.expect("the lane is held");
    for row in &rows {
        fixture.store.bury(&hold, &Dead { event: parked(row), at: 0 }).await.expect("the lane is held");
    }
    assert_eq!(fixture.store.parked(&lane(), 10).await.expect("it can be asked"), []);
    let dead = fixture.store.dead("mailer", 0, 10).await.expect("it can be asked");
    let found: Vec<_> = dead.iter().map(|dead| (dead.event.seq, dead.event.envelope.clone())).collect();
    assert_eq!(found, [(rows[0].seq, rows[0].envelope.clone()), (rows[1].seq, rows[1].envelope.clone())]);
    assert!(dead[0].at > 1_700_000_000_000, "the store's clock says when: {}", dead[0].at);
    let after = fixture.store.dead("mailer", rows[0].seq, 10).await.expect("it can be asked");
    assert_eq!(after.len(), 1);
    assert!(claimed(&handle(&fixture, &hold, &rows[0], false).await, &rows[0]));
    let again = fixture.store.bury(&hold, &Dead { event: parked(&rows[1]), at: 0 }).await;
    assert!(claimed(&again, &rows[1]), "{again:?}");
}

async fn a_clock_that_jumps_back_an_hour_keeps_no_lane_and_loses_nothing(fixture: Fixture) {
    let rows = events(&fixture, 2).await;
    let dead = hold(&fixture, "n-1").await;
    handle(&fixture, &dead, &rows[0], false).await.expect("the lane is held");
    fixture.pass(-3_600_000);
    // Its holder is gone, and its lease ends an hour from now: later than any lease could.
    let heir = hold(&fixture, "n-2").await;
    assert!(lost(&handle(&fixture, &dead, &rows[1], false).await));
    assert!(claimed(&handle(&fixture, &heir, &rows[0], false).await, &rows[0]));
    handle(&fixture, &heir, &rows[1], false).await.expect("the lane is held");
    fixture.place(1, "o-later").await;
    let keys: Vec<String> = fixture.log().await.into_iter().map(|row| row.key).collect();
    assert_eq!(keys, ["o-0", "o-1", "o-later"]);
    assert_eq!(
        fixture.store.beat(&Node::named("n-2"), &[], LEASE_MS).await.expect("it beats").living,
        [Node::named("n-2")]
    );
}

async fn an_event_that_is_twice_in_a_batch_is_refused(fixture: Fixture) {
    let rows = events(&fixture, 1).await;
    let hold = hold(&fixture, "n-1").await;
    let mut batch = fixture.store.batch(&hold);
    batch.handle(&first(), rows[0].claim());
    batch.handle(&first(), rows[0].claim());
    let twice = batch.commit().await;
    assert!(claimed(&twice, &rows[0]), "{twice:?}");
    handle(&fixture, &hold, &rows[0], false).await.expect("nothing of the refused batch stayed");
}

async fn an_event_that_was_handled_cannot_be_parked(fixture: Fixture) {
    let rows = events(&fixture, 1).await;
    let hold = hold(&fixture, "n-1").await;
    handle(&fixture, &hold, &rows[0], false).await.expect("it is new");
    let late = fixture.store.park(&hold, &[parked(&rows[0])]).await;
    assert!(claimed(&late, &rows[0]), "{late:?}");
    assert_eq!(fixture.store.parked(&lane(), 10).await.expect("it can be asked"), []);
}

async fn a_position_never_goes_back(fixture: Fixture) {
    let rows = events(&fixture, 2).await;
    let hold = hold(&fixture, "n-1").await;
    for seq in [rows[1].seq, rows[0].seq] {
        fixture.store.save_position(&hold, seq, false).await.expect("the lane is held");
    }
    fixture.store.save_position(&hold, 0, true).await.expect("the lane is held");
    assert_eq!(take(&fixture, "n-2").await.expect("it was released").position, rows[1].seq);
}

async fn a_beat_does_not_revive_a_lease_that_has_run_out(fixture: Fixture) {
    let hold = hold(&fixture, "n-1").await;
    fixture.pass(LEASE_MS + 100);
    let beat = fixture.store.beat(&Node::named("n-1"), std::slice::from_ref(&hold), LEASE_MS).await.expect("it beats");
    assert_eq!(beat.lost, [hold], "its holder is told");
    assert!(take(&fixture, "n-2").await.is_some(), "its lane was anybody's");
}

async fn an_event_of_one_tenant_is_not_handled_in_another_tenants_name(fixture: Fixture) {
    let rows = events(&fixture, 1).await;
    let hold = hold(&fixture, "n-1").await;
    let mut batch = fixture.store.batch(&hold);
    batch.handle(&crate::shop::context(2), rows[0].claim()).put(counter("theirs", 1));
    let refused = batch.commit().await;
    assert!(matches!(refused, Err(Error::TenantDiffers { .. })), "{refused:?}");
    assert_eq!(fixture.counter(2, "theirs").await, None);
}
