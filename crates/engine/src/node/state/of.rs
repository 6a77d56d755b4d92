//! One consumer of which lanes are held, and each of these lanes.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use karwan_store::log::{LogRow, Seq};
use karwan_store::write_set::TenantBits;
use tokio::sync::Notify;

use super::super::ahead::Amount;
use super::super::fed::Fed;
use crate::consumer::Consumer;
use crate::lane::Lane;
use crate::row::Row;

/// A consumer of which lanes are held.
pub(in crate::node) struct Of {
    pub consumer: Arc<Consumer>,
    pub lanes: BTreeMap<u16, Held>,
    /// Rows of each tenant that are queued or taken.
    pub(super) counts: HashMap<TenantBits, usize>,
    /// All of them.
    pub(super) queued: Amount,
    /// Tenants that are read apart, and how far each was.
    pub(super) apart: BTreeMap<TenantBits, Seq>,
    /// Nothing is read for it: it is suspended.
    pub stopped: bool,
    /// Subjects that other releases of it handle, and this program does not: they are read, and wait for those.
    pub others: Vec<String>,
}

/// A lane that is held.
pub(in crate::node) struct Held {
    pub epoch: i64,
    /// In which life of the store it was taken: its numbers are of that one.
    pub life: i64,
    pub lane: Lane,
    /// Up to here somebody else may have handled rows.
    pub seen: Seq,
    /// But for these tenants, of which each had rows up to there that nobody had. Theirs are finished in their order, and those of
    /// several tenants are not.
    pub trusted: HashSet<TenantBits>,
    /// By which it is known what waits in it.
    pub revision: i64,
    pub saved: Seq,
    /// Everything up to here is finished, and is not queued when it is read again.
    pub(super) floor: Seq,
    pub work: Arc<Notify>,
    /// Of a consumer that is fed from a stream.
    pub fed: Option<Fed>,
}

impl Of {
    pub(super) fn new(consumer: Arc<Consumer>) -> Self {
        Self {
            consumer,
            lanes: BTreeMap::new(),
            counts: HashMap::new(),
            queued: Amount::default(),
            apart: BTreeMap::new(),
            stopped: false,
            others: Vec::new(),
        }
    }

    pub(super) fn reads_log(&self) -> bool {
        self.consumer.stream.is_none() && !self.stopped
    }

    pub(super) fn subjects(&self) -> impl Iterator<Item = Cow<'static, str>> {
        let others = self.others.iter().map(|subject| Cow::Owned(subject.clone()));
        self.consumer.subjects().map(Cow::Borrowed).chain(others)
    }

    pub(super) fn count(&self, tenant: TenantBits) -> usize {
        self.counts.get(&tenant).copied().unwrap_or_default()
    }

    /// Up to here all its lanes are finished, as it was known when they were read again.
    pub(super) fn floor(&self) -> Option<Seq> {
        self.lanes.values().map(|held| held.floor).min()
    }

    /// Whether one of the held lanes wants a row.
    pub(super) fn wants(&self, row: &LogRow) -> bool {
        let handled = self.consumer.handler(&row.subject).is_some() || self.others.contains(&row.subject);
        handled && self.lanes.get(&(row.slot % self.consumer.lanes)).is_some_and(|held| row.seq > held.floor)
    }

    /// Queues a row that is wanted.
    pub(super) fn push(&mut self, row: &Arc<Row>) {
        let Some(held) = self.lanes.get_mut(&(row.slot % self.consumer.lanes)) else { return };
        held.lane.push(row.clone());
        held.work.notify_one();
        *self.counts.entry(row.tenant).or_default() += 1;
        self.queued.add(row);
    }

    /// A row is queued or taken no more.
    pub(super) fn uncount(&mut self, row: &LogRow) {
        self.queued.remove(row);
        if let Some(count) = self.counts.get_mut(&row.tenant) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.counts.remove(&row.tenant);
            }
        }
    }

    /// Everything up to here was read for its lanes.
    pub(super) fn read(&self, read: Seq) -> Seq {
        self.apart.values().copied().min().map_or(read, |apart| apart.min(read))
    }

    pub(super) fn positions(&self, read: Seq) -> impl Iterator<Item = Seq> {
        let read = self.read(read);
        self.lanes.values().map(move |held| held.position(read))
    }

    /// Forgets what is queued; rows up to what is finished now are not queued again. Answers how much was.
    pub(super) fn forget(&mut self, read: Seq) -> Amount {
        let reached = self.read(read);
        for held in self.lanes.values_mut() {
            held.floor = held.floor.max(held.position(reached));
            held.lane.forget();
            held.seen = held.seen.max(read);
            held.trusted.clear();
        }
        self.apart.clear();
        self.counts.clear();
        std::mem::take(&mut self.queued)
    }
}

impl Held {
    pub fn new((epoch, revision): (i64, i64), (position, seen): (Seq, Seq), lane: Lane, work: Arc<Notify>) -> Self {
        let trusted = HashSet::new();
        Self { epoch, life: 0, lane, seen, trusted, revision, saved: position, floor: position, work, fed: None }
    }

    /// Its numbers begin here.
    pub fn begin_at(&mut self, seq: Seq) {
        (self.saved, self.floor) = (seq, seq);
    }

    /// Whether somebody else may have handled a row.
    pub fn doubts(&self, row: &LogRow) -> bool {
        row.seq <= self.seen && !self.trusted.contains(&row.tenant)
    }

    pub(super) fn position(&self, read: Seq) -> Seq {
        let read = self.fed.as_ref().map_or(read, |fed| fed.read);
        self.lane.position(read).max(self.saved).max(self.floor)
    }
}
