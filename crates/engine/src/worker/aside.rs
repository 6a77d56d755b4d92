//! What becomes of an event that is not handled now: it waits behind its key, is parked, or is given up; and of a consumer most
//! of whose keys fail.

use std::sync::Arc;
use std::time::Duration;

use karwan_store::Error;
use karwan_store::consumer::{Dead, Lane as LaneName, Parked};
use karwan_store::log::LogRow;
use karwan_store::metrics::Result as Consumed;

use super::{Ran, Stop, Worker};
use crate::consumer::Verdict;
use crate::row::Row;
use crate::trial::{Rule, is_left_out};

/// How late the store is told of what is parked, where a trial leaves that rule out.
const LATE: Duration = Duration::from_millis(500);

/// What became of an event that was to be set aside.
pub(super) enum Aside {
    /// It is parked or buried.
    Done,
    /// It was handled before, and is left as it is.
    Before,
}

impl Worker {
    /// Rows whose keys wait: they wait too, and each may go as soon as it is the first.
    pub(super) async fn wait_behind(&self, rows: &[Arc<Row>]) -> Result<(), Stop> {
        let behind = |row: &Arc<Row>| (***row).clone().parked(Some(0), 0, "behind another event of its key".to_owned());
        let events: Vec<Parked> = rows.iter().map(behind).collect();
        match self.shared.store.park(&self.hold, &events).await {
            // A consumer that was sent back reads what came before the event that its key waits for.
            Ok(()) => self.shared.lane(&self.hold, |lane| events.into_iter().for_each(|event| lane.park(event))),
            // One of them was handled before; the others are not.
            Err(Error::Claimed { .. }) => {
                for event in events {
                    self.park(event).await?;
                }
            }
            Err(Error::LaneLost { .. }) => return Err(Stop::LaneLost),
            Err(error) => return Err(Stop::StoreDown(error)),
        }
        rows.iter().for_each(|row| self.finish(row));
        Ok(())
    }

    /// An event was parked while a batch whose answer was lost still claimed it: it is handled, and parked no more.
    pub(super) async fn forget_handled(&self, event: &Parked) -> Result<(), Stop> {
        let store = &self.shared.store;
        let handled = store.handled(&self.hold.consumer, &[event.claim()]).await.map_err(Stop::StoreDown)?;
        if handled.is_empty() {
            return Ok(());
        }
        store.unpark(&self.hold, event.event).await.map_err(|error| match error {
            Error::LaneLost { .. } => Stop::LaneLost,
            error => Stop::StoreDown(error),
        })
    }

    /// The first of a key's parked events is done with: the one behind it may go.
    pub(super) async fn next_of(&self, done: &Parked) -> Result<(), Stop> {
        let lane = LaneName { consumer: self.hold.consumer.clone(), number: self.hold.lane, of: self.consumer.lanes };
        let next = self.shared.store.parked_head(&lane, done.tenant, &done.key).await.map_err(Stop::StoreDown)?;
        self.shared.lane(&self.hold, |lane| lane.promote(done, next));
        Ok(())
    }

    /// An event of a key went well.
    pub(super) fn well(&self, row: &LogRow) {
        self.shared.note(&self.hold.consumer, (row.tenant, &row.key), false);
    }

    /// Whether more keys wait than may be kept in memory, or may wait in the store alone.
    pub(crate) fn is_past_bound(&self) -> bool {
        self.shared.waiting(&self.hold.consumer) > self.consumer.waiting_max
            || self.shared.lane(&self.hold, |lane| lane.waits_beyond())
    }

    /// Whether keys that wait in the store alone would have room now.
    pub(crate) fn has_made_room(&self) -> bool {
        self.shared.lane(&self.hold, |lane| lane.waits_beyond())
            && self.shared.waiting(&self.hold.consumer) <= self.consumer.waiting_max
    }

    /// Suspends the consumer because more keys wait than may be kept in memory.
    pub(crate) async fn suspend_past_bound(&self) -> Result<(), Stop> {
        self.suspend(format!("more than {} keys wait", self.consumer.waiting_max)).await
    }

    /// It is the consumer that is broken, not its keys: nothing of it goes on until somebody resumes it.
    async fn suspend(&self, reason: String) -> Result<(), Stop> {
        let consumer = &self.hold.consumer;
        tracing::error!(consumer = %consumer, reason = %reason, "a consumer is suspended; it handles nothing until it is resumed");
        match self.shared.store.suspend(&self.hold, &reason).await {
            Ok(()) => self.shared.suspend_one(consumer, reason),
            Err(Error::LaneLost { .. }) => return Err(Stop::LaneLost),
            Err(error) => return Err(Stop::StoreDown(error)),
        }
        Ok(())
    }

