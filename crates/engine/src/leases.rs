//! This process's share of every consumer's lanes: taken, kept alive, worked on, and given up.

use std::collections::{BTreeSet, HashMap};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use karwan_store::consumer::{Beat, Lane as LaneName, Node};
use karwan_store::log::{Filter, Seq};
use karwan_store::write_set::LaneHold;
use karwan_store::{Error, Store};
use tokio::sync::{Notify, watch};
use tokio::task::{Id, JoinSet};

use crate::consumer::Consumer;
use crate::engine::{IDLE, Lease, STORE_DOWN, Stopping, pause};
use crate::lane::{Lane, Waiting};
use crate::node::{Known, Shared, TakenLane};
use crate::share::sharers;
use crate::turns::Turn;
use crate::worker::{Late, Stop, Worker};

/// Positions are saved at most so often: exactly-once rests on the claims.
const SAVE: Duration = Duration::from_millis(500);
/// So many lanes in one go: each is a lock.
const SAVED_AT_ONCE: usize = 256;
/// A batch that takes longer gives its turn back.
const TURN: Duration = Duration::from_millis(50);
/// How soon lanes are looked for again that others are giving up.
const PASSED_ON: Duration = Duration::from_millis(50);
/// And for how many beats after others have come or gone: then whoever has fewer lanes than its share, as some always have, waits for
/// the next beat.
const PASSING_ON: u32 = 2;
/// How long the worker of a lane in which nothing waits sleeps, unless it is told of work.
const QUIET: Duration = Duration::from_millis(500);

/// How the consumers of a process are called among the readers of a service.
const READER: &str = "consumers";

/// See the module.
pub(crate) struct Leases {
    pub shared: Arc<Shared>,
    pub consumers: Vec<Arc<Consumer>>,
    pub node: String,
    pub lease: Lease,
    pub stopping: Arc<Stopping>,
    /// Who lived when this process last beat.
    pub living: watch::Receiver<Vec<Node>>,
    /// Whether this process has had its share of every consumer once.
    pub shared_out: Arc<AtomicBool>,
}

impl Leases {
    /// Keeps this process's share of every consumer's lanes, until it is stopped.
    pub async fn keep(mut self) {
        let mut workers = Workers::default();
        let mut told = false;
        let mut sharing = Sharing::default();
        while !self.stopping.is_now() {
            let Some(living) = self.next_look(&mut sharing).await else { continue };
            self.shared.share_turns(living.len());
            if let Err(error) = self.shared.learn_suspensions().await {
                tracing::warn!(error = %error, "it is not known which consumers are suspended");
            }
            match self.shared.store.revisions().await {
                Ok(revisions) => self.shared.revise(revisions),
                Err(error) => tracing::warn!(error = %error, "it is not known what operators have changed"),
            }
            // Before a lane is taken: an operator must know what it may do with a consumer that has lanes.
            if !told {
                let consumers: Vec<_> = self.consumers.iter().map(|consumer| consumer.declared()).collect();
                if let Err(error) = self.shared.store.declare(&consumers).await {
                    tracing::warn!(error = %error, "the store cannot be told of this process's consumers");
                    continue;
                }
                told = true;
            }
            let declared = match self.shared.store.declared().await {
                Ok(declared) => declared,
                Err(error) => {
                    tracing::warn!(error = %error, "it is not known what other releases handle");
                    continue;
                }
            };
            let mut all = true;
            sharing.missing = false;
            let mut fresh = Fresh::default();
            for consumer in &self.consumers {
                let declared = declared.iter().find(|it| it.consumer == consumer.name);
                let subjects = declared.map(|it| it.subjects.clone()).unwrap_or_default();
                let sharers = sharers(&consumer.run(), &subjects, &living);
                self.shared.fewer_others(&consumer.name, others(consumer, subjects));
                match self.share(consumer, sharers, &mut fresh, &mut workers).await {
                    Ok(missing) => sharing.missing |= missing > 0,
                    Err(error) => {
                        tracing::warn!(consumer = %consumer.name, code = error.code(), error = %error, "lanes cannot be taken");
                        all = false;
                    }
                }
            }
            self.admit(&mut fresh, &mut workers);
            if all {
                self.shared_out.store(true, Ordering::Relaxed);
            }
            self.tell_backlog().await;
            workers.reap(&self.shared);
        }
        workers.finish(&self.shared.store).await;
        self.tell_backlog().await;
    }

