//! What consumers keep in the store: lanes with leases and positions, parked events, dead letters.
//!
//! Not here: when to take a lane, when to park, what a backoff is (`engine`). Every write of a lane names the epoch under
//! which it was taken, and is refused once somebody else has taken it.

use karwan_envelope::ids::EventId;
use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::error::Error;
use crate::lanes::Declared;
use crate::log::{LogRow, Seq};
use crate::store::Store;
use crate::write_set::{Claim, LaneHold, TenantBits, slot};
use crate::{postgres, sqlite};

/// A fixed share of a consumer's keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lane {
    /// The consumer.
    pub consumer: String,
    /// Which share.
    pub number: u16,
    /// Of how many; the same for everybody who works on the consumer at one time.
    pub of: u16,
}

/// A process that lives, and what it works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name; no two processes at one time, or after each other, have the same.
    pub name: String,
    /// The consumers whose lanes it takes a share of.
    pub runs: Vec<Run>,
}

/// A consumer that a process works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The consumer.
    pub consumer: String,
    /// Into how many lanes the process parts it.
    pub lanes: u16,
    /// What the process handles of it.
    #[serde(default)]
    pub subjects: Vec<String>,
}

impl Node {
    /// A process that works on nothing.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), runs: Vec::new() }
    }

    /// Whether it handles a subject of a consumer.
    pub fn handles(&self, consumer: &str, subject: &str) -> bool {
        self.runs.iter().any(|run| run.consumer == consumer && run.subjects.iter().any(|it| it == subject))
    }

    /// As it is stored.
    pub(crate) fn runs_text(&self) -> String {
        serde_json::to_string(&self.runs).expect("names and numbers are JSON")
    }

    /// As it was stored; what cannot be read works on nothing.
    pub(crate) fn stored(name: String, runs: &str) -> Self {
        Self { name, runs: serde_json::from_str(runs).unwrap_or_default() }
    }
}

/// The keys whose slot, modulo `lanes`, is `lane`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Share {
    /// Which share.
    pub lane: u16,
    /// Of how many; at least 1.
    pub lanes: u16,
}

impl Share {
    /// All keys.
    pub const ALL: Self = Self { lane: 0, lanes: 1 };

    /// Whether a slot lies in it.
    pub const fn has(self, slot: u16) -> bool {
        slot % if self.lanes == 0 { 1 } else { self.lanes } == self.lane
    }
}

/// A lane that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneTaken {
    /// Under this number every write of the lane is made.
    pub epoch: i64,
    /// Everything up to here is finished.
    pub position: Seq,
    /// The highest number visible when it was taken: beyond it nobody else can have claimed.
    pub seen: Seq,
}

/// What a beat answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beat {
    /// The live nodes, in order.
    pub living: Vec<Node>,
    /// Of the lanes that the node named, those that it holds no more: their leases have run out, or others have them.
    pub lost: Vec<LaneHold>,
}

impl Beat {
    pub(crate) fn new(living: Vec<Node>, named: &[LaneHold], is_kept: impl Fn(&LaneHold) -> bool) -> Self {
        Self { living, lost: named.iter().filter(|hold| !is_kept(hold)).cloned().collect() }
    }
}

/// An event that waits, with everything that is needed to handle it later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    /// Its place in the log.
    pub seq: Seq,
    /// When it entered the log, milliseconds after 1970.
    pub logged: i64,
    /// Whose.
    pub tenant: TenantBits,
    /// The canonical subject.
    pub subject: String,
    /// The key that waits with it.
    pub key: String,
    /// The event.
    pub event: EventId,
    /// When to try again, milliseconds after 1970; none waits for an operator.
    pub due: Option<i64>,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it failed last.
    pub error: String,
    /// The stored envelope.
    pub envelope: String,
}

/// An event that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dead {
    /// What it was.
    pub event: Parked,
    /// When, milliseconds after 1970, by the store's clock; filled in by the store.
    pub at: i64,
}

/// A consumer that gave up on itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspension {
    /// Its name.
    pub consumer: String,
    /// Why.
    pub reason: String,
    /// Since when, milliseconds after 1970, by the store's clock.
    pub at: i64,
}

impl Parked {
    /// The claim with which it is handled.
    pub const fn claim(&self) -> Claim {
        Claim { tenant: self.tenant, event: self.event, seq: self.seq, logged: self.logged, parked: true }
    }

    /// The row that was parked.
    pub fn row(&self) -> LogRow {
        LogRow {
            seq: self.seq,
            tenant: self.tenant,
            subject: self.subject.clone(),
            key: self.key.clone(),
            slot: slot(self.tenant, &self.key),
            event: self.event,
            at: self.logged,
            envelope: self.envelope.clone(),
        }
    }
}

impl LogRow {
    /// The claim with which it is handled, live.
    pub const fn claim(&self) -> Claim {
        Claim { tenant: self.tenant, event: self.event, seq: self.seq, logged: self.at, parked: false }
    }

    /// What is parked of it.
    pub fn parked(self, due: Option<i64>, attempts: u32, error: String) -> Parked {
        let Self { seq, tenant, subject, key, event, at: logged, envelope, .. } = self;
        Parked { seq, logged, tenant, subject, key, event, due, attempts, error, envelope }
    }
}

/// Lets a suspended consumer go on; whether it was suspended. The store may be in use by other processes.
pub async fn resume(address: &Address, consumer: &str) -> Result<bool, Error> {
    match address {
        Address::Sqlite(path) => sqlite::resume_consumer(path, consumer).await,
        Address::Postgres(url) => postgres::resume_consumer(url, consumer).await,
    }
}

