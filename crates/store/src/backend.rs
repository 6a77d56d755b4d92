//! The two stores behind one set of calls. Chosen once, by the address.
//!
//! Every call does the same on both, and the suite in `tests/it/suite` shows it.

use std::sync::Arc;

use crate::address::Address;
use crate::consumer::{Dead, Lane, LaneTaken, Parked, Share};
use crate::deadline::Deadline;
use crate::effect::{Effect, EffectRef, Outcome};
use crate::error::Error;
use crate::held::DocumentRow;
use crate::kind::{Kind, Kinds};
use crate::log::{Filter, Holder, LogRow, Position, Seq};
use crate::query::Parts;
use crate::report::{ConsumerReport, Stats, TableSize};
use crate::store::Options;
use crate::write_set::{Flushed, LaneHold, TenantBits, UnitClaim, WriteSet};
use crate::{postgres, sqlite};

/// A store's database.
pub(crate) enum Backend {
    Sqlite(sqlite::Sqlite),
    Postgres(Box<postgres::Postgres>),
}

/// Whether a unit's id that was not committed may never be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Void {
    /// A flush with it that still arrives is refused.
    Yes,
    /// It stays usable.
    No,
}

/// Why a flush did not commit.
#[derive(Debug)]
pub enum Refusal {
    /// Something that the unit rests on has changed. `what` names it, the tenant included.
    Conflict {
        /// Kind, tenant and id.
        what: String,
    },
    /// The unit's id was committed before.
    UnitRepeated,
    /// The intents of its facts were recorded before, with the same payloads; the first one's event.
    IntentRepeated(karwan_envelope::ids::EventId),
    /// The connection broke: whether it was committed is not known.
    Lost(Error),
    /// Anything else; nothing was written.
    Error(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Calls the same method on whichever store it is.
macro_rules! on_both {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            Backend::Sqlite($store) => $call,
            Backend::Postgres($store) => $call,
        }
    };
}

impl Backend {
    pub async fn open(address: &Address, options: &Options, kinds: &Kinds) -> Result<Self, Error> {
        match address {
            Address::Sqlite(path) => Ok(Self::Sqlite(sqlite::Sqlite::open(path, options, kinds).await?)),
            Address::Postgres(url) => {
                Ok(Self::Postgres(Box::new(postgres::Postgres::open(url, options, kinds).await?)))
            }
        }
    }

    /// For looking only: nothing is written, and no hat but the relay's is worn.
    pub async fn observe(address: &Address) -> Result<Self, Error> {
        match address {
            Address::Sqlite(path) => Ok(Self::Sqlite(sqlite::Sqlite::look(path).await?)),
            Address::Postgres(url) => Ok(Self::Postgres(Box::new(postgres::Postgres::look(url).await?))),
        }
    }

    /// Which life of the store this is.
    pub fn incarnation(&self) -> i64 {
        on_both!(self, store => store.incarnation())
    }

    /// One document, or the tombstone in its place.
    pub async fn document(&self, tenant: TenantBits, kind: &Kind, id: &str) -> Result<Option<DocumentRow>, Error> {
        on_both!(self, store => store.document(tenant, kind, id).await)
    }

    /// The documents of a page and one more, so that the caller knows whether there are more. No tombstones.
    pub async fn query(&self, tenant: TenantBits, kind: &Kind, parts: &Parts) -> Result<Vec<DocumentRow>, Error> {
        on_both!(self, store => store.query(tenant, kind, parts).await)
    }

    /// Writes all of it, or nothing.
    pub async fn flush(&self, set: &Arc<WriteSet>) -> Result<Flushed, Refusal> {
        on_both!(self, store => store.flush(set).await)
    }

    /// Whether a unit with this id was committed; waits for a flush with it that is under way.
    pub async fn unit_committed(&self, claim: UnitClaim, void: Void) -> Result<bool, Error> {
        on_both!(self, store => store.unit_committed(claim, void).await)
    }

    /// Deadlines of a kind, in a share, that are due, earliest first.
    pub async fn due_deadlines(
        &self,
        kind: &str,
        share: Share,
        now_ms: i64,
        limit: usize,
    ) -> Result<Vec<Deadline>, Error> {
        on_both!(self, store => store.due_deadlines(kind, share, now_ms, limit).await)
    }

    /// The first open effect of every key, where it may be tried; nothing while the store is suspended.
    pub async fn due_effects(&self, kind: &str, share: Share, now_ms: i64, limit: usize) -> Result<Vec<Effect>, Error> {
        on_both!(self, store => store.due_effects(kind, share, now_ms, limit).await)
    }

    /// Records what became of a call.
    pub async fn record_effect(&self, hold: &LaneHold, effect: EffectRef, outcome: &Outcome) -> Result<(), Error> {
        on_both!(self, store => store.record_effect(hold, effect, outcome).await)
    }

    /// Whether effects and relay wait for an operator.
    pub async fn suspended(&self) -> Result<bool, Error> {
        on_both!(self, store => store.suspended().await)
    }

