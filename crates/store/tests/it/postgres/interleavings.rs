//! Transactions that commit in any order are read without a gap, once, in order per key.
//!
//! Random schedules over several connections: appends to hot keys, savepoints, rollbacks, prepared transactions and units
//! of work, with readers looking in between. Two readers that look plausible and are wrong read the same schedules, as a
//! check that these can fail.

use std::collections::{BTreeMap, BTreeSet};

use karwan_envelope::mint::{Random, SeededRandom};
use karwan_store::log::Filter;
use karwan_store::{Error, Position, RelayTx};
use karwan_testkit::postgres::postgres;
use tokio_postgres::Client;
use uuid::Uuid;

use super::Fixture;
use super::writers::{BLOCKED, Order, Writer, append, connect};
use crate::shop::{context_of, sent};

/// Steps of one schedule.
const STEPS: usize = 100;

/// A reader that follows the log, and what it has read: (key, serial).
struct Ours {
    relay: RelayTx,
    at: Position,
    read: Vec<(String, i64)>,
}

impl Ours {
    async fn look(&mut self) {
        loop {
            let page = self.relay.page(self.at, &Filter::default(), 3).await.unwrap();
            self.at = page.position;
            self.read.extend(page.rows.iter().map(|row| (row.key.clone(), row.seq)));
            if !page.more {
                return;
            }
        }
    }
}

/// Wrong readers: one takes whatever is visible after its position, one only rows of transactions older than every open
/// one, both in the order of numbers.
struct Naive {
    client: Client,
    sql: &'static str,
    at: i64,
    read: Vec<i64>,
}

const VISIBLE: &str = "SELECT seq FROM karwan.log WHERE seq > $1 ORDER BY seq";
const OLD_ENOUGH: &str = "SELECT seq FROM karwan.log WHERE seq > $1
    AND xmin::text::bigint < (pg_snapshot_xmin(pg_current_snapshot())::text::bigint & 4294967295) ORDER BY seq";

impl Naive {
    async fn look(&mut self) {
        for row in self.client.query(self.sql, &[&self.at]).await.unwrap() {
            self.at = row.get(0);
            self.read.push(self.at);
        }
    }
}

struct Watch {
    ours: Ours,
    naive: [Naive; 2],
}

impl Watch {
    async fn new(fixture: &Fixture) -> Self {
        let relay = fixture.store.relay();
        let at = relay.start().await.unwrap();
        let reader = |client, sql| Naive { client, sql, at: 0, read: Vec::new() };
        // The wrong ones read as a superuser: what they may see is not what they get wrong.
        let url = fixture.database.url();
        let naive = [reader(connect(&url).await, VISIBLE), reader(connect(&url).await, OLD_ENOUGH)];
        Self { ours: Ours { relay, at, read: Vec::new() }, naive }
    }

    async fn look(&mut self) {
        self.ours.look().await;
        for naive in &mut self.naive {
            naive.look().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_commits_late_is_not_passed() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let url = fixture.database.url_as(&fixture.login);
    let mut watch = Watch::new(&fixture).await;
    let mut writers = Vec::new();
    // Transactions insert 0, 1, R, 2 …
    for (number, key) in ["k-0", "k-1", "k-r", "k-2"].into_iter().enumerate() {
        let client = connect(&url).await;
        client.batch_execute("BEGIN").await.unwrap();
        append(&client, key, number as u64).await.unwrap();
        writers.push(client);
        watch.look().await;
    }
    // … and finish 2, rollback R, 1, 0.
    for (writer, end) in [(3, "COMMIT"), (2, "ROLLBACK"), (1, "COMMIT"), (0, "COMMIT")] {
        writers[writer].batch_execute(end).await.unwrap();
        watch.look().await;
    }
    let keys: Vec<&str> = watch.ours.read.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["k-0", "k-1", "k-2"]);
    assert!(watch.naive[0].read.len() < 3, "a reader of whatever is visible was expected to lose rows");
}

#[tokio::test(flavor = "multi_thread")]
async fn transaction_ids_say_nothing_about_numbers() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let url = fixture.database.url_as(&fixture.login);
    let mut watch = Watch::new(&fixture).await;
    let (old, young) = (connect(&url).await, connect(&url).await);
    // The transaction with the smaller id appends second, and commits first.
    old.batch_execute("BEGIN; SELECT pg_current_xact_id()").await.unwrap();
    young.batch_execute("BEGIN").await.unwrap();
    append(&young, "first", 1).await.unwrap();
    append(&old, "second", 1).await.unwrap();
    old.batch_execute("COMMIT").await.unwrap();
    watch.look().await;
    young.batch_execute("COMMIT").await.unwrap();
    watch.look().await;
    let keys: Vec<&str> = watch.ours.read.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["first", "second"]);
    assert!(watch.naive[1].read.len() < 2, "a reader by transaction ids was expected to lose a row");
}

