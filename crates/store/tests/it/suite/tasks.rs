//! Deadlines that fire once, and effects on their way to being done.

use karwan_envelope::time::Timestamp;
use karwan_store::consumer::{Lane, Share};
use karwan_store::deadline::Deadline;
use karwan_store::effect::{Effect, Outcome};
use karwan_store::write_set::LaneHold;
use karwan_store::{Error, TenantTx};

use crate::fixture::{Fixture, first, later};
use crate::shop::{Counter, counter};

on_both! {
    a_deadline_is_due_at_its_instant_and_not_before,
    a_deadline_fires_once,
    a_deadline_that_was_moved_or_cancelled_does_not_fire,
    a_refused_firing_leaves_the_deadline,
    a_deadline_can_be_set_again_by_the_unit_that_it_fires,
    a_deadline_that_is_set_again_at_the_same_instant_fires_again_with_its_effects,
    a_task_of_one_tenant_is_not_done_in_another_tenants_name,
    shares_part_the_deadlines_between_them,
    effects_of_a_key_are_called_in_their_order,
    an_answer_is_kept_before_it_is_acted_on_and_acted_on_once,
    a_failed_call_is_tried_again_at_its_time,
    a_dead_call_lets_the_next_one_of_its_key_go_on,
    a_zombie_records_no_answer,
    a_refused_unit_leaves_the_answer_to_be_acted_on_again,
    shares_part_the_effects_between_them,
    a_suspended_store_calls_nobody_until_it_is_resumed,
    what_led_to_a_deadline_and_an_effect_is_kept_with_them,
    whether_anything_of_several_kinds_may_be_tried_is_one_question,
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_unix_ms(ms)
}

async fn set(fixture: &Fixture, id: &str, due: i64, told: i64) {
    let unit = fixture.unit(1, async |tx: TenantTx| {
        tx.deadline("ship", id, at(due), &told);
        Ok(())
    });
    unit.await.expect("the unit commits");
}

async fn due(fixture: &Fixture, now: i64) -> Vec<Deadline> {
    fixture.store.due_deadlines("ship", Share::ALL, at(now), 100).await.expect("they can be asked for")
}

/// Fires: what it was told is counted.
async fn fire(fixture: &Fixture, deadline: &Deadline) -> Result<(), Error> {
    let context = first();
    let unit = fixture.store.fire(deadline, &context, async |tx: TenantTx| {
        let fired: Option<Counter> = tx.find("fired").await?;
        tx.put(counter("fired", fired.map_or(0, |it| it.value) + deadline.body.parse::<i64>().expect("a number")));
        Ok::<_, Error>(())
    });
    unit.await.map(drop)
}

fn gone<T: std::fmt::Debug>(outcome: &Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::Gone { .. }))
}

async fn a_deadline_is_due_at_its_instant_and_not_before(fixture: Fixture) {
    set(&fixture, "b", 2_000, 2).await;
    set(&fixture, "a", 3_000, 1).await;
    assert_eq!(due(&fixture, 1_999).await, []);
    assert_eq!(due(&fixture, 2_000).await.len(), 1);
    let both: Vec<(String, i64, String)> =
        due(&fixture, 9_000).await.into_iter().map(|it| (it.id, it.due, it.body)).collect();
    assert_eq!(both, [("b".to_owned(), 2_000, "2".to_owned()), ("a".to_owned(), 3_000, "1".to_owned())]);
    let one = fixture.store.due_deadlines("ship", Share::ALL, at(9_000), 1).await.expect("they can be asked for");
    assert_eq!(one.len(), 1);
}

async fn a_deadline_fires_once(fixture: Fixture) {
    set(&fixture, "a", 1_000, 5).await;
    let found = due(&fixture, 1_000).await;
    // Two processes found it.
    let (one, two) = tokio::join!(fire(&fixture, &found[0]), fire(&fixture, &found[0]));
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
    assert!(gone(&one) || gone(&two), "{one:?} {two:?}");
    assert_eq!(fixture.counter(1, "fired").await, Some(5));
    assert_eq!(due(&fixture, 9_000).await, []);
}

async fn a_deadline_that_was_moved_or_cancelled_does_not_fire(fixture: Fixture) {
    set(&fixture, "a", 1_000, 5).await;
    let found = due(&fixture, 1_000).await;
    set(&fixture, "a", 1_500, 5).await;
    assert!(gone(&fire(&fixture, &found[0]).await), "it was moved");
    set(&fixture, "a", 1_000, 6).await;
    assert!(gone(&fire(&fixture, &found[0]).await), "it was set again, and says something else");
    let cancel = fixture.unit(1, async |tx: TenantTx| {
        tx.cancel_deadline("ship", "a");
        Ok(())
    });
    cancel.await.expect("the unit commits");
    assert!(gone(&fire(&fixture, &found[0]).await), "it was cancelled");
    assert_eq!(fixture.counter(1, "fired").await, None);
}

