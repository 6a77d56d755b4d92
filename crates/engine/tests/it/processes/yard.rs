//! What a test does to programs: starts them, signals them, gives them work, and compares what they did with what was
//! committed, which stands in a file outside the database.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use karwan_store::{Error, Facts, Store, TenantTx};
use tokio::task::JoinSet;

use super::node::{CHANCE, CONSUMER, PATIENT, PROGRAM, Program, RETRY_MS, append};
use crate::fixture::{self, Fixture};
use crate::shop::{self, Order, context};

/// How long anything that must happen may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(20);

/// A store, and a folder for what is recorded outside of it.
pub struct Yard {
    pub fixture: Fixture,
    folder: PathBuf,
}

impl Drop for Yard {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// A started program; gone with the test.
pub struct Process {
    child: Child,
    pub name: String,
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Process {
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(status.expect("there is a kill").success(), "{} does not run", self.name);
    }

    /// As a crash: nothing is finished, released or saved.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it is ours");
    }

    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("it is ours")
    }

    pub async fn ended(mut self) -> ExitStatus {
        until("its end", async || self.has_ended()).await
    }

    /// Told to stop once, it ends in good order.
    pub async fn stop(self) {
        self.signal("TERM");
        let name = self.name.clone();
        let status = self.ended().await;
        assert!(status.success(), "{name} ended with {status}");
    }
}

/// Looks again and again until there is something.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(started.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain for {what}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// What was committed, and what became of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    pub committed: usize,
    pub lost: usize,
    pub doubled: usize,
    pub inverted: usize,
    /// Keys whose document says something else than the events that tell of it.
    pub torn: usize,
    /// Each key that came to harm: what was committed, what was told of it, and what its document says.
    pub stories: Vec<String>,
}

impl Judgement {
    pub fn harm(&self) -> usize {
        self.lost + self.doubled + self.inverted + self.torn
    }
}

/// Work that is being given.
pub struct Producing {
    enough: Arc<AtomicBool>,
    producers: JoinSet<()>,
}

impl Producing {
    pub async fn end(self) {
        self.enough.store(true, Ordering::Relaxed);
        self.producers.join_all().await;
    }
}

impl Yard {
    /// Events are committed and handled in one database.
    pub async fn new() -> Option<Self> {
        fixture::postgres().await.map(Self::over)
    }

    /// Events are committed to a file, and a stream feeds those that handle them into a database.
    pub async fn fed() -> Option<Self> {
        fixture::fed().await.map(Self::over)
    }

    fn over(fixture: Fixture) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("karwan-processes-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        Self { fixture, folder }
    }

    pub fn psql(&self, sql: &str) -> String {
        self.fixture.database.as_ref().expect("it is Postgres").psql(sql).expect("a superuser can do that")
    }

    /// A program as most tests want it: quick to lose its lease, rather slow, and failing now and then.
    pub fn program(&self, name: &str) -> Program {
        let database = self.fixture.database.as_ref().expect("it is Postgres");
        Program {
            name: name.to_owned(),
            url: database.url_as(&format!("app_{}", database.name())),
            version: 1,
            lanes: 8,
            lease_ms: 1_500,
            slow_ms: 8,
            always_slow: false,
            failing: 5,
            attempts_max: PATIENT,
            retry_ms: RETRY_MS,
            stuck: false,
            attempts: self.folder.join("attempts"),
            vendor: None,
            broker: self.fixture.broker_url(),
        }
    }

    pub fn start(&self, program: &Program) -> Process {
        let test = "processes::a_program_that_the_other_tests_start";
        let child = Command::new(executable(program))
            .args([test, "--exact", "--nocapture", "--quiet"])
            .env(PROGRAM, serde_json::to_string(program).expect("it is plain data"))
            .env_remove("KARWAN_SKIPS")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        Process { child: child.expect("the test can start itself"), name: program.name.clone() }
    }

    /// Waits until a program holds lanes.
    pub async fn at_work(&self, process: &Process) {
        let sql = format!("SELECT count(*) FROM karwan.lane WHERE holder LIKE '{}#%'", process.name);
        until("its lanes", async || (self.psql(&sql) != "0").then_some(())).await;
    }

    /// The name of a program that holds lanes.
    pub async fn holder(&self) -> String {
        let sql =
            "SELECT split_part(holder, '#', 1) FROM karwan.lane WHERE holder LIKE '_#%' AND until > now() LIMIT 1";
        until("a holder", async || Some(self.psql(sql)).filter(|name| !name.is_empty())).await
    }

