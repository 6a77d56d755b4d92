//! Deadlines that fail, hang or crash are in nobody's way, are not lost, and fire once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use karwan_engine::{Due, Timer, Work};
use karwan_envelope::time::{Clock as _, Timestamp};
use karwan_store::consumer::Share;
use karwan_store::{Error, TenantTx};
use tokio::sync::mpsc::unbounded_channel;

use crate::fixture::{Fixture, note};
use crate::shop::context;

on_both! {
    a_crowd_of_failing_deadlines_starves_nobody,
    several_processes_fire_a_deadline_once,
    a_crash_in_a_handler_loses_no_deadline,
    a_handler_that_panics_or_hangs_delays_its_own_deadline_alone,
    a_deadline_that_failed_waits_its_time_also_in_another_process,
    a_saga_goes_from_deadline_to_deadline_as_the_clock_moves,
}

async fn set(fixture: &Fixture, deadlines: &[(String, i64)]) {
    let context = context(1);
    let unit = fixture.store.unit(&context, async |tx: TenantTx| {
        for (id, due) in deadlines {
            tx.deadline("remind", id, Timestamp::from_unix_ms(*due), id);
        }
        Ok::<_, Error>(())
    });
    unit.await.expect("they can be set");
}

async fn noted(tx: TenantTx, due: Due<String>) -> Result<(), Error> {
    note(&tx, &due.told, "fired;").await
}

async fn a_crowd_of_failing_deadlines_starves_nobody(fixture: Fixture) {
    let crowd: Vec<_> = (0..250).map(|number| (format!("bad-{number}"), number)).collect();
    set(&fixture, &crowd).await;
    set(&fixture, &[("good".to_owned(), 1_000)]).await;
    let fails = async |tx: TenantTx, due: Due<String>| match due.told.as_str() {
        "good" => noted(tx, due).await,
        _ => Err(Error::Repeated),
    };
    let engine = fixture.start_work("n-1", Work::new().timer(Timer::new("sales-service", "remind", fails)));
    engine.settle().await.expect("what waits for a later instant is not waited for");
    assert_eq!(fixture.notes(1, "good").await, "fired;");
    engine.stop().await;
    // None of them is lost.
    fixture.clock.advance_ms(2_000);
    let now = fixture.clock.now();
    let left = fixture.store.due_deadlines("remind", Share::ALL, now, 1_000).await.expect("they can be asked for");
    assert_eq!(left.len(), 250);
    assert!(left.iter().all(|deadline| deadline.attempts == 1));
}

async fn several_processes_fire_a_deadline_once(fixture: Fixture) {
    let deadlines: Vec<_> = (0..40).map(|number| (format!("d-{number}"), number)).collect();
    let engines = ["n-1", "n-2", "n-3"]
        .map(|node| fixture.start_work(node, Work::new().timer(Timer::new("sales-service", "remind", noted))));
    set(&fixture, &deadlines).await;
    engines[0].settle().await.expect("it settles");
    for (id, _) in &deadlines {
        assert_eq!(fixture.notes(1, id).await, "fired;", "{id}");
    }
    for engine in engines {
        engine.stop().await;
    }
}

async fn a_crash_in_a_handler_loses_no_deadline(fixture: Fixture) {
    set(&fixture, &[("a".to_owned(), 0)]).await;
    let (told, mut reached) = unbounded_channel();
    let hangs = move |tx: TenantTx, due: Due<String>| {
        let told = told.clone();
        async move {
            noted(tx, due).await?;
            told.send(()).expect("the test listens");
            std::future::pending::<Result<(), Error>>().await
        }
    };
    let engine = fixture.start_work("n-1", Work::new().timer(Timer::new("sales-service", "remind", hangs)));
    reached.recv().await.expect("it is fired");
    drop(engine);
    assert_eq!(fixture.notes(1, "a").await, "");
    let heir = fixture.start_work("n-2", Work::new().timer(Timer::new("sales-service", "remind", noted)));
    heir.settle().await.expect("it settles");
    assert_eq!(fixture.notes(1, "a").await, "fired;");
    heir.stop().await;
}

