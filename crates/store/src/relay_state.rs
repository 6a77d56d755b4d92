//! What a relay keeps: how far its stream was when its position was saved; and what holders of lanes ask for besides: what
//! operators changed, and which dead letters are not in a dead-letter topic yet.
//!
//! A relay holds lane 0 of 1 of the pseudo-consumer `relay.<STREAM>`; parking, burying and leases are any consumer's.

use std::collections::{HashMap, HashSet};

use karwan_envelope::ids::EventId;

use crate::consumer::{Dead, Lane};
use crate::error::Error;
use crate::log::{LogRow, Seq};
use crate::relay::RelayTx;
use crate::retention::DAYS_MIN;
use crate::store::Store;
use crate::write_set::{LaneHold, TenantBits};

/// By so much the numbers of what is parked are set back when a stream begins anew: no stream is as long.
pub(crate) const BEFORE: i64 = 1 << 48;

/// How far a relay was when it saved its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelayState {
    /// Everything of the log up to here is in the stream, or parked.
    pub seq: Seq,
    /// The stream's last sequence then.
    pub stream_seq: i64,
    /// When that stream was made, milliseconds after 1970.
    pub stream_created: i64,
}

/// A number of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPlace {
    /// The number.
    pub seq: i64,
    /// When that stream was made, milliseconds after 1970.
    pub created: i64,
}

/// Events that a relay does not publish as the log has them.
#[derive(Debug, Default)]
pub struct Amended {
    /// Locked away, or set aside or deleted by an operator: they are not published.
    pub given_up: HashSet<EventId>,
    /// As they were published after they had been refused: somebody may have repaired them.
    pub published: HashMap<EventId, String>,
}

/// Younger rows are published again to a stream that lost everything: an older event might be handled twice. A day less than
/// consumers remember what they have handled: for those that come to the stream later.
const PUBLISHED_AGAIN_MS: i64 = (DAYS_MIN as i64 - 1) * 24 * 60 * 60 * 1000;

/// For so long what was retried is kept at least, however old it is: claims of what was logged long ago go with the next run of
/// retention.
pub(crate) const RETRIED_MS_MIN: i64 = 24 * 60 * 60 * 1000;

/// A life of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// Its number.
    pub incarnation: i64,
    /// The log's last row when it began: what came with the copy.
    pub began: Seq,
}

/// What the present life still has of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Everything: it is the present one, or no later life began with a copy of less.
    All,
    /// Rows up to here: a later life began with a copy that ended there.
    UpTo(Seq),
    /// It is no life of this store.
    Foreign,
}

/// What is still there of a life. `lives` are a store's, in order.
pub fn kept(lives: &[Life], incarnation: i64) -> Kept {
    let Some(place) = lives.iter().position(|life| life.incarnation == incarnation) else { return Kept::Foreign };
    lives[place + 1..].iter().map(|life| life.began).min().map_or(Kept::All, Kept::UpTo)
}

impl RelayTx {
    /// Which life of the store this is.
    pub fn incarnation(&self) -> i64 {
        self.backend.incarnation()
    }

    /// The lives of the store so far, in order.
    pub async fn lives(&self) -> Result<Vec<Life>, Error> {
        self.backend.lives().await
    }

    /// The number of the log behind which rows are published again to a stream that has lost them, where a relay was at another one.
    /// What lies behind that was never published: nobody has handled it, however old it is.
    pub async fn published_again(&self, was_at: Seq, now_ms: i64) -> Result<Seq, Error> {
        Ok(self.position_at(now_ms - PUBLISHED_AGAIN_MS).await?.seq.min(was_at))
    }
}

impl Store {
    /// A parked event is handled elsewhere: it is parked no more.
    pub async fn unpark(&self, hold: &LaneHold, event: EventId) -> Result<(), Error> {
        self.shared.backend.unpark(hold, event).await
    }

    /// A parked event of a relay is in its stream, under this number: it is parked no more, and known to be there.
    pub async fn retried(&self, hold: &LaneHold, event: EventId, place: StreamPlace) -> Result<(), Error> {
        self.shared.backend.retried(hold, event, place).await
    }

