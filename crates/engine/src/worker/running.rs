//! A handler at work, and one that has failed.

use std::sync::Arc;
use std::time::Duration;

use karwan_envelope::Envelope;
use karwan_envelope::time::Timestamp;
use karwan_store::Store;
use tokio::time::Instant;

use super::Late;
use crate::consumer::{Failure, Verdict};

/// A handler at work; dropped, it is broken off.
pub(super) struct Running {
    pub task: tokio::task::JoinHandle<Result<Verdict, Failure>>,
    pub envelope: Arc<Envelope>,
    pub from: Timestamp,
    pub began: Instant,
    pub limit: Duration,
    /// When it has taken too long. Those of a batch that run beside each other have one: where the first of them is found out, so is
    /// every other that hangs.
    pub until: Instant,
    pub late: Late,
}

impl Running {
    pub fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    pub async fn verdict(&mut self, store: &Store) -> Result<Verdict, Failure> {
        let ended = tokio::time::timeout_at(self.until, &mut self.task).await;
        store.heard("a handler has ended").await;
        match ended {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(broken)) => Ok(Verdict::Retry(format!("the handler broke off: {broken}"))),
            Err(_) => {
                self.late.note(self.envelope.id);
                Ok(too_long(self.limit))
            }
        }
    }
}

pub(super) fn too_long(limit: Duration) -> Verdict {
    Verdict::Retry(format!("the handler took longer than {limit:?}"))
}

/// A handler that has failed, and when.
pub(super) struct Ran {
    pub running: Running,
    pub until: Timestamp,
    pub took: Duration,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It hangs beside one that was found out first.
        if !self.task.is_finished() && Instant::now() >= self.until {
            self.late.note(self.envelope.id);
        }
        self.task.abort();
    }
}

impl Ran {
    pub fn at(running: Running, until: Timestamp) -> Box<Self> {
        Box::new(Self { took: running.began.elapsed(), running, until })
    }
}
