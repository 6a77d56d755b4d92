//! What the holder of a lane does with the rows that are queued in it.
//!
//! Several events share a transaction; when one of them fails, nothing of it stays and each is done singly. A failing event
//! is parked before anything of its key goes on, so that a crash at any point leaves it either unfinished or parked.

use std::sync::Arc;

use karwan_envelope::Envelope;
use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer};
use karwan_envelope::envelope::Context;
use karwan_store::consumer::{Dead, Parked};
use karwan_store::log::LogRow;
use karwan_store::write_set::{Claim, LaneHold};
use karwan_store::{Batch, Error, Repeated, stored};

use crate::consumer::{Consumer, Failure, Verdict};
use crate::node::Shared;

/// How often one event is re-run because others were faster, before it waits a moment.
const CONFLICTS_MAX: u32 = 20;

/// A lane's worker, as long as the lane is held.
pub(crate) struct Worker {
    pub shared: Arc<Shared>,
    pub consumer: Arc<Consumer>,
    pub hold: LaneHold,
}

/// Why a worker stops, or pauses.
pub(crate) enum Stop {
    /// Another process has the lane.
    LaneLost,
    /// The store cannot be reached, or takes nothing: later.
    StoreDown(Error),
}

/// What became of one event.
enum Outcome {
    Done,
    /// It was handled before.
    Before,
    Failed(Verdict),
}

/// Sorts a store's refusal: some end or pause the worker, the others are the event's.
fn sorted(error: Error) -> Result<Outcome, Stop> {
    match error {
        Error::LaneLost { .. } => Err(Stop::LaneLost),
        Error::Claimed { .. } => Ok(Outcome::Before),
        Error::Unreachable { .. }
        | Error::OutcomeUnknown { .. }
        | Error::Full { .. }
        | Error::ReadOnly { .. }
        | Error::Closed
        | Error::Standby { .. } => Err(Stop::StoreDown(error)),
        other => Ok(Outcome::Failed(Verdict::Retry(told(&other)))),
    }
}

/// An error with everything behind it, as an operator reads it.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