async fn a_refused_firing_leaves_the_deadline(fixture: Fixture) {
    set(&fixture, "a", 1_000, 5).await;
    let found = due(&fixture, 1_000).await;
    let context = first();
    let refused = fixture.store.fire(&found[0], &context, async |tx: TenantTx| {
        tx.get::<Counter>("none").await?;
        Ok::<_, Error>(())
    });
    assert!(matches!(refused.await, Err(Error::NotFound { .. })));
    assert_eq!(due(&fixture, 1_000).await, found);
}

async fn a_deadline_can_be_set_again_by_the_unit_that_it_fires(fixture: Fixture) {
    set(&fixture, "a", 1_000, 5).await;
    let found = due(&fixture, 1_000).await;
    let context = first();
    let fired = fixture.store.fire(&found[0], &context, async |tx: TenantTx| {
        tx.deadline("ship", "a", at(2_000), &6);
        Ok::<_, Error>(())
    });
    fired.await.expect("it was there");
    let next = due(&fixture, 9_000).await;
    assert_eq!((next.len(), next[0].due, next[0].body.as_str()), (1, 2_000, "6"));
}

async fn shares_part_the_deadlines_between_them(fixture: Fixture) {
    for number in 0..20 {
        set(&fixture, &format!("d-{number}"), 1_000, number).await;
    }
    let mut found = Vec::new();
    for lane in 0..3 {
        let share = Share { lane, lanes: 3 };
        let part = fixture.store.due_deadlines("ship", share, at(1_000), 100).await.expect("they can be asked for");
        assert!((1..20).contains(&part.len()), "{}", part.len());
        found.extend(part.into_iter().map(|deadline| deadline.id));
    }
    found.sort();
    let mut all: Vec<String> = (0..20).map(|number| format!("d-{number}")).collect();
    all.sort();
    assert_eq!(found, all);
}

async fn hold(fixture: &Fixture, node: &str) -> LaneHold {
    let lane = Lane { consumer: "effect.charge".to_owned(), number: 0, of: 1 };
    let taken = fixture.store.take_lane(&lane, node, 1_000).await.expect("it can be asked for").expect("it is free");
    LaneHold { consumer: lane.consumer, lane: 0, epoch: taken.epoch }
}

/// Records calls: a key and what is told.
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
    effects.iter().map(|effect| format!("{} {}", effect.key, effect.body)).collect()
}

async fn act(fixture: &Fixture, effect: &Effect) -> Result<(), Error> {
    let context = first();
    let unit = fixture.store.act_on(effect.of, &context, async |tx: TenantTx| {
        let acted: Option<Counter> = tx.find("acted").await?;
        tx.put(counter("acted", acted.map_or(0, |it| it.value) + 1));
        Ok::<_, Error>(())
    });
    unit.await.map(drop)
}

async fn effects_of_a_key_are_called_in_their_order(fixture: Fixture) {
    call(&fixture, &[("card-1", 1), ("card-2", 2), ("card-1", 3)]).await;
    call(&fixture, &[("card-2", 4)]).await;
    let hold = hold(&fixture, "n-1").await;
    assert_eq!(told(&open(&fixture, later()).await), ["card-1 1", "card-2 2"]);
    assert_eq!(fixture.store.due_effects("mail", Share::ALL, later(), 9).await.expect("they can be asked for"), []);
    let first = open(&fixture, later()).await;
    let answered = Outcome::Answered("yes".to_owned());
    fixture.store.record_effect(&hold, first[0].of, &answered).await.expect("it was waiting");
    assert_eq!(told(&open(&fixture, later()).await), ["card-1 1", "card-2 2"], "its answer is not acted on yet");
    act(&fixture, &first[0]).await.expect("it was answered");
    assert_eq!(told(&open(&fixture, later()).await), ["card-2 2", "card-1 3"]);
}

