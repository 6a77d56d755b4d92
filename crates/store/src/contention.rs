//! Turns at a contended document, within this process.
//!
//! Optimistic units starve under contention: of sixty-four that read the same version one commits. A unit that lost
//! twice waits here for its turn, so that it reads after the one before it has committed. This bounds retries; it is not
//! what keeps units correct (the version check is), and other processes know nothing of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::OwnedMutexGuard;

type Turn = tokio::sync::Mutex<()>;

/// The queues of contended documents; a queue that nobody waits in is dropped.
#[derive(Default)]
pub(crate) struct Contention(Mutex<HashMap<String, Weak<Turn>>>);

impl Contention {
    /// Waits for the turn at this document; the turn ends when the guard is dropped.
    pub async fn turn(&self, what: &str) -> OwnedMutexGuard<()> {
        let queue = {
            let mut queues = self.0.lock().expect("nothing panics while holding it");
            queues.retain(|_, queue| queue.strong_count() > 0);
            match queues.get(what).and_then(Weak::upgrade) {
                Some(queue) => queue,
                None => {
                    let queue = Arc::new(Turn::new(()));
                    queues.insert(what.to_owned(), Arc::downgrade(&queue));
                    queue
                }
            }
        };
        queue.lock_owned().await
    }
}
