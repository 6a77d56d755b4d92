//! The flush: write sets as arrays, handed to one function in the database.
//!
//! Sets that wait at the same moment share a call, and with it a transaction: one round trip, one commit, one wait for the disk.
//! They become one set, in one lock order: flushed one after the other in one transaction they would lock in any order, and
//! deadlock. Nobody waits for company: whoever finds a turn free goes, and takes along who waits. Where a shared call is refused,
//! nothing was written, and whoever is not to blame by name goes alone: so each is told what it would have been told alone.
//!
//! Bounds: [`AT_ONCE`] shared calls under way, and what is in one of them (`group`); [`LARGE_AT_ONCE`] of large sets, which share with
//! nobody. Whoever holds a lock that a shared call wants stops it for [`WAIT_MS`] at most; each set then waits by itself.

use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use deadpool_postgres::Pool;
use tokio::sync::{Semaphore, oneshot};
use uuid::Uuid;

use super::arrays::{Arrays, Subjects};
use super::connect::{Life, pool_error};
use super::group::{Ask, Queue, goes_alone};
use super::{Postgres, error};
use crate::backend::{Refusal, Void};
use crate::error::{DatabaseError, Error};
use crate::recent::conflict;
use crate::write_set::{DocumentWrite, Flushed, UnitClaim, WriteSet};

/// Shared calls under way: more of them have fewer sets each.
const AT_ONCE: usize = 1;
/// Calls of large sets under way: a database is quickest with few at once.
const LARGE_AT_ONCE: usize = 4;
/// How long a shared call waits for a lock that somebody else holds.
const WAIT_MS: i32 = 200;
/// How often a shared call is tried again without the one that was to blame.
const TRIES_MAX: usize = 4;
/// How often it is asked whether a unit was committed where the answer to that is lost as well, and how far apart.
const LOOKS_MAX: u32 = 5;
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// What the flushes of a process share.
pub(super) struct Flushes {
    app: Pool,
    shown: String,
    pub subjects: RwLock<Subjects>,
    queue: Mutex<Queue<Answer>>,
    large: Semaphore,
    life: Arc<Life>,
}

/// What becomes of a set that waited.
#[derive(Debug)]
enum Answer {
    Committed(Flushed),
    Refused(Refusal),
    /// Nothing of it was written, and what is wrong with it only it can tell.
    Alone,
}

impl Postgres {
    pub async fn flush(&self, set: &Arc<WriteSet>) -> Result<Flushed, Refusal> {
        let mut turn = None;
        if goes_alone(set) {
            turn = self.flushes.large.acquire().await.ok();
        } else {
            match self.flushes.shared(set).await {
                Answer::Committed(flushed) => return Ok(flushed),
                Answer::Refused(refusal) => return Err(named(refusal, set)),
                Answer::Alone => {}
            }
        }
        let flushed = self.flushes.call(&[set], 0).await;
        drop(turn);
        // Whoever waits for this connection goes first: the runtime would let it wait until this task pauses by itself,
        // which may be after it has built its next unit.
        tokio::task::yield_now().await;
        flushed.map_err(|refusal| named(refusal, set))
    }

    pub async fn unit_committed(&self, claim: UnitClaim, void: Void) -> Result<bool, Error> {
        let mut looks = 1;
        loop {
            match self.ask_committed(claim, void).await {
                // Whatever broke the connection of the flush broke others that wait in the pool.
                Err(Error::Unreachable { .. }) if looks < LOOKS_MAX => tokio::time::sleep(LOOK_PAUSE).await,
                answer => return answer,
            }
            looks += 1;
        }
    }

    async fn ask_committed(&self, claim: UnitClaim, void: Void) -> Result<bool, Error> {
        let client = self.app().await?;
        let (tenant, id) = (Uuid::from_u128(claim.tenant), Uuid::from_u128(claim.id));
        let row =
            client.query_one("SELECT karwan.unit_committed($1, $2, $3)", &[&tenant, &id, &(void == Void::Yes)]).await;
        Ok(row.map_err(|cause| self.error(cause))?.get(0))
    }
}

/// The database does not repeat the consumer's name.
pub(super) fn named(refusal: Refusal, set: &WriteSet) -> Refusal {
    match (refusal, &set.lane) {
        (Refusal::Error(Error::Claimed { event, .. }), Some(lane)) => {
            Error::Claimed { consumer: lane.consumer.clone(), event }.into()
        }
        (refusal, _) => refusal,
    }
}

impl Flushes {
    pub fn new(app: Pool, shown: String, subjects: Subjects, life: Arc<Life>) -> Arc<Self> {
        let (subjects, large) = (RwLock::new(subjects), Semaphore::new(LARGE_AT_ONCE));
        Arc::new(Self { app, shown, subjects, queue: Mutex::default(), large, life })
    }

