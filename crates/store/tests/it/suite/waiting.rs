//! What failed or is held back waits in the store; what was given up is listed.

use karwan_envelope::time::Timestamp;
use karwan_store::consumer::Share;
use karwan_store::deadline::Deadline;
use karwan_store::effect::{self, Effect, Outcome};
use karwan_store::write_set::LaneHold;
use karwan_store::{Error, Store, TenantTx};

use crate::fixture::{Fixture, later};

on_both! {
    a_postponed_deadline_is_found_at_its_time_and_knows_when_it_was_due,
    of_two_that_failed_with_a_deadline_one_postpones_it,
    a_deadline_that_is_set_again_forgets_that_it_failed,
    effects_that_are_held_back_count_no_attempt_and_keep_their_key_waiting,
    a_zombie_holds_nothing_back,
    dead_effects_are_listed_in_their_order,
    how_the_calls_of_a_kind_stand_is_told,
}

/// The year 2100: later than any clock of a test.
const FAR: i64 = 4_102_444_800_000;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_unix_ms(ms)
}

async fn set(fixture: &Fixture, id: &str, due: i64) {
    let unit = fixture.unit(1, async |tx: TenantTx| {
        tx.deadline("ship", id, at(due), &1);
        Ok(())
    });
    unit.await.expect("the unit commits");
}

async fn due(fixture: &Fixture, now: i64) -> Vec<Deadline> {
    fixture.store.due_deadlines("ship", Share::ALL, at(now), 100).await.expect("they can be asked for")
}

async fn a_postponed_deadline_is_found_at_its_time_and_knows_when_it_was_due(fixture: Fixture) {
    set(&fixture, "a", 1_000).await;
    set(&fixture, "b", 2_000).await;
    let failed = due(&fixture, 1_000).await.remove(0);
    fixture.store.postpone_deadline(&failed, 5_000, "no").await.expect("it can be postponed");
    let ids = |found: &[Deadline]| found.iter().map(|it| it.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&due(&fixture, 4_999).await), ["b"], "it is in nobody's way");
    let fixture = fixture.reopened().await;
    let found = due(&fixture, 5_000).await;
    assert_eq!(ids(&found), ["b", "a"]);
    assert_eq!((found[1].due, found[1].attempts, found[1].token), (1_000, 1, failed.token));
    let context = crate::fixture::first();
    let fired = fixture.store.fire(&found[1], &context, async |_: TenantTx| Ok::<_, Error>(())).await;
    assert_eq!(fired.expect("it is still there").repeated, None);
}

async fn of_two_that_failed_with_a_deadline_one_postpones_it(fixture: Fixture) {
    set(&fixture, "a", 1_000).await;
    let found = due(&fixture, 1_000).await.remove(0);
    fixture.store.postpone_deadline(&found, 5_000, "no").await.expect("it can be postponed");
    // Another process had found it too, and fails later: its wait is the first one's.
    fixture.store.postpone_deadline(&found, 9_000, "no").await.expect("it can be asked for");
    assert_eq!(due(&fixture, 5_000).await[0].attempts, 1);
}

async fn a_deadline_that_is_set_again_forgets_that_it_failed(fixture: Fixture) {
    set(&fixture, "a", 1_000).await;
    let failed = due(&fixture, 1_000).await.remove(0);
    fixture.store.postpone_deadline(&failed, FAR, "no").await.expect("it can be postponed");
    set(&fixture, "a", 1_500).await;
    let found = due(&fixture, 1_500).await;
    assert_eq!((found.len(), found[0].attempts), (1, 0));
    // Whoever still knows the one before does not touch this one.
    fixture.store.postpone_deadline(&failed, FAR, "no").await.expect("it can be asked for");
    assert_eq!(due(&fixture, 1_500).await, found);
}

async fn hold(fixture: &Fixture, node: &str) -> LaneHold {
    let lane = effect::lane("charge");
    let taken = fixture.store.take_lane(&lane, node, 1_000).await.expect("it can be asked for").expect("it is free");
    LaneHold { consumer: lane.consumer, lane: 0, epoch: taken.epoch }
}

async fn call(fixture: &Fixture, calls: &[(&str, i64)]) {
    let unit = fixture.unit(1, async |tx: TenantTx| {
        calls.iter().for_each(|(key, told)| tx.effect("charge", key, told));
        Ok(())
    });
    unit.await.expect("the unit commits");
}

async fn open(fixture: &Fixture, now: Timestamp) -> Vec<Effect> {
    fixture.store.due_effects("charge", Share::ALL, now, 100).await.expect("they can be asked for")
}

fn told(effects: &[Effect]) -> Vec<String> {
    effects.iter().map(|effect| format!("{} {} {}", effect.key, effect.body, effect.attempts)).collect()
}