    async fn park(&self, event: Parked) -> Result<Aside, Stop> {
        if is_left_out(Rule::Park) {
            self.park_late(event);
            return Ok(Aside::Done);
        }
        match self.shared.store.park(&self.hold, std::slice::from_ref(&event)).await {
            Ok(()) => self.shared.lane(&self.hold, |lane| lane.park(event)),
            Err(Error::Claimed { .. }) => return Ok(Aside::Before),
            Err(Error::LaneLost { .. }) => return Err(Stop::LaneLost),
            Err(error) => return Err(Stop::StoreDown(error)),
        }
        Ok(Aside::Done)
    }

    /// As it must not be: everything goes on, and the store is told afterwards. For trials alone.
    fn park_late(&self, event: Parked) {
        let (store, hold, parked) = (self.shared.store.clone(), self.hold.clone(), event.clone());
        tokio::spawn(async move {
            tokio::time::sleep(LATE).await;
            // Whether it works is what the trial is about.
            let _ = store.park(&hold, &[parked]).await;
        });
        let late_ms = i64::try_from(LATE.as_millis()).unwrap_or_default();
        let due = event.due.map(|due| due + 2 * late_ms);
        self.shared.lane(&self.hold, |lane| lane.park(Parked { due, ..event }));
    }

    /// Parks or buries an event that failed. Its key's later events wait behind a parked one. One that turns out to have been
    /// handled before says nothing of its key or its consumer.
    pub(super) async fn failed(&self, event: Parked, verdict: Verdict, ran: Option<Box<Ran>>) -> Result<Aside, Stop> {
        let waits = matches!(verdict, Verdict::Later(_));
        let (tenant, key, subject) = (event.tenant, event.key.clone(), event.subject.clone());
        let before = self.shared.waiting(&self.hold.consumer);
        if let Aside::Before = self.set_aside(event, verdict).await? {
            self.noop(&subject);
            return Ok(Aside::Before);
        }
        if let Some(ran) = ran {
            self.ran_for(&ran.running, ran.until, ran.took, false);
        }
        let broken = if waits { None } else { self.shared.note(&self.hold.consumer, (tenant, &key), true) };
        match broken {
            Some(reason) => self.suspend(reason).await?,
            // One that waited before makes it no worse.
            None if self.shared.waiting(&self.hold.consumer) > before && self.is_past_bound() => {
                self.suspend_past_bound().await?;
            }
            None => {}
        }
        Ok(Aside::Done)
    }

    /// Buries an event that nobody can read.
    pub(super) async fn invalid(&self, event: Parked, error: String) -> Result<(), Stop> {
        let metrics = self.shared.store.metrics();
        metrics.invalid(&self.subscription(&event.subject));
        metrics.consumed(&self.subscription(&event.subject), Consumed::Error, None);
        tracing::error!(consumer = %self.consumer.name, event = %event.event, error = %error, "an event breaks its contract");
        self.failed(event, Verdict::Dead(error), None).await.map(drop)
    }

    /// Buries an event with which nothing is wrong, nor with its consumer.
    pub(super) async fn give_up(&self, event: Parked, error: String) -> Result<(), Stop> {
        self.set_aside(event, Verdict::Dead(error)).await.map(drop)
    }

    async fn set_aside(&self, event: Parked, verdict: Verdict) -> Result<Aside, Stop> {
        let policy = &self.consumer.policy;
        let now = self.shared.now_ms();
        let attempts = event.attempts + 1;
        let (due, error) = match verdict {
            Verdict::Done => return Ok(Aside::Done),
            Verdict::Dead(error) => return self.bury(Parked { attempts, error, ..event }).await,
            Verdict::Later(error) if self.waited_ms(&event).await? < policy.later_most_ms => {
                return self.park(Parked { due: Some(now + policy.later_ms), error, ..event }).await;
            }
            Verdict::Retry(error) | Verdict::Later(error) if attempts >= policy.attempts_max => {
                return self.bury(Parked { attempts, error, ..event }).await;
            }
            Verdict::Retry(error) | Verdict::Later(error) => {
                (Some(now + policy.wait_ms(attempts, &*self.shared.random)), error)
            }
            Verdict::Park(error) => (None, error),
        };
        self.park(Parked { due, attempts, error, ..event }).await
    }

    /// For how long an event has waited: it may have been in the log for long before anybody tried it.
    async fn waited_ms(&self, event: &Parked) -> Result<i64, Stop> {
        self.shared.store.parked_ms(&self.hold.consumer, event.event).await.map_err(Stop::StoreDown)
    }

    async fn bury(&self, event: Parked) -> Result<Aside, Stop> {
        if self.consumer.holds_dead {
            return self.park(Parked { due: None, ..event }).await;
        }
        match self.shared.store.bury(&self.hold, &Dead { event: event.clone(), at: 0 }).await {
            Ok(()) => {
                self.shared.store.metrics().dead(&self.subscription(&event.subject));
                self.next_of(&event).await.map(|()| Aside::Done)
            }
            Err(Error::Claimed { .. }) => self.next_of(&event).await.map(|()| Aside::Before),
            Err(Error::LaneLost { .. }) => Err(Stop::LaneLost),
            Err(error) => Err(Stop::StoreDown(error)),
        }
    }
}
