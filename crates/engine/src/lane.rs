//! One held lane: what is queued of it, what waits parked, how far it is finished. Pure.
//!
//! Invariants: events of one key leave in the order of the log; a key with a parked event lets nothing pass by; the
//! position never passes an event that is not finished, parked or buried.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use karwan_store::consumer::Parked;
use karwan_store::log::{LogRow, Seq};
use karwan_store::write_set::TenantBits;

use crate::row::Row;
use crate::trial::{Rule, is_left_out};

/// A key within its tenant.
pub type Key = (TenantBits, String);

/// What waits in a lane.
#[derive(Debug, Default)]
pub struct Waiting {
    /// The first parked event of every key that has one, in the order of the log.
    pub parked: Vec<Parked>,
    /// Keys that an operator has stopped.
    pub paused: Vec<Key>,
    /// Whether more keys wait than these.
    pub beyond: bool,
}

/// A row that a worker has.
struct Taken {
    row: Arc<Row>,
    /// It was forgotten meanwhile, and is read again.
    forgotten: bool,
}

/// What is known of a lane.
#[derive(Default)]
pub struct Lane {
    queues: BTreeMap<TenantBits, VecDeque<Arc<Row>>>,
    /// Whose turn it is.
    turns: VecDeque<TenantBits>,
    /// Taken by the worker, and not finished.
    taken: BTreeMap<Seq, Taken>,
    /// The first parked event of every key that waits; those behind it are in the store alone.
    parked: HashMap<Key, Parked>,
    /// When those of them may go that wait for a time, the next one first: thousands may wait, and every batch asks.
    dues: BTreeSet<(i64, Key)>,
    /// Keys that an operator has stopped.
    paused: HashSet<Key>,
    /// Whether keys wait that are in the store alone.
    beyond: bool,
    queued: usize,
}

impl Lane {
    /// A lane as it is taken over: with what waits in it.
    pub fn with(waiting: Waiting) -> Self {
        let mut lane = Self::default();
        lane.know(waiting);
        lane
    }

    /// What waits in it, as the store knows it.
    pub fn know(&mut self, Waiting { parked, paused, beyond }: Waiting) {
        self.beyond = beyond;
        self.parked.clear();
        self.dues.clear();
        parked.into_iter().for_each(|event| self.park(event));
        self.paused = paused.into_iter().collect();
    }

    /// Queues a row behind its tenant's others.
    pub fn push(&mut self, row: Arc<Row>) {
        let queue = self.queues.entry(row.tenant).or_default();
        if queue.is_empty() {
            self.turns.push_back(row.tenant);
        }
        queue.push_back(row);
        self.queued += 1;
    }

    /// Forgets what is queued; it will be read again. Answers it, with what the worker has taken since it was queued.
    pub fn forget(&mut self) -> Vec<Arc<Row>> {
        self.turns.clear();
        self.queued = 0;
        let mut rows: Vec<_> = std::mem::take(&mut self.queues).into_values().flatten().collect();
        for taken in self.taken.values_mut().filter(|taken| !taken.forgotten) {
            taken.forgotten = true;
            rows.push(taken.row.clone());
        }
        rows
    }

    /// The next rows, in the order of the log: a quarter of the batch of each tenant in turn, or all of one that is alone.
    pub fn take(&mut self, batch: usize) -> Vec<Arc<Row>> {
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
        self.taken.extend(rows.iter().map(|row| (row.seq, Taken { row: row.clone(), forgotten: false })));
        rows
    }

    /// Rows of small tenants, beside a batch in which there are rows of others: none of a tenant of which some are taken already, so that
    /// each has its rows handled in their order. Nothing while keys wait: whoever handles these does not park.
    pub fn take_beside(&mut self, batch: usize, is_small: impl Fn(TenantBits) -> bool) -> Vec<Arc<Row>> {
        let under_way: HashSet<TenantBits> = self.taken.values().map(|taken| taken.row.tenant).collect();
        if under_way.iter().all(|tenant| is_small(*tenant)) || !(self.parked.is_empty() && self.paused.is_empty()) {
            return Vec::new();
        }
        let (mut rows, mut left) = (Vec::new(), VecDeque::new());
        while let Some(tenant) = self.turns.pop_front() {
            let queue = self.queues.get_mut(&tenant);
            match queue.filter(|_| rows.len() < batch && is_small(tenant) && !under_way.contains(&tenant)) {
                Some(queue) => {
                    rows.extend(queue.drain(..queue.len().min(batch - rows.len())));
                    if queue.is_empty() {
                        self.queues.remove(&tenant);
                    } else {
                        left.push_back(tenant);
                    }
                }
                None => left.push_back(tenant),
            }
        }
        self.turns = left;
        self.queued -= rows.len();
        rows.sort_by_key(|row| row.seq);
        self.taken.extend(rows.iter().map(|row| (row.seq, Taken { row: row.clone(), forgotten: false })));
        rows
    }