    /// Waits for the next beat, or for as long as lanes take that are on their way; who lives then, where it is to be looked.
    async fn next_look(&mut self, sharing: &mut Sharing) -> Option<Vec<Node>> {
        let soon = sharing.is_under_way();
        let beat = tokio::select! {
            biased;
            _ = self.living.changed() => true,
            () = pause(if soon { PASSED_ON } else { self.lease.beat }, &self.stopping) => false,
        };
        self.shared.store.heard("who lives").await;
        if beat {
            let living = self.living.borrow_and_update().clone();
            sharing.beat(&living);
            return Some(living);
        }
        // Asked for anew: one that has come meanwhile may handle more than this process does.
        if soon { self.shared.store.living().await.ok() } else { None }
    }

    /// Says how much waits for the lanes of this process, and for how long: for what is in hand, queued, read apart, or not read
    /// because its consumer is suspended alike. Of a service of which it has no lane, nothing waits for it.
    async fn tell_backlog(&self) {
        let (relay, metrics) = (self.shared.store.relay(), self.shared.store.metrics());
        let backlog = self.shared.backlog();
        let services: BTreeSet<&String> = self.consumers.iter().map(|consumer| &consumer.service).collect();
        for service in services {
            let (position, waiting) = backlog.get(service).copied().unwrap_or_default();
            let mut oldest = Duration::ZERO;
            if waiting > 0 {
                // Its envelope is of no interest.
                let filter = Filter { envelopes_of: Some([].into()), ..Filter::default() };
                let first = relay.rows(position, Seq::MAX, &filter, 1).await.ok().and_then(|mut rows| rows.pop());
                let age_ms = first.map_or(0, |row| (self.shared.now_ms() - row.at).max(0).unsigned_abs());
                oldest = Duration::from_millis(age_ms);
            }
            metrics.unpublished(service, READER, waiting, oldest);
        }
    }

    /// Gives up lanes beyond this process's share, and takes free ones up to it; `sharers` have a share, and this process none
    /// where nobody is said to. Answers how many it still has not.
    async fn share(
        &self,
        consumer: &Arc<Consumer>,
        sharers: usize,
        fresh: &mut Fresh,
        workers: &mut Workers,
    ) -> Result<usize, Error> {
        let held = self.shared.held(&consumer.name);
        // A stream is pulled by one process, which has all lanes or none: whoever has the first may have the others.
        let mut first = held.iter().any(|hold| hold.lane == 0);
        let wanted = match consumer.stream {
            _ if sharers == 0 => 0,
            Some(_) if first || held.is_empty() => usize::from(consumer.lanes),
            Some(_) => 0,
            None => usize::from(consumer.lanes).div_ceil(sharers),
        };
        release_all(&self.shared, held.get(wanted..).unwrap_or_default()).await;
        let mut missing = wanted.saturating_sub(held.len());
        if missing == 0 {
            return Ok(0);
        }
        // Looked at without locks: whoever has fewer than its share, as some always have, disturbs nobody by asking.
        for number in self.shared.store.free_lanes(&consumer.name, consumer.lanes, self.lease.ms).await? {
            if missing == 0 || self.stopping.is_now() {
                break;
            }
            // The first of a stream's lanes is somebody else's, and so are all others.
            if consumer.stream.is_some() && number > 0 && !first {
                break;
            }
            if held.iter().any(|hold| hold.lane == number) {
                continue;
            }
            let Some(lane) = self.take(consumer, number, fresh).await? else { continue };
            missing -= 1;
            first |= number == 0;
            fresh.lanes.push(lane);
            // Nobody says that they are alive before they are admitted.
            if fresh.since.elapsed() >= self.lease.beat {
                self.admit(fresh, workers);
            }
        }
        Ok(missing)
    }

