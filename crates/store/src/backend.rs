//! The two stores behind one set of calls. Chosen once, by the address.
//!
//! Every call does the same on both, and the suite in `tests/it/suite` shows it.

// tidy: long because it is the list of what a store can do, a sentence and a line for each, and is read as a list.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use karwan_envelope::ids::EventId;

use crate::address::Address;
use crate::bell::Bell;
use crate::consumer::{Beat, Dead, Lane, LaneTaken, Node, Parked, Share, Suspension};
use crate::deadline::Deadline;
use crate::effect::{DeadEffect, Effect, EffectRef, Outcome};
use crate::environment::Environment;
use crate::error::Error;
use crate::held::DocumentRow;
use crate::kind::{Kind, Kinds};
use crate::lanes::Declared;
use crate::log::{Apart, Filter, Holder, LogRow, Position, Seq};
use crate::outbox::{Topic, TopicReport};
use crate::postgres::own::Transaction;
use crate::query::Parts;
use crate::relay_state::{Life, RelayState, StreamPlace};
use crate::report::{ConsumerReport, EffectReport, Stats, TableSize};
use crate::retention::Stretch;
use crate::store::Options;
use crate::write_set::{Claim, Flushed, LaneHold, TenantBits, UnitClaim, WriteSet};
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
    IntentRepeated(EventId),
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

    /// See [`Store::heard`](crate::Store::heard); only files are simulated.
    pub async fn heard(&self, what: &'static str) {
        if let Self::Sqlite(store) = self {
            store.heard(what).await;
        }
    }

    /// One document, or the tombstone in its place.
    pub async fn document(&self, tenant: TenantBits, kind: &Kind, id: &str) -> Result<Option<DocumentRow>, Error> {
        on_both!(self, store => store.document(tenant, kind, id).await)
    }

    /// The documents of a page and one more, so that the caller knows whether there are more. No tombstones.
    pub async fn query(&self, tenant: TenantBits, kind: &Kind, parts: &Parts) -> Result<Vec<DocumentRow>, Error> {
        on_both!(self, store => store.query(tenant, kind, parts).await)
    }

    /// Begins a transaction for tables of the user's own.
    pub async fn own_transaction(&self, tenant: TenantBits) -> Result<Transaction, Error> {
        match self {
            Self::Sqlite(store) => Err(Error::PostgresOnly { store: store.name() }),
            Self::Postgres(store) => store.own_transaction(tenant).await,
        }
    }

    /// Writes all of it, or nothing; with what the unit has written into tables of its own, where it has.
    pub async fn flush(&self, set: &Arc<WriteSet>, own: Option<Transaction>) -> Result<Flushed, Refusal> {
        let flushed = match (self, own) {
            (Self::Postgres(store), Some(own)) => store.flush_own(own, set).await,
            (_, _) => on_both!(self, store => store.flush(set).await),
        };
        if flushed.is_ok() && !set.facts.is_empty() {
            self.bell().ring();
        }
        if flushed.is_ok() && !set.effects.is_empty() {
            self.bell().ring_for_effects();
        }
        flushed
    }

    /// Rung when facts or effects were committed.
    pub fn bell(&self) -> &Bell {
        on_both!(self, store => store.bell())
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

    /// A deadline that failed is tried again at an instant, where it is still what was read.
    pub async fn postpone_deadline(&self, deadline: &Deadline, try_at: i64, why: &str) -> Result<(), Error> {
        on_both!(self, store => store.postpone_deadline(deadline, try_at, why).await)
    }

    /// The first open effect of every key, where it may be tried; nothing while the store is suspended.
    pub async fn due_effects(&self, kind: &str, share: Share, now_ms: i64, limit: usize) -> Result<Vec<Effect>, Error> {
        on_both!(self, store => store.due_effects(kind, share, now_ms, limit).await)
    }

    /// Whether a deadline, or the first open effect of a key, of any of these kinds may be tried, all at one instant.
    pub async fn any_due(&self, deadlines: &[&str], effects: &[&str], now_ms: i64) -> Result<bool, Error> {
        on_both!(self, store => store.any_due(deadlines, effects, now_ms).await)
    }

    /// Records what became of a call.
    pub async fn record_effect(&self, hold: &LaneHold, effect: EffectRef, outcome: &Outcome) -> Result<(), Error> {
        on_both!(self, store => store.record_effect(hold, effect, outcome).await)
    }

    /// Effects that are not tried before an instant.
    pub async fn hold_back(&self, hold: &LaneHold, effects: &[EffectRef], due: i64) -> Result<(), Error> {
        on_both!(self, store => store.hold_back(hold, effects, due).await)
    }

    /// Dead effects of a kind, oldest first, after a number.
    pub async fn dead_effects(&self, kind: &str, after: i64, limit: usize) -> Result<Vec<DeadEffect>, Error> {
        on_both!(self, store => store.dead_effects(kind, after, limit).await)
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

    /// Whether the last look saw numbers that are not decided yet.
    pub fn is_undecided(&self) -> bool {
        match self {
            // What is seen of a file is committed.
            Self::Sqlite(_) => false,
            Self::Postgres(store) => store.undecided.load(Ordering::Relaxed),
        }
    }

    /// Rows after one number, up to another that is safe, in order, filtered in the database: by everything but their subject.
    pub async fn rows(&self, after: Seq, until: Seq, filter: &Filter, limit: usize) -> Result<Vec<LogRow>, Error> {
        on_both!(self, store => store.rows(after, until, filter, limit).await)
    }

    /// Rows of several tenants, each after a number of its own; a list for each.
    pub async fn rows_apart(&self, asked: &Apart) -> Result<Vec<Vec<LogRow>>, Error> {
        on_both!(self, store => store.rows_apart(asked).await)
    }

    /// The schema with this content hash, as some program brought it.
    pub async fn schema(&self, hash: &str) -> Result<Option<String>, Error> {
        on_both!(self, store => store.schema(hash).await)
    }

    /// Who has rows between two numbers.
    pub async fn tenants(&self, after: Seq, until: Seq) -> Result<Vec<TenantBits>, Error> {
        on_both!(self, store => store.tenants(after, until).await)
    }

    /// The saved positions of a consumer's lanes.
    pub async fn positions(&self, consumer: &str) -> Result<Vec<Seq>, Error> {
        on_both!(self, store => store.positions(consumer).await)
    }

    /// The saved positions of all lanes that read the log.
    pub async fn all_positions(&self) -> Result<Vec<Seq>, Error> {
        on_both!(self, store => store.all_positions().await)
    }

    /// The stretches that the log is dropped in.
    pub async fn stretches(&self) -> Result<Vec<Stretch>, Error> {
        match self {
            Self::Sqlite(_) => Ok(Vec::new()),
            Self::Postgres(store) => store.stretches().await,
        }
    }

    /// What consumers have said of themselves, by name.
    pub async fn declared(&self) -> Result<Vec<Declared>, Error> {
        on_both!(self, store => store.declared().await)
    }

    /// What any release of a consumer has handled so far.
    pub async fn subjects(&self, consumer: &str) -> Result<Vec<String>, Error> {
        on_both!(self, store => store.subjects(consumer).await)
    }

    /// Who lives.
    pub async fn living(&self) -> Result<Vec<Node>, Error> {
        on_both!(self, store => store.living().await)
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

    /// Of the next rows after a position, up to another, how many a consumer handles whose lanes have not passed them; and how
    /// many rows there were.
    pub async fn waiting_for(
        &self,
        consumer: &str,
        between: (Seq, Seq),
        rows_max: usize,
    ) -> Result<(i64, usize), Error> {
        on_both!(self, store => store.waiting_for(consumer, between, rows_max).await)
    }

    /// What is open and what was given up, by kind of effect.
    pub async fn effects(&self) -> Result<Vec<EffectReport>, Error> {
        on_both!(self, store => store.effects().await)
    }

    /// Every topic of the store.
    pub async fn topics(&self) -> Result<Vec<Topic>, Error> {
        on_both!(self, store => store.topics().await)
    }

    /// What of these topics a relay has not published, by topic.
    pub async fn unpublished(&self, relay: &str, position: Seq, topics: &[i64]) -> Result<Vec<TopicReport>, Error> {
        on_both!(self, store => store.unpublished(relay, position, topics).await)
    }

    /// What it runs on.
    pub async fn environment(&self) -> Result<Environment, Error> {
        on_both!(self, store => store.environment().await)
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

    /// Lanes that could be taken, as far as can be seen.
    pub async fn free_lanes(&self, consumer: &str, lanes: u16, lease_ms: i64) -> Result<Vec<u16>, Error> {
        on_both!(self, store => store.free_lanes(consumer, lanes, lease_ms).await)
    }

    /// Takes a lane that nobody holds, or whose lease has run out; its epoch goes up.
    pub async fn take_lane(&self, lane: &Lane, node: &str, lease_ms: i64) -> Result<Option<LaneTaken>, Error> {
        on_both!(self, store => store.take_lane(lane, node, lease_ms).await)
    }

    /// Notes what consumers say of themselves.
    pub async fn declare(&self, consumers: &[Declared]) -> Result<(), Error> {
        on_both!(self, store => store.declare(consumers).await)
    }

    /// Says that a node lives, and prolongs the leases that it knows of; answers who lives, and which it lost.
    pub async fn beat(&self, node: &Node, holds: &[LaneHold], lease_ms: i64) -> Result<Beat, Error> {
        on_both!(self, store => store.beat(node, holds, lease_ms).await)
    }

    /// Forgets a node, and frees the lanes that it holds.
    pub async fn leave(&self, node: &str) -> Result<(), Error> {
        on_both!(self, store => store.leave(node).await)
    }

    /// Saves a lane's position: everything up to here is finished. `release` gives the lane up.
    pub async fn save_position(&self, hold: &LaneHold, seq: Seq, release: bool) -> Result<(), Error> {
        on_both!(self, store => store.save_position(hold, seq, release).await)
    }

    /// Saves the positions of some lanes; answers those that are held no more, and stay as they are.
    pub async fn save_positions(&self, positions: &[(LaneHold, Seq)]) -> Result<Vec<LaneHold>, Error> {
        on_both!(self, store => store.save_positions(positions).await)
    }

    /// Moves all lanes of a consumer, where nobody holds one of them.
    pub async fn seek(&self, consumer: &str, seq: Seq) -> Result<bool, Error> {
        on_both!(self, store => store.seek(consumer, seq).await)
    }

    /// Which of these events a consumer has handled.
    pub async fn handled(&self, consumer: &str, claims: &[Claim]) -> Result<Vec<EventId>, Error> {
        on_both!(self, store => store.handled(consumer, claims).await)
    }

    /// Parks events: each with its envelope, behind what is parked of its key.
    pub async fn park(&self, hold: &LaneHold, events: &[Parked]) -> Result<(), Error> {
        on_both!(self, store => store.park(hold, events).await)
    }

    /// What is parked in a lane, in order, at most so many.
    pub async fn parked(&self, lane: &Lane, limit: usize) -> Result<Vec<Parked>, Error> {
        on_both!(self, store => store.parked(lane, limit).await)
    }

    /// The first parked event of every key of a lane, in order.
    pub async fn parked_heads(&self, lane: &Lane, limit: usize) -> Result<Vec<Parked>, Error> {
        on_both!(self, store => store.parked_heads(lane, limit).await)
    }

    /// The first parked event of a key.
    pub async fn parked_head(&self, lane: &Lane, tenant: TenantBits, key: &str) -> Result<Option<Parked>, Error> {
        on_both!(self, store => store.parked_head(lane, tenant, key).await)
    }

    /// Suspends a consumer; the first reason stands.
    pub async fn suspend(&self, hold: &LaneHold, reason: &str) -> Result<(), Error> {
        on_both!(self, store => store.suspend(hold, reason).await)
    }

    /// Consumers that are suspended, by name.
    pub async fn suspensions(&self) -> Result<Vec<Suspension>, Error> {
        on_both!(self, store => store.suspensions().await)
    }

    /// Gives an event up: it leaves the parked ones, if it was there, and is claimed.
    pub async fn bury(&self, hold: &LaneHold, dead: &Dead) -> Result<(), Error> {
        on_both!(self, store => store.bury(hold, dead).await)
    }

    /// Dead letters of a consumer, oldest first, after a number.
    pub async fn dead(&self, consumer: &str, after: Seq, limit: usize) -> Result<Vec<Dead>, Error> {
        on_both!(self, store => store.dead(consumer, after, limit).await)
    }

    /// Letters that wait for a person: consumer, topic and how many.
    pub async fn letters(&self) -> Result<Vec<(String, String, i64)>, Error> {
        on_both!(self, store => store.letters().await)
    }

    /// How often operators have changed something of each consumer.
    pub async fn revisions(&self) -> Result<Vec<(String, i64)>, Error> {
        on_both!(self, store => store.revisions().await)
    }

    /// The keys of a lane that operators have stopped.
    pub async fn paused_keys(&self, lane: &Lane) -> Result<Vec<(TenantBits, String)>, Error> {
        on_both!(self, store => store.paused_keys(lane).await)
    }

    /// Saves a relay's position with that of its stream.
    pub async fn save_relay(&self, hold: &LaneHold, state: RelayState) -> Result<(), Error> {
        on_both!(self, store => store.save_relay(hold, state).await)
    }

    /// A parked event of a relay is in its stream, at this place.
    pub async fn retried(&self, hold: &LaneHold, event: EventId, place: StreamPlace) -> Result<(), Error> {
        on_both!(self, store => store.retried(hold, event, place).await)
    }

    /// What a stream has lost of that is parked again.
    pub async fn park_lost(&self, hold: &LaneHold, from: Seq, end: StreamPlace) -> Result<u64, Error> {
        on_both!(self, store => store.park_lost(hold, from, end).await)
    }

    /// The last number of the log that a relay has given up, or published after it had been refused.
    pub async fn amended_to(&self, relay: &str) -> Result<Seq, Error> {
        on_both!(self, store => store.amended_to(relay).await)
    }

    /// Those of these events that a relay has published after they had been refused, as they were published.
    pub async fn published(&self, relay: &str, events: &[EventId]) -> Result<Vec<(EventId, String)>, Error> {
        on_both!(self, store => store.published(relay, events).await)
    }

    /// An event is parked no more.
    pub async fn unpark(&self, hold: &LaneHold, event: EventId) -> Result<(), Error> {
        on_both!(self, store => store.unpark(hold, event).await)
    }

    /// For how long a parked event has been parked, by the store's clock, in milliseconds.
    pub async fn parked_ms(&self, consumer: &str, event: EventId) -> Result<i64, Error> {
        on_both!(self, store => store.parked_ms(consumer, event).await)
    }

    /// The lives of the store, in order, each with the last row of the log when it began.
    pub async fn lives(&self) -> Result<Vec<Life>, Error> {
        on_both!(self, store => store.lives().await)
    }

    /// The stream of a consumer begins anew.
    pub async fn restart_feed(&self, holds: &[LaneHold], begun: (Seq, i64)) -> Result<(), Error> {
        on_both!(self, store => store.restart_feed(holds, begun).await)
    }

    /// What a relay saved last.
    pub async fn relay_state(&self, consumer: &str) -> Result<Option<RelayState>, Error> {
        on_both!(self, store => store.relay_state(consumer).await)
    }

    /// Sets a held lane back, never forward.
    pub async fn rewind(&self, hold: &LaneHold, seq: Seq) -> Result<(), Error> {
        on_both!(self, store => store.rewind(hold, seq).await)
    }

    /// Dead letters that are in no dead-letter topic yet, oldest first.
    pub async fn dead_unfed(&self, skip: usize, limit: usize) -> Result<Vec<(String, Dead)>, Error> {
        on_both!(self, store => store.dead_unfed(skip, limit).await)
    }

    /// These dead letters were published.
    pub async fn mark_fed(&self, letters: &[(String, EventId, i64)]) -> Result<(), Error> {
        on_both!(self, store => store.mark_fed(letters).await)
    }

    /// Where the log stands in this life of the store.
    pub async fn end(&self) -> Result<Position, Error> {
        // First the number: asking for it may find that another life has begun.
        let seq = self.highest().await?;
        Ok(Position { incarnation: self.incarnation(), seq })
    }
}
