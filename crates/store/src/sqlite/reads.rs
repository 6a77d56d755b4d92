//! Documents by their ids: what is asked for at the same time is read together, by one thread in one transaction.
//!
//! A handler asks for one document after another, and many handlers do so at once. Each read alone wakes a thread, and finds
//! that every page it kept is stale, because somebody has committed since; a group pays for both once.
//! Nobody waits for company: a thread that is done with its group takes what waits then. Bounds: [`AT_ONCE`] threads,
//! [`A_GROUP`] documents each.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::oneshot;

use crate::held::DocumentRow;
use crate::kind::Kind;
use crate::sqlite::documents::Tables;
use crate::sqlite::error::Fault;
use crate::sqlite::readers::Readers;
use crate::write_set::TenantBits;

const AT_ONCE: usize = 2;
const A_GROUP: usize = 256;

/// Those who wait for a document.
pub(super) struct Reads {
    state: Mutex<State>,
    readers: Arc<Readers>,
    tables: Arc<Tables>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Ask>,
    /// Threads that read.
    under_way: usize,
}

struct Ask {
    tenant: TenantBits,
    kind: Kind,
    id: String,
    answer: oneshot::Sender<Result<Option<DocumentRow>, Fault>>,
}

impl Reads {
    pub fn new(readers: Arc<Readers>, tables: Arc<Tables>) -> Self {
        Self { state: Mutex::default(), readers, tables }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while holding it")
    }

    /// One document, as it was when it was asked for or later.
    pub async fn document(
        self: &Arc<Self>,
        tenant: TenantBits,
        kind: &Kind,
        id: &str,
    ) -> Result<Option<DocumentRow>, Fault> {
        loop {
            let (answer, answered) = oneshot::channel();
            self.ask(Ask { tenant, kind: *kind, id: id.to_owned(), answer });
            // Whoever read for it failed and told another: it is asked again.
            if let Ok(row) = answered.await {
                return row;
            }
        }
    }

    /// Lets one more wait, and sees to it that somebody reads.
    fn ask(self: &Arc<Self>, ask: Ask) {
        let mut state = self.state();
        state.waiting.push_back(ask);
        if state.under_way < AT_ONCE {
            state.under_way += 1;
            let turn = Turn { reads: self.clone(), ended: false };
            tokio::task::spawn_blocking(move || turn.read_all());
        }
    }

    /// Reads a group. At the first failure, who asked for that document hears of it, and those behind ask again: the connection
    /// is not used any more.
    fn read(&self, mut group: VecDeque<Ask>) {
        let read = self.readers.read(|connection| {
            connection.prepare_cached("BEGIN")?.execute([])?;
            while let Some(ask) = group.front() {
                let row = self.tables.read(connection, ask.tenant, &ask.kind, &ask.id)?;
                // Who has gone away needs no answer.
                group.pop_front().map(|ask| ask.answer.send(Ok(row)));
            }
            connection.prepare_cached("COMMIT")?.execute([])?;
            Ok(())
        });
        if let (Err(fault), Some(ask)) = (read, group.pop_front()) {
            drop(ask.answer.send(Err(fault)));
        }
    }
}

/// The right to be one of the threads that read; it ends also where its thread never runs.
struct Turn {
    reads: Arc<Reads>,
    ended: bool,
}

impl Turn {
    fn read_all(mut self) {
        while let Some(group) = self.next() {
            self.reads.read(group);
        }
    }

    /// What waits; nothing, and the turn has ended, in one step: whoever asks after that begins another.
    fn next(&mut self) -> Option<VecDeque<Ask>> {
        let mut state = self.reads.state();
        if state.waiting.is_empty() {
            state.under_way -= 1;
            self.ended = true;
            return None;
        }
        let count = state.waiting.len().min(A_GROUP);
        Some(state.waiting.drain(..count).collect())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.ended {
            self.reads.state().under_way -= 1;
        }
    }
}