    /// Takes a lane where it is free, and learns what waits in it.
    async fn take(&self, consumer: &Arc<Consumer>, number: u16, fresh: &Fresh) -> Result<Option<TakenLane>, Error> {
        let store = &self.shared.store;
        let name = LaneName { consumer: consumer.name.clone(), number, of: consumer.lanes };
        let life = store.relay().incarnation();
        let Some(taken) = store.take_lane(&name, &self.node, self.lease.ms).await? else { return Ok(None) };
        let hold = LaneHold { consumer: name.consumer.clone(), lane: number, epoch: taken.epoch };
        // After the epoch went up: whoever held it before parks nothing any more.
        let room = self.shared.room_for(consumer, &hold).saturating_sub(fresh.waiting(consumer));
        let (revision, waiting) = waiting(store, &name, room).await?;
        // And whoever handles one subject more from now on takes the lane away first.
        let others = others(consumer, store.subjects(&consumer.name).await?);
        let known = Known { life, revision, lane: Lane::with(waiting), others };
        Ok(Some(TakenLane { consumer: consumer.clone(), number, taken, known }))
    }

    /// Takes in what was taken, all at once: for every time the log is read again.
    fn admit(&self, fresh: &mut Fresh, workers: &mut Workers) {
        let Fresh { lanes, .. } = std::mem::take(fresh);
        if lanes.is_empty() {
            return;
        }
        let hold = |lane: &TakenLane| LaneHold {
            consumer: lane.consumer.name.clone(),
            lane: lane.number,
            epoch: lane.taken.epoch,
        };
        let holds: Vec<_> = lanes.iter().map(|lane| (lane.consumer.clone(), hold(lane))).collect();
        for ((consumer, hold), work) in holds.into_iter().zip(self.shared.admit(lanes)) {
            let worker = Worker { shared: self.shared.clone(), consumer, hold, late: Late::default() };
            workers.start(worker, work, self.stopping.clone());
        }
    }
}

/// Whether lanes are on their way from one process to another.
#[derive(Default)]
struct Sharing {
    living: BTreeSet<String>,
    /// Beats for which they may be.
    beats_left: u32,
    /// This process has fewer than its share.
    missing: bool,
}

impl Sharing {
    fn is_under_way(&self) -> bool {
        self.missing && self.beats_left > 0
    }

    /// Who lived at a beat.
    fn beat(&mut self, living: &[Node]) {
        self.beats_left = self.beats_left.saturating_sub(1);
        let living = living.iter().map(|node| node.name.clone()).collect();
        if self.living != living {
            self.living = living;
            self.beats_left = PASSING_ON + 1;
        }
    }
}

/// Lanes that were taken and are not worked on yet.
struct Fresh {
    lanes: Vec<TakenLane>,
    since: tokio::time::Instant,
}

impl Default for Fresh {
    fn default() -> Self {
        Self { lanes: Vec::new(), since: tokio::time::Instant::now() }
    }
}

impl Fresh {
    /// How many keys of a consumer wait in them.
    fn waiting(&self, consumer: &Consumer) -> usize {
        let lanes = self.lanes.iter().filter(|lane| lane.consumer.name == consumer.name);
        lanes.map(|lane| lane.known.lane.waiting()).sum()
    }
}

/// Those of a consumer's subjects that this program does not handle.
fn others(consumer: &Consumer, mut subjects: Vec<String>) -> Vec<String> {
    subjects.retain(|subject| consumer.handler(subject).is_none());
    subjects
}

/// The workers of this process, each with the lane that it works on.
#[derive(Default)]
struct Workers {
    running: JoinSet<()>,
    lanes: HashMap<Id, LaneHold>,
}

impl Workers {
    fn start(&mut self, worker: Worker, work: Arc<Notify>, stopping: Arc<Stopping>) {
        let hold = worker.hold.clone();
        let id = self.running.spawn(work_on(worker, work, stopping)).id();
        self.lanes.insert(id, hold);
    }