    /// Lines of every attempt that any program made.
    pub fn attempts(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.join("attempts")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn ledger(&self) -> PathBuf {
        self.folder.join("ledger")
    }

    /// Changes an order, and records that this was committed.
    pub async fn change(&self, id: &str, revision: i64) {
        change(self.fixture.producer(), &self.ledger(), id, revision).await;
    }

    /// Changes some hot orders all the time.
    pub fn produce(&self, keys: usize, pause: Duration) -> Producing {
        self.produce_in_bursts(keys, 1, pause)
    }

    /// The same, so many times each before it rests.
    pub fn produce_in_bursts(&self, keys: usize, burst: usize, pause: Duration) -> Producing {
        const PRODUCERS: usize = 4;
        let enough = Arc::new(AtomicBool::new(false));
        let mut producers = JoinSet::new();
        for producer in 0..PRODUCERS {
            let (store, ledger, enough) = (self.fixture.producer().clone(), self.ledger(), enough.clone());
            producers.spawn(async move {
                for first in (1..).step_by(burst) {
                    for key in (producer..keys).step_by(PRODUCERS) {
                        for revision in (first..).take(burst) {
                            change(&store, &ledger, &format!("o-{key}"), revision).await;
                        }
                        tokio::time::sleep(pause).await;
                        if enough.load(Ordering::Relaxed) {
                            return;
                        }
                    }
                }
            });
        }
        Producing { enough, producers }
    }

    /// Places one order after another, each with two changes; a consumer that handles all of it notes `0 1 2`.
    pub fn place(&self, pause: Duration) -> Producing {
        let enough = Arc::new(AtomicBool::new(false));
        let (store, ledger, ended) = (self.fixture.producer().clone(), self.ledger(), enough.clone());
        let mut producers = JoinSet::new();
        producers.spawn(async move {
            for number in 0.. {
                let (id, context) = (format!("p-{number}"), context(1));
                let placed = store.unit(&context, async |tx: TenantTx| {
                    tx.put(shop::order(&id));
                    tx.emit(shop::placed(&id));
                    tx.emit((1..=2).map(|revision| shop::changed(&id, revision)).collect::<Facts>());
                    Ok::<_, Error>(())
                });
                placed.await.expect("it can be placed");
                (0..=2).for_each(|revision| append(&ledger, &format!("{id} {revision}")));
                tokio::time::sleep(pause).await;
                if ended.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        Producing { enough, producers }
    }

    /// What was committed, by key, in order.
    fn committed(&self) -> BTreeMap<String, Vec<i64>> {
        let mut keys: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        for line in std::fs::read_to_string(self.ledger()).unwrap_or_default().lines() {
            let (key, revision) = line.split_once(' ').expect("a key and a revision");
            keys.entry(key.to_owned()).or_default().push(revision.parse().expect("a number"));
        }
        keys
    }

    /// Revisions that were handled, by key, in the order in which that was told.
    fn told(&self) -> BTreeMap<String, Vec<i64>> {
        let sql = "SELECT key || ' ' || (karwan.as_jsonb(envelope) -> 'payload' ->> 'count') FROM karwan.log
                   WHERE subject = (SELECT id FROM karwan.subject WHERE name = 'shop.delivery.parcel.sent.v1') ORDER BY seq";
        let mut keys: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        for line in self.psql(sql).lines() {
            let (key, count) = line.split_once(' ').expect("a key and a count");
            keys.entry(key.to_owned()).or_default().push(count.parse::<i64>().expect("a number") / CHANCE);
        }
        keys
    }

    /// Waits until everything that is in the log was read and nothing is parked, or until nothing moves any more.
    pub async fn settled(&self) {
        const STILL: Duration = Duration::from_secs(8);
        let sql = format!(
            "SELECT (SELECT count(*) FROM karwan.parked), (SELECT min(position) FROM karwan.lane WHERE consumer = '{CONSUMER}'),
                    (SELECT count(*) FROM karwan.inbox), karwan.highest()"
        );
        // Of a stream, places are its own.
        let fed = if self.fixture.broker().is_some() { Some(self.fixture.end().await) } else { None };
        let (mut last, mut since) = (String::new(), Instant::now());
        loop {
            let now = self.psql(&sql);
            let numbers: Vec<i64> = now.split('|').map(|number| number.parse().unwrap_or_default()).collect();
            if numbers[0] == 0 && numbers[1] >= fed.unwrap_or(numbers[3]) {
                return;
            }
            if now != last {
                (last, since) = (now, Instant::now());
            } else if since.elapsed() > STILL {
                return;
            }
            tokio::time::sleep(PAUSE * 5).await;
        }
    }

    /// Compares what was committed with what was handled.
    pub async fn judged(&self) -> Judgement {
        self.settled().await;
        let (told, unit) = (self.told(), self.fixture.store.tenant(&context(1)));
        let mut judgement = Judgement::default();
        for (key, revisions) in self.committed() {
            let harm = judgement.harm();
            judgement.committed += revisions.len();
            let handled = told.get(&key).cloned().unwrap_or_default();
            judgement.lost += revisions.iter().filter(|revision| !handled.contains(revision)).count();
            let mut highest = 0;
            for (place, revision) in handled.iter().enumerate() {
                if handled[..place].contains(revision) {
                    judgement.doubled += 1;
                } else if *revision < highest {
                    judgement.inverted += 1;
                }
                highest = highest.max(*revision);
            }
            let notes: Option<Order> = unit.peek(&format!("notes-{key}")).await.expect("it can be read");
            let noted = notes.map(|notes| notes.note).unwrap_or_default();
            let noted: Vec<i64> = noted.split_whitespace().map(|word| word.parse().expect("a number")).collect();
            judgement.torn += usize::from(noted != handled);
            if judgement.harm() > harm {
                judgement.stories.push(format!("{key}: committed {revisions:?}, told {handled:?}, noted {noted:?}"));
            }
        }
        judgement
    }

    pub async fn unharmed(&self) {
        let judgement = self.judged().await;
        assert!(judgement.committed > 0, "nothing was committed");
        assert_eq!(judgement.harm(), 0, "{judgement:?}");
    }
}

/// This program; for the first release one of an older commit, where `cargo xtask slow upgrade` has built it.
fn executable(program: &Program) -> PathBuf {
    let older = std::env::var_os("KARWAN_OLDER_PROGRAM").filter(|_| program.version == 1);
    older.map_or_else(|| std::env::current_exe().expect("this is a program"), PathBuf::from)
}

async fn change(store: &Store, ledger: &PathBuf, id: &str, revision: i64) {
    let context = context(1);
    let changed = store.unit(&context, async |tx: TenantTx| {
        let order: Option<Order> = tx.find(id).await?;
        tx.put(order.unwrap_or_else(|| shop::order(id)));
        tx.emit(shop::changed(id, revision));
        Ok::<_, Error>(())
    });
    changed.await.expect("it can be changed");
    append(ledger, &format!("{id} {revision}"));
}