impl Store {
    /// Those of a consumer's lanes that nobody holds, or whose lease has run out by the store's clock, by number. Nothing is
    /// locked for it: whoever takes one may still find that somebody was faster. All of them where the consumer is parted
    /// into another number of lanes.
    pub async fn free_lanes(&self, consumer: &str, lanes: u16, lease_ms: i64) -> Result<Vec<u16>, Error> {
        self.shared.backend.free_lanes(consumer, lanes, lease_ms).await
    }

    /// Takes a lane that nobody holds, or whose lease has run out by the store's clock; its epoch goes up.
    ///
    /// A consumer that was parted into another number of lanes is parted anew as soon as none of them is held: its new lanes
    /// begin at the lowest position of the old ones, and what is parked goes to the lane of its key. Until then
    /// [`Error::LanesDiffer`].
    pub async fn take_lane(&self, lane: &Lane, node: &str, lease_ms: i64) -> Result<Option<LaneTaken>, Error> {
        self.shared.backend.take_lane(lane, node, lease_ms).await
    }

    /// Notes what consumers say of themselves, for those who move them and those who drop the log.
    ///
    /// What any release of a consumer handles is remembered. Where one handles a subject that none did before, the lanes are
    /// taken from whoever holds them, by their epochs, so that from then on nobody has one who has not been told.
    pub async fn declare(&self, consumers: &[Declared]) -> Result<(), Error> {
        self.shared.backend.declare(consumers).await
    }

    /// What every consumer has said of itself, by name.
    pub async fn declared(&self) -> Result<Vec<Declared>, Error> {
        self.shared.backend.declared().await
    }

    /// What any release of a consumer has handled so far. Asked for after a lane was taken, it is all that counts for as long
    /// as that lane is held.
    pub async fn subjects(&self, consumer: &str) -> Result<Vec<String>, Error> {
        self.shared.backend.subjects(consumer).await
    }

    /// Says that a node lives, and what it works on, and prolongs the leases that it knows of; answers who lives, and which
    /// lanes it holds no more.
    ///
    /// A lane that was taken when the answer was lost is not among them: its lease runs out, and the lane is not lost.
    pub async fn beat(&self, node: &Node, holds: &[LaneHold], lease_ms: i64) -> Result<Beat, Error> {
        self.shared.backend.beat(node, holds, lease_ms).await
    }

    /// Says that a node lives no more; whatever it still holds is anybody's.
    pub async fn leave(&self, node: &str) -> Result<(), Error> {
        self.shared.backend.leave(node).await
    }

    /// Saves a lane's position: everything up to here is finished. `release` gives the lane up.
    pub async fn save_position(&self, hold: &LaneHold, seq: Seq, release: bool) -> Result<(), Error> {
        self.shared.backend.save_position(hold, seq, release).await
    }

    /// The processes that live, by their beats.
    pub async fn living(&self) -> Result<Vec<Node>, Error> {
        self.shared.backend.living().await
    }

    /// Saves the positions of some lanes at once; answers which of them are held no more. Those stay as they are.
    pub async fn save_positions(&self, positions: &[(LaneHold, Seq)]) -> Result<Vec<LaneHold>, Error> {
        if positions.is_empty() {
            return Ok(Vec::new());
        }
        self.shared.backend.save_positions(positions).await
    }

    /// Moves all lanes of a consumer to a number, back or forth, where nobody holds one of them; answers whether it was done.
    /// What was handled before stays handled: it is read again, and passed over.
    pub async fn seek(&self, consumer: &str, seq: Seq) -> Result<bool, Error> {
        self.shared.backend.seek(consumer, seq).await
    }

    /// Which of these events a consumer has handled.
    pub async fn handled(&self, consumer: &str, claims: &[Claim]) -> Result<Vec<EventId>, Error> {
        self.shared.backend.handled(consumer, claims).await
    }

    /// Parks events: each with its envelope, behind what is parked of its key. Parking again moves the due time.
    pub async fn park(&self, hold: &LaneHold, events: &[Parked]) -> Result<(), Error> {
        // Asked with every batch, most of which park nothing.
        if events.is_empty() {
            return Ok(());
        }
        self.shared.backend.park(hold, events).await
    }

    /// What is parked in a lane, in order, at most so many.
    pub async fn parked(&self, lane: &Lane, limit: usize) -> Result<Vec<Parked>, Error> {
        self.shared.backend.parked(lane, limit).await
    }

    /// The first parked event of every key of a lane, in order, at most so many.
    pub async fn parked_heads(&self, lane: &Lane, limit: usize) -> Result<Vec<Parked>, Error> {
        self.shared.backend.parked_heads(lane, limit).await
    }

    /// The first parked event of a key.
    pub async fn parked_head(&self, lane: &Lane, tenant: TenantBits, key: &str) -> Result<Option<Parked>, Error> {
        self.shared.backend.parked_head(lane, tenant, key).await
    }

    /// Suspends a consumer: nothing of it is handled until it is resumed. The first reason stands.
    pub async fn suspend(&self, hold: &LaneHold, reason: &str) -> Result<(), Error> {
        self.shared.backend.suspend(hold, reason).await
    }

    /// Consumers that are suspended, by name.
    pub async fn suspensions(&self) -> Result<Vec<Suspension>, Error> {
        self.shared.backend.suspensions().await
    }

    /// Gives an event up: it leaves the parked ones, if it was there, and is claimed.
    pub async fn bury(&self, hold: &LaneHold, dead: &Dead) -> Result<(), Error> {
        self.shared.backend.bury(hold, dead).await
    }

    /// Dead letters of a consumer, oldest first, after a number.
    pub async fn dead(&self, consumer: &str, after: Seq, limit: usize) -> Result<Vec<Dead>, Error> {
        self.shared.backend.dead(consumer, after, limit).await
    }
}
