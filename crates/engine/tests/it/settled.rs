//! When an engine says that nothing is left to do, nothing is: also where one kind of work leaves more of another, and no event
//! tells of it.

use karwan_engine::{Answered, Call, Due, Engine, Performer, Refusal, Timer, Work};
use karwan_envelope::time::Timestamp;
use karwan_store::{Error, TenantTx};

use crate::fixture::{Fixture, note};
use crate::shop::context;

on_both! {
    a_chain_of_calls_of_two_kinds_without_events_is_at_its_end,
    a_chain_of_deadlines_and_calls_without_events_is_at_its_end,
}

/// Long enough that somebody looks between any two links of it.
const LINKS: i64 = 60;

/// Calls of a kind, each of which leaves one more of another kind until none is left.
fn link(kind: &'static str, next: &'static str) -> Performer {
    let call = async |call: Call<i64>| Ok::<_, Refusal>(call.told);
    let outcome = move |tx: TenantTx, answered: Answered<i64, i64>| async move {
        if answered.answer > 0 {
            tx.effect(next, "chain", &(answered.answer - 1));
        }
        note(&tx, "chain", "+").await
    };
    Performer::new("sales-service", kind, call, outcome)
}

/// Settles, and nothing of a chain is left to do.
async fn is_at_its_end(fixture: &Fixture, engine: Engine, links: i64) {
    engine.settle().await.expect("it settles");
    assert_eq!(fixture.notes(1, "chain").await.len() as i64, links);
    engine.stop().await;
}

async fn a_chain_of_calls_of_two_kinds_without_events_is_at_its_end(fixture: Fixture) {
    // Whichever kind is asked for first.
    for (round, [one, other]) in (1..).zip([["ask", "tell"], ["tell", "ask"]]) {
        let context = context(1);
        let first = fixture.store.unit(&context, async |tx: TenantTx| {
            tx.effect("ask", "chain", &(LINKS - 1));
            Ok::<_, Error>(())
        });
        first.await.expect("it can be recorded");
        let work = Work::new().performer(link(one, other)).performer(link(other, one));
        is_at_its_end(&fixture, fixture.start_work(&format!("n-{round}"), work), round * LINKS).await;
    }
}

async fn a_chain_of_deadlines_and_calls_without_events_is_at_its_end(fixture: Fixture) {
    let call = async |call: Call<i64>| Ok::<_, Refusal>(call.told);
    // It was due long ago.
    let outcome = async |tx: TenantTx, answered: Answered<i64, i64>| {
        tx.deadline("remind", "chain", Timestamp::from_unix_ms(0), &answered.answer);
        note(&tx, "chain", "+").await
    };
    let fired = async |tx: TenantTx, due: Due<i64>| {
        if due.told > 0 {
            tx.effect("ask", "chain", &(due.told - 1));
        }
        Ok::<_, Error>(())
    };
    let context = context(1);
    let first = fixture.store.unit(&context, async |tx: TenantTx| {
        tx.deadline("remind", "chain", Timestamp::from_unix_ms(0), &LINKS);
        Ok::<_, Error>(())
    });
    first.await.expect("it can be set");
    let work = Work::new().timer(Timer::new("sales-service", "remind", fired)).performer(Performer::new(
        "sales-service",
        "ask",
        call,
        outcome,
    ));
    is_at_its_end(&fixture, fixture.start_work("n-1", work), LINKS).await;
}