    fn queue(&self) -> MutexGuard<'_, Queue<Answer>> {
        self.queue.lock().expect("nothing panics while holding it")
    }

    /// The arrays of some sets.
    pub fn arrays<'a>(&self, sets: &[&'a WriteSet]) -> Result<Arrays<'a>, Error> {
        Arrays::of(sets, &self.subjects.read().expect("nothing panics while holding it"))
    }

    /// One call for all of these.
    async fn call(&self, sets: &[&WriteSet], wait_ms: i32) -> Result<Flushed, Refusal> {
        // Built before a connection is taken: those are few, and others wait for them.
        let arrays = self.arrays(sets)?.waiting_at_most(wait_ms);
        let client = self.app.get().await.map_err(|cause| pool_error(&self.shown, cause))?;
        let bad = |cause| error::error(&self.shown, cause);
        // A new connection may be to another life.
        let life = self.life.number();
        if let Some(set) = sets.iter().find(|set| rests_on_another(set, life)) {
            return Err(refused_whole(set));
        }
        let (call, parameters) = arrays.call();
        let statement = client.prepare_cached(&call).await.map_err(bad)?;
        let row = client.query_one(&statement, &parameters).await;
        row.map(|row| Flushed { seq: row.get(0) }).map_err(|cause| error::refusal(&self.shown, cause))
    }

    /// Waits for company that is there already. A task of its own makes the call: whoever goes away while it waits takes nobody
    /// with it.
    async fn shared(self: &Arc<Self>, set: &Arc<WriteSet>) -> Answer {
        let (answer, answered) = oneshot::channel();
        if self.queue().push(Ask::new(set.clone(), answer), AT_ONCE) {
            tokio::spawn(Turn { of: self.clone(), over: false }.serve());
        }
        answered.await.unwrap_or(Answer::Refused(Refusal::Lost(Error::Closed)))
    }

    /// Writes a group, and answers who is in it; whether it was committed.
    async fn write(&self, mut group: Vec<Ask<Answer>>) -> bool {
        for _ in 0..TRIES_MAX {
            let sets: Vec<&WriteSet> = group.iter().map(|ask| &*ask.set).collect();
            let refusal = match self.call(&sets, WAIT_MS).await {
                Ok(flushed) => {
                    group.into_iter().for_each(|ask| ask.answer(Answer::Committed(flushed)));
                    return true;
                }
                Err(refusal) => refusal,
            };
            match refusal {
                Refusal::Lost(error) => {
                    group.into_iter().for_each(|ask| ask.answer(Answer::Refused(self.lost(&error))));
                    return false;
                }
                Refusal::Conflict { what } => {
                    let Some(place) = the_one(&group, &what) else { break };
                    group.remove(place).answer(Answer::Refused(Refusal::Conflict { what }));
                }
                refusal if group.len() == 1 => {
                    group.remove(0).answer(Answer::Refused(refusal));
                }
                Refusal::UnitRepeated | Refusal::IntentRepeated(_) | Refusal::Error(_) => break,
            }
            if group.is_empty() {
                return false;
            }
        }
        group.into_iter().for_each(|ask| ask.answer(Answer::Alone));
        false
    }

    /// The connection broke: each of them has to be looked up.
    fn lost(&self, error: &Error) -> Refusal {
        let cause = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
        Refusal::Lost(Error::Unreachable { store: self.shown.clone(), cause: DatabaseError::Words(cause) })
    }
}

/// Whether a decision rests on documents as they were in another life of the store than this one.
pub(super) fn rests_on_another(set: &WriteSet, life: i64) -> bool {
    set.recent.is_some_and(|of| of != life)
}

/// A set of another life: it is decided again, whichever of its documents is named.
pub(super) fn refused_whole(set: &WriteSet) -> Refusal {
    let first = set.documents.first().map(|first| conflict(first.kind.name, first.tenant, &first.id));
    Refusal::Conflict { what: first.unwrap_or_default() }
}

/// The place of the one set that rests on the document that is said to have changed. A version never comes back: alone it would
/// be told the same.
fn the_one(group: &[Ask<Answer>], what: &str) -> Option<usize> {
    let names = |document: &DocumentWrite| what == conflict(document.kind.name, document.tenant, &document.id);
    let rests = |set: &WriteSet| set.documents.iter().any(names);
    let mut places = group.iter().enumerate().filter(|(_, ask)| rests(&ask.set)).map(|(place, _)| place);
    places.next().filter(|_| places.next().is_none())
}

/// Serves those who wait until nobody does. Broken off, as where the runtime ends, it leaves nobody waiting.
struct Turn {
    of: Arc<Flushes>,
    over: bool,
}

impl Turn {
    async fn serve(mut self) {
        loop {
            let next = self.of.queue().take();
            let Some((number, group)) = next else { break };
            let committed = self.of.write(group).await;
            // What rests on the same as one that was committed would be refused, and others with it.
            let met = self.of.queue().ended(number, committed);
            met.into_iter().for_each(|ask| ask.answer(Answer::Alone));
        }
        self.over = true;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.over {
            let left = self.of.queue().broken_off();
            drop(left);
        }
    }
}

/// The last instant of the year 9999; the driver counts in microseconds and would overflow far beyond.
const LAST_MS: i64 = 253_402_300_799_999;

/// Milliseconds after 1970 as the driver wants them.
pub(super) fn instant(ms: i64) -> SystemTime {
    let ms = ms.clamp(-LAST_MS, LAST_MS);
    let distance = Duration::from_millis(ms.unsigned_abs());
    if ms < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}

/// And back.
pub(super) fn millis(at: SystemTime) -> i64 {
    match at.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
    }
}
