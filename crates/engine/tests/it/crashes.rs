//! A crash at every step of a call, a replay of its cause, a repeated command, a restored store: one charge.

use std::sync::Arc;

use karwan_engine::{Answered, Call, Consumer, Engine, Performer, Received, Verdict, Work};
use karwan_store::backup::{backup, restore};
use karwan_store::{Address, Error, Repeated, Store, TenantTx, UnitId};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::fixture::Fixture;
use crate::hand::who;
use crate::shop::{OrderPlaced, context};
use crate::vendor::{Asked, Mood, Vendor, charge, noted, performer, record};

on_both! {
    a_crash_at_any_step_repeats_the_call_under_its_key_and_acts_once,
    a_repeated_command_makes_no_second_call,
}

/// Where the process is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    BeforeTheCall,
    DuringTheCall,
    BeforeTheRecording,
    BeforeActing,
    AfterActing,
}

/// Stands still at a step for ever, and says so.
#[derive(Clone)]
struct Trap {
    step: Step,
    told: UnboundedSender<()>,
}

impl Trap {
    async fn at(&self, step: Step) {
        if self.step == step {
            self.told.send(()).expect("the test listens");
            std::future::pending::<()>().await;
        }
    }
}

fn trapped(trap: &Trap) -> Performer {
    let (calls, acts) = (Arc::new(trap.clone()), Arc::new(trap.clone()));
    let call = move |call: Call<Asked>| {
        let trap = calls.clone();
        async move {
            trap.at(Step::BeforeTheCall).await;
            let answer = charge(call).await?;
            trap.at(Step::BeforeTheRecording).await;
            Ok(answer)
        }
    };
    let outcome = move |tx: TenantTx, answered: Answered<Asked, String>| {
        let trap = acts.clone();
        async move {
            noted(tx, answered).await?;
            trap.at(Step::BeforeActing).await;
            Ok::<_, Error>(())
        }
    };
    Performer::new("sales-service", "charge", call, outcome)
}

async fn until_noted(fixture: &Fixture, card: &str) {
    while fixture.notes(1, card).await.is_empty() {
        tokio::task::yield_now().await;
    }
}

async fn a_crash_at_any_step_repeats_the_call_under_its_key_and_acts_once(fixture: Fixture) {
    let steps = [
        (Step::BeforeTheCall, 1),
        (Step::DuringTheCall, 2),
        (Step::BeforeTheRecording, 2),
        (Step::BeforeActing, 1),
        (Step::AfterActing, 1),
    ];
    for (step, requests) in steps {
        let (told, mut reached) = unbounded_channel();
        let vendor = Vendor::open().await;
        let card = format!("{step:?}");
        record(&fixture, &vendor, &[(&card, 5)]).await;
        if step == Step::DuringTheCall {
            vendor.is_in_the_mood([Mood::Silent]);
        }
        let engine = fixture.start_work("n-1", Work::new().performer(trapped(&Trap { step, told })));
        match step {
            Step::DuringTheCall => {
                while vendor.charged(&card).is_empty() {
                    tokio::task::yield_now().await;
                }
            }
            Step::AfterActing => until_noted(&fixture, &card).await,
            _ => reached.recv().await.expect("it gets there"),
        }
        drop(engine);
        fixture.lease_runs_out().await;
        let heir = fixture.start_work("n-2", Work::new().performer(performer()));
        until_noted(&fixture, &card).await;
        heir.settle().await.expect("it settles");
        heir.stop().await;
        assert_eq!(fixture.notes(1, &card).await, "charged 5;", "{step:?}");
        assert_eq!(vendor.charged(&card), [5], "{step:?}");
        let made = vendor.books().requests.clone();
        assert!(made.len() == requests && made.iter().all(|key| *key == made[0]), "{step:?} {made:?}");
        fixture.lease_runs_out().await;
    }
}

async fn a_repeated_command_makes_no_second_call(fixture: Fixture) {
    let vendor = Vendor::open().await;
    let engine = fixture.start_work("n-1", Work::new().performer(performer()));
    let (context, port) = (context(1), vendor.port());
    for time in 0..3 {
        let command = fixture.store.once(UnitId::from_bits(7), &context, async |tx: TenantTx| {
            tx.effect("charge", "a", &(port, 5));
            Ok::<_, Error>(())
        });
        let done = command.await.expect("it is taken, or known");
        assert_eq!(done.repeated, (time > 0).then_some(Repeated::Unit));
        engine.settle().await.expect("it settles");
    }
    assert_eq!((vendor.charged("a"), vendor.books().requests.len()), (vec![5], 1));
    assert_eq!(fixture.notes(1, "a").await, "charged 5;");
    engine.stop().await;
}

/// Orders are paid by card.
fn cashier(port: u16) -> Consumer {
    Consumer::new("sales-service", "cashier").on(move |tx: TenantTx, received: Received<OrderPlaced>| async move {
        tx.effect("charge", &received.event.order_id, &(port, 5));
        Ok::<_, Error>(Verdict::Done)
    })
}

