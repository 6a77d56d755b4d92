//! `Engine`: the consumers of one process, at work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use karwan_broker::{Broker, Topology};
use karwan_envelope::cause::{Producer, Residency};
use karwan_envelope::mint::{OsRandom, Random};
use karwan_envelope::time::{Clock, SystemClock};
use karwan_store::consumer::Node;
use karwan_store::{Error, Position, Store};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::consumer::Consumer;
use crate::feed::Feed;
use crate::leases::{Leases, beat, save};
use crate::node::{Read, ReadAhead, Shared};
use crate::relay::{self, Letters, Relay, Troubles};
use crate::task::{self, Performer, Timer};

/// How long a lane is held without a beat, by the store's clock, where nothing else is said.
pub const LEASE_MS: i64 = 5_000;
/// A process says so many times in a lease that it lives.
const BEATS: u32 = 5;
/// How long a reader that has just read something waits before it looks again by itself.
pub(crate) const POLL: Duration = Duration::from_millis(5);
/// The longest that it waits, where nothing comes.
const POLL_IDLE: Duration = Duration::from_millis(25);
/// The transactions beside which something was committed mostly end within so long: until then it cannot be read.
const UNDECIDED: Duration = Duration::from_millis(2);
/// The least time between two looks with nothing more to read.
const GATHER: Duration = Duration::from_millis(1);
/// How long a worker with nothing to do waits before it looks for parked events that have become due.
pub(crate) const IDLE: Duration = Duration::from_millis(50);
/// How long everything waits when the store is away.
pub(crate) const STORE_DOWN: Duration = Duration::from_millis(500);
/// How long a stop waits for what is under way.
pub const STOP_MAX: Duration = Duration::from_secs(20);
/// How long it then tries to tell the store that it is gone.
const LEAVE_MAX: Duration = Duration::from_secs(1);

/// How long a lane is held, and how often a process says that it lives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lease {
    pub ms: i64,
    pub beat: Duration,
}

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
    /// How long a lane is held without a beat: a process that stands still for longer loses its lanes, and what a crashed one
    /// held is taken over after that time. A process beats five times as often.
    pub lease: Duration,
    /// How far the log is read ahead of the handlers.
    pub ahead: ReadAhead,
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
            lease: Duration::from_millis(LEASE_MS.unsigned_abs()),
            ahead: ReadAhead::default(),
        }
    }
}

/// What an engine does.
#[derive(Debug, Default)]
pub struct Work {
    consumers: Vec<Consumer>,
    timers: Vec<Timer>,
    performers: Vec<Performer>,
    broker: Option<Broker>,
    relay: Option<Relay>,
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

    /// And where consumers that are fed from streams have these.
    #[must_use]
    pub fn broker(mut self, broker: Broker) -> Self {
        self.broker = Some(broker);
        self
    }

    /// And what is published from the log to a broker.
    #[must_use]
    pub fn relay(mut self, relay: Relay) -> Self {
        self.relay = Some(relay);
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
    feeds: Vec<Feed>,
    timers: Vec<Arc<Timer>>,
    performers: Vec<Arc<Performer>>,
    stopping: Arc<Stopping>,
    tasks: JoinSet<()>,
    /// This process as one that stops: it works on nothing.
    node: Node,
    lease: Lease,
    shared_out: Arc<AtomicBool>,
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

    /// Ends when somebody says so from now on; that it was said before is told by [`Self::is_now`].
    pub async fn comes(&self) {
        // no crash point: what follows is a stop
        self.told.notified().await;
    }
}

impl Engine {
    /// Starts work over a store. Processes that start the same consumers share their lanes.
    pub fn start(store: &Store, work: impl Into<Work>, options: Options) -> Self {
        let Work { consumers, timers, performers, broker, relay } = work.into();
        let Options { node, commit, residency, clock, random, lease, ahead } = options;
        let producer = Producer { service: String::new(), instance: node.clone(), commit, region: None };
        let name = format!("{node}#{:08x}", random.bits() as u32);
        let shared = Arc::new(Shared::new(store.clone(), (clock, random), (producer, residency), ahead));
        let of_platform = |consumer: Consumer| Arc::new(consumer.of_platform(store.catalogue().platform()));
        let consumers: Vec<Arc<Consumer>> = named_once(consumers).into_iter().map(of_platform).collect();
        warn_of_unknown(store, &consumers);
        let relays = relay.iter().flat_map(Relay::runs);
        let runs = consumers.iter().map(|consumer| consumer.run()).chain(relays).collect();
        // A name of its own for every start: a process that comes back must not keep alive what it held before a crash.
        let node = Node { name, runs };
        let lease = Lease { ms: i64::try_from(lease.as_millis()).unwrap_or(i64::MAX).max(1), beat: lease / BEATS };
        let stopping = Arc::new(Stopping::default());
        let (mut tasks, shared_out) = (JoinSet::new(), Arc::new(AtomicBool::new(false)));
        tasks.spawn(read(shared.clone(), stopping.clone()));
        tasks.spawn(read_behind(shared.clone(), stopping.clone()));
        let (beats, living) = watch::channel(Vec::new());
        tasks.spawn(beat(shared.clone(), node.clone(), lease, beats, stopping.clone()));
        tasks.spawn(save(shared.clone(), stopping.clone()));
        let leases = Leases {
            shared: shared.clone(),
            consumers: consumers.clone(),
            node: node.name.clone(),
            lease,
            living: living.clone(),
            stopping: stopping.clone(),
            shared_out: shared_out.clone(),
        };
        tasks.spawn(leases.keep());
        let feeds = feeds(&consumers, broker, &shared);
        for feed in feeds.clone() {
            tasks.spawn(feed.run(stopping.clone()));
        }
        match (relay, feeds.first()) {
            (Some(relay), _) => {
                let sharing = relay::Sharing { node: node.name.clone(), lease, living };
                relay::start(relay, &shared, &sharing, &stopping, &mut tasks);
            }
            // Beside no relay: what these consumers give up goes to its topic all the same.
            (None, Some(feed)) => {
                let topology = Topology::of(store.catalogue());
                let letters = Letters { shared: shared.clone(), broker: feed.broker.clone(), topology };
                tasks.spawn(letters.run((node.name.clone(), lease), stopping.clone()));
            }
            (None, None) => {}
        }
        let timers: Vec<_> = timers.into_iter().map(Arc::new).collect();
        for timer in timers.clone() {
            tasks.spawn(task::timer::run(shared.clone(), timer, stopping.clone()));
        }
        let performers: Vec<_> = performers.into_iter().map(Arc::new).collect();
        for performer in performers.clone() {
            tasks.spawn(task::calls::run(shared.clone(), performer, (node.name.clone(), lease), stopping.clone()));
        }
        let node = Node::named(node.name);
        Self { shared, consumers, feeds, timers, performers, stopping, tasks, node, lease, shared_out }
    }

