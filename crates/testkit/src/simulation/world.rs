//! What everybody in one simulation shares: the seed's decisions, the clock, the file, the vendor, and the trace.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use karwan_envelope::mint::SeededRandom;
use karwan_envelope::time::{Clock, Timestamp};
use karwan_store::simulation::Simulation;
use karwan_store::{Address, Store, TenantTx};
use tokio::time::Instant;

use crate::simulation::chance::{Chance, Weather};
use crate::simulation::platform;
use crate::simulation::vendor::Vendor;

/// When every simulation begins, milliseconds after 1970.
const BEGIN_MS: i64 = 1_780_000_000_000;

/// See the module.
pub struct World {
    pub chance: Chance,
    pub weather: Weather,
    pub vendor: Vendor,
    path: PathBuf,
    began: Instant,
    calm: AtomicBool,
    notes: Mutex<Notes>,
}

/// What happened.
#[derive(Default)]
struct Notes {
    trace: DefaultHasher,
    lines: Option<Vec<String>>,
    counts: BTreeMap<&'static str, u64>,
    tries: BTreeMap<String, u32>,
    wrong: Vec<String>,
}

/// A process's clock: the simulated time, and how wrong it is here.
struct SimClock {
    began: Instant,
    wrong_ms: i64,
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        let passed = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_unix_ms(BEGIN_MS + passed + self.wrong_ms)
    }
}

impl World {
    /// A world over a migrated file; `tell` keeps every line of the trace.
    pub fn new(seed: u64, path: PathBuf, tell: bool) -> Self {
        let chance = Chance::new(seed);
        let weather = Weather::of(&chance);
        let notes = Notes { lines: tell.then(Vec::new), ..Notes::default() };
        let world = Self {
            chance,
            weather,
            vendor: Vendor::default(),
            path,
            began: Instant::now(),
            calm: AtomicBool::new(false),
            notes: Mutex::new(notes),
        };
        world.note("world", &format!("{:?}", world.weather));
        world
    }

    /// From here on nothing goes wrong by itself.
    pub fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
        self.note("world", "calm");
    }

    /// Whether nothing goes wrong by itself any more.
    pub fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    /// A clock that is wrong by so much.
    pub fn clock(&self, wrong_ms: i64) -> Arc<dyn Clock> {
        Arc::new(SimClock { began: self.began, wrong_ms })
    }

    /// The right time, milliseconds after 1970.
    pub fn now_ms(&self) -> i64 {
        self.clock(0).now().unix_ms()
    }

    /// Opens the file as one more process; its calls are somebody's to decide.
    pub async fn open(&self, calls: Arc<dyn Simulation>) -> Store {
        let options = karwan_store::Options {
            clock: self.clock(0),
            random: Arc::new(SeededRandom::new(self.chance.seed())),
            simulation: Some(calls),
            ..karwan_store::Options::new(platform::catalogue(), platform::kinds())
        };
        Store::open(&Address::Sqlite(self.path.clone()), options).await.expect("a migrated file opens")
    }

    /// Waits, by the simulated clock.
    pub async fn wait(&self, least_ms: u64, most_ms: u64) {
        tokio::time::sleep(Duration::from_millis(self.chance.between(least_ms, most_ms))).await;
    }

    /// Notes down that something happened: two runs of one seed note the same.
    pub fn note(&self, who: &str, what: &str) {
        let at = self.began.elapsed().as_micros();
        let mut notes = self.notes.lock().expect("nothing panics while holding it");
        (at, who, what).hash(&mut notes.trace);
        if let Some(lines) = &mut notes.lines {
            lines.push(format!("{:>9}.{:03} {who:<8} {what}", at / 1000, at % 1000));
        }
    }

    /// Counts something that happened.
    pub fn count(&self, what: &'static str) {
        let mut notes = self.notes.lock().expect("nothing panics while holding it");
        *notes.counts.entry(what).or_default() += 1;
    }

    /// How often this has been tried, this time included.
    pub fn tried(&self, who: &str, tx: &TenantTx, order: &str, revision: i64) -> u32 {
        let what = format!("{who} {:?} {order} {revision}", tx.context().tenant);
        let mut notes = self.notes.lock().expect("nothing panics while holding it");
        let tries = notes.tries.entry(what.clone()).or_default();
        *tries += 1;
        let tries = *tries;
        drop(notes);
        self.note(&tx.context().producer.instance, &format!("{what}, try {tries}"));
        tries
    }

    /// Something was seen that must never be.
    pub fn wrong(&self, what: String) {
        self.notes.lock().expect("nothing panics while holding it").wrong.push(what);
    }

    /// What must never be and was seen.
    pub fn seen_wrong(&self) -> Vec<String> {
        self.notes.lock().expect("nothing panics while holding it").wrong.clone()
    }

    /// The trace as one number, its lines where they were kept, and the counts.
    pub fn traced(&self) -> (u64, Vec<String>, BTreeMap<&'static str, u64>) {
        let mut notes = self.notes.lock().expect("nothing panics while holding it");
        (notes.trace.finish(), notes.lines.take().unwrap_or_default(), notes.counts.clone())
    }
}