    /// Ends whoever has held the horizon back for longer; answers who was ended.
    pub async fn end_holders(&self, held_ms: i64) -> Result<Vec<Holder>, Error> {
        on_both!(self, store => store.end_holders(held_ms).await)
    }

    /// The highest number that is visible now, decided or not.
    pub async fn highest(&self) -> Result<Seq, Error> {
        on_both!(self, store => store.highest().await)
    }

    /// Looks again how far the log can be read without missing a row.
    pub async fn safe(&self) -> Result<Seq, Error> {
        on_both!(self, store => store.safe().await)
    }

    /// Rows after one number, up to another that is safe, in order, filtered by tenant and key in the database.
    pub async fn rows(&self, after: Seq, until: Seq, filter: &Filter, limit: usize) -> Result<Vec<LogRow>, Error> {
        on_both!(self, store => store.rows(after, until, filter, limit).await)
    }

    /// Rows after one number, up to another that is safe, in order, of all tenants but these.
    pub async fn rows_of_others(
        &self,
        after: Seq,
        until: Seq,
        except: &[TenantBits],
        limit: usize,
    ) -> Result<Vec<LogRow>, Error> {
        on_both!(self, store => store.rows_of_others(after, until, except, limit).await)
    }

    /// Who has rows between two numbers.
    pub async fn tenants(&self, after: Seq, until: Seq) -> Result<Vec<TenantBits>, Error> {
        on_both!(self, store => store.tenants(after, until).await)
    }

    /// The saved positions of a consumer's lanes.
    pub async fn positions(&self, consumer: &str) -> Result<Vec<Seq>, Error> {
        on_both!(self, store => store.positions(consumer).await)
    }

    /// The last row that was dropped, or 0.
    pub async fn floor(&self) -> Result<Seq, Error> {
        on_both!(self, store => store.floor().await)
    }

    /// Who holds the horizon back, longest first.
    pub async fn holders(&self) -> Result<Vec<Holder>, Error> {
        on_both!(self, store => store.holders().await)
    }

    /// Counts for people.
    pub async fn stats(&self) -> Result<Stats, Error> {
        on_both!(self, store => store.stats().await)
    }

    /// How far every consumer is, by name.
    pub async fn consumers(&self) -> Result<Vec<ConsumerReport>, Error> {
        on_both!(self, store => store.consumers().await)
    }

    /// The size of every table, and its dead rows where the database keeps such.
    pub async fn sizes(&self) -> Result<Vec<TableSize>, Error> {
        on_both!(self, store => store.sizes().await)
    }

    /// Deletes intents and unit ids from before an instant, a chunk at a time; answers how many went.
    pub async fn prune(&self, before_ms: i64) -> Result<u64, Error> {
        on_both!(self, store => store.prune(before_ms).await)
    }

    /// Drops whole stretches of the log up to a number; answers the new floor.
    pub async fn drop_log(&self, up_to: Seq) -> Result<Seq, Error> {
        on_both!(self, store => store.drop_log(up_to).await)
    }

    /// Takes a lane that nobody holds, or whose lease has run out; its epoch goes up.
    pub async fn take_lane(&self, lane: &Lane, node: &str, lease_ms: i64) -> Result<Option<LaneTaken>, Error> {
        on_both!(self, store => store.take_lane(lane, node, lease_ms).await)
    }

    /// Prolongs the leases of a node and says that it lives; answers the live nodes.
    pub async fn beat(&self, node: &str, lease_ms: i64) -> Result<Vec<String>, Error> {
        on_both!(self, store => store.beat(node, lease_ms).await)
    }

    /// Saves a lane's position: everything up to here is finished. `release` gives the lane up.
    pub async fn save_position(&self, hold: &LaneHold, seq: Seq, release: bool) -> Result<(), Error> {
        on_both!(self, store => store.save_position(hold, seq, release).await)
    }

    /// Which of these events a consumer has handled.
    pub async fn handled(&self, consumer: &str, events: &[u128]) -> Result<Vec<u128>, Error> {
        on_both!(self, store => store.handled(consumer, events).await)
    }

    /// Parks events: each with its envelope, behind what is parked of its key.
    pub async fn park(&self, hold: &LaneHold, events: &[Parked]) -> Result<(), Error> {
        on_both!(self, store => store.park(hold, events).await)
    }

    /// What is parked in a lane, in order, at most so many.
    pub async fn parked(&self, lane: &Lane, limit: usize) -> Result<Vec<Parked>, Error> {
        on_both!(self, store => store.parked(lane, limit).await)
    }

    /// Gives an event up: it leaves the parked ones, if it was there, and is claimed.
    pub async fn bury(&self, hold: &LaneHold, dead: &Dead) -> Result<(), Error> {
        on_both!(self, store => store.bury(hold, dead).await)
    }

    /// Dead letters of a consumer, oldest first, after a number.
    pub async fn dead(&self, consumer: &str, after: Seq, limit: usize) -> Result<Vec<Dead>, Error> {
        on_both!(self, store => store.dead(consumer, after, limit).await)
    }

    /// Where the log stands in this life of the store.
    pub async fn end(&self) -> Result<Position, Error> {
        Ok(Position { incarnation: self.incarnation(), seq: self.highest().await? })
    }
}
