//! Sending events to one consumer once more, with their ids and keys.
//!
//! They are parked, due at once, in the place of their claims: so only that consumer sees them, nothing of it moves, events of
//! a key go in the order of the log and before those that come, and whatever nobody has tried yet can be taken back. A seek
//! would read everything behind the first of them again. Parked keys are kept in memory, so there is a bound; larger work is
//! [`Operator::seek_and_clear`].

use std::collections::HashSet;

use super::desk::values;
use super::in_hand::Again;
use super::seek::{Chosen, Kept, Place, Steps};
use super::{Operator, Verb, Who};
use crate::error::Error;
use crate::lanes::{Chunk, Lanes, Move, Which, holder, replayed};
use crate::log::{Filter, LogRow, PAGE_MAX, Seq};
use crate::write_set::{Claim, TenantBits};

/// The most keys that are sent once more at a time; half of what a consumer keeps in memory.
pub const REPLAY_KEYS_MAX: usize = 5_000;
/// And the most events.
pub const REPLAY_EVENTS_MAX: usize = 100_000;

/// Events that were sent once more, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// The recorded action; 0 where nothing was done yet.
    pub action: i64,
    /// How many events.
    pub events: u64,
    /// Of how many keys; 0 where they were not counted.
    pub keys: usize,
}

/// Counts events that are to be sent once more.
#[derive(Debug, Default)]
pub struct Tally {
    keys: HashSet<(TenantBits, String)>,
    events: usize,
}

impl Tally {
    /// These too; refuses more than can be sent at a time.
    pub fn add(&mut self, rows: &[LogRow]) -> Result<(), Error> {
        self.events += rows.len();
        self.keys.extend(rows.iter().map(|row| (row.tenant, row.key.clone())));
        let too = |what, actual, max| Err(Error::TooLarge { what, actual, max });
        match (self.keys.len(), self.events) {
            (keys, _) if keys > REPLAY_KEYS_MAX => too("keys of one replay", keys, REPLAY_KEYS_MAX),
            (_, events) if events > REPLAY_EVENTS_MAX => too("events of one replay", events, REPLAY_EVENTS_MAX),
            _ => Ok(()),
        }
    }

    /// How many there are.
    pub fn replayed(&self) -> Replayed {
        Replayed { action: 0, events: self.events as u64, keys: self.keys.len() }
    }
}

impl Operator {
    /// How many events [`Self::replay`] would send: those that the consumer has handled.
    pub async fn would_replay(&self, consumer: &str, place: Place, chosen: &Chosen) -> Result<Replayed, Error> {
        let (_, _, from) = self.at(consumer, place).await?;
        self.counted(consumer, from, chosen).await
    }

    /// How many claims [`Self::clear_inbox`] would take back, letters among them.
    pub async fn count_claims(&self, consumer: &str, place: Place, chosen: &Chosen) -> Result<u64, Error> {
        let (_, _, from) = self.at(consumer, place).await?;
        let mut claims = 0;
        self.handled_since(consumer, from, chosen, |rows| {
            claims += rows.len() as u64;
            Ok(())
        })
        .await?;
        Ok(claims)
    }

    /// Sends chosen events to one consumer once more, where it has handled them.
    pub async fn replay(
        &self,
        who: &Who,
        consumer: &str,
        (place, chosen): (Place, &Chosen),
        told: Steps<'_>,
    ) -> Result<Replayed, Error> {
        who.signed()?;
        let (lanes, _, from) = self.at(consumer, place).await?;
        let would = self.counted(consumer, from, chosen).await?;
        let in_hand = self.take(lanes, (who, consumer), (Again::Replay, from)).await?;
        let moved = self.through(in_hand, (from, chosen), told).await?;
        Ok(Replayed { action: moved.action, events: moved.cleared, keys: would.keys })
    }

    /// What [`Self::undo_replay`] would take back, and from which consumer.
    pub async fn would_undo_replay(&self, action: i64) -> Result<(String, Replayed), Error> {
        let consumer = sent_to(&mut Lanes::open(&self.address).await?, action).await?;
        let untried = self.untried(&consumer, action).await?;
        Ok((consumer, untried))
    }