async fn an_answer_is_kept_before_it_is_acted_on_and_acted_on_once(fixture: Fixture) {
    call(&fixture, &[("card-1", 1)]).await;
    let hold = hold(&fixture, "n-1").await;
    let effect = open(&fixture, later()).await.remove(0);
    assert!(gone(&act(&fixture, &effect).await), "nobody has answered yet");
    let answered = Outcome::Answered("yes".to_owned());
    fixture.store.record_effect(&hold, effect.of, &answered).await.expect("it was waiting");
    let twice = Outcome::Answered("no".to_owned());
    assert!(gone(&fixture.store.record_effect(&hold, effect.of, &twice).await), "the first answer stands");
    let fixture = fixture.reopened().await;
    let kept = open(&fixture, later()).await.remove(0);
    assert_eq!((kept.answer.as_deref(), kept.attempts), (Some("yes"), 0), "acting on it has attempts of its own");
    let (one, two) = tokio::join!(act(&fixture, &kept), act(&fixture, &kept));
    assert!(one.is_ok() != two.is_ok() && (gone(&one) || gone(&two)), "{one:?} {two:?}");
    assert_eq!(fixture.counter(1, "acted").await, Some(1));
    assert_eq!(open(&fixture, later()).await, []);
}

async fn a_failed_call_is_tried_again_at_its_time(fixture: Fixture) {
    call(&fixture, &[("card-1", 1), ("card-1", 2)]).await;
    let hold = hold(&fixture, "n-1").await;
    let effect = open(&fixture, at(0)).await.remove(0);
    let later = Outcome::Later { due: 5_000, error: "no connection".to_owned() };
    fixture.store.record_effect(&hold, effect.of, &later).await.expect("it was waiting");
    assert_eq!(open(&fixture, at(4_999)).await, [], "the one behind it waits too");
    let again = open(&fixture, at(5_000)).await;
    assert_eq!((told(&again), again[0].attempts), (vec!["card-1 1".to_owned()], 1));
    assert_eq!((again[0].error.as_deref(), again[0].of), (Some("no connection"), effect.of));
}

async fn a_dead_call_lets_the_next_one_of_its_key_go_on(fixture: Fixture) {
    call(&fixture, &[("card-1", 1), ("card-1", 2)]).await;
    let hold = hold(&fixture, "n-1").await;
    let effect = open(&fixture, later()).await.remove(0);
    let dead = Outcome::Dead { error: "no such card".to_owned() };
    fixture.store.record_effect(&hold, effect.of, &dead).await.expect("it was waiting");
    assert_eq!(told(&open(&fixture, later()).await), ["card-1 2"]);
    assert!(gone(&fixture.store.record_effect(&hold, effect.of, &dead).await));
}

async fn a_zombie_records_no_answer(fixture: Fixture) {
    call(&fixture, &[("card-1", 1)]).await;
    let zombie = hold(&fixture, "n-1").await;
    fixture.pass(1_100);
    hold(&fixture, "n-2").await;
    let effect = open(&fixture, later()).await.remove(0);
    let refused = fixture.store.record_effect(&zombie, effect.of, &Outcome::Answered("yes".to_owned())).await;
    assert!(matches!(refused, Err(Error::LaneLost { .. })), "{refused:?}");
    assert_eq!(open(&fixture, later()).await, [effect]);
}

async fn a_refused_unit_leaves_the_answer_to_be_acted_on_again(fixture: Fixture) {
    call(&fixture, &[("card-1", 1)]).await;
    let hold = hold(&fixture, "n-1").await;
    let effect = open(&fixture, later()).await.remove(0);
    let answered = Outcome::Answered("yes".to_owned());
    fixture.store.record_effect(&hold, effect.of, &answered).await.expect("it was waiting");
    let context = first();
    let refused = fixture.store.act_on(effect.of, &context, async |tx: TenantTx| {
        tx.put(counter("acted", 7));
        tx.get::<Counter>("none").await?;
        Ok::<_, Error>(())
    });
    assert!(matches!(refused.await, Err(Error::NotFound { .. })));
    act(&fixture, &effect).await.expect("the answer is still there");
    assert_eq!(fixture.counter(1, "acted").await, Some(1));
}

async fn shares_part_the_effects_between_them(fixture: Fixture) {
    let keys: Vec<String> = (0..20).map(|number| format!("card-{number}")).collect();
    call(&fixture, &keys.iter().map(|key| (key.as_str(), 1)).collect::<Vec<_>>()).await;
    let mut found = Vec::new();
    for lane in 0..3 {
        let share = Share { lane, lanes: 3 };
        let part = fixture.store.due_effects("charge", share, later(), 100).await.expect("they can be asked for");
        assert!((1..20).contains(&part.len()), "{}", part.len());
        found.extend(part.into_iter().map(|effect| effect.key));
    }
    found.sort();
    let mut keys = keys;
    keys.sort();
    assert_eq!(found, keys);
}

