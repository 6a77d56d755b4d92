//! `Engine`: the consumers of one process, at work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use karwan_envelope::cause::{Producer, Residency};
use karwan_envelope::mint::{OsRandom, Random};
use karwan_envelope::time::{Clock, SystemClock};
use karwan_store::{Error, Position, Store};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::consumer::Consumer;
use crate::leases::{Leases, release};
use crate::node::Shared;
use crate::task::{self, Failed, Performer, Timer};

/// How long a lane is held without a beat, by the store's clock.
pub const LEASE_MS: i64 = 5_000;
/// How often a process says that it lives.
pub(crate) const BEAT: Duration = Duration::from_secs(1);
/// How long a reader with nothing to read waits before it looks again by itself.
const POLL: Duration = Duration::from_millis(5);
/// How long a worker with nothing to do waits before it looks for parked events that have become due.
pub(crate) const IDLE: Duration = Duration::from_millis(50);
/// How long everything waits when the store is away.
pub(crate) const STORE_DOWN: Duration = Duration::from_millis(500);
/// How long a stop waits for what is under way.
pub const STOP_MAX: Duration = Duration::from_secs(20);

/// What an engine is started with.
pub struct Options {
    /// This process's name among those that share the work; no two are alike.
    pub node: String,
    /// The program that handlers write as; its service is each consumer's own.
    pub commit: String,
    /// Where data lives that says nothing of it.
    pub residency: Residency,
    /// Where the time comes from: when parked events are due.
    pub clock: Arc<dyn Clock>,
    /// Where chance comes from.
    pub random: Arc<dyn Random>,
}

impl Options {
    /// The machine's clock and chance.
    pub fn new(node: impl Into<String>, residency: Residency) -> Self {
        Self {
            node: node.into(),
            commit: "unknown".to_owned(),
            residency,
            clock: Arc::new(SystemClock),
            random: Arc::new(OsRandom),
        }
    }
}

/// What an engine does.
#[derive(Debug, Default)]
pub struct Work {
    consumers: Vec<Consumer>,
    timers: Vec<Timer>,
    performers: Vec<Performer>,
}

impl Work {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// And a consumer.
    #[must_use]
    pub fn consumer(mut self, consumer: Consumer) -> Self {
        self.consumers.push(consumer);
        self
    }

    /// And what is done when deadlines of a kind are due.
    #[must_use]
    pub fn timer(mut self, timer: Timer) -> Self {
        self.timers.push(timer);
        self
    }

    /// And who makes the calls of a kind.
    #[must_use]
    pub fn performer(mut self, performer: Performer) -> Self {
        self.performers.push(performer);
        self
    }
}

impl From<Vec<Consumer>> for Work {
    fn from(consumers: Vec<Consumer>) -> Self {
        Self { consumers, ..Self::default() }
    }
}

/// Consumers at work. Dropped, it stops at once, as a crash would; [`Self::stop`] finishes what is under way.
pub struct Engine {
    shared: Arc<Shared>,
    consumers: Vec<Arc<Consumer>>,
    timers: Vec<(Arc<Timer>, Arc<Failed>)>,
    performers: Vec<Arc<Performer>>,
    stopping: Arc<Stopping>,
    tasks: JoinSet<()>,
}

#[derive(Default)]
pub(crate) struct Stopping {
    now: AtomicBool,
    told: Notify,
}

impl Stopping {
    pub fn is_now(&self) -> bool {
        self.now.load(Ordering::Relaxed)
    }
}

