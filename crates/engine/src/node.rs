//! What the tasks of one process share: the lanes that it holds, and how far the log was read for them.
//!
//! What is held and queued is decided in `state`, which is pure; here are the lock around it, the store, and the reading.

mod ahead;
mod fed;
mod reading;
mod state;
mod suspended;

use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};

use karwan_envelope::cause::{Producer, Residency};
use karwan_envelope::mint::Random;
use karwan_envelope::time::Clock;
use karwan_store::consumer::LaneTaken;
use karwan_store::log::{LogRow, Seq};
use karwan_store::write_set::{LaneHold, TenantBits};
use karwan_store::{Error, Store};
use tokio::sync::Notify;

use crate::consumer::Consumer;
use crate::health::Health;
use crate::lane::{Lane, Waiting};
use crate::relay::Troubles;
use crate::row::Row;
use crate::turns::{Rank, Turn, Turns};
pub use ahead::ReadAhead;
use fed::Fed;
pub(crate) use reading::Read;
use state::{Admitted, Held, State};
use suspended::Suspended;

/// Large batches that are under way at once, in their handlers or in their transactions.
const BATCHES_MAX: usize = 5;
/// Batches of consumers in the background that are under way at once, while others have work.
const BACKGROUND_MAX: usize = 1;
/// A batch of fewer needs no turn: a database that commits in groups wants many of them at once.
const LARGE: usize = 16;
/// What is known of a lane must be asked for again, whatever operators did.
const UNKNOWN: i64 = -1;

/// See the module.
pub(crate) struct Shared {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub producer: Producer,
    pub residency: Residency,
    state: Mutex<State>,
    about: Mutex<About>,
    /// Streams that take nothing of what this process has for them.
    pub troubles: Troubles,
    turns: Arc<Turns>,
    /// Of consumers in the background.
    background: Arc<Turns>,
    /// Something may be read.
    pub wake: Notify,
    /// A tenant that is read apart may have room.
    pub room: Notify,
}

/// What is known of consumers besides their lanes.
#[derive(Default)]
struct About {
    health: HashMap<String, Health>,
    suspended: Suspended,
    /// How often operators have changed something of a consumer.
    revisions: HashMap<String, i64>,
    /// The lanes under which calls to the outside are made, and streams are fed.
    calls: Vec<LaneHold>,
    /// How far streams are fed from the log.
    published: BTreeMap<String, Seq>,
}

/// A lane that was taken.
pub(crate) struct TakenLane {
    pub consumer: Arc<Consumer>,
    pub number: u16,
    pub taken: LaneTaken,
    pub known: Known,
}

/// What is known of a lane that was taken.
pub(crate) struct Known {
    /// The life of the store before it was taken: in another one it is nobody's.
    pub life: i64,
    /// By which it is known what waits in it.
    pub revision: i64,
    pub lane: Lane,
    /// Subjects that other releases of its consumer handle, and this program does not.
    pub others: Vec<String>,
}

impl Shared {
    pub fn new(
        store: Store,
        (clock, random): (Arc<dyn Clock>, Arc<dyn Random>),
        (producer, residency): (Producer, Residency),
        ahead: ReadAhead,
    ) -> Self {
        let (state, about) = (Mutex::new(State::new(ahead)), Mutex::default());
        let (turns, background) = (Turns::new(BATCHES_MAX), Turns::new(BACKGROUND_MAX));
        let (wake, room) = (Notify::new(), Notify::new());
        let troubles = Troubles::default();
        Self { store, clock, random, producer, residency, state, about, troubles, turns, background, wake, room }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while holding it")
    }

