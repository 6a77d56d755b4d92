//! Lanes whose rows come from a stream of a broker instead of the log.

use std::collections::BTreeMap;
use std::sync::Arc;

use karwan_store::log::{LogRow, Seq};
use karwan_store::write_set::LaneHold;

use super::Shared;
use crate::consumer::Consumer;
use crate::lane::Lane;
use crate::row::Row;

/// What a stream has delivered for a lane. Its numbers are the stream's.
#[derive(Default)]
pub(super) struct Fed {
    /// Everything up to here was delivered.
    pub(super) read: Seq,
    /// What is not finished: it is not delivered again in time, so it is kept.
    unfinished: BTreeMap<Seq, Arc<Row>>,
}

impl Fed {
    /// Nothing was delivered behind a number yet.
    pub(super) fn from(read: Seq) -> Self {
        Self { read, ..Self::default() }
    }

    /// A row is finished.
    pub(super) fn finish(&mut self, seq: Seq) {
        self.unfinished.remove(&seq);
    }

    /// Queues everything again that is not finished.
    pub(super) fn give_back(&self, lane: &mut Lane) {
        lane.forget();
        lane.give_back();
        self.unfinished.values().for_each(|row| lane.push(row.clone()));
    }
}

impl Shared {
    /// Every lane of a consumer, where this process holds all of them.
    pub fn all_held(&self, consumer: &Consumer) -> Option<Vec<LaneHold>> {
        Some(self.held(&consumer.name)).filter(|held| held.len() == usize::from(consumer.lanes))
    }

    /// Queues what a stream has delivered up to a number, where all lanes of its consumer are still held as they were; false
    /// where one is not: it may have been taken anew, and knows nothing of what was delivered before.
    pub fn feed(&self, holds: &[LaneHold], rows: Vec<LogRow>, read: Seq) -> bool {
        let mut state = self.state();
        if !holds.iter().all(|hold| state.is_held(hold)) {
            return false;
        }
        for row in rows {
            let row = Arc::new(Row::from(row));
            let hold = &holds[usize::from(row.slot) % holds.len()];
            if let Some(held) = state.held(hold)
                && let Some(fed) = &mut held.fed
            {
                held.lane.push(row.clone());
                fed.unfinished.insert(row.seq, row);
                held.work.notify_one();
            }
        }
        for hold in holds {
            if let Some(fed) = state.held(hold).and_then(|held| held.fed.as_mut()) {
                fed.read = fed.read.max(read);
            }
        }
        true
    }

    /// The stream of a consumer begins anew: so do its numbers, and everything up to one of them is passed over.
    pub fn restart_feed(&self, holds: &[LaneHold], after: Seq) {
        let mut state = self.state();
        for hold in holds {
            if let Some(held) = state.held(hold) {
                held.lane.forget();
                held.lane.give_back();
                held.begin_at(after);
                held.fed = Some(Fed::from(after));
            }
        }
    }

    /// What a stream had when it was opened for a consumer may have been handled by others, and nothing behind it.
    pub fn fed_from(&self, holds: &[LaneHold], seen: Seq) {
        let mut state = self.state();
        for hold in holds {
            if let Some(held) = state.held(hold) {
                held.seen = seen;
            }
        }
    }
}