async fn a_deadline_that_is_set_again_at_the_same_instant_fires_again_with_its_effects(fixture: Fixture) {
    let context = first();
    for _ in 0..2 {
        set(&fixture, "a", 1_000, 5).await;
        let found = due(&fixture, 1_000).await;
        let fired = fixture.store.fire(&found[0], &context, async |tx: TenantTx| {
            tx.effect("charge", "card-1", &1);
            Ok::<_, Error>(())
        });
        assert_eq!(fired.await.expect("it was there").repeated, None);
    }
    assert_eq!(fixture.effects(), ["charge card-1 1", "charge card-1 1"]);
}

async fn a_task_of_one_tenant_is_not_done_in_another_tenants_name(fixture: Fixture) {
    set(&fixture, "a", 1_000, 5).await;
    call(&fixture, &[("card-1", 1)]).await;
    let deadline = due(&fixture, 1_000).await.remove(0);
    let effect = open(&fixture, later()).await.remove(0);
    let other = crate::shop::context(2);
    let nothing = async |_: TenantTx| Ok::<_, Error>(());
    let fired = fixture.store.fire(&deadline, &other, nothing).await;
    assert!(matches!(fired, Err(Error::TenantDiffers { .. })), "{fired:?}");
    let acted = fixture.store.act_on(effect.of, &other, nothing).await;
    assert!(matches!(acted, Err(Error::TenantDiffers { .. })), "{acted:?}");
    assert_eq!(due(&fixture, 1_000).await, [deadline]);
}

async fn a_suspended_store_calls_nobody_until_it_is_resumed(fixture: Fixture) {
    call(&fixture, &[("card-1", 1)]).await;
    assert!(!fixture.store.suspended().await.expect("it can be asked"));
    fixture.suspend(true);
    assert!(fixture.store.suspended().await.expect("it can be asked"));
    assert_eq!(open(&fixture, later()).await, []);
    fixture.suspend(false);
    assert_eq!(told(&open(&fixture, later()).await), ["card-1 1"]);
}

async fn what_led_to_a_deadline_and_an_effect_is_kept_with_them(fixture: Fixture) {
    set(&fixture, "a", 1_000, 5).await;
    call(&fixture, &[("card-1", 1)]).await;
    assert_eq!(due(&fixture, 1_000).await[0].cause, first().cause);
    assert_eq!(open(&fixture, later()).await[0].cause, first().cause);
}

async fn whether_anything_of_several_kinds_may_be_tried_is_one_question(fixture: Fixture) {
    let any = async |deadlines: &[&str], effects: &[&str], now: i64| {
        fixture.store.any_due(deadlines, effects, at(now)).await.expect("it can be asked")
    };
    let (deadlines, effects) = (["bill", "ship"], ["mail", "charge"]);
    assert!(!any(&deadlines, &effects, 9_000).await);
    set(&fixture, "a", 1_000, 5).await;
    assert!(!any(&deadlines, &effects, 999).await);
    assert!(any(&deadlines, &effects, 1_000).await);
    assert!(!any(&["bill"], &effects, 1_000).await, "of a kind that was not asked for");
    fire(&fixture, &due(&fixture, 1_000).await[0]).await.expect("it was there");
    call(&fixture, &[("card-1", 1), ("card-1", 2)]).await;
    assert!(any(&deadlines, &effects, 1_000).await);
    let (hold, first) = (hold(&fixture, "n-1").await, open(&fixture, later()).await.remove(0));
    let failed = Outcome::Later { due: 5_000, error: "no connection".to_owned() };
    fixture.store.record_effect(&hold, first.of, &failed).await.expect("it was waiting");
    assert!(!any(&deadlines, &effects, 4_999).await, "the one behind it waits too");
    assert!(any(&deadlines, &effects, 5_000).await);
    fixture.suspend(true);
    assert!(!any(&deadlines, &effects, 5_000).await);
}

/// On a file, where the log goes row by row; a server drops stretches of a million by the same rule.
#[test]
fn the_lane_of_effects_holds_back_no_retention() {
    crate::fixture::run(crate::fixture::sqlite(), async |fixture: Fixture| {
        let lane = karwan_store::effect::lane("charge");
        fixture.store.take_lane(&lane, "n-1", 1_000).await.expect("it can be asked for").expect("it is free");
        for number in 0..3 {
            fixture.place(1, &format!("o-{number}")).await;
        }
        let end = fixture.log().await[2].seq;
        assert_eq!(fixture.store.drop_log(end).await.expect("it can be dropped"), end);
    });
}