    /// Never locked before the state: the other way round only.
    fn about(&self) -> MutexGuard<'_, About> {
        self.about.lock().expect("nothing panics while holding it")
    }

    pub fn now_ms(&self) -> i64 {
        self.clock.now().unix_ms()
    }

    /// A turn to begin a batch of a consumer in the background, while others have work.
    pub async fn background_turn(&self, consumer: &Consumer) -> Option<Turn> {
        if !consumer.background || !self.state().has_foreground() {
            return None;
        }
        let turn = self.background.next(Rank::Flood).await;
        self.store.heard("a turn in the background").await;
        Some(turn)
    }

    /// So many processes work on this store.
    pub fn share_turns(&self, processes: usize) {
        self.turns.share(processes);
    }

    /// A turn to begin a batch of a lane, where it is a large one. `work` says that something was queued: it may be of a
    /// small tenant. Some go first, whoever's rows they have.
    pub async fn batch_turn(&self, hold: &LaneHold, work: &Notify, goes_first: bool) -> Option<Turn> {
        let (queued, has_small) = self.state().queued_in(hold);
        if has_small {
            self.turns.note_small();
        }
        if queued < LARGE {
            return None;
        }
        let mut has_small = has_small || goes_first;
        let rank = |has_small: bool| if has_small { Rank::Small } else { Rank::Flood };
        let mut next = pin!(self.turns.next(rank(has_small)));
        loop {
            let turn = tokio::select! {
                biased;
                turn = &mut next => Some(turn),
                () = work.notified(), if !has_small => None,
            };
            self.store.heard("a turn to begin a batch").await;
            if turn.is_some() {
                return turn;
            }
            (_, has_small) = self.state().queued_in(hold);
            if has_small {
                next.set(self.turns.next(rank(has_small)));
            }
        }
    }

    /// Does something with a lane that is held; with an empty one where it is held no more.
    pub fn lane<T>(&self, hold: &LaneHold, work: impl FnOnce(&mut Lane) -> T) -> T {
        match self.state().held(hold) {
            Some(held) => work(&mut held.lane),
            None => work(&mut Lane::default()),
        }
    }

    /// Rows of small tenants in a lane of which a batch is under way that has others.
    pub fn take_beside(&self, hold: &LaneHold, batch: usize) -> Vec<Arc<Row>> {
        let rows = self.state().take_beside(hold, batch);
        if !rows.is_empty() {
            self.turns.note_small();
        }
        rows
    }

    /// Whether a lane is held as it was.
    pub fn is_held(&self, hold: &LaneHold) -> bool {
        self.state().is_held(hold)
    }

    /// Whether a row must wait behind a parked one of its key; nobody knows once the lane is held no more.
    pub fn must_wait(&self, hold: &LaneHold, row: &LogRow) -> Option<bool> {
        self.state().held(hold).map(|held| held.lane.must_wait(row))
    }

    /// Those of some rows that somebody else may have handled, and by which reading of the log.
    pub fn doubted(&self, hold: &LaneHold, rows: &[Arc<Row>]) -> (Vec<Arc<Row>>, u64) {
        let mut state = self.state();
        let doubted = state.held(hold).map(|held| rows.iter().filter(|row| held.doubts(row)).cloned().collect());
        (doubted.unwrap_or_default(), state.reading)
    }

    /// What a lane has queued of these tenants by this reading of the log was hardly handled by anybody before. Once it is read
    /// again, rows that were under way may be; and what a stream delivers may always be.
    pub fn trust(&self, hold: &LaneHold, reading: u64, tenants: impl IntoIterator<Item = TenantBits>) {
        let mut state = self.state();
        if state.reading == reading
            && let Some(held) = state.held(hold).filter(|held| held.fed.is_none())
        {
            held.trusted.extend(tenants);
        }
    }

    /// Takes lanes in, with what waits in them; answers for each where its worker is told of work.
    pub fn admit(&self, lanes: Vec<TakenLane>) -> Vec<Arc<Notify>> {
        let (mut admitted, mut works) = (Vec::new(), Vec::new());
        for TakenLane { consumer, number, taken: LaneTaken { epoch, position, seen }, known } in lanes {
            let Known { life, revision, lane, others } = known;
            let work = Arc::new(Notify::new());
            let mut held = Held::new((epoch, revision), (position, seen), lane, work.clone());
            held.life = life;
            held.fed = consumer.stream.is_some().then(|| Fed::from(position));
            let stopped = self.suspended(&consumer.name).is_some();
            admitted.push(Admitted { consumer, number, held, stopped, others });
            works.push(work);
        }
        self.state().admit(admitted);
        self.wake.notify_one();
        works
    }

    /// Other releases of a consumer handle these subjects, and this program does not. They become fewer only: one more is
    /// heard of when a lane is taken, after it was taken away.
    pub fn fewer_others(&self, consumer: &str, others: Vec<String>) {
        let mut state = self.state();
        let known = state.consumers.get(consumer).map(|of| of.others.clone()).unwrap_or_default();
        state.others(consumer, known.into_iter().filter(|subject| others.contains(subject)).collect());
    }

    /// See [`State::others_of`].
    pub fn others(&self, hold: &LaneHold) -> Option<Vec<String>> {
        self.state().others_of(hold).map(<[String]>::to_vec)
    }

    /// Lets a lane go, whoever has it now.
    pub fn dismiss(&self, hold: &LaneHold) {
        self.about().calls.retain(|calls| calls != hold);
        self.state().dismiss(hold);
        // What it had queued may be room for another.
        self.room.notify_one();
    }

    /// What a worker had taken is read again.
    pub fn give_back(&self, hold: &LaneHold) {
        let mut state = self.state();
        if let Some(Held { lane, fed: Some(fed), .. }) = state.held(hold) {
            return fed.give_back(lane);
        }
        // First: until it is read again, what was taken holds the position back.
        state.read_again();
        if let Some(held) = state.held(hold) {
            held.lane.give_back();
        }
    }

    /// A row that was taken is finished: handled, parked or buried. The reader is woken where that has made room for what it
    /// waits to read.
    pub fn finish(&self, hold: &LaneHold, row: &LogRow) {
        let room = self.state().finish(hold, row.seq);
        if room {
            self.wake.notify_one();
            self.room.notify_one();
        }
    }

    /// The lanes of a consumer that are held here.
    pub fn held(&self, consumer: &str) -> Vec<LaneHold> {
        let state = self.state();
        let hold =
            |(lane, held): (&u16, &Held)| LaneHold { consumer: consumer.to_owned(), lane: *lane, epoch: held.epoch };
        state.consumers.get(consumer).map(|of| of.lanes.iter().map(hold).collect()).unwrap_or_default()
    }

    /// Every lane that is held here.
    pub fn holds(&self) -> Vec<LaneHold> {
        let names: Vec<String> = self.state().consumers.keys().cloned().collect();
        let mut holds: Vec<LaneHold> = names.iter().flat_map(|name| self.held(name)).collect();
        holds.extend(self.about().calls.iter().cloned());
        holds
    }

    /// Calls to the outside are made under this lane, until it is dismissed.
    pub fn admit_calls(&self, hold: &LaneHold) {
        self.about().calls.push(hold.clone());
    }

    /// Whether calls are still made under a lane.
    pub fn calls_under(&self, hold: &LaneHold) -> bool {
        self.about().calls.contains(hold)
    }

    /// A lane's position, where it has moved since it was saved.
    pub fn moved(&self, hold: &LaneHold) -> Option<Seq> {
        let state = self.state();
        let (position, held) = state.position(hold)?;
        Some(position).filter(|position| *position > held.saved)
    }

    /// A position was saved.
    pub fn saved(&self, hold: &LaneHold, position: Seq) {
        if let Some(held) = self.state().held(hold) {
            held.saved = held.saved.max(position);
            if held.fed.is_none() && held.saved >= held.seen {
                held.seen = 0;
                held.trusted.clear();
            }
        }
    }

    /// The lowest position of a consumer's lanes that are held here, and how many those are.
    pub fn position(&self, consumer: &str) -> Option<(Seq, usize)> {
        let state = self.state();
        let of = state.consumers.get(consumer)?;
        // In another life these are numbers of other events, also before it is known that nobody holds a lane there: a copy was
        // put in the place of the store, or a failover lost commits.
        let life = self.store.relay().incarnation();
        let lowest = state.lowest(of).filter(|_| of.lanes.values().all(|held| held.life == life))?;
        Some((lowest, of.lanes.len()))
    }

    /// Whether nothing is queued, under way or due in any lane; of a consumer that is suspended, whether nothing is under way.
    pub fn is_idle(&self, now_ms: i64) -> bool {
        let state = self.state();
        let is_idle = |stopped: bool, lane: &Lane| match stopped {
            true => lane.is_at_rest(),
            // What waits in the store alone may be due; its lane asks for it, or has its consumer suspended.
            false => lane.is_idle() && !lane.has_due(now_ms) && !lane.waits_beyond(),
        };
        state.consumers.values().all(|of| of.lanes.values().all(|held| is_idle(of.stopped, &held.lane)))
    }

    /// Notes how an event of a key went; says what is wrong where its consumer is.
    pub fn note(&self, consumer: &str, (tenant, key): (TenantBits, &str), failed: bool) -> Option<String> {
        let mut about = self.about();
        match about.health.get_mut(consumer) {
            Some(health) => health.note((tenant, key.to_owned()), failed),
            // Nothing has failed yet, and nothing does now: most consumers never need more.
            None if !failed => None,
            None => about.health.entry(consumer.to_owned()).or_default().note((tenant, key.to_owned()), failed),
        }
    }

    /// What waits for the lanes that are held here, by service: up to where everything is finished, and how many numbers of the
    /// log follow.
    pub fn backlog(&self) -> BTreeMap<String, (Seq, u64)> {
        let state = self.state();
        let mut backlog: BTreeMap<String, (Seq, u64)> = BTreeMap::new();
        for of in state.consumers.values().filter(|of| of.consumer.stream.is_none()) {
            let position = state.lowest(of).unwrap_or(state.safe);
            let entry = backlog.entry(of.consumer.service.clone()).or_insert((position, 0));
            let lowest = entry.0.min(position);
            *entry = (lowest, (state.safe - lowest).max(0).unsigned_abs());
        }
        backlog
    }

    /// How many keys of a consumer wait in the lanes that are held here.
    pub fn waiting(&self, consumer: &str) -> usize {
        let state = self.state();
        let lanes = state.consumers.get(consumer).into_iter().flat_map(|of| of.lanes.values());
        lanes.map(|held| held.lane.waiting()).sum()
    }

    /// Whether fewer keys of a consumer may wait soon: some are due, or there is room for those that are not known here. Also whether
    /// no more than may wait do any longer: other lanes work on while this is asked.
    pub fn may_thin_out(&self, consumer: &Consumer) -> bool {
        let now = self.now_ms();
        let state = self.state();
        let Some(of) = state.consumers.get(&consumer.name) else { return false };
        let known: usize = of.lanes.values().map(|held| held.lane.waiting()).sum();
        known <= consumer.waiting_max || of.lanes.values().any(|held| held.lane.has_due(now))
    }

    /// How many keys of a lane may be known here, where all lanes of its consumer that are held share one bound.
    pub fn room_for(&self, consumer: &Consumer, hold: &LaneHold) -> usize {
        let state = self.state();
        let lanes = state.consumers.get(&consumer.name).into_iter().flat_map(|of| &of.lanes);
        let others = lanes.filter(|(number, _)| **number != hold.lane).map(|(_, held)| held.lane.waiting()).sum();
        consumer.waiting_max.saturating_sub(others)
    }

    /// What operators have changed so far; the workers of what is new look again.
    pub fn revise(&self, revisions: Vec<(String, i64)>) {
        let state = self.state();
        for (name, number) in &revisions {
            let lanes = state.consumers.get(name).into_iter().flat_map(|of| of.lanes.values());
            lanes.filter(|held| held.revision < *number).for_each(|held| held.work.notify_one());
        }
        self.about().revisions = revisions.into_iter().collect();
    }

    /// How often operators have changed something of a consumer, as far as it is known here.
    pub fn revision(&self, consumer: &str) -> i64 {
        self.about().revisions.get(consumer).copied().unwrap_or_default()
    }

    /// Whether operators have changed something since it was asked what waits in a lane.
    pub fn is_revised(&self, hold: &LaneHold) -> bool {
        let now = self.revision(&hold.consumer);
        self.state().held(hold).is_some_and(|held| held.revision < now)
    }

    /// What waits in a lane, by a revision.
    pub fn know(&self, hold: &LaneHold, revision: i64, waiting: Waiting) {
        if let Some(held) = self.state().held(hold) {
            held.lane.know(waiting);
            held.revision = revision;
        }
    }

    /// Why a consumer is suspended.
    pub fn suspended(&self, consumer: &str) -> Option<String> {
        self.about().suspended.reason(consumer).cloned()
    }

    /// Asks the store who is suspended. Where somebody is suspended here meanwhile, what it says is old: the next one who asks
    /// hears of others.
    pub async fn learn_suspensions(&self) -> Result<(), Error> {
        let asked = self.about().suspended.asked();
        let said = self.store.suspensions().await?;
        let mut state = self.state();
        let mut about = self.about();
        let said = said.into_iter().map(|it| (it.consumer, it.reason)).collect();
        let Some(resumed) = about.suspended.hear(asked, said) else { return Ok(()) };
        for name in resumed {
            about.health.entry(name.clone()).or_default().recover();
            state.stop(&name, false);
            // What waits may be more than was known when it stopped.
            let lanes = state.consumers.get_mut(&name).into_iter().flat_map(|of| of.lanes.values_mut());
            lanes.for_each(|held| held.revision = UNKNOWN);
        }
        about.suspended.names().for_each(|name| state.stop(name, true));
        drop((state, about));
        self.wake.notify_one();
        Ok(())
    }

    /// A consumer is suspended from now on.
    pub fn suspend_one(&self, consumer: &str, reason: String) {
        let mut state = self.state();
        state.stop(consumer, true);
        self.about().suspended.suspend(consumer, reason);
    }

    /// A stream has everything of the log up to a number.
    pub fn publish(&self, stream: &str, seq: Seq) {
        self.about().published.insert(stream.to_owned(), seq);
    }

    /// How far a stream is fed by this process; none where it is not.
    pub fn published(&self, stream: &str) -> Option<Seq> {
        self.about().published.get(stream).copied()
    }
}