async fn effects_that_are_held_back_count_no_attempt_and_keep_their_key_waiting(fixture: Fixture) {
    call(&fixture, &[("a", 1), ("a", 2), ("b", 3), ("c", 4)]).await;
    let hold = hold(&fixture, "n-1").await;
    let found: Vec<_> = open(&fixture, at(0)).await.into_iter().map(|effect| effect.of).collect();
    fixture.store.hold_back(&hold, &found[..2], 5_000).await.expect("they wait");
    assert_eq!(told(&open(&fixture, at(4_999)).await), ["c 4 0"]);
    assert_eq!(told(&open(&fixture, at(5_000)).await), ["a 1 0", "b 3 0", "c 4 0"]);
    let probed = Outcome::Held { due: 6_000, error: "still down".to_owned() };
    fixture.store.record_effect(&hold, found[0], &probed).await.expect("it waits");
    let all = open(&fixture, at(6_000)).await;
    assert_eq!((all[0].attempts, all[0].error.as_deref()), (0, Some("still down")));
    // An answer that was kept meanwhile is not held back: nobody outside is needed for it.
    let answered = Outcome::Answered("yes".to_owned());
    fixture.store.record_effect(&hold, found[1], &answered).await.expect("it waits");
    fixture.store.hold_back(&hold, &found[..2], 9_000).await.expect("they can be named");
    assert_eq!(told(&open(&fixture, at(8_999)).await), ["b 3 0", "c 4 0"]);
}

async fn a_zombie_holds_nothing_back(fixture: Fixture) {
    call(&fixture, &[("a", 1)]).await;
    let zombie = hold(&fixture, "n-1").await;
    fixture.pass(1_100);
    hold(&fixture, "n-2").await;
    let found = open(&fixture, at(0)).await;
    let refused = fixture.store.hold_back(&zombie, &[found[0].of], 5_000).await;
    assert!(matches!(refused, Err(Error::LaneLost { .. })), "{refused:?}");
    assert_eq!(open(&fixture, at(0)).await, found);
}

async fn dead_effects_are_listed_in_their_order(fixture: Fixture) {
    call(&fixture, &[("b", 1), ("a", 2), ("c", 3)]).await;
    let hold = hold(&fixture, "n-1").await;
    let mut found = open(&fixture, later()).await;
    assert_eq!(fixture.store.dead_effects("charge", 0, 100).await.expect("they can be asked for"), []);
    // The later one first: they are listed as they were recorded.
    for index in [1, 0] {
        let dead = Outcome::Dead { error: format!("no {index}") };
        fixture.store.record_effect(&hold, found[index].of, &dead).await.expect("it was waiting");
        found[index] = Effect { attempts: 1, error: Some(format!("no {index}")), ..found[index].clone() };
    }
    let dead = fixture.store.dead_effects("charge", 0, 100).await.expect("they can be asked for");
    assert_eq!(dead.iter().map(|dead| dead.effect.clone()).collect::<Vec<_>>(), found[..2]);
    assert!(dead.iter().all(|dead| dead.at > 0), "{dead:?}");
    let first = fixture.store.dead_effects("charge", 0, 1).await.expect("they can be asked for");
    assert_eq!(first, dead[..1]);
    let rest = fixture.store.dead_effects("charge", first[0].number, 100).await.expect("they can be asked for");
    assert_eq!(rest, dead[1..]);
    assert_eq!(fixture.store.dead_effects("mail", 0, 100).await.expect("they can be asked for"), []);
}

async fn how_the_calls_of_a_kind_stand_is_told(fixture: Fixture) {
    call(&fixture, &[("a", 1), ("b", 2), ("c", 3), ("d", 4)]).await;
    let looker = Store::observe(&fixture.address).await.expect("it can be looked at");
    let before = looker.effects().await.expect("it can be asked for");
    assert_eq!(before.len(), 1, "calls that nobody makes are told too");
    assert_eq!((before[0].name().as_str(), before[0].open, before[0].waiting), ("effect.charge", 4, 0));
    assert_eq!((&before[0].lane, &before[0].error), (&None, &None));
    let hold = hold(&fixture, "n-1").await;
    let found = open(&fixture, later()).await;
    let dead = Outcome::Dead { error: "no such card".to_owned() };
    fixture.store.record_effect(&hold, found[0].of, &dead).await.expect("it was waiting");
    let told = || async { looker.effects().await.expect("it can be asked for").remove(0) };
    assert_eq!(told().await.error.as_deref(), Some("no such card"));
    let later = Outcome::Later { due: FAR, error: "no connection".to_owned() };
    fixture.store.record_effect(&hold, found[1].of, &later).await.expect("it was waiting");
    let after = told().await;
    assert_eq!((after.open, after.waiting, after.dead), (3, 1, 1));
    assert_eq!(after.error.as_deref(), Some("no connection"));
    assert_eq!(after.lane.and_then(|lane| lane.holder).as_deref(), Some("n-1"));
    assert_eq!(looker.consumers().await.expect("it can be asked for"), []);
}