    /// Queues taken rows again, each before its tenant's others. What was forgotten meanwhile is queued already, or will be.
    pub fn put_back(&mut self, rows: &[Arc<Row>]) {
        for row in rows.iter().rev() {
            let Some(row) = self.finish(row.seq) else { continue };
            let queue = self.queues.entry(row.tenant).or_default();
            if queue.is_empty() {
                self.turns.push_front(row.tenant);
            }
            queue.push_front(row);
            self.queued += 1;
        }
    }

    /// How many rows are queued.
    pub fn queued(&self) -> usize {
        self.queued
    }

    /// Whose rows are queued.
    pub fn tenants(&self) -> impl Iterator<Item = TenantBits> {
        self.queues.keys().copied()
    }

    /// A taken row is finished: handled, parked or buried. Answers it, unless it was forgotten meanwhile.
    pub fn finish(&mut self, seq: Seq) -> Option<Arc<Row>> {
        self.taken.remove(&seq).filter(|taken| !taken.forgotten).map(|taken| taken.row)
    }

    /// Everything up to here is finished, as far as this lane knows; `read` is how far the log was read for it.
    pub fn position(&self, read: Seq) -> Seq {
        if is_left_out(Rule::Ack) {
            return read;
        }
        let queued = self.queues.values().filter_map(|queue| queue.front()).map(|row| row.seq);
        let lowest = queued.chain(self.taken.keys().next().copied()).min();
        lowest.map_or(read, |seq| (seq - 1).min(read))
    }

    /// Whether nothing is queued or taken.
    pub fn is_idle(&self) -> bool {
        self.queued == 0 && self.taken.is_empty()
    }

    /// Whether nothing is taken.
    pub fn is_at_rest(&self) -> bool {
        self.taken.is_empty()
    }

    /// Whether a row must wait: behind a parked one of its key, or because its key was stopped.
    pub fn must_wait(&self, row: &LogRow) -> bool {
        if self.parked.is_empty() && self.paused.is_empty() {
            return false;
        }
        let key = (row.tenant, row.key.clone());
        self.parked.contains_key(&key) || self.paused.contains(&key)
    }

    /// Whether this very event is the first parked one of its key.
    pub fn is_parked(&self, row: &LogRow) -> bool {
        self.parked.get(&(row.tenant, row.key.clone())).is_some_and(|head| head.event == row.event)
    }

    /// Whoever had taken rows has given up; they are read again.
    pub fn give_back(&mut self) {
        self.taken.clear();
    }

    /// An event was parked: as the first of its key, or behind it; or its due time has moved.
    pub fn park(&mut self, event: Parked) {
        let key = (event.tenant, event.key.clone());
        // One that is handled again comes before what waited already.
        let first = |head: &Parked| head.event == event.event || event.seq < head.seq;
        if self.parked.get(&key).is_none_or(first) {
            self.put(key, Some(event));
        }
    }

    /// The first of a key's parked events is done with; here is the one behind it, if there is one.
    pub fn promote(&mut self, done: &Parked, next: Option<Parked>) {
        self.put((done.tenant, done.key.clone()), next);
    }

    fn put(&mut self, key: Key, head: Option<Parked>) {
        let due = head.as_ref().and_then(|head| head.due);
        let before = match head {
            Some(head) => self.parked.insert(key.clone(), head),
            None => self.parked.remove(&key),
        };
        if let Some(due) = before.and_then(|before| before.due) {
            self.dues.remove(&(due, key.clone()));
        }
        if let Some(due) = due {
            self.dues.insert((due, key));
        }
    }

    /// Whether keys may wait that are not known here.
    pub fn waits_beyond(&self) -> bool {
        self.beyond
    }

    /// How many keys wait.
    pub fn waiting(&self) -> usize {
        self.parked.len()
    }

    /// The first parked events of keys whose time has come, those first that came first, and no more than so many; in the
    /// order of the log.
    pub fn due(&self, now_ms: i64, most: usize) -> Vec<Parked> {
        let heads = self.may_go(now_ms).filter_map(|key| self.parked.get(key));
        let mut due: Vec<Parked> = heads.take(most).cloned().collect();
        due.sort_by_key(|event| event.seq);
        due
    }

    /// Whether any is due.
    pub fn has_due(&self, now_ms: i64) -> bool {
        self.may_go(now_ms).next().is_some()
    }

    fn may_go(&self, now_ms: i64) -> impl Iterator<Item = &Key> {
        let due = self.dues.iter().take_while(move |(due, _)| *due <= now_ms).map(|(_, key)| key);
        due.filter(|key| self.paused.is_empty() || !self.paused.contains(*key))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use karwan_envelope::ids::EventId;
    use karwan_store::log::LogRow;

    use super::{Lane, Waiting};
    use crate::row::Row;

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
        (0..100).for_each(|seq| lane.push(Arc::new(row(seq, 1).into())));
        lane.push(Arc::new(row(100, 2).into()));
        let taken: Vec<i64> = lane.take(8).iter().map(|row| row.seq).collect();
        assert_eq!(taken, [0, 1, 2, 3, 4, 5, 6, 100]);
    }

