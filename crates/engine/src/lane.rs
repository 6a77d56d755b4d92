//! One held lane: what is queued of it, what waits parked, how far it is finished. Pure.
//!
//! Invariants: events of one key leave in the order of the log; a key with a parked event lets nothing pass by; the
//! position never passes an event that is not finished, parked or buried.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use karwan_store::consumer::Parked;
use karwan_store::log::{LogRow, Seq};
use karwan_store::write_set::TenantBits;

/// A key within its tenant.
pub type Key = (TenantBits, String);

/// What is known of a lane.
#[derive(Default)]
pub struct Lane {
    queues: BTreeMap<TenantBits, VecDeque<Arc<LogRow>>>,
    /// Whose turn it is.
    turns: VecDeque<TenantBits>,
    /// Taken by the worker, and not finished.
    taken: BTreeSet<Seq>,
    parked: HashMap<Key, VecDeque<Parked>>,
    queued: usize,
}

impl Lane {
    /// A lane as it is taken over: with what waits in it, in the order of the log.
    pub fn with_parked(parked: Vec<Parked>) -> Self {
        let mut lane = Self::default();
        parked.into_iter().for_each(|event| lane.park(event));
        lane
    }

    /// Queues a row behind its tenant's others.
    pub fn push(&mut self, row: Arc<LogRow>) {
        let queue = self.queues.entry(row.tenant).or_default();
        if queue.is_empty() {
            self.turns.push_back(row.tenant);
        }
        queue.push_back(row);
        self.queued += 1;
    }

    /// Forgets what is queued; it will be read again.
    pub fn forget(&mut self) -> Vec<Arc<LogRow>> {
        self.turns.clear();
        self.queued = 0;
        std::mem::take(&mut self.queues).into_values().flatten().collect()
    }

    /// The next rows, in the order of the log: a quarter of the batch of each tenant in turn, or all of one that is alone.
    pub fn take(&mut self, batch: usize) -> Vec<Arc<LogRow>> {
        let mut rows = Vec::new();
        while rows.len() < batch {
            let Some(tenant) = self.turns.pop_front() else { break };
            let share = if self.turns.is_empty() && rows.is_empty() { batch } else { (batch / 4).max(1) };
            let queue = self.queues.entry(tenant).or_default();
            let count = share.min(queue.len()).min(batch - rows.len());
            rows.extend(queue.drain(..count));
            if queue.is_empty() {
                self.queues.remove(&tenant);
            } else {
                self.turns.push_back(tenant);
            }
        }
        self.queued -= rows.len();
        rows.sort_by_key(|row| row.seq);
        self.taken.extend(rows.iter().map(|row| row.seq));
        rows
    }

    /// A taken row is finished: handled, parked or buried.
    pub fn finish(&mut self, seq: Seq) {
        self.taken.remove(&seq);
    }

    /// Everything up to here is finished, as far as this lane knows; `read` is how far the log was read for it.
    pub fn position(&self, read: Seq) -> Seq {
        let queued = self.queues.values().filter_map(|queue| queue.front()).map(|row| row.seq);
        let lowest = queued.chain(self.taken.first().copied()).min();
        lowest.map_or(read, |seq| (seq - 1).min(read))
    }

    /// Whether nothing is queued or taken.
    pub fn is_idle(&self) -> bool {
        self.queued == 0 && self.taken.is_empty()
    }

    /// Whether a row must wait behind a parked one of its key.
    pub fn must_wait(&self, row: &LogRow) -> bool {
        self.parked.contains_key(&(row.tenant, row.key.clone()))
    }

    /// Whether this very event is parked.
    pub fn is_parked(&self, row: &LogRow) -> bool {
        let queue = self.parked.get(&(row.tenant, row.key.clone()));
        queue.is_some_and(|queue| queue.iter().any(|event| event.event == row.event))
    }

    /// Whoever had taken rows has given up; they are read again.
    pub fn give_back(&mut self) {
        self.taken.clear();
    }

    /// An event waits behind those of its key, or has moved its due time.
    pub fn park(&mut self, event: Parked) {
        let queue = self.parked.entry((event.tenant, event.key.clone())).or_default();
        match queue.iter_mut().find(|other| other.event == event.event) {
            Some(other) => *other = event,
            None => queue.push_back(event),
        }
    }

    /// The first of a key's parked events is done with; the next one may go at once.
    pub fn unpark(&mut self, event: &Parked) {
        let key = (event.tenant, event.key.clone());
        if let Some(queue) = self.parked.get_mut(&key) {
            queue.retain(|other| other.event != event.event);
            if queue.is_empty() {
                self.parked.remove(&key);
            }
        }
    }

    /// The first parked event of every key whose time has come, in the order of the log.
    pub fn due(&self, now_ms: i64) -> Vec<Parked> {
        let heads = self.parked.values().filter_map(VecDeque::front);
        let mut due: Vec<Parked> = heads.filter(|head| head.due.is_some_and(|due| due <= now_ms)).cloned().collect();
        due.sort_by_key(|event| event.seq);
        due
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use karwan_envelope::ids::EventId;
    use karwan_store::log::LogRow;

    use super::Lane;

    fn row(seq: i64, tenant: u128) -> LogRow {
        LogRow {
            seq,
            tenant,
            subject: String::new(),
            key: format!("k-{seq}"),
            slot: 0,
            event: EventId::from_bits(seq.cast_unsigned().into()),
            at: 0,
            envelope: String::new(),
        }
    }

    #[test]
    fn a_small_tenant_does_not_wait_for_a_large_one() {
        let mut lane = Lane::default();
        (0..100).for_each(|seq| lane.push(Arc::new(row(seq, 1))));
        lane.push(Arc::new(row(100, 2)));
        let taken: Vec<i64> = lane.take(8).iter().map(|row| row.seq).collect();
        assert_eq!(taken, [0, 1, 2, 3, 4, 5, 6, 100]);
    }

    #[test]
    fn the_position_never_passes_what_is_not_finished() {
        let mut lane = Lane::default();
        assert_eq!(lane.position(9), 9);
        (1..=3).for_each(|seq| lane.push(Arc::new(row(seq, 1))));
        assert_eq!(lane.position(9), 0);
        let taken = lane.take(2);
        lane.finish(taken[1].seq);
        assert_eq!(lane.position(9), 0);
        lane.finish(taken[0].seq);
        assert_eq!(lane.position(9), 2);
        lane.take(1);
        lane.finish(3);
        assert_eq!(lane.position(9), 9);
    }

    #[test]
    fn a_parked_key_lets_nothing_pass_and_goes_on_in_order() {
        let parked = |seq, due| {
            let row = LogRow { key: "k".to_owned(), ..row(seq, 1) };
            row.parked(due, 1, String::new())
        };
        let mut lane = Lane::with_parked(vec![parked(1, Some(50)), parked(2, Some(0))]);
        assert!(lane.must_wait(&LogRow { key: "k".to_owned(), ..row(3, 1) }));
        assert!(!lane.must_wait(&LogRow { key: "k".to_owned(), ..row(3, 2) }));
        assert_eq!(lane.due(49), []);
        assert_eq!(lane.due(50), [parked(1, Some(50))]);
        lane.unpark(&parked(1, Some(50)));
        assert_eq!(lane.due(50), [parked(2, Some(0))]);
        lane.unpark(&parked(2, Some(0)));
        assert_eq!(lane.due(i64::MAX), []);
    }
}
