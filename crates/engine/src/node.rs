//! What the tasks of one process share: the lanes that it holds, and how far the log was read for them.
//!
//! One reader a process, queues a tenant: a tenant that fills its share is read apart from there on, so that others pass
//! it by. Bounds: [`TENANT_CAP`] rows queued of one tenant, [`QUEUED_MAX`] of all.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use karwan_envelope::cause::{Producer, Residency};
use karwan_envelope::mint::Random;
use karwan_envelope::time::Clock;
use karwan_store::consumer::LaneTaken;
use karwan_store::log::{LogRow, Seq};
use karwan_store::write_set::{LaneHold, TenantBits};
use karwan_store::{Error, Store};
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

use crate::consumer::Consumer;
use crate::lane::Lane;

/// Rows of one tenant that are queued; beyond, it is read apart.
pub const TENANT_CAP: usize = 2048;
/// Rows that are queued in all; beyond, reading pauses.
pub const QUEUED_MAX: usize = 32 * TENANT_CAP;
/// A reader that is further behind looks first who has rows at all.
const SWEEP_BEHIND: Seq = 10_000;
const PAGE: usize = 1000;
/// Transactions of handlers that are under way at once.
const FLUSHES_MAX: usize = 4;

/// See the module.
pub(crate) struct Shared {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub producer: Producer,
    pub residency: Residency,
    state: Mutex<State>,
    flushes: Semaphore,
    /// Something may be read.
    pub wake: Notify,
}

#[derive(Default)]
struct State {
    /// How far the log was read, but for the tenants that are read apart.
    read: Seq,
    /// Tenants that are read apart, and how far each was.
    apart: BTreeMap<TenantBits, Seq>,
    counts: HashMap<TenantBits, usize>,
    queued: usize,
    lanes: BTreeMap<(String, u16), Held>,
    /// Goes up whenever what was read is forgotten.
    reading: u64,
}

struct Held {
    epoch: i64,
    consumer: Arc<Consumer>,
    lane: Lane,
    /// Up to here somebody else may have handled rows.
    seen: Seq,
    saved: Seq,
    work: Arc<Notify>,
}

/// What is read next.
enum Plan {
    Nothing,
    Sweep { after: Seq },
    Page { after: Seq, apart: Vec<TenantBits>, behind: Vec<(TenantBits, Seq)> },
}

impl State {
    /// Everything up to here was read for every lane.
    fn read_for_all(&self) -> Seq {
        self.apart.values().copied().min().map_or(self.read, |apart| apart.min(self.read))
    }

    fn position(&self, held: &Held) -> Seq {
        held.lane.position(self.read_for_all()).max(held.saved)
    }

    /// Forgets what is queued and reads again from the lowest position.
    fn read_again(&mut self) {
        let positions: Vec<Seq> = self.lanes.values().map(|held| self.position(held)).collect();
        let read = self.read;
        for held in self.lanes.values_mut() {
            held.lane.forget();
            held.seen = held.seen.max(read);
        }
        self.read = positions.into_iter().min().unwrap_or(read);
        self.apart.clear();
        self.counts.clear();
        self.queued = 0;
        self.reading += 1;
    }

    /// Queues a row for every lane that wants it; whether its tenant has more than its share now.
    fn push(&mut self, row: LogRow) -> bool {
        let row = Arc::new(row);
        for ((_, number), held) in &mut self.lanes {
            if held.consumer.handler(&row.subject).is_some() && row.slot % held.consumer.lanes == *number {
                held.lane.push(row.clone());
                held.work.notify_one();
                *self.counts.entry(row.tenant).or_default() += 1;
                self.queued += 1;
            }
        }
        self.counts.get(&row.tenant).copied().unwrap_or_default() >= TENANT_CAP
    }

    fn plan(&self, safe: Seq) -> Plan {
        if self.lanes.is_empty() {
            return Plan::Nothing;
        }
        if safe - self.read > SWEEP_BEHIND {
            return Plan::Sweep { after: self.read };
        }
        let room = |tenant: &TenantBits| self.counts.get(tenant).copied().unwrap_or_default() <= TENANT_CAP / 2;
        let behind =
            self.apart.iter().filter(|(tenant, _)| room(tenant)).map(|(tenant, seq)| (*tenant, *seq)).collect();
        Plan::Page { after: self.read, apart: self.apart.keys().copied().collect(), behind }
    }
}

impl Shared {
    pub fn new(
        store: Store,
        (clock, random): (Arc<dyn Clock>, Arc<dyn Random>),
        producer: Producer,
        residency: Residency,
    ) -> Self {
        let (state, flushes, wake) = (Mutex::default(), Semaphore::new(FLUSHES_MAX), Notify::new());
        Self { store, clock, random, producer, residency, state, flushes, wake }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while holding it")
    }

    pub fn now_ms(&self) -> i64 {
        self.clock.now().unix_ms()
    }