    #[test]
    fn beside_a_flood_small_tenants_are_taken_and_none_that_is_under_way() {
        let mut lane = Lane::default();
        let is_small = |tenant| tenant > 1;
        (0..100).for_each(|seq| lane.push(Arc::new(row(seq, 1).into())));
        lane.push(Arc::new(row(100, 2).into()));
        assert!(lane.take_beside(8, is_small).is_empty(), "nothing is under way");
        lane.take(8);
        for (seq, tenant) in [(101, 2), (102, 3), (103, 4), (104, 3)] {
            lane.push(Arc::new(row(seq, tenant).into()));
        }
        let seqs = |rows: &[Arc<Row>]| rows.iter().map(|row| row.seq).collect::<Vec<_>>();
        let beside = lane.take_beside(2, is_small);
        assert_eq!(seqs(&beside), [102, 104], "101 is behind 100, which is under way");
        assert_eq!(seqs(&lane.take_beside(8, is_small)), [103]);
        lane.put_back(&beside);
        assert_eq!(seqs(&lane.take_beside(1, is_small)), [102], "in its order again");
        assert_eq!(lane.position(200), -1);
    }

    #[test]
    fn nothing_is_taken_beside_a_flood_while_keys_wait() {
        let mut lane = Lane::default();
        (0..9).for_each(|seq| lane.push(Arc::new(row(seq, 1).into())));
        lane.take(8);
        lane.push(Arc::new(row(9, 2).into()));
        lane.park(row(0, 1).parked(Some(0), 1, String::new()));
        assert!(lane.take_beside(8, |tenant| tenant > 1).is_empty());
    }

    #[test]
    fn the_position_never_passes_what_is_not_finished() {
        let mut lane = Lane::default();
        assert_eq!(lane.position(9), 9);
        (1..=3).for_each(|seq| lane.push(Arc::new(row(seq, 1).into())));
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
        let mut lane = Lane::with(Waiting { parked: vec![parked(1, Some(50))], ..Waiting::default() });
        lane.park(parked(2, Some(0)));
        assert!(lane.must_wait(&LogRow { key: "k".to_owned(), ..row(3, 1) }));
        assert!(!lane.must_wait(&LogRow { key: "k".to_owned(), ..row(3, 2) }));
        assert_eq!(lane.due(49, 9), []);
        assert_eq!(lane.due(50, 9), [parked(1, Some(50))]);
        lane.promote(&parked(1, Some(50)), Some(parked(2, Some(0))));
        assert_eq!(lane.due(50, 9), [parked(2, Some(0))]);
        lane.promote(&parked(2, Some(0)), None);
        assert_eq!(lane.due(i64::MAX, 9), []);
    }

    #[test]
    fn a_key_that_was_stopped_lets_nothing_pass_until_it_goes_on() {
        let of_key = |seq| LogRow { key: "k".to_owned(), ..row(seq, 1) };
        let stopped = |parked| Waiting { parked, paused: vec![(1, "k".to_owned())], beyond: false };
        let mut lane = Lane::with(stopped(Vec::new()));
        assert!(lane.must_wait(&of_key(3)));
        assert!(!lane.must_wait(&row(4, 1)));
        lane.park(of_key(3).parked(Some(0), 0, String::new()));
        assert!(!lane.has_due(9));
        lane.know(Waiting { parked: vec![of_key(3).parked(Some(0), 0, String::new())], ..Waiting::default() });
        assert_eq!(lane.due(9, 9).len(), 1);
    }

    #[test]
    fn no_more_is_taken_of_what_is_due_than_is_wanted_and_nothing_is_left_out_for_ever() {
        let parked = |seq: i64| row(seq, 1).parked(Some(100 - seq), 1, String::new());
        let mut lane = Lane::with(Waiting { parked: (1..=9).map(parked).collect(), ..Waiting::default() });
        // Those whose time came first, in the order of the log.
        assert_eq!(lane.due(100, 2), [parked(8), parked(9)]);
        lane.promote(&parked(8), None);
        lane.park(row(9, 1).parked(Some(200), 2, String::new()));
        assert_eq!(lane.due(100, 2), [parked(6), parked(7)]);
    }

    #[test]
    fn one_that_is_handled_again_goes_before_what_waited_already() {
        let parked = |seq, due| {
            let row = LogRow { key: "k".to_owned(), ..row(seq, 1) };
            row.parked(due, 1, String::new())
        };
        let mut lane = Lane::with(Waiting { parked: vec![parked(5, Some(50))], ..Waiting::default() });
        lane.park(parked(2, Some(0)));
        lane.park(parked(3, Some(0)));
        assert_eq!(lane.due(50, 9), [parked(2, Some(0))]);
    }
}