/// The consumer is set back to the start and has forgotten what it handled: the cause is handled a second time.
#[test]
fn a_replay_of_the_cause_makes_no_second_call() {
    crate::fixture::run(crate::fixture::postgres(), async |fixture: Fixture| {
        let vendor = Vendor::open().await;
        let work = || Work::new().consumer(cashier(vendor.port())).performer(performer());
        for id in ["o-1", "o-2"] {
            fixture.order(1, id, 0).await;
        }
        let engine = fixture.start_work("n-1", work());
        engine.settle().await.expect("it settles");
        engine.stop().await;
        assert_eq!(vendor.books().requests.len(), 2);
        let database = fixture.database.as_ref().expect("a database");
        let forget = "DELETE FROM karwan.inbox; UPDATE karwan.lane SET position = 0";
        database.psql(forget).expect("a superuser can do that");
        let engine = fixture.start_work("n-2", work());
        while database.psql("SELECT count(*) FROM karwan.inbox").expect("it is there") != "2" {
            tokio::task::yield_now().await;
        }
        engine.settle().await.expect("it settles");
        assert_eq!(vendor.books().requests.len(), 2, "both were handled again, and nobody was called");
        assert_eq!(fixture.notes(1, "o-1").await, "charged 5;");
        engine.stop().await;
    });
}

/// A charge that the original makes after the copy was taken is open in the copy.
async fn a_copy_calls_nobody(fixture: &Fixture, vendor: &Vendor, copy: &Address, owner: &Address) {
    let original = fixture.start_work("n-1", Work::new().performer(performer()));
    original.settle().await.expect("it settles");
    original.stop().await;
    assert_eq!(vendor.books().requests.len(), 1);
    let store = fixture.open(copy).await;
    let engine = fixture.start_over(&store, "n-2", Work::new().performer(performer()));
    // It is at work: a charge of its own waits too.
    let (context, port) = (context(1), vendor.port());
    let own = store.unit(&context, async |tx: TenantTx| {
        tx.effect("charge", "b", &(port, 6));
        Ok::<_, Error>(())
    });
    own.await.expect("it can be recorded");
    engine.settle().await.expect("what is suspended is not waited for");
    fixture.clock.advance_ms(86_400_000);
    engine.settle().await.expect("it settles");
    assert_eq!(vendor.books().requests.len(), 1, "a copy calls nobody");
    karwan_store::Operator::new(owner, Vec::new()).resume_store(&who()).await.expect("it can be resumed");
    while noted_in(&store, "a").await.is_empty() || noted_in(&store, "b").await.is_empty() {
        tokio::task::yield_now().await;
    }
    // It asks again under the same key, and is answered without being charged.
    assert_eq!((vendor.charged("a"), vendor.charged("b")), (vec![5], vec![6]));
    assert_eq!(vendor.books().requests.len(), 3);
    engine.stop().await;
}

async fn noted_in(store: &Store, card: &str) -> String {
    let unit = store.tenant(&context(1));
    let notes: Option<crate::shop::Order> = unit.peek(&format!("notes-{card}")).await.expect("it can be read");
    notes.map(|notes| notes.note).unwrap_or_default()
}

#[test]
fn a_restored_file_calls_nobody_until_it_is_resumed() {
    crate::fixture::run(crate::fixture::sqlite(), async |fixture: Fixture| {
        let vendor = Vendor::open().await;
        record(&fixture, &vendor, &[("a", 5)]).await;
        let Address::Sqlite(file) = &fixture.address else { panic!("a file has a path") };
        let (copy, restored) = (file.with_file_name("copy.db"), Address::Sqlite(file.with_file_name("restored.db")));
        backup(&fixture.address, &copy, &|_, _, _| {}).await.expect("it can be copied");
        restore(&restored, &copy, false, &|_, _, _| {}).await.expect("it can be restored");
        a_copy_calls_nobody(&fixture, &vendor, &restored, &restored).await;
    });
}

#[test]
fn a_restored_database_calls_nobody_until_it_is_resumed() {
    crate::fixture::run(crate::fixture::postgres(), async |fixture: Fixture| {
        let vendor = Vendor::open().await;
        record(&fixture, &vendor, &[("a", 5)]).await;
        let server = karwan_testkit::postgres::postgres().or_skip().expect("the fixture has one");
        let original = fixture.database.as_ref().expect("a database");
        let dump = server.dump(original.name()).expect("it can be dumped");
        let copy = server.database();
        server.restore(copy.name(), &dump).expect("it can be restored");
        let owner: Address = copy.url().parse().expect("a URL is an address");
        restore(&owner, std::path::Path::new("-"), false, &|_, _, _| {}).await.expect("it is a store");
        let login = format!("app_{}", original.name());
        let address: Address = copy.url_as(&login).parse().expect("a URL is an address");
        a_copy_calls_nobody(&fixture, &vendor, &address, &owner).await;
    });
}

/// Two processes over one store: one of them calls.
#[test]
fn two_processes_make_each_call_once() {
    crate::fixture::run(crate::fixture::postgres(), async |fixture: Fixture| {
        let vendor = Vendor::open().await;
        let engines: Vec<Engine> =
            ["n-1", "n-2"].map(|node| fixture.start_work(node, Work::new().performer(performer()))).into();
        let cards: Vec<String> = (0..40).map(|number| format!("c-{number}")).collect();
        record(&fixture, &vendor, &cards.iter().map(|card| (card.as_str(), 3)).collect::<Vec<_>>()).await;
        engines[0].settle().await.expect("it settles");
        let made = vendor.books().requests.len();
        assert_eq!((made, vendor.books().charges.len()), (40, 40));
        for engine in engines {
            engine.stop().await;
        }
    });
}
