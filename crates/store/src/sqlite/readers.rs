//! Connections that read beside the writer, made when they are first needed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::error::Error;
use crate::sqlite::error::Fault;
use crate::sqlite::file;

/// A bounded number of connections; whoever finds none waits for one.
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    turns: Arc<Semaphore>,
    /// Reads on the task that asks.
    inline: bool,
}

impl Readers {
    pub fn new(path: PathBuf, connections_max: usize, inline: bool) -> Self {
        let turns = Arc::new(Semaphore::new(connections_max.max(1)));
        Self { path, idle: Mutex::default(), turns, inline }
    }

    /// Reads on a thread that may block, or at once in a simulation. Each call sees everything that was committed before it.
    pub async fn run<T, W>(self: &Arc<Self>, work: W) -> Result<T, Fault>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        if self.inline {
            return self.read(work);
        }
        let turn = self.turns.clone().acquire_owned().await.map_err(|_| Error::Closed)?;
        let readers = self.clone();
        let read = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            readers.read(work)
        });
        read.await.map_err(|_| Error::Closed)?
    }

    /// Reads on this thread, for which it stands still. As many connections are kept as threads have read at once; one that
    /// failed is not used again.
    pub fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, Fault> {
        let idle = self.idle.lock().expect("nothing panics while holding it").pop();
        let connection = match idle {
            Some(connection) => connection,
            None => file::reader(&self.path)?,
        };
        let answer = work(&connection)?;
        self.idle.lock().expect("nothing panics while holding it").push(connection);
        Ok(answer)
    }
}