    /// A turn at the database, which is quickest with few at once.
    pub async fn flush_turn(&self) -> Option<SemaphorePermit<'_>> {
        self.flushes.acquire().await.ok()
    }

    /// Does something with a lane that is held; with an empty one where it is held no more.
    pub fn lane<T>(&self, hold: &LaneHold, work: impl FnOnce(&mut Lane) -> T) -> T {
        let mut state = self.state();
        match state.lanes.get_mut(&(hold.consumer.clone(), hold.lane)) {
            Some(held) if held.epoch == hold.epoch => work(&mut held.lane),
            Some(_) | None => work(&mut Lane::default()),
        }
    }

    pub fn seen(&self, hold: &LaneHold) -> Seq {
        self.state().lanes.get(&(hold.consumer.clone(), hold.lane)).map_or(0, |held| held.seen)
    }

    /// A queued row of a tenant is finished.
    pub fn uncount(&self, tenant: TenantBits) {
        let mut state = self.state();
        if let Some(count) = state.counts.get_mut(&tenant) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                state.counts.remove(&tenant);
            }
            state.queued = state.queued.saturating_sub(1);
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Takes a lane in, with what waits in it; answers where its worker is told of work.
    pub fn admit(&self, consumer: &Arc<Consumer>, hold: &LaneHold, taken: LaneTaken, lane: Lane) -> Arc<Notify> {
        let LaneTaken { epoch, position, seen } = taken;
        let work = Arc::new(Notify::new());
        let held = Held { epoch, consumer: consumer.clone(), lane, seen, saved: position, work: work.clone() };
        let mut state = self.state();
        let first = state.lanes.is_empty();
        // Before it is there: nothing was read for it yet.
        state.read_again();
        state.read = if first { position } else { state.read.min(position) };
        state.lanes.insert((hold.consumer.clone(), hold.lane), held);
        drop(state);
        self.wake.notify_one();
        work
    }

    /// Lets a lane go, whoever has it now.
    pub fn dismiss(&self, hold: &LaneHold) {
        let mut state = self.state();
        let key = (hold.consumer.clone(), hold.lane);
        if state.lanes.get(&key).is_some_and(|held| held.epoch == hold.epoch) {
            state.lanes.remove(&key);
            state.read_again();
        }
    }

    /// What a worker had taken is read again.
    pub fn give_back(&self, hold: &LaneHold) {
        self.lane(hold, Lane::give_back);
        self.state().read_again();
    }

    /// The lanes of a consumer that are held here.
    pub fn held(&self, consumer: &str) -> Vec<LaneHold> {
        let state = self.state();
        let of_it = state.lanes.iter().filter(|((name, _), _)| name == consumer);
        let hold = |((name, lane), held): (&(String, u16), &Held)| LaneHold {
            consumer: name.clone(),
            lane: *lane,
            epoch: held.epoch,
        };
        of_it.map(hold).collect()
    }

    /// A lane's position, where it has moved since it was saved.
    pub fn moved(&self, hold: &LaneHold) -> Option<Seq> {
        let state = self.state();
        let held = state.lanes.get(&(hold.consumer.clone(), hold.lane))?;
        Some(state.position(held)).filter(|position| *position > held.saved)
    }

    /// A position was saved.
    pub fn saved(&self, hold: &LaneHold, position: Seq) {
        if let Some(held) = self.state().lanes.get_mut(&(hold.consumer.clone(), hold.lane)) {
            held.saved = held.saved.max(position);
        }
    }

    /// The lowest position of a consumer's lanes that are held here, and how many those are.
    pub fn position(&self, consumer: &str) -> Option<(Seq, usize)> {
        let state = self.state();
        let of_it = state.lanes.iter().filter(|((name, _), _)| name == consumer);
        let positions: Vec<Seq> = of_it.map(|(_, held)| state.position(held)).collect();
        Some((*positions.iter().min()?, positions.len()))
    }

    /// Whether nothing is queued, under way or due in any lane.
    pub fn is_idle(&self, now_ms: i64) -> bool {
        self.state().lanes.values().all(|held| held.lane.is_idle() && held.lane.due(now_ms).is_empty())
    }

    /// Reads what can be read now; whether there may be more at once.
    pub async fn read(&self) -> Result<bool, Error> {
        let relay = self.store.relay();
        let safe = relay.safe().await?;
        let (plan, reading, full) = {
            let state = self.state();
            (state.plan(safe), state.reading, state.queued >= QUEUED_MAX)
        };
        match plan {
            Plan::Nothing => Ok(false),
            Plan::Sweep { after } => {
                let tenants = relay.tenants(after, safe).await?;
                let mut state = self.state();
                if state.reading == reading {
                    tenants.into_iter().for_each(|tenant| {
                        state.apart.entry(tenant).or_insert(after);
                    });
                    state.read = safe;
                }
                Ok(true)
            }
            Plan::Page { after, apart, behind } => {
                let mut more = false;
                if !full && safe > after {
                    let rows = relay.rows_of_others(after, safe, &apart, PAGE).await?;
                    more |= rows.len() == PAGE;
                    self.take_in(rows, reading, safe);
                }
                for (tenant, from) in behind {
                    more |= self.read_apart(tenant, from, reading).await?;
                }
                Ok(more)
            }
        }
    }

    fn take_in(&self, rows: Vec<LogRow>, reading: u64, safe: Seq) {
        let mut state = self.state();
        if state.reading != reading {
            return;
        }
        let last = rows.last().map(|row| row.seq).filter(|_| rows.len() == PAGE);
        for row in rows {
            let (tenant, seq) = (row.tenant, row.seq);
            if !state.apart.contains_key(&tenant) && state.push(row) {
                state.apart.insert(tenant, seq);
            }
        }
        state.read = last.unwrap_or(safe).max(state.read);
    }

    /// Reads on in one tenant that is read apart; whether there may be more.
    async fn read_apart(&self, tenant: TenantBits, from: Seq, reading: u64) -> Result<bool, Error> {
        let until = self.state().read;
        let rows = self.store.relay().rows_of(tenant, from, until, TENANT_CAP / 2).await?;
        let full = rows.len() == TENANT_CAP / 2;
        let mut state = self.state();
        if state.reading != reading {
            return Ok(true);
        }
        let last = rows.last().map_or(from, |row| row.seq);
        for row in rows {
            state.push(row);
        }
        if full {
            state.apart.insert(tenant, last);
        } else if state.read == until {
            state.apart.remove(&tenant);
        } else {
            state.apart.insert(tenant, until);
        }
        Ok(full)
    }
}
