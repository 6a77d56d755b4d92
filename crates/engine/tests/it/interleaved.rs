//! Transactions that commit in another order than their numbers and ids, through one relay and through two: what is in the
//! log is in the stream, once, in the order of the log.

use std::collections::BTreeSet;
use std::time::Duration;

use karwan_broker::Delivery;
use karwan_engine::Engine;
use karwan_envelope::mint::{Random as _, SeededRandom};
use karwan_testkit::nats::{Options, Server};
use uuid::Uuid;

use crate::fixture::{self, Fixture};
use crate::relay::{filled, held, server, start};
use crate::writers::{Order, Writer, append, connect};

/// The stream of the service that appends.
const STREAM: &str = "DELIVERY";
/// So long that a relay looks at the log more than once. Nothing is waited for: too short a time makes a schedule tamer.
const LOOKED: Duration = Duration::from_millis(120);
/// Steps of one schedule.
const STEPS: usize = 160;

/// A store, a broker, and relays that take over from each other.
struct Line {
    fixture: Fixture,
    server: Server,
    relays: Vec<Engine>,
    started: u32,
}

impl Line {
    async fn of(fixture: Fixture, relays: usize) -> Option<Self> {
        let server = server(Options::default())?;
        let mut line = Self { fixture, server, relays: Vec::new(), started: 0 };
        for _ in 0..relays {
            line.begin().await;
        }
        Some(line)
    }

    async fn begin(&mut self) {
        self.started += 1;
        self.relays.push(start(&self.fixture, &self.server, &format!("relay-{}", self.started)).await);
    }

    /// Where there are two, the one that was there first is gone as by a crash, and another one comes.
    async fn hand_over(&mut self) {
        if self.relays.len() > 1 {
            drop(self.relays.remove(0));
            self.fixture.lease_runs_out().await;
            self.begin().await;
        }
    }

    async fn connect(&self) -> tokio_postgres::Client {
        let database = self.fixture.database.as_ref().expect("it is Postgres");
        connect(&database.url_as(&format!("app_{}", database.name()))).await
    }

    /// Everything that is committed, in the order of the log.
    fn committed(&self) -> Vec<Uuid> {
        let database = self.fixture.database.as_ref().expect("it is Postgres");
        let rows = database.psql("SELECT event_id FROM karwan.log ORDER BY seq").expect("a superuser can do that");
        rows.lines().map(|id| id.parse().expect("an id")).collect()
    }

    /// What is in the stream once as many are there as were committed; nobody publishes any more.
    async fn published(mut self) -> Vec<Uuid> {
        filled(&self.server, STREAM, self.committed().len()).await;
        for relay in self.relays.drain(..) {
            relay.stop().await;
        }
        let ids = |message: &Delivery| message.event_id.parse().expect("an id");
        held(&self.server, STREAM).await.iter().map(ids).collect()
    }
}

fn through(relays: usize, test: impl AsyncFnOnce(Line)) {
    fixture::run(fixture::postgres(), async |fixture| {
        if let Some(line) = Line::of(fixture, relays).await {
            test(line).await;
        }
    });
}

#[test]
fn one_relay_publishes_a_row_that_commits_late() {
    through(1, late);
}

#[test]
fn two_relays_publish_a_row_that_commits_late_once() {
    through(2, late);
}

/// Transactions insert 0, 1, R, 2 and finish 2, rollback R, 1, 0.
async fn late(mut line: Line) {
    let mut writers = Vec::new();
    for (number, key) in ["k-0", "k-1", "k-r", "k-2"].into_iter().enumerate() {
        let client = line.connect().await;
        client.batch_execute("BEGIN").await.expect("a transaction begins");
        append(&client, key, number as u64).await.expect("it can append");
        writers.push(client);
        tokio::time::sleep(LOOKED).await;
    }
    for (writer, end) in [(3, "COMMIT"), (2, "ROLLBACK"), (1, "COMMIT"), (0, "COMMIT")] {
        writers[writer].batch_execute(end).await.expect("it ends");
        tokio::time::sleep(LOOKED).await;
        line.hand_over().await;
    }
    let committed = line.committed();
    assert_eq!(committed.len(), 3);
    assert_eq!(line.published().await, committed);
}

#[test]
fn one_relay_goes_by_numbers_not_by_transaction_ids() {
    through(1, ids);
}

#[test]
fn two_relays_go_by_numbers_not_by_transaction_ids() {
    through(2, ids);
}

/// The transaction with the smaller id appends second, and commits first.
async fn ids(mut line: Line) {
    let (old, young) = (line.connect().await, line.connect().await);
    old.batch_execute("BEGIN; SELECT pg_current_xact_id()").await.expect("a transaction begins");
    young.batch_execute("BEGIN").await.expect("a transaction begins");
    append(&young, "first", 1).await.expect("it can append");
    append(&old, "second", 1).await.expect("it can append");
    old.batch_execute("COMMIT").await.expect("it ends");
    tokio::time::sleep(LOOKED).await;
    line.hand_over().await;
    young.batch_execute("COMMIT").await.expect("it ends");
    let committed = line.committed();
    assert_eq!(committed.len(), 2);
    assert_eq!(line.published().await, committed);
}

#[test]
fn any_interleaving_reaches_the_stream_through_one_relay() {
    through(1, schedule);
}

#[test]
fn any_interleaving_reaches_the_stream_through_two_relays() {
    through(2, schedule);
}

/// Appends to hot keys, savepoints, rollbacks and prepared transactions, with relays coming and going.
async fn schedule(mut line: Line) {
    let seed = 11;
    let random = SeededRandom::new(seed);
    let (mut writers, order) = (Vec::new(), Order::default());
    // Other ones in every test: names of prepared transactions are the server's, which the tests share.
    let numbers = 10 * line.relays.len()..;
    for number in numbers.take(6) {
        writers.push(Writer::new([line.connect().await, line.connect().await], number, &order));
    }
    for serial in 1..=STEPS {
        let place = (random.bits() % writers.len() as u64) as usize;
        let key = format!("hot-{}", random.bits() % 9);
        writers[place].step(random.bits(), &key, serial as u64).await;
        if serial.is_multiple_of(STEPS / 4) {
            line.hand_over().await;
        }
    }
    for writer in &mut writers {
        writer.finish().await;
    }
    let committed = line.committed();
    let wanted: BTreeSet<Uuid> = writers.iter().flat_map(|writer| writer.committed.iter().copied()).collect();
    assert!(wanted.is_subset(&committed.iter().copied().collect()), "seed={seed}");
    assert!(wanted.len() > 5, "seed={seed}: hardly anything was committed");
    assert_eq!(line.published().await, committed, "seed={seed}");
}
