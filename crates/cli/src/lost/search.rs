//! Which messages of a stream are events that a restored store lacks.
//!
//! A message names the life of the store that published it and the number of its row. What a copy has of a former life ends at
//! a number; a row below it may be missing, too: its transaction was open when the copy was taken. And what a relay had parked
//! was published under the number that the log had reached by then. So what is not found under its number is looked for by
//! the time at which it was logged.

use std::collections::HashMap;

use karwan::engine::fed_consumer::event;
use karwan_broker::topology::Stream;
use karwan_broker::{Broker, Delivery, Settings, Start, Walk};
use karwan_envelope::ids::EventId;
use karwan_store::log::{Filter, PAGE_MAX, Seq};
use karwan_store::relay_state::{Kept, Life, kept};
use karwan_store::{Error, RelayTx};

use crate::exit::Failure;

/// So many rows before the end of a copy are compared one by one: no transaction stays open for longer.
const NEAR: Seq = 100_000;
/// Rows that were logged at one time are not always numbered in that order.
const SLACK_MS: i64 = 1_000;

/// Hears of a message whose event is lost.
pub type Found<'a> = &'a mut dyn FnMut(&Delivery) -> Result<(), Failure>;

/// See the module.
pub struct Search {
    relay: RelayTx,
    lives: Vec<Life>,
    floor: Seq,
    /// Rows of the copy that were read last, and up to where.
    rows: HashMap<Seq, EventId>,
    read: Seq,
    /// When the youngest row of a copy was logged, by where it ends.
    newest: HashMap<Seq, i64>,
}

impl Search {
    /// In this log.
    pub async fn of(relay: RelayTx) -> Result<Self, Error> {
        let (lives, floor) = (relay.lives().await?, relay.start().await?.seq);
        Ok(Self { relay, lives, floor, rows: HashMap::new(), read: 0, newest: HashMap::new() })
    }

    /// Reads a stream to where it ends now, through a durable that goes again.
    pub async fn within(
        &mut self,
        broker: &Broker,
        stream: &Stream,
        durable: &str,
        (found, told): (Found<'_>, &dyn Fn(u64, u64)),
    ) -> Result<(), Failure> {
        let settings = Settings::new(&stream.name, durable, &stream.subjects);
        let mut walk = Walk::begin(broker, settings, Start::Beginning).await?;
        self.read = 0;
        let read = async {
            while let Some(batch) = walk.next().await? {
                for delivery in &batch {
                    if self.lacks(delivery).await? {
                        found(delivery)?;
                    }
                }
                let (done, total) = walk.progress();
                told(done, total);
            }
            Ok(())
        };
        let outcome: Result<(), Failure> = read.await;
        let gone = walk.end().await;
        outcome.and(gone.map_err(Failure::from))
    }

    async fn lacks(&mut self, delivery: &Delivery) -> Result<bool, Error> {
        let (Some(mark), Some(event)) = (delivery.position, event(delivery)) else { return Ok(false) };
        let Kept::UpTo(copied) = kept(&self.lives, mark.incarnation) else { return Ok(false) };
        if mark.seq <= copied - NEAR || mark.seq <= self.floor {
            return Ok(false);
        }
        if mark.seq <= copied && self.at(mark.seq, copied).await? == Some(event) {
            return Ok(false);
        }
        Ok(!self.was_logged(delivery.logged_ms.unwrap_or_default(), event, copied).await?)
    }

    /// The event of a row that came with a copy. Rows are asked for in their order.
    async fn at(&mut self, seq: Seq, copied: Seq) -> Result<Option<EventId>, Error> {
        if seq > self.read {
            let rows = self.relay.rows(seq - 1, copied, &Filter::default(), PAGE_MAX).await?;
            self.read = if rows.len() < PAGE_MAX { copied } else { rows.last().map_or(copied, |row| row.seq) };
            self.rows = rows.into_iter().map(|row| (row.seq, row.event)).collect();
        }
        Ok(self.rows.get(&seq).copied())
    }

    /// Whether an event that was logged at an instant came with a copy.
    async fn was_logged(&mut self, at: i64, event: EventId, copied: Seq) -> Result<bool, Error> {
        if at > self.newest(copied).await? {
            return Ok(false);
        }
        let mut after = self.relay.position_at(at - SLACK_MS).await?.seq;
        loop {
            let rows = self.relay.rows(after, copied, &Filter::default(), PAGE_MAX).await?;
            let Some(last) = rows.last() else { return Ok(false) };
            if rows.iter().any(|row| row.event == event) {
                return Ok(true);
            }
            if last.at > at + SLACK_MS {
                return Ok(false);
            }
            after = last.seq;
        }
    }

    /// When the youngest row of a copy was logged.
    async fn newest(&mut self, copied: Seq) -> Result<i64, Error> {
        if let Some(newest) = self.newest.get(&copied) {
            return Ok(*newest);
        }
        let near = i64::try_from(PAGE_MAX).unwrap_or(i64::MAX);
        let rows = self.relay.rows(copied - near, copied, &Filter::default(), PAGE_MAX).await?;
        // Where the last numbers were all given back, everything is looked for.
        let newest = rows.iter().map(|row| row.at).max().unwrap_or(i64::MAX);
        self.newest.insert(copied, newest);
        Ok(newest)
    }
}