    /// Takes note of those that have ended. A lane whose worker broke off is let go: nobody would work on it.
    fn reap(&mut self, shared: &Shared) {
        while let Some(ended) = self.running.try_join_next_with_id() {
            let (id, broken) = match ended {
                Ok((id, ())) => (id, None),
                Err(error) => (error.id(), Some(error)),
            };
            let Some((hold, error)) = self.lanes.remove(&id).zip(broken) else { continue };
            tracing::error!(consumer = %hold.consumer, lane = hold.lane, error = %error, "the worker of a lane broke off; its lease runs out");
            shared.dismiss(&hold);
        }
    }

    async fn finish(mut self, store: &Store) {
        while self.running.join_next().await.is_some() {
            store.heard("a worker has stopped").await;
        }
    }
}

/// Says that this process lives, until it is stopped. A task of its own: taking a lane may have to wait for somebody's write.
pub(crate) async fn beat(
    shared: Arc<Shared>,
    node: Node,
    lease: Lease,
    living: watch::Sender<Vec<Node>>,
    stopping: Arc<Stopping>,
) {
    while !stopping.is_now() {
        match shared.store.beat(&node, &shared.holds(), lease.ms).await {
            Ok(Beat { living: now, lost }) => {
                // An idle lane would never learn it from a write, and would count for this process's share for ever.
                lost.iter().for_each(|hold| shared.dismiss(hold));
                drop(living.send_replace(now));
            }
            Err(error) => tracing::warn!(error = %error, "the store cannot be told that this process lives"),
        }
        pause(lease.beat, &stopping).await;
    }
}

/// Saves how far the lanes of this process are, many of them in one transaction, until it is stopped: whoever gives a lane up saves
/// its position with it.
pub(crate) async fn save(shared: Arc<Shared>, stopping: Arc<Stopping>) {
    while !stopping.is_now() {
        pause(SAVE, &stopping).await;
        let moved = |hold: LaneHold| shared.moved(&hold).map(|position| (hold, position));
        let moved: Vec<(LaneHold, Seq)> = shared.holds().into_iter().filter_map(moved).collect();
        for some in moved.chunks(SAVED_AT_ONCE) {
            match shared.store.save_positions(some).await {
                Ok(lost) => {
                    some.iter().for_each(|(hold, position)| shared.saved(hold, *position));
                    lost.iter().for_each(|hold| shared.dismiss(hold));
                }
                Err(error) => tracing::warn!(error = %error, "positions were not saved"),
            }
        }
    }
}

/// Gives lanes up, all at once.
async fn release_all(shared: &Shared, holds: &[LaneHold]) {
    let positions: Vec<_> = holds.iter().map(|hold| shared.moved(hold)).collect();
    holds.iter().for_each(|hold| shared.dismiss(hold));
    for (hold, position) in holds.iter().zip(positions) {
        give_up(shared, hold, position).await;
    }
}

/// Gives a lane up, with the position that it has reached.
pub(crate) async fn release(shared: &Shared, hold: &LaneHold) {
    let position = shared.moved(hold);
    shared.dismiss(hold);
    give_up(shared, hold, position).await;
}

async fn give_up(shared: &Shared, hold: &LaneHold, position: Option<Seq>) {
    let saved = shared.store.save_position(hold, position.unwrap_or_default(), true).await;
    if let Err(error) = saved {
        tracing::warn!(consumer = %hold.consumer, lane = hold.lane, error = %error, "a lane was not released; its lease runs out");
    }
}

