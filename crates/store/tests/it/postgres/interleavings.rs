//! Transactions that commit in any order are read without a gap, once, in order per key.
//!
//! Random schedules over several connections: appends to hot keys, savepoints, rollbacks, prepared transactions and units
//! of work, with readers looking in between. Two readers that look plausible and are wrong read the same schedules, as a
//! check that these can fail.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use karwan_envelope::mint::{Random, SeededRandom};
use karwan_store::log::Filter;
use karwan_store::{Error, Position, RelayTx};
use karwan_testkit::postgres::postgres;
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

use super::Fixture;
use crate::shop::{context_of, sent, tenant_bits};

/// A step that waits this long waits for a lock; the schedule goes on with another connection.
const BLOCKED: Duration = Duration::from_millis(20);
/// Steps of one schedule.
const STEPS: usize = 100;

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

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

async fn append(client: &Client, key: &str, serial: u64) -> Result<Uuid, tokio_postgres::Error> {
    let payload = format!(r#"{{"parcelId":"{key}","count":{serial}}}"#);
    let sql = "SELECT event_id FROM karwan.append($1, 'shop.delivery.parcel.sent.v1', $2, $3, $4)";
    let tenant = Uuid::from_u128(tenant_bits(1));
    let row = client.query_one(sql, &[&tenant, &key, &format!("{key}:{serial}"), &payload]).await?;
    Ok(row.get(0))
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

/// One connection of a schedule.
struct Writer {
    client: Arc<Client>,
    /// Prepared transactions are ended from outside of any other.
    aside: Client,
    number: usize,
    open: bool,
    savepoint: bool,
    prepared: Option<(String, Vec<Uuid>)>,
    waiting: Option<tokio::task::JoinHandle<Result<Uuid, tokio_postgres::Error>>>,
    pending: Vec<Uuid>,
    kept: usize,
    committed: Vec<Uuid>,
    transactions: usize,
    order: Order,
}

/// Events by key, in the order in which their appends returned. Whoever has appended to a key holds it until it ends, so
/// this is the order of commits.
type Order = Arc<Mutex<BTreeMap<String, Vec<Uuid>>>>;

impl Writer {
    fn new([client, aside]: [Client; 2], number: usize, order: &Order) -> Self {
        let (client, order) = (Arc::new(client), order.clone());
        Self {
            client,
            aside,
            number,
            open: false,
            savepoint: false,
            prepared: None,
            waiting: None,
            pending: Vec::new(),
            kept: 0,
            committed: Vec::new(),
            transactions: 0,
            order,
        }
    }

    async fn step(&mut self, chance: u64, key: &str, serial: u64) {
        if !self.settled(BLOCKED).await {
            return;
        }
        if let Some((name, events)) = self.prepared.take_if(|_| chance.is_multiple_of(2)) {
            let commits = chance.is_multiple_of(4);
            let end = if commits { "COMMIT" } else { "ROLLBACK" };
            self.aside.batch_execute(&format!("{end} PREPARED '{name}'")).await.unwrap();
            if commits {
                self.committed.extend(events);
            }
            return;
        }
        match (self.open, chance >> 8 & 15) {
            (false, _) => {
                self.client.batch_execute("BEGIN").await.unwrap();
                self.open = true;
                self.append(key, serial).await;
            }
            (true, 0..=6) => self.append(key, serial).await,
            (true, 7) if !self.savepoint => {
                self.client.batch_execute("SAVEPOINT s").await.unwrap();
                (self.savepoint, self.kept) = (true, self.pending.len());
            }
            (true, 8) if self.savepoint => {
                self.client.batch_execute("ROLLBACK TO SAVEPOINT s").await.unwrap();
                self.pending.truncate(self.kept);
            }
            (true, 9) if self.prepared.is_none() => {
                let name = format!("{}-{}-{serial}", Uuid::from_u128(u128::from(chance)), self.number);
                self.client.batch_execute(&format!("PREPARE TRANSACTION '{name}'")).await.unwrap();
                self.prepared = Some((name, std::mem::take(&mut self.pending)));
                self.closed();
            }
            (true, 10..=11) => {
                self.client.batch_execute("ROLLBACK").await.unwrap();
                self.closed();
            }
            (true, _) => self.commit().await,
        }
    }

    async fn append(&mut self, key: &str, serial: u64) {
        let (client, key, order) = (self.client.clone(), key.to_owned(), self.order.clone());
        self.waiting = Some(tokio::spawn(async move {
            let event = append(&client, &key, serial).await?;
            order.lock().unwrap().entry(key).or_default().push(event);
            Ok(event)
        }));
        self.settled(BLOCKED).await;
    }

    /// Whether nothing is under way; an append that failed (a deadlock) has rolled its transaction back.
    async fn settled(&mut self, patience: Duration) -> bool {
        let Some(waiting) = &mut self.waiting else { return true };
        let Ok(ended) = tokio::time::timeout(patience, waiting).await else { return false };
        self.waiting = None;
        match ended.unwrap() {
            Ok(event) => self.pending.push(event),
            Err(_) => {
                self.client.batch_execute("ROLLBACK").await.unwrap();
                self.closed();
            }
        }
        true
    }

    async fn commit(&mut self) {
        self.client.batch_execute("COMMIT").await.unwrap();
        self.committed.append(&mut self.pending);
        self.closed();
    }

    fn closed(&mut self) {
        self.pending.clear();
        (self.open, self.savepoint) = (false, false);
        self.transactions += 1;
    }

    /// Ends whatever is open. Locks are given up before anybody waits for them.
    async fn finish(&mut self) {
        if let Some((name, _)) = self.prepared.take() {
            self.aside.batch_execute(&format!("ROLLBACK PREPARED '{name}'")).await.unwrap();
        }
        while !self.settled(Duration::from_millis(500)).await {
            // Another writer, later in the list, holds what this one waits for: cancel instead of waiting for ever.
            let _ = self.client.cancel_token().cancel_query(NoTls).await;
        }
        if self.open {
            self.commit().await;
        }
    }
}