    /// Takes back what an action sent once more, as far as nobody has tried it yet. Where nothing of it is left, nothing is
    /// done and nothing recorded.
    pub async fn undo_replay(&self, who: &Who, action: i64) -> Result<Replayed, Error> {
        who.signed()?;
        let mut lanes = Lanes::open(&self.address).await?;
        let consumer = sent_to(&mut lanes, action).await?;
        let would = self.untried(&consumer, action).await?;
        if would.events == 0 {
            return Ok(would);
        }
        let by = (consumer.as_str(), who, self.clock.now().unix_ms());
        let (found, held) = lanes
            .move_lanes(by, |found| {
                let detail = super::was_text(&found.lanes);
                let (to, hold) = (found.lanes.clone(), Some(holder(who)));
                Ok(Move { to, hold, verb: Verb::Undo, detail, undoes: Some(action) })
            })
            .await?;
        let taken = lanes.chunk(&held, Chunk::Unpark { action }, self.clock.now().unix_ms()).await?;
        let events = taken.len() as u64;
        let kept = Kept { was: found.lanes.clone(), to: found.lanes, cleared: events };
        lanes.release(&held, &kept.text()).await?;
        Ok(Replayed { action: held.action, events, keys: would.keys })
    }

    /// What of the events that an action sent once more waits untried.
    async fn untried(&self, consumer: &str, action: i64) -> Result<Replayed, Error> {
        let mut desk = self.look().await?;
        let sql = "SELECT count(*) FROM karwan.parked WHERE consumer = $1 AND error = $2 AND attempts = 0
                   GROUP BY tenant_id, key";
        let keys = desk.rows(sql, values![consumer, replayed(action).as_str()]).await?;
        let events = keys.iter().map(|row| row.int(0).unsigned_abs()).sum();
        Ok(Replayed { action: 0, events, keys: keys.len() })
    }

    /// Counts what a consumer has handled of chosen events; refuses more than can be sent at a time.
    async fn counted(&self, consumer: &str, from: Seq, chosen: &Chosen) -> Result<Replayed, Error> {
        let mut tally = Tally::default();
        self.handled_since(consumer, from, chosen, |rows| tally.add(&rows)).await?;
        Ok(tally.replayed())
    }

    /// Hands out the chosen events that a consumer has handled, a page at a time.
    async fn handled_since(
        &self,
        consumer: &str,
        from: Seq,
        chosen: &Chosen,
        mut each: impl FnMut(Vec<LogRow>) -> Result<(), Error> + Send,
    ) -> Result<(), Error> {
        let relay = self.relay().await?;
        let Chosen { subject, tenant, key } = chosen.clone();
        let filter = Filter { subject, tenant, key, ..Filter::default() };
        let (end, mut position) = (relay.end().await?, relay.start().await?);
        if from < position.seq {
            return Err(Error::BelowFloor { asked: from, floor: position.seq });
        }
        position.seq = from;
        loop {
            let page = relay.page(position, &filter, PAGE_MAX).await?;
            let claims: Vec<Claim> = page.rows.iter().map(LogRow::claim).collect();
            let handled: HashSet<_> = relay.handled(consumer, &claims).await?.into_iter().collect();
            each(page.rows.into_iter().filter(|row| handled.contains(&row.event)).collect())?;
            position = page.position;
            if !page.more || position.seq >= end.seq {
                return Ok(());
            }
        }
    }
}

/// The consumer to which an action sent events once more; refused where that cannot be undone.
async fn sent_to(lanes: &mut Lanes, action: i64) -> Result<String, Error> {
    let refused = |reason: &str| Error::CannotUndo { action, reason: reason.to_owned() };
    let done = lanes.action(Which::Number(action)).await?.ok_or_else(|| refused("there is no such action"))?;
    if done.undone_by.is_some() {
        return Err(refused("it was undone before"));
    }
    done.consumer.filter(|_| done.verb == Verb::Replay.name()).ok_or_else(|| refused("it sent no events to a consumer"))
}