    /// A stream ends here: what was published to it after it was parked, and is not there, is parked again, due at once, as far as it
    /// lies before a number of the log, from which the relay goes on. What lies behind that number is published again when it is read,
    /// as [`Self::amended`] has it. Answers how many were parked.
    pub async fn park_lost(&self, hold: &LaneHold, from: Seq, end: StreamPlace) -> Result<u64, Error> {
        self.shared.backend.park_lost(hold, from, end).await
    }

    /// The last number of the log at which a relay has something of which [`Self::amended`] knows.
    pub async fn amended_to(&self, relay: &str) -> Result<Seq, Error> {
        self.shared.backend.amended_to(relay).await
    }

    /// What of these rows a relay publishes not at all, or otherwise than they are in the log.
    pub async fn amended(&self, relay: &str, rows: &[&LogRow]) -> Result<Amended, Error> {
        let claims: Vec<_> = rows.iter().map(|row| row.claim()).collect();
        let given_up = self.shared.backend.handled(relay, &claims).await?.into_iter().collect();
        let events: Vec<EventId> = rows.iter().map(|row| row.event).collect();
        let published = self.shared.backend.published(relay, &events).await?.into_iter().collect();
        Ok(Amended { given_up, published })
    }

    /// For how long an event has been parked, in milliseconds by the store's clock; 0 where it is not.
    pub async fn parked_ms(&self, consumer: &str, event: EventId) -> Result<i64, Error> {
        self.shared.backend.parked_ms(consumer, event).await
    }

    /// The stream of a consumer was made anew, and its numbers begin again: all lanes, which are held, go behind one of them,
    /// and what is parked stays before everything that comes.
    pub async fn restart_feed(&self, holds: &[LaneHold], (after, stream_created): (Seq, i64)) -> Result<(), Error> {
        self.shared.backend.restart_feed(holds, (after, stream_created)).await
    }

    /// How often operators have changed something of each consumer; a number that has gone up means: look again at what is
    /// parked and paused.
    pub async fn revisions(&self) -> Result<Vec<(String, i64)>, Error> {
        self.shared.backend.revisions().await
    }

    /// The keys of a lane that operators have stopped.
    pub async fn paused_keys(&self, lane: &Lane) -> Result<Vec<(TenantBits, String)>, Error> {
        self.shared.backend.paused_keys(lane).await
    }

    /// Saves a relay's position with that of its stream, in one transaction, under the lane's epoch.
    pub async fn save_relay(
        &self,
        hold: &LaneHold,
        seq: Seq,
        stream_seq: i64,
        stream_created: i64,
    ) -> Result<(), Error> {
        self.shared.backend.save_relay(hold, RelayState { seq, stream_seq, stream_created }).await
    }

    /// What a relay saved last.
    pub async fn relay_state(&self, consumer: &str) -> Result<Option<RelayState>, Error> {
        self.shared.backend.relay_state(consumer).await
    }

    /// Sets a held lane back to a number, never forward: what its stream lost is published again.
    pub async fn rewind(&self, hold: &LaneHold, seq: Seq) -> Result<(), Error> {
        self.shared.backend.rewind(hold, seq).await
    }

    /// Dead letters of all consumers that are in no dead-letter topic yet, each with its consumer, oldest first. There is no
    /// position to lose: what is published is told by [`Self::mark_fed`], and what is not comes again. The first so many are
    /// left out: those that could not be published do not stand in the way of the others.
    pub async fn dead_unfed(&self, skip: usize, limit: usize) -> Result<Vec<(String, Dead)>, Error> {
        self.shared.backend.dead_unfed(skip, limit).await
    }

    /// These dead letters were published: of which consumer, which event, and given up when. One that was given up again meanwhile
    /// is another letter.
    pub async fn mark_fed(&self, letters: &[(String, EventId, i64)]) -> Result<(), Error> {
        self.shared.backend.mark_fed(letters).await
    }
}