#[tokio::test(flavor = "multi_thread")]
async fn any_interleaving_is_read_without_loss_repetition_or_inversion() {
    let Some(server) = postgres().or_skip() else { return };
    let cases: u64 = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4).min(500);
    let mut wrong = [0; 2];
    for seed in 0..cases {
        let lost = schedule(server, seed).await;
        for (wrong, lost) in wrong.iter_mut().zip(lost) {
            *wrong += lost;
        }
    }
    // The other wrong reader needs luck; it has a schedule of its own above.
    assert!(wrong[0] > 0, "the reader of whatever is visible lost nothing: these schedules cannot fail");
}

/// Runs one schedule, panics if our reader is wrong, and answers how many rows the wrong readers lost.
async fn schedule(server: &'static karwan_testkit::postgres::Server, seed: u64) -> [usize; 2] {
    let fixture = Fixture::new(server).await;
    let url = fixture.database.url_as(&fixture.login);
    let random = SeededRandom::new(seed);
    let mut watch = Watch::new(&fixture).await;
    let mut writers = Vec::new();
    let order = Order::default();
    for number in 0..6 {
        writers.push(Writer::new([connect(&url).await, connect(&url).await], number, &order));
    }
    let mut serial = 0;
    let mut units = Vec::new();
    for _ in 0..STEPS {
        serial += 1;
        let place = (random.bits() % writers.len() as u64) as usize;
        let key = format!("hot-{}", random.bits() % 5);
        if random.bits().is_multiple_of(8) {
            units.push(unit(&fixture, &key, serial).await);
        } else {
            writers[place].step(random.bits(), &key, serial).await;
        }
        if random.bits().is_multiple_of(3) {
            watch.look().await;
        }
    }
    for writer in &mut writers {
        writer.finish().await;
    }
    for unit in units {
        unit.await.unwrap();
    }
    watch.look().await;
    watch.look().await;

    let committed = connect(&fixture.database.url()).await;
    let rows = committed.query("SELECT key, seq, event_id FROM karwan.log ORDER BY seq", &[]).await.unwrap();
    let expected: Vec<(String, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let events: BTreeSet<Uuid> = rows.iter().map(|row| row.get(2)).collect();
    let wanted: BTreeSet<Uuid> = writers.iter().flat_map(|writer| writer.committed.iter().copied()).collect();
    assert!(wanted.is_subset(&events), "seed={seed}: the log lost what was committed");
    let got: BTreeSet<&(String, i64)> = watch.ours.read.iter().collect();
    assert_eq!(got.len(), watch.ours.read.len(), "seed={seed}: a row was read twice");
    assert_eq!(watch.ours.read.len(), expected.len(), "seed={seed}: {:?} against {expected:?}", watch.ours.read);
    let seqs: Vec<i64> = watch.ours.read.iter().map(|(_, seq)| *seq).collect();
    assert!(seqs.is_sorted(), "seed={seed}: rows were read out of order");
    let place: BTreeMap<Uuid, i64> = rows.iter().map(|row| (row.get(2), row.get(1))).collect();
    for (key, events) in order.lock().unwrap().iter() {
        let places: Vec<i64> = events.iter().filter_map(|event| place.get(event)).copied().collect();
        assert!(places.is_sorted(), "seed={seed}: {key} stands in the log in another order than it was committed");
    }
    let whole: BTreeSet<i64> = expected.iter().map(|(_, seq)| *seq).collect();
    watch.naive.map(|naive| whole.difference(&naive.read.iter().copied().collect()).count())
}

async fn unit(fixture: &Fixture, key: &str, serial: u64) -> tokio::task::JoinHandle<()> {
    let fact = sent(key, serial as i64);
    let store = fixture.store.clone();
    let flush = async move {
        let ctx = context_of("delivery-service", 1);
        let done = store.unit(&ctx, |tx| {
            let fact = fact.clone();
            async move {
                tx.emit(fact);
                Ok::<_, Error>(())
            }
        });
        done.await.expect("a unit that only emits commits");
    };
    // It may have to wait for a key that a transaction holds; the schedule goes on meanwhile.
    let mut task = tokio::spawn(flush);
    if tokio::time::timeout(BLOCKED, &mut task).await.is_ok() {
        task = tokio::spawn(async {});
    }
    task
}
