//! So much at once: tasks that are under way, each known by a name that no other has meanwhile.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::time::Duration;

use karwan_store::{Error, Store};
use tokio::task::{Id, JoinError, JoinSet};

use crate::engine::{IDLE, STOP_MAX, Stopping, pause};

/// How long a stop waits for what is under way, with time left for releasing what was held.
const FINISH_MAX: Duration = STOP_MAX.saturating_sub(Duration::from_secs(2));

/// Dropped, everything that is under way is cut off.
pub(super) struct Slots<K> {
    most: usize,
    running: JoinSet<Result<(), Error>>,
    names: HashMap<Id, K>,
    taken: HashSet<K>,
}

impl<K: Eq + Hash + Clone> Slots<K> {
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), running: JoinSet::new(), names: HashMap::new(), taken: HashSet::new() }
    }

    /// Whether one more may be started.
    pub fn has_room(&self) -> bool {
        self.taken.len() < self.most
    }

    pub fn is_taken(&self, name: &K) -> bool {
        self.taken.contains(name)
    }

    pub fn start(&mut self, name: K, task: impl Future<Output = Result<(), Error>> + Send + 'static) {
        let id = self.running.spawn(task).id();
        self.taken.insert(name.clone());
        self.names.insert(id, name);
    }

    /// Frees the slots of what has ended; the first failure, where there is one.
    pub fn reap(&mut self) -> Result<(), Error> {
        let mut outcome = Ok(());
        while let Some(ended) = self.running.try_join_next_with_id() {
            outcome = outcome.and(self.ended(ended));
        }
        outcome
    }

    /// Waits until something has ended or there is something new, for a moment.
    pub async fn wait(
        &mut self,
        store: &Store,
        stopping: &Stopping,
        something_new: impl Future<Output = ()>,
    ) -> Result<(), Error> {
        let ended = tokio::select! {
            biased;
            Some(ended) = self.running.join_next_with_id() => Some(ended),
            () = something_new => None,
            () = pause(IDLE, stopping) => None,
        };
        store.heard("a slot is free").await;
        ended.map_or(Ok(()), |ended| self.ended(ended))
    }

    /// Waits for everything that is under way; what takes too long is cut off.
    pub async fn finish(mut self, store: &Store, what: &str) {
        let finish = async {
            while let Some(ended) = self.running.join_next_with_id().await {
                store.heard("a slot has finished").await;
                if let Err(error) = self.ended(ended) {
                    tracing::warn!(what, error = %error, "the store did not take what was under way; it is done again");
                }
            }
        };
        if tokio::time::timeout(FINISH_MAX, finish).await.is_err() {
            tracing::warn!(what, "what was under way took longer than {FINISH_MAX:?} and is cut off; it is done again");
        }
    }

    fn ended(&mut self, ended: Result<(Id, Result<(), Error>), JoinError>) -> Result<(), Error> {
        let (id, outcome) = match ended {
            Ok(ended) => ended,
            // What is the user's runs in tasks of its own, so this is ours.
            Err(broken) => {
                tracing::error!(error = %broken, "a task broke off; it is done again");
                (broken.id(), Ok(()))
            }
        };
        if let Some(name) = self.names.remove(&id) {
            self.taken.remove(&name);
        }
        outcome
    }
}