async fn a_handler_that_panics_or_hangs_delays_its_own_deadline_alone(fixture: Fixture) {
    let broken = Arc::new(AtomicBool::new(true));
    let told = broken.clone();
    let handler = move |tx: TenantTx, due: Due<String>| {
        let broken = told.load(Ordering::Relaxed);
        if broken && due.told == "at once" {
            panic!("it panics before there is a future");
        }
        async move {
            match due.told.as_str() {
                "panics" if broken => panic!("it panics"),
                "hangs" if broken => std::future::pending().await,
                _ => noted(tx, due).await,
            }
        }
    };
    let names = ["at once", "panics", "hangs", "good"].map(str::to_owned);
    set(&fixture, &names.clone().map(|name| (name, 0))).await;
    let timer = Timer::new("sales-service", "remind", handler).limit(Duration::from_secs(5));
    let engine = fixture.start_work("n-1", Work::new().timer(timer));
    engine.settle().await.expect("it settles");
    assert_eq!(fixture.notes(1, "good").await, "fired;");
    assert_eq!(fixture.notes(1, "panics").await, "");
    broken.store(false, Ordering::Relaxed);
    fixture.clock.advance_ms(60_000);
    engine.settle().await.expect("it settles");
    for name in names {
        assert_eq!(fixture.notes(1, &name).await, "fired;", "{name}");
    }
    engine.stop().await;
}

async fn a_deadline_that_failed_waits_its_time_also_in_another_process(fixture: Fixture) {
    set(&fixture, &[("a".to_owned(), 0)]).await;
    let tries = Arc::new(AtomicU32::new(0));
    let timer = || {
        let tries = tries.clone();
        Timer::new("sales-service", "remind", move |_: TenantTx, _: Due<String>| {
            tries.fetch_add(1, Ordering::Relaxed);
            async { Err::<(), _>(Error::Repeated) }
        })
    };
    for node in ["n-1", "n-2", "n-3"] {
        let engine = fixture.start_work(node, Work::new().timer(timer()));
        engine.settle().await.expect("it settles");
        engine.stop().await;
    }
    assert_eq!(tries.load(Ordering::Relaxed), 1);
    fixture.clock.advance_ms(1_000);
    let engine = fixture.start_work("n-4", Work::new().timer(timer()));
    engine.settle().await.expect("it settles");
    assert_eq!(tries.load(Ordering::Relaxed), 2);
    engine.stop().await;
}

/// Reminds twice, a day apart, and then gives up.
async fn a_saga_goes_from_deadline_to_deadline_as_the_clock_moves(fixture: Fixture) {
    const DAY_MS: i64 = 86_400_000;
    let step = async |tx: TenantTx, due: Due<String>| {
        let next = due.due.unix_ms() + DAY_MS;
        match due.told.as_str() {
            "o" => tx.deadline("remind", "o", Timestamp::from_unix_ms(next), &"again"),
            "again" => tx.deadline("give-up", "o", Timestamp::from_unix_ms(next), &()),
            _ => {}
        }
        note(&tx, &due.id, "reminded;").await
    };
    let last = async |tx: TenantTx, due: Due<()>| note(&tx, &due.id, "given up").await;
    let work = || {
        let remind = Timer::new("sales-service", "remind", step);
        Work::new().timer(remind).timer(Timer::new("sales-service", "give-up", last))
    };
    set(&fixture, &[("o".to_owned(), fixture.clock.now().unix_ms() + DAY_MS)]).await;
    let told = ["", "reminded;", "reminded;reminded;", "reminded;reminded;given up", "reminded;reminded;given up"];
    for (day, told) in told.into_iter().enumerate() {
        // Another process every day.
        let engine = fixture.start_work(&format!("n-{day}"), work());
        engine.settle().await.expect("it settles");
        assert_eq!(fixture.notes(1, "o").await, told, "{day}");
        engine.stop().await;
        fixture.clock.advance_ms(DAY_MS);
    }
}
