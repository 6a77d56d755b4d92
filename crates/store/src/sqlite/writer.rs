//! The one writer: a thread that takes what is waiting, commits it as a group, and then answers.
//!
//! Invariants: a caller, also a refused one, is answered after the COMMIT of its group, because a refusal may rest on what
//! an earlier unit of the group wrote. After every piece of work the writer asks whether SQLite still has a transaction:
//! where SQLite rolled it back by itself (a full disk), all of the group fails and nothing follows in it.
//! Bounds: [`GROUP_MAX`] pieces of work a transaction, [`WAITING_MAX`] that wait. The writer never waits for company.

use std::sync::Mutex;
use std::thread::JoinHandle;

use rusqlite::{Connection, ffi};
use tokio::sync::{mpsc, oneshot};

use crate::error::Error;
use crate::sqlite::error::Fault;
use crate::sqlite::file::FileLock;

/// The most pieces of work in one transaction.
pub(super) const GROUP_MAX: usize = 64;
/// The most pieces of work that wait; callers beyond wait to be let in.
const WAITING_MAX: usize = 1024;

/// The handle on the writer; dropped, it waits until the writer has finished, so that the file can be opened again.
pub(super) struct Writer {
    queue: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    /// In a simulation there is no thread: whoever asks does the work, a group of one.
    inline: Option<Box<Mutex<Connection>>>,
}

/// Why a whole group was not committed. SQLite's errors cannot be cloned; this can, for every caller of the group.
#[derive(Debug, Clone)]
struct Failure {
    code: ffi::Error,
    message: Option<String>,
}

/// A piece of work whose answer's type the writer need not know.
trait Job: Send {
    /// Does the work; answers whether it stands, or what SQLite said.
    fn run(&mut self, connection: &Connection) -> Result<(), Failure>;
    /// Answers the caller, once it is known what became of the group.
    fn answer(self: Box<Self>, group: Result<(), Failure>);
}

struct Work<T, W> {
    work: Option<W>,
    outcome: Option<Result<T, Fault>>,
    caller: oneshot::Sender<Result<T, Fault>>,
}

impl Writer {
    /// Starts the thread. The lock goes when the connection has been closed.
    pub fn start(connection: Connection, lock: FileLock) -> std::io::Result<Self> {
        let (queue, waiting) = mpsc::channel(WAITING_MAX);
        let thread = std::thread::Builder::new().name("karwan-sqlite".to_owned()).spawn(move || {
            write(&connection, waiting);
            drop(connection);
            drop(lock);
        })?;
        Ok(Self { queue: Some(queue), thread: Some(thread), inline: None })
    }

    /// A writer without a thread, over a file that no power cut threatens.
    pub fn inline(connection: Connection) -> Result<Self, Fault> {
        connection.pragma_update(None, "synchronous", "off")?;
        Ok(Self { queue: None, thread: None, inline: Some(Box::new(Mutex::new(connection))) })
    }

    /// Has a piece of work done in a savepoint of its own; answers after the commit. What it wrote stands only if it
    /// answered Ok.
    pub async fn run<T, W>(&self, work: W) -> Result<T, Fault>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        let (caller, answer) = oneshot::channel();
        let job = Box::new(Work { work: Some(work), outcome: None, caller });
        if let Some(connection) = &self.inline {
            write_group(&connection.lock().expect("nothing panics while holding it"), job, || None);
        } else {
            let queue = self.queue.as_ref().ok_or(Error::Closed)?;
            queue.send(job).await.map_err(|_| Error::Closed)?;
        }
        answer.await.unwrap_or_else(|_| Err(Error::Closed.into()))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // A writer that panicked has said so on its own; there is nothing left to finish.
            drop(thread.join());
        }
    }
}

impl<T, W> Job for Work<T, W>
where
    T: Send,
    W: FnOnce(&Connection) -> Result<T, Fault> + Send,
{
    fn run(&mut self, connection: &Connection) -> Result<(), Failure> {
        let work = self.work.take().expect("a job runs once");
        let outcome = work(connection);
        let said = match &outcome {
            Ok(_) => Ok(()),
            Err(Fault::Sql(error)) => Err(error.into()),
            Err(Fault::Refused(_)) => Err(Failure { code: ffi::Error::new(ffi::SQLITE_ABORT), message: None }),
        };
        self.outcome = Some(outcome);
        said
    }

    fn answer(self: Box<Self>, group: Result<(), Failure>) {
        let answer = match (group, self.outcome) {
            (Ok(()), Some(outcome)) => outcome,
            (Ok(()), None) => Err(Error::Closed.into()),
            (Err(failure), _) => Err(failure.into()),
        };
        // Whoever does not wait for the answer any more does not need it.
        drop(self.caller.send(answer));
    }
}

fn write(connection: &Connection, mut waiting: mpsc::Receiver<Box<dyn Job>>) {
    while let Some(first) = waiting.blocking_recv() {
        write_group(connection, first, || waiting.try_recv().ok());
    }
}

/// Commits a piece of work with those that are waiting, and answers all of them.
fn write_group(connection: &Connection, first: Box<dyn Job>, waiting: impl FnMut() -> Option<Box<dyn Job>>) {
    let mut group = Vec::new();
    let outcome = commit(connection, first, waiting, &mut group);
    if outcome.is_err() && !connection.is_autocommit() {
        // Failing here, it fails again at the next BEGIN, and says so there.
        drop(connection.execute_batch("ROLLBACK"));
    }
    for job in group {
        job.answer(outcome.clone());
    }
}

/// One transaction over the first piece of work and those that are waiting meanwhile.
fn commit(
    connection: &Connection,
    first: Box<dyn Job>,
    mut waiting: impl FnMut() -> Option<Box<dyn Job>>,
    group: &mut Vec<Box<dyn Job>>,
) -> Result<(), Failure> {
    group.push(first);
    say(connection, "BEGIN IMMEDIATE")?;
    let mut next = group.pop();
    while let Some(mut job) = next.take() {
        let run = run(connection, &mut *job);
        group.push(job);
        run?;
        if group.len() < GROUP_MAX {
            next = waiting();
        }
    }
    say(connection, "COMMIT")
}

/// One piece of work in its savepoint. Fails only where the whole group does.
fn run(connection: &Connection, job: &mut dyn Job) -> Result<(), Failure> {
    say(connection, "SAVEPOINT piece")?;
    let outcome = job.run(connection);
    if connection.is_autocommit() {
        return outcome.and(Err(Failure { code: ffi::Error::new(ffi::SQLITE_ABORT), message: None }));
    }
    if outcome.is_err() {
        say(connection, "ROLLBACK TO piece")?;
    }
    say(connection, "RELEASE piece")
}

fn say(connection: &Connection, sql: &str) -> Result<(), Failure> {
    let said = connection.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
    said.map(drop).map_err(|error| Failure::from(&error))
}

impl From<&rusqlite::Error> for Failure {
    fn from(error: &rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::SqliteFailure(code, message) => Self { code: *code, message: message.clone() },
            other => Self { code: ffi::Error::new(ffi::SQLITE_ERROR), message: Some(other.to_string()) },
        }
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::Sql(rusqlite::Error::SqliteFailure(failure.code, failure.message))
    }
}
