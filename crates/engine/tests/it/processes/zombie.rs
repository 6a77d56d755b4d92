//! A process that lost its lanes while it was stopped, and does not know it yet.
//!
//! One moment of those that [`super::stopped_for_about_a_lease`] meets by chance, led to by hand: what the new holder of a
//! lane has parked looks handled to the old one, which goes on with its successor.

use super::node::Program;
use super::yard::{Judgement, Yard, until};
use super::{KEYS, with_yard};

/// The lock alone, without the check that it is for.
const NO_CHECK: &str = "CREATE OR REPLACE FUNCTION karwan.check_lane(p_consumer text, p_lane integer, p_epoch bigint)
     RETURNS void LANGUAGE plpgsql AS $$ BEGIN
         PERFORM pg_advisory_xact_lock_shared(hashtext('karwan.lane.' || p_consumer), p_lane);
     END $$";

/// The next beat of `old` is answered so late that it has all the time it needs to do harm.
const LATE_BEATS: &str = "CREATE FUNCTION karwan.late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         PERFORM pg_sleep(10);
         RETURN NEW;
     END $$;
     CREATE TRIGGER late BEFORE INSERT ON karwan.node FOR EACH ROW WHEN (NEW.name LIKE 'old#%') EXECUTE FUNCTION karwan.late();";

/// Gives every key its next revision.
async fn change_all(yard: &Yard, revision: i64) {
    for key in 0..KEYS {
        yard.change(&format!("o-{key}"), revision).await;
    }
}

/// `new` takes the lanes of `old` and parks the first event of every key; `old` wakes before `new` has seen the second ones.
async fn woken_behind_a_parked_key(yard: &Yard) -> Judgement {
    let program = |name: &str, failing| Program { slow_ms: 0, failing, ..yard.program(name) };
    let old = yard.start(&program("old", 0));
    yard.at_work(&old).await;
    let new = yard.start(&program("new", 100));
    yard.at_work(&new).await;
    old.signal("STOP");
    yard.psql(LATE_BEATS);
    let lanes = "SELECT count(*) FROM karwan.lane WHERE holder LIKE 'new#%'";
    until("the take-over", async || (yard.psql(lanes) == "8").then_some(())).await;
    change_all(yard, 1).await;
    let parked = "SELECT count(*) FROM karwan.parked";
    until("the parking", async || (yard.psql(parked) == KEYS.to_string()).then_some(())).await;
    new.signal("STOP");
    change_all(yard, 2).await;
    let beat = "SELECT max(until) FROM karwan.node WHERE name LIKE 'old#%'";
    let before = yard.psql(beat);
    old.signal("CONT");
    until("its work", async || yard.attempts().iter().any(|line| line.starts_with("old ")).then_some(())).await;
    until("its next beat", async || (yard.psql(beat) != before).then_some(())).await;
    new.kill();
    yard.psql("DROP TRIGGER late ON karwan.node");
    yard.judged().await
}

#[test]
fn woken_behind_a_parked_key_a_process_does_no_harm() {
    with_yard(async |yard| {
        let judgement = woken_behind_a_parked_key(&yard).await;
        assert_eq!((judgement.committed, judgement.harm()), (2 * KEYS, 0), "{judgement:?}");
    });
}

/// What the epoch is for.
#[test]
fn without_the_epoch_check_it_runs_the_successors_of_parked_events() {
    with_yard(async |yard| {
        yard.psql(NO_CHECK);
        let judgement = woken_behind_a_parked_key(&yard).await;
        assert!(judgement.inverted > 0, "the test above could not have failed: {judgement:?}");
    });
}