    /// Waits until a consumer has finished, parked or given up everything up to a position, so that what it wrote can be read. The consumer's
    /// lanes may be held by any process. One that is suspended is an error: it goes on when somebody resumes it. The position of
    /// a consumer that is fed from a stream is a number of the stream.
    pub async fn wait_for(&self, consumer: &str, position: Position) -> Result<(), Error> {
        self.same_life(position).await?;
        loop {
            if self.position(consumer).await?.is_some_and(|reached| reached >= position.seq) {
                return Ok(());
            }
            if let Some(reason) = self.shared.suspended(consumer) {
                return Err(Error::ConsumerSuspended { consumer: consumer.to_owned(), reason });
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Waits until this process knows that a consumer is not suspended any more.
    pub async fn resumed(&self, consumer: &str) -> Result<(), Error> {
        self.shared.learn_suspensions().await?;
        while self.shared.suspended(consumer).is_some() {
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// Waits until the stream that this process feeds has everything up to a position, or has it parked.
    pub async fn published(&self, stream: &str, position: Position) -> Result<(), Error> {
        self.same_life(position).await?;
        while self.shared.published(stream).is_none_or(|seq| seq < position.seq) {
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// The streams of this process's relay that take nothing, and why; whoever has it may ask at any time, and of an engine that
    /// stopped nothing changes any more.
    pub fn relay_troubles(&self) -> Troubles {
        self.shared.troubles.clone()
    }

    /// Refuses a position of another life of the store: its numbers say nothing of this one.
    async fn same_life(&self, position: Position) -> Result<(), Error> {
        let now = self.shared.store.relay().end().await?;
        if position.incarnation == now.incarnation { Ok(()) } else { Err(Error::Reset { asked: position, now }) }
    }

    pub(crate) fn has_lanes(&self) -> bool {
        self.shared_out.load(Ordering::Relaxed)
    }

    async fn position(&self, consumer: &str) -> Result<Option<i64>, Error> {
        let lanes = self.consumers.iter().find(|it| it.name == consumer).map(|it| usize::from(it.lanes));
        if let Some((position, held)) = self.shared.position(consumer)
            && Some(held) == lanes
        {
            return Ok(Some(position));
        }
        let positions = self.shared.store.relay().positions(consumer).await?;
        if lanes.is_none() && positions.is_empty() {
            let known = self.consumers.iter().map(|consumer| consumer.name.clone()).collect();
            return Err(Error::ConsumerUnknown { consumer: consumer.to_owned(), known });
        }
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
                let until = match self.feeds.iter().find(|feed| feed.consumer.name == consumer.name) {
                    Some(feed) => Position { seq: feed.end().await, ..end },
                    None => end,
                };
                match self.wait_for(&consumer.name, until).await {
                    // It waits for a person.
                    Ok(()) | Err(Error::ConsumerSuspended { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            // Twice the same end with nothing under way: nobody wrote in between.
            if quiet == Some(end)
                // Before it has lanes, nobody may have looked what is parked and due.
                && self.shared_out.load(Ordering::Relaxed)
                && self.shared.is_idle(self.shared.now_ms())
                && task::is_quiet(&self.shared, &self.timers, &self.performers).await?
                // What fired or was answered while it was asked has written by now.
                && self.shared.store.relay().end().await? == end
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
        let finish = async {
            while self.tasks.join_next().await.is_some() {
                self.shared.store.heard("a task has stopped").await;
            }
        };
        let finish = async {
            tokio::select! {
                biased;
                () = finish => {}
                () = beat_on(&self.shared, &self.node, self.lease) => {}
            }
        };
        if tokio::time::timeout(STOP_MAX, finish).await.is_err() {
            tracing::warn!("what was under way took longer than {STOP_MAX:?} and was cut off");
        }
        // Others share its lanes out at once. A store that is away is told by the lease that runs out.
        if let Ok(Err(error)) = tokio::time::timeout(LEAVE_MAX, self.shared.store.leave(&self.node.name)).await {
            tracing::warn!(error = %error, "the store cannot be told that this process is gone; its leases run out");
        }
    }
}

/// Keeps leases alive while what is under way is finished, and says that nothing more is taken.
async fn beat_on(shared: &Shared, node: &Node, lease: Lease) {
    loop {
        if let Err(error) = shared.store.beat(node, &shared.holds(), lease.ms).await {
            tracing::warn!(error = %error, "the store cannot be told that this process lives");
        }
        tokio::time::sleep(lease.beat).await;
    }
}

/// Those that feed consumers from streams.
fn feeds(consumers: &[Arc<Consumer>], broker: Option<Broker>, shared: &Arc<Shared>) -> Vec<Feed> {
    let fed = consumers.iter().filter_map(|consumer| Some((consumer, consumer.stream.clone()?)));
    let feed = |(consumer, stream): (&Arc<Consumer>, String)| {
        let Some(broker) = &broker else {
            tracing::error!(consumer = %consumer.name, stream, "a consumer is fed from a stream, and its work names no broker");
            return None;
        };
        Some(Feed { shared: shared.clone(), broker: broker.clone(), consumer: consumer.clone(), stream })
    };
    fed.filter_map(feed).collect()
}

/// A name is one consumer, with its lanes and claims: the second one under it is left out, and says so.
fn named_once(consumers: Vec<Consumer>) -> Vec<Consumer> {
    let mut once: Vec<Consumer> = Vec::with_capacity(consumers.len());
    for consumer in consumers {
        if once.iter().any(|other| other.name == consumer.name) {
            tracing::error!(consumer = %consumer.name, "two consumers have one name: the second is not run; give it another");
        } else {
            once.push(consumer);
        }
    }
    once
}

/// Says which subjects no catalogue knows: their events never come.
fn warn_of_unknown(store: &Store, consumers: &[Arc<Consumer>]) {
    let directory = store.catalogue().directory();
    for consumer in consumers {
        for subject in consumer.subjects().filter(|subject| directory.resolve(subject).is_none()) {
            tracing::warn!(consumer = %consumer.name, subject = %subject, "a subject is not in the catalogue: no event of it will come");
        }
    }
}

async fn read(shared: Arc<Shared>, stopping: Arc<Stopping>) {
    let mut listening = shared.store.relay().listen();
    let mut poll = POLL;
    while !stopping.is_now() {
        match shared.read().await {
            Ok(Read::More) => poll = POLL,
            Ok(read) => {
                let least = if shared.store.relay().is_undecided() { UNDECIDED } else { POLL };
                poll = if read == Read::Nothing { (poll * 2).clamp(least, POLL_IDLE) } else { least };
                // What wakes comes in bursts; one look is for all of them.
                tokio::time::sleep(GATHER).await;
                // In this order: a simulation decides over everything that chance could.
                tokio::select! {
                    biased;
                    () = shared.wake.notified() => poll = Duration::ZERO,
                    () = listening.rung(), if shared.is_hungry() => poll = Duration::ZERO,
                    () = tokio::time::sleep(poll) => {}
                }
                shared.store.heard("the reader is woken").await;
            }
            Err(error) => {
                tracing::warn!(error = %error, "the log cannot be read");
                pause(STORE_DOWN, &stopping).await;
            }
        }
    }
}

/// Beside the other reading, which must not wait for a tenant that floods.
async fn read_behind(shared: Arc<Shared>, stopping: Arc<Stopping>) {
    while !stopping.is_now() {
        match shared.read_behind().await {
            Ok(Read::More) => {}
            Ok(_) => {
                tokio::select! {
                    biased;
                    () = shared.room.notified() => {}
                    () = tokio::time::sleep(POLL_IDLE) => {}
                }
                shared.store.heard("there may be room for a tenant that is read apart").await;
            }
            Err(error) => {
                tracing::warn!(error = %error, "the log cannot be read");
                pause(STORE_DOWN, &stopping).await;
            }
        }
    }
}

pub(crate) async fn pause(time: Duration, stopping: &Stopping) {
    tokio::select! {
        biased;
        () = tokio::time::sleep(time) => {}
        // no crash point: what follows is a stop
        () = stopping.told.notified() => {}
    }
}
