//! Lanes in which nothing happens cost nothing: what an engine asks of its store is counted, not timed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use karwan_engine::{Answered, Call, Consumer, Engine, Options, Performer, Received, Refusal, Verdict, Work};
use karwan_envelope::cause::Residency;
use karwan_envelope::mint::SeededRandom;
use karwan_store::simulation::{Fate, Simulation};
use karwan_store::{Error, Store, TenantTx};
use tokio::sync::Notify;

use crate::fixture::{self, Fixture};
use crate::shop::{self, OrderPlaced};

/// How long nothing happens, by a clock that jumps.
const MINUTE: Duration = Duration::from_secs(60);

/// Counts the calls of a store.
#[derive(Default)]
struct Counting(Mutex<BTreeMap<&'static str, u32>>);

impl Counting {
    fn counted(&self) -> BTreeMap<&'static str, u32> {
        std::mem::take(&mut *self.0.lock().expect("nobody panics"))
    }
}

impl Simulation for Counting {
    fn before(&self, call: &'static str) -> Fate {
        *self.0.lock().expect("nobody panics").entry(call).or_default() += 1;
        Box::pin(std::future::ready(Ok(())))
    }

    fn after(&self, _: &'static str) -> Fate {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// What engines that share so many lanes ask of their store in a minute in which nothing happens.
fn calls_in_a_quiet_minute(nodes: usize, lanes: u16) -> BTreeMap<&'static str, u32> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime can be made").block_on(async {
        let fixture: Fixture = fixture::sqlite().await.expect("a file needs no server");
        let counting = Arc::new(Counting::default());
        let options = karwan_store::Options {
            clock: fixture.clock.clone(),
            simulation: Some(counting.clone()),
            ..karwan_store::Options::new(shop::catalogue(), shop::kinds())
        };
        fixture.order(1, "before", 0).await;
        let store = Store::open(&fixture.address, options).await.expect("a migrated store opens");
        let secretary = || {
            let on = async |_: TenantTx, _: Received<OrderPlaced>| Ok::<_, Error>(Verdict::Done);
            Consumer::new("sales-service", "secretary").on(on).lanes(lanes)
        };
        let start = |number: usize| {
            let random = Arc::new(SeededRandom::new(7 + number as u64));
            let clock = fixture.clock.clone();
            let options = Options { clock, random, ..Options::new(format!("n-{number}"), Residency::Eu) };
            Engine::start(&store, vec![secretary()], options)
        };
        let engines: Vec<Engine> = (1..=nodes).map(start).collect();
        engines[0].settle().await.expect("it settles");
        // Lanes are shared out, and positions are saved.
        tokio::time::sleep(MINUTE).await;
        counting.counted();
        tokio::time::sleep(MINUTE).await;
        let counted = counting.counted();
        for engine in engines {
            engine.stop().await;
        }
        counted
    })
}

#[test]
fn a_thousand_idle_lanes_ask_no_more_of_the_store_than_one() {
    let (one, thousand) = (calls_in_a_quiet_minute(1, 1), calls_in_a_quiet_minute(1, 1_000));
    assert_eq!(one, thousand);
    let all: u32 = thousand.values().sum();
    // Forty looks at the log a second, and a few questions with every beat.
    assert!((1..=60 * (40 + 5)).contains(&all), "{thousand:?}");
}

/// Three processes want three of eight lanes each: one has to do with two, and must not try for the others' all the time.
#[test]
fn who_has_fewer_lanes_than_its_share_leaves_those_of_others_alone() {
    let counted = calls_in_a_quiet_minute(3, 8);
    let takes: Vec<_> = counted.iter().filter(|(call, _)| call.contains("take_lane")).collect();
    assert!(takes.is_empty(), "{takes:?}");
    assert!(counted.keys().any(|call| call.contains("free_lanes")), "nobody has fewer than its share: {counted:?}");
}

/// By a clock that jumps, whoever only looked now and then would be late by most of that time in one of the rounds.
#[test]
fn a_call_is_made_when_it_is_recorded_and_not_when_somebody_looks() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime can be made").block_on(async {
        let fixture: Fixture = fixture::sqlite().await.expect("a file needs no server");
        let options = karwan_store::Options {
            clock: fixture.clock.clone(),
            simulation: Some(Arc::new(Counting::default())),
            ..karwan_store::Options::new(shop::catalogue(), shop::kinds())
        };
        let store = Store::open(&fixture.address, options).await.expect("a migrated store opens");
        let called = Arc::new(Notify::new());
        let heard = called.clone();
        let call = move |call: Call<u64>| {
            heard.notify_one();
            std::future::ready(Ok::<_, Refusal>(call.told))
        };
        let act = async |_: TenantTx, _: Answered<u64, u64>| Ok::<_, Error>(());
        let performer = Performer::new("sales-service", "charge", call, act);
        let engine = fixture.start_over(&store, "n-1", Work::new().performer(performer));
        engine.settle().await.expect("it settles");
        tokio::time::sleep(MINUTE).await;
        let (mut late, context) = (Vec::new(), shop::context(1));
        for round in 0..8 {
            tokio::time::sleep(Duration::from_millis(100 + 7 * round)).await;
            let recorded = tokio::time::Instant::now();
            let unit = store.unit(&context, async |tx: TenantTx| {
                tx.effect("charge", "card", &round);
                Ok::<_, Error>(())
            });
            unit.await.expect("it can be recorded");
            called.notified().await;
            late.push(recorded.elapsed().as_millis());
        }
        assert!(late.iter().all(|ms| *ms <= 10), "{late:?}");
        engine.stop().await;
    });
}

/// Readers look by themselves, too, and that is what this must not rest on: the longer nothing came, the more rarely they do.
#[test]
fn an_event_is_handled_when_it_is_committed_and_not_when_somebody_looks() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime can be made").block_on(async {
        let fixture: Fixture = fixture::sqlite().await.expect("a file needs no server");
        let options = karwan_store::Options {
            clock: fixture.clock.clone(),
            simulation: Some(Arc::new(Counting::default())),
            ..karwan_store::Options::new(shop::catalogue(), shop::kinds())
        };
        let store = Store::open(&fixture.address, options).await.expect("a migrated store opens");
        let handled = Arc::new(Notify::new());
        let heard = handled.clone();
        let on = move |_: TenantTx, _: Received<OrderPlaced>| {
            heard.notify_one();
            std::future::ready(Ok::<_, Error>(Verdict::Done))
        };
        let secretary = Consumer::new("sales-service", "secretary").on(on);
        let engine = fixture.start_over(&store, "n-1", Work::new().consumer(secretary));
        engine.settle().await.expect("it settles");
        let (mut late, context) = (Vec::new(), shop::context(1));
        for round in 0..8 {
            tokio::time::sleep(Duration::from_millis(1_000 + 7 * round)).await;
            let committed = tokio::time::Instant::now();
            let unit = store.unit(&context, async |tx: TenantTx| {
                let id = format!("o-{round}");
                tx.put(shop::order(&id));
                tx.emit(shop::placed(&id));
                Ok::<_, Error>(())
            });
            unit.await.expect("it can be committed");
            handled.notified().await;
            late.push(committed.elapsed().as_millis());
        }
        assert!(late.iter().all(|ms| *ms <= 4), "{late:?}");
        engine.stop().await;
    });
}