async fn work_on(worker: Worker, work: Arc<Notify>, stopping: Arc<Stopping>) {
    let (shared, hold) = (worker.shared.clone(), worker.hold.clone());
    while !stopping.is_now() && shared.is_held(&hold) {
        // By the worker itself, between two steps: what it parks meanwhile would be forgotten.
        if shared.is_revised(&hold) {
            know_again(&worker, &stopping).await;
        }
        match step(&worker, &work, &stopping).await {
            Ok(true) => {}
            Ok(false) => {
                let wait = if shared.lane(&hold, |lane| lane.waiting() > 0) { IDLE } else { QUIET };
                tokio::select! {
                    biased;
                    () = work.notified() => {}
                    () = pause(wait, &stopping) => {}
                }
                shared.store.heard("a worker is woken").await;
            }
            Err(Stop::LaneLost) => return shared.dismiss(&hold),
            Err(Stop::StoreDown(error)) => {
                tracing::warn!(consumer = %hold.consumer, error = %error, "the store is away; its events are tried again");
                shared.give_back(&hold);
                pause(STORE_DOWN, &stopping).await;
                know_again(&worker, &stopping).await;
            }
        }
    }
    if stopping.is_now() {
        release(&shared, &hold).await;
    }
}

/// What was parked when its answer was lost is not known here: handled as if it were not parked, it would be taken for
/// handled, and its key would go on without it.
async fn know_again(worker: &Worker, stopping: &Stopping) {
    let Worker { shared, consumer, hold, .. } = worker;
    let name = LaneName { consumer: hold.consumer.clone(), number: hold.lane, of: consumer.lanes };
    while !stopping.is_now() {
        match waiting(&shared.store, &name, shared.room_for(consumer, hold)).await {
            Ok((revision, waiting)) => return shared.know(hold, revision, waiting),
            Err(error) => {
                tracing::warn!(consumer = %hold.consumer, error = %error, "what is parked cannot be asked for");
                pause(STORE_DOWN, stopping).await;
            }
        }
    }
}

/// What waits in a lane, and the revision by which that is known; of keys past a bound, one tells that there are more.
pub(crate) async fn waiting(store: &Store, lane: &LaneName, most: usize) -> Result<(i64, Waiting), Error> {
    // First: what is changed after it is asked for again.
    let revision = store.revisions().await?.into_iter().find(|(consumer, _)| *consumer == lane.consumer);
    let parked = store.parked_heads(lane, most + 1).await?;
    let paused = store.paused_keys(lane).await?;
    let beyond = parked.len() > most;
    Ok((revision.map_or(0, |(_, number)| number), Waiting { parked, paused, beyond }))
}

/// One batch, or the parked events that are due; whether there was anything to do.
async fn step(worker: &Worker, work: &Notify, stopping: &Stopping) -> Result<bool, Stop> {
    if worker.shared.suspended(&worker.consumer.name).is_some() {
        return Ok(false);
    }
    let retried = worker.retry_due().await?;
    // Keys may wait that are not known here: nothing new goes on. What is due is tried, then others may become known; where
    // that leads nowhere, somebody has to help.
    if worker.is_past_bound() {
        if retried {
            return Ok(true);
        }
        if worker.has_made_room() {
            know_again(worker, stopping).await;
            return Ok(true);
        }
        if !worker.shared.may_thin_out(&worker.consumer) {
            worker.suspend_past_bound().await?;
        }
        return Ok(false);
    }
    // Before rows are taken: what arrives while it waits still comes along.
    let background = worker.shared.background_turn(&worker.consumer).await;
    // Who has the background's only turn holds up nobody else with it.
    let batch = worker.shared.batch_turn(&worker.hold, work, background.is_some()).await;
    let rows = worker.shared.lane(&worker.hold, |lane| lane.take(worker.consumer.batch));
    if rows.is_empty() {
        return Ok(retried);
    }
    let (ended, mut handled) = (Notify::new(), pin!(worker.handle(&rows)));
    let handled = async {
        let done = in_turn(handled.as_mut(), (background, batch)).await;
        ended.notify_one();
        done
    };
    let (done, ()) = tokio::join!(handled, worker.handle_beside(work, &ended));
    done.map(|()| true)
}

/// A batch in its turns, which it gives back where it takes long: it waits for its handlers then, and not for the database.
async fn in_turn<T>(mut batch: impl Future<Output = T> + Unpin, turns: (Option<Turn>, Option<Turn>)) -> T {
    tokio::select! {
        biased;
        done = &mut batch => return done,
        () = tokio::time::sleep(TURN), if turns.0.is_some() || turns.1.is_some() => drop(turns),
    }
    batch.await
}