impl Engine {
    /// Starts work over a store. Processes that start the same consumers share their lanes.
    pub fn start(store: &Store, work: impl Into<Work>, options: Options) -> Self {
        let Work { consumers, timers, performers } = work.into();
        let Options { node, commit, residency, clock, random } = options;
        let producer = Producer { service: String::new(), instance: node.clone(), commit, region: None };
        let shared = Arc::new(Shared::new(store.clone(), (clock, random), producer, residency));
        let consumers: Vec<Arc<Consumer>> = consumers.into_iter().map(Arc::new).collect();
        let stopping = Arc::new(Stopping::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(read(shared.clone(), stopping.clone()));
        let leases = Leases {
            shared: shared.clone(),
            consumers: consumers.clone(),
            node: node.clone(),
            stopping: stopping.clone(),
        };
        tasks.spawn(leases.keep());
        let timers: Vec<_> = timers.into_iter().map(|timer| (Arc::new(timer), Arc::default())).collect();
        for (timer, failed) in timers.clone() {
            tasks.spawn(fire(shared.clone(), timer, failed, stopping.clone()));
        }
        let performers: Vec<_> = performers.into_iter().map(Arc::new).collect();
        for performer in performers.clone() {
            tasks.spawn(perform(shared.clone(), performer, node.clone(), stopping.clone()));
        }
        Self { shared, consumers, timers, performers, stopping, tasks }
    }

    /// Waits until a consumer has finished everything up to a position, so that what it wrote can be read. The consumer's
    /// lanes may be held by any process.
    pub async fn wait_for(&self, consumer: &str, position: Position) -> Result<(), Error> {
        loop {
            if self.position(consumer).await?.is_some_and(|reached| reached >= position.seq) {
                return Ok(());
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn position(&self, consumer: &str) -> Result<Option<i64>, Error> {
        let lanes = self.consumers.iter().find(|it| it.name == consumer).map(|it| usize::from(it.lanes));
        if let Some((position, held)) = self.shared.position(consumer)
            && Some(held) == lanes
        {
            return Ok(Some(position));
        }
        let positions = self.shared.store.relay().positions(consumer).await?;
        let all = lanes.is_none_or(|lanes| lanes == positions.len());
        Ok(positions.into_iter().min().filter(|_| all))
    }

    /// Waits until every consumer of this process has finished all that is in the log, what follows from it, and whatever is
    /// due by the clock: parked events, deadlines, calls to the outside. What waits for a later instant, or for a person, is not waited for.
    pub async fn settle(&self) -> Result<(), Error> {
        let mut quiet = None;
        loop {
            let end = self.shared.store.relay().end().await?;
            for consumer in &self.consumers {
                self.wait_for(&consumer.name, end).await?;
            }
            // Twice the same end with nothing under way: nobody wrote in between.
            if quiet == Some(end)
                && self.shared.is_idle(self.shared.now_ms())
                && task::is_quiet(&self.shared, &self.timers, &self.performers).await?
            {
                return Ok(());
            }
            quiet = Some(end);
            tokio::time::sleep(POLL).await;
        }
    }

    /// Stops: nothing new is taken, what is under way is finished, lanes are released for others. What takes longer than
    /// [`STOP_MAX`] is cut off, and done again by whoever takes its lane.
    pub async fn stop(mut self) {
        self.stopping.now.store(true, Ordering::Relaxed);
        self.stopping.told.notify_waiters();
        self.shared.wake.notify_waiters();
        let finish = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP_MAX, finish).await.is_err() {
            tracing::warn!("what was under way took longer than {STOP_MAX:?} and was cut off");
        }
    }
}

async fn read(shared: Arc<Shared>, stopping: Arc<Stopping>) {
    while !stopping.is_now() {
        match shared.read().await {
            Ok(true) => {}
            Ok(false) => drop(tokio::time::timeout(POLL, shared.wake.notified()).await),
            Err(error) => {
                tracing::warn!(error = %error, "the log cannot be read");
                pause(STORE_DOWN, &stopping).await;
            }
        }
    }
}

async fn fire(shared: Arc<Shared>, timer: Arc<Timer>, failed: Arc<Failed>, stopping: Arc<Stopping>) {
    while !stopping.is_now() {
        match task::fire_due(&shared, &timer, &failed).await {
            Ok(true) => {}
            Ok(false) => pause(IDLE, &stopping).await,
            Err(error) => {
                tracing::warn!(error = %error, "deadlines cannot be looked for");
                pause(STORE_DOWN, &stopping).await;
            }
        }
    }
}

async fn perform(shared: Arc<Shared>, performer: Arc<Performer>, node: String, stopping: Arc<Stopping>) {
    let mut held = None;
    while !stopping.is_now() {
        let Some(hold) = &held else {
            match task::hold(&shared, &performer, &node).await {
                Ok(hold) => held = hold,
                Err(error) => tracing::warn!(kind = %performer.kind, error = %error, "calls cannot be looked for"),
            }
            if held.is_none() {
                pause(BEAT, &stopping).await;
            }
            continue;
        };
        match task::perform_due(&shared, &performer, hold).await {
            Ok(true) => {}
            Ok(false) => pause(IDLE, &stopping).await,
            Err(Error::LaneLost { .. }) => held = None,
            Err(error) => {
                tracing::warn!(kind = %performer.kind, error = %error, "a call cannot be made or recorded");
                pause(STORE_DOWN, &stopping).await;
            }
        }
    }
    if let Some(hold) = held {
        release(&shared, &hold).await;
    }
}

pub(crate) async fn pause(time: Duration, stopping: &Stopping) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = stopping.told.notified() => {}
    }
}