impl Worker {
    /// Handles these rows, in their order; answers which of them are finished or parked, as they are.
    pub async fn handle(&self, rows: &[Arc<LogRow>]) -> Result<(), Stop> {
        let rows = self.not_handled_before(rows).await?;
        let (waiting, free): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| self.shared.lane(&self.hold, |lane| lane.must_wait(row)));
        for row in waiting {
            self.wait_behind(&row).await?;
        }
        if free.len() > 1 && self.together(&free).await? {
            free.iter().for_each(|row| self.finish(row));
            return Ok(());
        }
        for row in &free {
            // The one before may have parked its key.
            if self.shared.lane(&self.hold, |lane| lane.must_wait(row)) {
                self.wait_behind(row).await?;
                continue;
            }
            match self.singly(row, row.claim()).await? {
                Outcome::Done | Outcome::Before => {}
                Outcome::Failed(verdict) => {
                    self.failed((**row).clone().parked(None, 0, String::new()), verdict).await?
                }
            }
            self.finish(row);
        }
        Ok(())
    }

    /// Tries the parked events whose time has come.
    pub async fn retry_due(&self) -> Result<bool, Stop> {
        let now = self.shared.now_ms();
        let due = self.shared.lane(&self.hold, |lane| lane.due(now));
        for event in &due {
            let row = LogRow {
                seq: event.seq,
                tenant: event.tenant,
                subject: event.subject.clone(),
                key: event.key.clone(),
                slot: 0,
                event: event.event,
                at: event.logged,
                envelope: event.envelope.clone(),
            };
            match self.singly(&row, event.claim()).await? {
                Outcome::Done | Outcome::Before => self.shared.lane(&self.hold, |lane| lane.unpark(event)),
                Outcome::Failed(verdict) => self.failed(event.clone(), verdict).await?,
            }
        }
        Ok(!due.is_empty())
    }

    fn finish(&self, row: &LogRow) {
        self.shared.lane(&self.hold, |lane| lane.finish(row.seq));
        self.shared.uncount(row.tenant);
    }

    /// Whoever held the lane before may have handled some of them.
    async fn not_handled_before(&self, rows: &[Arc<LogRow>]) -> Result<Vec<Arc<LogRow>>, Stop> {
        let seen = self.shared.seen(&self.hold);
        let old: Vec<_> = rows.iter().filter(|row| row.seq <= seen).map(|row| row.event).collect();
        if old.is_empty() {
            return Ok(rows.to_vec());
        }
        let store = &self.shared.store;
        let handled = store.handled(&self.hold.consumer, &old).await.map_err(Stop::StoreDown)?;
        let parked = |row: &LogRow| self.shared.lane(&self.hold, |lane| lane.is_parked(row));
        let (before, left): (Vec<_>, Vec<_>) =
            rows.iter().cloned().partition(|row| handled.contains(&row.event) || parked(row));
        before.iter().for_each(|row| self.finish(row));
        Ok(left)
    }

    /// All of them in one transaction; false where they have to be done singly.
    async fn together(&self, rows: &[Arc<LogRow>]) -> Result<bool, Stop> {
        let mut batch = self.shared.store.batch(&self.hold);
        for row in rows {
            let Ok(envelope) = self.envelope(row) else { return Ok(false) };
            match self.run(&mut batch, row, envelope, row.claim()).await {
                Ok(Verdict::Done) => {}
                Ok(_) | Err(_) => return Ok(false),
            }
        }
        let _turn = self.shared.flush_turn().await;
        match batch.commit().await {
            Ok(done) => Ok(done.repeated.is_none()),
            Err(Error::LaneLost { .. }) => Err(Stop::LaneLost),
            Err(_) => Ok(false),
        }
    }

    async fn singly(&self, row: &LogRow, claim: Claim) -> Result<Outcome, Stop> {
        let envelope = match self.envelope(row) {
            Ok(envelope) => envelope,
            Err(error) => return Ok(Outcome::Failed(Verdict::Dead(told(&error)))),
        };
        for _ in 0..CONFLICTS_MAX {
            let mut batch = self.shared.store.batch(&self.hold);
            match self.run(&mut batch, row, envelope.clone(), claim.clone()).await {
                Ok(Verdict::Done) => {}
                Ok(verdict) => return Ok(Outcome::Failed(verdict)),
                Err(failure) => match failure.downcast::<Error>() {
                    Ok(error) => return sorted(*error),
                    Err(failure) => return Ok(Outcome::Failed(Verdict::Retry(told(&*failure)))),
                },
            }
            match batch.commit().await {
                Ok(done) => match done.repeated {
                    None => return Ok(Outcome::Done),
                    // What it emits is in the log already: nothing of it was written now, and nothing is to be.
                    Some(Repeated::Intent(_) | Repeated::Unit) => return self.claim_alone(row, claim).await,
                },
                Err(Error::Conflict { .. }) => {}
                Err(error) => return sorted(error),
            }
        }
        Ok(Outcome::Failed(Verdict::Later("others change the same documents all the time".to_owned())))
    }

    async fn claim_alone(&self, row: &LogRow, claim: Claim) -> Result<Outcome, Stop> {
        let mut batch = self.shared.store.batch(&self.hold);
        match self.envelope(row) {
            Ok(envelope) => drop(batch.handle(&self.context(&envelope), claim)),
            Err(error) => return Ok(Outcome::Failed(Verdict::Dead(told(&error)))),
        }
        batch.commit().await.map_or_else(sorted, |_| Ok(Outcome::Done))
    }

    fn envelope(&self, row: &LogRow) -> Result<Arc<Envelope>, Error> {
        stored::envelope(self.shared.store.catalogue(), row).map(Arc::new)
    }

    /// Runs the handler in a task of its own: one that panics or hangs takes nobody along.
    async fn run(
        &self,
        batch: &mut Batch,
        row: &LogRow,
        envelope: Arc<Envelope>,
        claim: Claim,
    ) -> Result<Verdict, Failure> {
        let tx = batch.handle(&self.context(&envelope), claim);
        let Some(handler) = self.consumer.handler(&row.subject) else { return Ok(Verdict::Done) };
        let mut running = tokio::spawn(handler(tx, envelope, row.seq));
        match tokio::time::timeout(self.consumer.limit, &mut running).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(broken)) => Ok(Verdict::Retry(format!("the handler broke off: {broken}"))),
            Err(_) => {
                running.abort();
                Ok(Verdict::Retry(format!("the handler took longer than {:?}", self.consumer.limit)))
            }
        }
    }

    fn context(&self, envelope: &Envelope) -> Context {
        Context {
            tenant: envelope.tenant,
            cause: Cause::of(envelope.id, &envelope.cause),
            actor: Actor { kind: ActorKind::Service, id: self.consumer.service.clone() },
            producer: Producer { service: self.consumer.service.clone(), ..self.shared.producer.clone() },
            residency: envelope.residency.unwrap_or(self.shared.residency),
        }
    }

    /// A row whose key waits: it waits too, and may go as soon as it is the first.
    async fn wait_behind(&self, row: &LogRow) -> Result<(), Stop> {
        let parked = row.clone().parked(Some(0), 0, "behind another event of its key".to_owned());
        self.park(parked).await?;
        self.finish(row);
        Ok(())
    }

    async fn park(&self, event: Parked) -> Result<(), Stop> {
        match self.shared.store.park(&self.hold, std::slice::from_ref(&event)).await {
            Ok(()) => self.shared.lane(&self.hold, |lane| lane.park(event)),
            Err(Error::Claimed { .. }) => {}
            Err(Error::LaneLost { .. }) => return Err(Stop::LaneLost),
            Err(error) => return Err(Stop::StoreDown(error)),
        }
        Ok(())
    }

    /// Parks or buries an event that failed. Its key's later events wait behind a parked one.
    async fn failed(&self, event: Parked, verdict: Verdict) -> Result<(), Stop> {
        let policy = &self.consumer.policy;
        let now = self.shared.now_ms();
        let attempts = event.attempts + 1;
        let (due, error) = match verdict {
            Verdict::Done => return Ok(()),
            Verdict::Dead(error) => return self.bury(Parked { attempts, error, ..event }).await,
            Verdict::Later(error) if now - event.logged < policy.later_most_ms => {
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

    async fn bury(&self, event: Parked) -> Result<(), Stop> {
        match self.shared.store.bury(&self.hold, &Dead { event: event.clone(), at: 0 }).await {
            Ok(()) | Err(Error::Claimed { .. }) => self.shared.lane(&self.hold, |lane| lane.unpark(&event)),
            Err(Error::LaneLost { .. }) => return Err(Stop::LaneLost),
            Err(error) => return Err(Stop::StoreDown(error)),
        }
        Ok(())
    }
}
