//! Handlers that write tables of the user's own in the transaction of their claim.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use karwan_engine::{Consumer, Failure, Policy, Received, Verdict};
use karwan_store::{Error, TenantTx};

use crate::fixture::{Fixture, note, postgres, run, sqlite};
use crate::shop::{OrderChanged, ParcelSent, context_of, sent};

/// Runs these in a database whose own log feeds them, and in one that a stream feeds.
macro_rules! in_a_database {
    ($($claim:ident),* $(,)?) => {
        mod of_the_log {
            $(#[test] fn $claim() { crate::fixture::run(crate::fixture::postgres(), super::$claim) })*
        }
        fed_too! { $($claim),* }
    };
}

in_a_database! {
    two_processes_and_a_crashed_one_note_everything_once,
    a_handler_that_fails_after_its_statements_leaves_nothing_and_goes_well_another_time,
}

const NAME: &str = "sales-service.secretary";
const INSERT: &str = "INSERT INTO noted (id, revision) VALUES ($1, $2)";

/// A table without a key: a row that is written twice is there twice.
fn with_table(fixture: &Fixture) {
    let sql = "CREATE TABLE noted (serial bigserial, tenant uuid DEFAULT current_setting('app.tenant_id')::uuid, id text, revision bigint);
               GRANT ALL ON noted, noted_serial_seq TO PUBLIC";
    asked(fixture, sql);
}

fn asked(fixture: &Fixture, sql: &str) -> String {
    fixture.database.as_ref().expect("it runs on Postgres").psql(sql).expect("a superuser can do that")
}

/// What was noted of an order, in order.
fn noted(fixture: &Fixture, id: &str) -> String {
    asked(
        fixture,
        &format!("SELECT coalesce(string_agg(revision::text, '' ORDER BY serial), '') FROM noted WHERE id = '{id}'"),
    )
}

/// Notes every revision in a table of its own and in a document, then does what it is told.
fn secretary<F>(then: impl Fn(TenantTx, OrderChanged) -> F + Send + Sync + 'static) -> Consumer
where
    F: Future<Output = Result<Verdict, Failure>> + Send + 'static,
{
    let then = Arc::new(then);
    Consumer::new("sales-service", "secretary").on(move |tx: TenantTx, received: Received<OrderChanged>| {
        let then = then.clone();
        async move {
            let OrderChanged { order_id, revision } = &received.event;
            tx.postgres().await?.execute(INSERT, &[order_id, revision]).await?;
            note(&tx, order_id, &revision.to_string()).await?;
            then(tx, received.event).await
        }
    })
}

fn diligent() -> Consumer {
    secretary(async |_, _| Ok(Verdict::Done))
}

async fn all_noted(fixture: &Fixture, orders: u64, revisions: &str) {
    for number in 0..orders {
        let id = format!("o-{number}");
        assert_eq!(
            (noted(fixture, &id).as_str(), fixture.notes(number % 3, &id).await.as_str()),
            (revisions, revisions),
            "{id}"
        );
    }
}

/// Each in a transaction of its own although a batch may have 32, in order per key, for its own tenant; and the batch is
/// tried once at most by each lane.
#[test]
fn every_event_is_noted_once_in_order_per_key_and_alone() {
    run(postgres(), async |fixture: Fixture| {
        with_table(&fixture);
        for number in 0..12 {
            fixture.order(number % 3, &format!("o-{number}"), 9).await;
        }
        let (refused, told) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (count, calls) = (refused.clone(), told.clone());
        let consumer = Consumer::new("sales-service", "secretary").lanes(1).batch(32).on(
            move |tx: TenantTx, received: Received<OrderChanged>| {
                let (count, calls) = (count.clone(), calls.clone());
                async move {
                    calls.fetch_add(1, Ordering::Relaxed);
                    let OrderChanged { order_id, revision } = &received.event;
                    let own = tx.postgres().await.inspect_err(|error| {
                        assert!(matches!(error, Error::RunsAlone), "{error:?}");
                        count.fetch_add(1, Ordering::Relaxed);
                    })?;
                    own.execute(INSERT, &[order_id, revision]).await?;
                    note(&tx, order_id, &revision.to_string()).await?;
                    Ok::<_, Error>(Verdict::Done)
                }
            },
        );
        let engine = fixture.start("n-1", vec![consumer]);
        engine.settle().await.expect("it settles");
        all_noted(&fixture, 12, "123456789").await;
        assert_eq!(
            asked(&fixture, "SELECT count(*), count(DISTINCT xmin::text), count(DISTINCT tenant) FROM noted"),
            "108|108|3"
        );
        let (refused, told) = (refused.load(Ordering::Relaxed), told.load(Ordering::Relaxed));
        assert!(
            (1..=32).contains(&refused),
            "{refused} handlers ran in a batch: one batch is tried, and then no other"
        );
        assert_eq!(told, 108 + refused);
        engine.stop().await;
    });
}

async fn two_processes_and_a_crashed_one_note_everything_once(fixture: Fixture) {
    with_table(&fixture);
    let crashed = fixture.start("n-0", vec![diligent().lanes(8)]);
    for number in 0..15 {
        fixture.order(number % 3, &format!("o-{number}"), 5).await;
    }
    drop(crashed);
    let [one, two] = ["n-1", "n-2"].map(|node| fixture.start(node, vec![diligent().lanes(8)]));
    let mut last = None;
    for number in 15..30 {
        last = Some(fixture.order(number % 3, &format!("o-{number}"), 5).await.position);
    }
    fixture.lease_runs_out().await;
    fixture.wait_for(&one, NAME, last.expect("there were orders")).await.expect("it gets there");
    all_noted(&fixture, 30, "12345").await;
    one.stop().await;
    two.stop().await;
}

async fn a_handler_that_fails_after_its_statements_leaves_nothing_and_goes_well_another_time(fixture: Fixture) {
    with_table(&fixture);
    let tries = Arc::new(AtomicU32::new(0));
    let count = tries.clone();
    let moody = secretary(move |_, changed| {
        let attempt = if changed.revision == 2 { count.fetch_add(1, Ordering::Relaxed) } else { u32::MAX };
        async move {
            match attempt {
                0 => Err("not today".into()),
                1 => Ok(Verdict::Retry("nor today".to_owned())),
                2 => panic!("it breaks"),
                3 => std::future::pending().await,
                _ => Ok(Verdict::Done),
            }
        }
    });
    let engine = fixture.start("n-1", vec![moody.limit(Duration::from_secs(5))]);
    fixture.order(1, "o-1", 3).await;
    for failures in 1..=4 {
        fixture.settle(&engine).await;
        assert_eq!(tries.load(Ordering::Relaxed), failures);
        assert_eq!((noted(&fixture, "o-1"), fixture.notes(1, "o-1").await), ("1".to_owned(), "1".to_owned()));
        fixture.clock.advance_ms(20_000);
    }
    fixture.settle(&engine).await;
    assert_eq!((noted(&fixture, "o-1"), fixture.notes(1, "o-1").await), ("123".to_owned(), "123".to_owned()));
    engine.stop().await;
}

/// One attempt is allowed, and none is counted.
#[test]
fn a_statement_that_loses_against_others_is_run_again_and_is_no_attempt() {
    run(postgres(), async |fixture: Fixture| {
        with_table(&fixture);
        asked(
            &fixture,
            "CREATE TABLE gate (open boolean); INSERT INTO gate VALUES (true); GRANT ALL ON gate TO PUBLIC",
        );
        let tries = Arc::new(AtomicU32::new(0));
        let count = tries.clone();
        let patient = secretary(move |tx, _| {
            let attempt = count.fetch_add(1, Ordering::Relaxed);
            async move {
                let own = tx.postgres().await?;
                match attempt {
                    // By the store's words, and by the driver's.
                    0 => own.batch_execute("DO $$ BEGIN RAISE 'x' USING ERRCODE = '40P01'; END $$").await?,
                    1 => own.client().batch_execute("DO $$ BEGIN RAISE 'x' USING ERRCODE = '40001'; END $$").await?,
                    // Passed over, it is found at the commit.
                    2 => drop(own.batch_execute("DO $$ BEGIN RAISE 'x' USING ERRCODE = '55P03'; END $$").await),
                    _ => own.batch_execute("SELECT FROM gate FOR UPDATE NOWAIT").await?,
                }
                Ok(Verdict::Done)
            }
        });
        let policy = Policy { attempts_max: 1, ..Policy::default() };
        let engine = fixture.start("n-1", vec![patient.policy(policy)]);
        fixture.order(1, "o-1", 1).await;
        engine.settle().await.expect("it settles");
        assert_eq!((noted(&fixture, "o-1").as_str(), tries.load(Ordering::Relaxed)), ("1", 4));
        assert_eq!(fixture.dead(NAME).await, []);
        engine.stop().await;
    });
}

/// What an operator reads of an event that was given up.
async fn given_up(fixture: &Fixture, consumer: Consumer) -> String {
    let policy = Policy { attempts_max: 1, ..Policy::default() };
    let engine = fixture.start("n-1", vec![consumer.policy(policy)]);
    fixture.order(1, "o-1", 1).await;
    engine.settle().await.expect("it settles");
    engine.stop().await;
    let mut dead = fixture.dead(NAME).await;
    assert_eq!(dead.len(), 1);
    dead.remove(0).event.error
}

#[test]
fn what_the_database_says_of_a_statement_is_told() {
    run(postgres(), async |fixture: Fixture| {
        with_table(&fixture);
        asked(&fixture, "ALTER TABLE noted ADD CONSTRAINT revisions_are_large CHECK (revision > 1)");
        let told = given_up(&fixture, diligent()).await;
        assert!(told.contains("revisions_are_large"), "{told}");
        assert_eq!(noted(&fixture, "o-1"), "");
    });
}

#[test]
fn a_handler_that_commits_by_itself_is_refused() {
    run(postgres(), async |fixture: Fixture| {
        with_table(&fixture);
        let hasty = secretary(async |tx, _| {
            tx.postgres().await?.batch_execute("COMMIT").await?;
            Ok(Verdict::Done)
        });
        let told = given_up(&fixture, hasty).await;
        assert!(told.contains("ended within the unit"), "{told}");
        assert_eq!(fixture.notes(1, "o-1").await, "");
    });
}

#[test]
fn on_a_file_the_event_is_given_up_and_says_why() {
    run(sqlite(), async |fixture: Fixture| {
        let told = given_up(&fixture, diligent()).await;
        assert!(told.contains("only there can a unit write tables of its own"), "{told}");
    });
}

const GUIDE: &str = include_str!("../../../../docs/guides/own-tables.md");

async fn book(tx: TenantTx, sent: Received<ParcelSent>) -> Result<Verdict, Error> {
    let own = tx.postgres().await?;
    own.execute("UPDATE parcel SET place = 'on its way' WHERE id = $1", &[&sent.event.parcel_id]).await?;
    Ok(Verdict::Done)
}

#[test]
fn the_handler_of_the_guide_books_a_parcel() {
    let block = GUIDE.split("```rust").nth(1).and_then(|rest| rest.split("```").next()).expect("the guide has it");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words(include_str!("own_tables.rs")).contains(&words(block)),
        "the guide and this test say different things"
    );
    run(postgres(), async |fixture: Fixture| {
        asked(
            &fixture,
            "CREATE TABLE parcel (id text, place text); INSERT INTO parcel VALUES ('p-1', 'Herat'), ('p-2', 'Kabul');
                         GRANT ALL ON parcel TO PUBLIC",
        );
        let engine = fixture.start("n-1", vec![Consumer::new("sales-service", "booker").on(book)]);
        let send = async |tx: TenantTx| {
            tx.emit(sent("p-1", 1));
            Ok::<_, Error>(())
        };
        fixture.store.unit(&context_of("delivery-service", 1), send).await.expect("a parcel can be sent");
        engine.settle().await.expect("it settles");
        assert_eq!(asked(&fixture, "SELECT string_agg(place, ' ' ORDER BY id) FROM parcel"), "on its way Kabul");
        engine.stop().await;
    });
}
