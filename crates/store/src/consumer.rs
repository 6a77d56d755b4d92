//! What consumers keep in the store: lanes with leases and positions, parked events, dead letters.
//!
//! Not here: when to take a lane, when to park, what a backoff is (`engine`). Every write of a lane names the epoch under
//! which it was taken, and is refused once somebody else has taken it.

use karwan_envelope::ids::EventId;

use crate::error::Error;
use crate::log::{LogRow, Seq};
use crate::store::Store;
use crate::write_set::{Claim, LaneHold, TenantBits};

/// A fixed share of a consumer's keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lane {
    /// The consumer.
    pub consumer: String,
    /// Which share.
    pub number: u16,
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

impl Parked {
    /// The claim with which it is handled.
    pub const fn claim(&self) -> Claim {
        Claim { tenant: self.tenant, event: self.event, seq: self.seq, logged: self.logged, parked: true }
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

impl Store {
    /// Takes a lane that nobody holds, or whose lease has run out by the store's clock; its epoch goes up.
    pub async fn take_lane(&self, lane: &Lane, node: &str, lease_ms: i64) -> Result<Option<LaneTaken>, Error> {
        self.shared.backend.take_lane(lane, node, lease_ms).await
    }

    /// Prolongs the leases of a node and says that it lives; answers the live nodes, in order.
    pub async fn beat(&self, node: &str, lease_ms: i64) -> Result<Vec<String>, Error> {
        self.shared.backend.beat(node, lease_ms).await
    }

    /// Saves a lane's position: everything up to here is finished. `release` gives the lane up.
    pub async fn save_position(&self, hold: &LaneHold, seq: Seq, release: bool) -> Result<(), Error> {
        self.shared.backend.save_position(hold, seq, release).await
    }

    /// Which of these events a consumer has handled.
    pub async fn handled(&self, consumer: &str, events: &[EventId]) -> Result<Vec<EventId>, Error> {
        let events: Vec<u128> = events.iter().map(|event| event.bits()).collect();
        let handled = self.shared.backend.handled(consumer, &events).await?;
        Ok(handled.into_iter().map(EventId::from_bits).collect())
    }

    /// Parks events: each with its envelope, behind what is parked of its key. Parking again moves the due time.
    pub async fn park(&self, hold: &LaneHold, events: &[Parked]) -> Result<(), Error> {
        self.shared.backend.park(hold, events).await
    }

    /// What is parked in a lane, in order, at most so many.
    pub async fn parked(&self, lane: &Lane, limit: usize) -> Result<Vec<Parked>, Error> {
        self.shared.backend.parked(lane, limit).await
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
