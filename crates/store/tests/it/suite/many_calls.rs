//! Many calls of one tenant, made or held back, are in nobody else's way.

use karwan_store::TenantTx;
use karwan_store::consumer::Share;
use karwan_store::effect::{EffectRef, Outcome};
use karwan_store::write_set::LaneHold;

use crate::fixture::{Fixture, later};

on_both! {
    one_tenants_thousands_of_calls_delay_nobody_elses,
    calls_that_are_held_back_are_not_looked_at_and_come_back_at_their_time,
    what_is_tried_again_is_not_behind_all_that_is_new,
    a_key_with_more_than_a_thousand_calls_hides_no_other_key_of_its_tenant,
}

/// Records calls of a tenant, each with a key of its own.
async fn call(fixture: &Fixture, tenant: u64, keys: std::ops::Range<u32>) {
    let unit = fixture.unit(tenant, async |tx: TenantTx| {
        keys.clone().for_each(|key| tx.effect("charge", &format!("card-{key}"), &key));
        Ok(())
    });
    unit.await.expect("the unit commits");
}

/// What is to be called first: tenants and what is told.
async fn due(fixture: &Fixture, now_ms: i64, limit: usize) -> Vec<(EffectRef, String)> {
    let now = karwan_envelope::time::Timestamp::from_unix_ms(now_ms);
    let due = fixture.store.due_effects("charge", Share::ALL, now, limit).await.expect("they can be asked for");
    due.into_iter().map(|effect| (effect.of, effect.body)).collect()
}

fn told(due: &[(EffectRef, String)]) -> Vec<&str> {
    due.iter().map(|(_, told)| told.as_str()).collect()
}

async fn hold(fixture: &Fixture) -> LaneHold {
    let lane = karwan_store::effect::lane("charge");
    let taken = fixture.store.take_lane(&lane, "n-1", 60_000).await.expect("it can be asked for").expect("it is free");
    LaneHold { consumer: lane.consumer, lane: 0, epoch: taken.epoch }
}

async fn one_tenants_thousands_of_calls_delay_nobody_elses(fixture: Fixture) {
    for thousand in 0..3 {
        call(&fixture, 1, 1_000 * thousand..1_000 * (thousand + 1)).await;
    }
    call(&fixture, 2, 9_000..9_001).await;
    call(&fixture, 3, 9_001..9_003).await;
    let now = later().unix_ms();
    // An equal part of each, and the first of each before the second of any.
    assert_eq!(told(&due(&fixture, now, 6).await), ["0", "9000", "9001", "1", "9002"]);
    assert_eq!(told(&due(&fixture, now, 1).await), ["0"]);
    assert_eq!(due(&fixture, now, 300).await.len(), 100 + 1 + 2);
}

async fn calls_that_are_held_back_are_not_looked_at_and_come_back_at_their_time(fixture: Fixture) {
    for thousand in 0..3 {
        call(&fixture, 1, 1_000 * thousand..1_000 * (thousand + 1)).await;
    }
    let hold = hold(&fixture).await;
    let all: Vec<EffectRef> = due(&fixture, 1_000, 5_000).await.into_iter().map(|(effect, _)| effect).collect();
    assert_eq!(all.len(), 3_000);
    fixture.store.hold_back(&hold, &all, 2_000).await.expect("they wait");
    call(&fixture, 2, 9_000..9_001).await;
    assert_eq!(told(&due(&fixture, 1_999, 100).await), ["9000"]);
    // What is recorded behind one that is held back waits with it.
    call(&fixture, 1, 0..1).await;
    assert_eq!(told(&due(&fixture, 1_999, 100).await), ["9000"]);
    assert_eq!(told(&due(&fixture, 2_000, 4).await), ["0", "9000", "1"]);
}

async fn what_is_tried_again_is_not_behind_all_that_is_new(fixture: Fixture) {
    call(&fixture, 1, 0..20).await;
    let hold = hold(&fixture).await;
    let (effect, _) = due(&fixture, 1_000, 5).await.swap_remove(0);
    let failed = Outcome::Later { due: 2_000, error: "no answer".to_owned() };
    fixture.store.record_effect(&hold, effect, &failed).await.expect("it was waiting");
    assert_eq!(told(&due(&fixture, 1_999, 3).await), ["1", "2", "3"]);
    assert_eq!(told(&due(&fixture, 2_000, 3).await), ["0", "1", "2"]);
}

async fn a_key_with_more_than_a_thousand_calls_hides_no_other_key_of_its_tenant(fixture: Fixture) {
    for hundreds in [0..700, 700..1_400] {
        let unit = fixture.unit(1, async |tx: TenantTx| {
            hundreds.clone().for_each(|told| tx.effect("charge", "one", &told));
            Ok(())
        });
        unit.await.expect("the unit commits");
    }
    call(&fixture, 1, 9_000..9_002).await;
    assert_eq!(told(&due(&fixture, 1_000, 100).await), ["0", "9000", "9001"]);
    let hold = hold(&fixture).await;
    let (first, _) = due(&fixture, 1_000, 1).await.swap_remove(0);
    fixture.store.hold_back(&hold, &[first], 2_000).await.expect("it waits");
    assert_eq!(told(&due(&fixture, 1_000, 100).await), ["9000", "9001"], "and those behind it wait too");
}

/// In a file it is told without figures whether the search goes through an index.
#[test]
fn calls_that_may_be_made_are_found_by_an_index() {
    crate::fixture::run(crate::fixture::sqlite(), async |fixture: Fixture| {
        let karwan_store::Address::Sqlite(path) = &fixture.address else { panic!("it is a file") };
        let connection = rusqlite::Connection::open(path).expect("it can be opened");
        let sql = format!("EXPLAIN QUERY PLAN {}", include_str!("../../../src/sqlite/due_effects.sql"));
        let mut statement = connection.prepare(&sql).expect("it is SQL");
        let steps = statement.query_map(("charge", 1, 0, 0, 9, [0_u8; 16]), |row| row.get::<_, String>(3));
        let steps: Vec<String> = steps.expect("it can be explained").map(|step| step.expect("a line")).collect();
        let by_index = steps.iter().filter(|step| step.starts_with("SEARCH e USING INDEX effect_due")).count();
        assert_eq!(by_index, 2, "{steps:#?}");
        assert!(!steps.iter().any(|step| step.starts_with("SCAN e")), "{steps:#?}");
    });
}
