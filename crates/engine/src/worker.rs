//! What the holder of a lane does with the rows that are queued in it.
//!
//! Several events share a transaction; when one of them fails, nothing of it stays and each is done singly. A failing event
//! is parked before anything of its key goes on, so that a crash at any point leaves it either unfinished or parked.

mod aside;
mod beside;
mod late;
mod running;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use karwan_envelope::Envelope;
use karwan_envelope::cause::{Actor, ActorKind, Producer};
use karwan_envelope::envelope::Context;
use karwan_envelope::time::Timestamp;
use karwan_store::consumer::Parked;
use karwan_store::log::LogRow;
use karwan_store::metrics::{Result as Consumed, Subscription};
use karwan_store::trace::{self, SpanRecord};
use karwan_store::write_set::{Claim, LaneHold, TenantBits};
use karwan_store::{Batch, Error, Reads, Repeated, TenantTx};
use tokio::time::Instant;

use crate::consumer::{Consumer, Unreadable, Verdict};
use crate::node::Shared;
use crate::row::Row;
use aside::Aside;
pub(crate) use late::Late;
use running::{Ran, Running, too_long};

/// How often a batch is re-run because others were faster, before its events are done singly.
const BATCH_TRIES_MAX: u32 = 3;
/// How often one event is re-run because others were faster, before it waits a moment.
const CONFLICTS_MAX: u32 = 20;

/// What is said of an event without a handler.
const NOT_HERE: &str = "another release handles it, and this one does not";

/// A lane's worker, as long as the lane is held.
pub(crate) struct Worker {
    pub shared: Arc<Shared>,
    pub consumer: Arc<Consumer>,
    pub hold: LaneHold,
    /// Handlers of the present batch that took too long.
    pub late: Late,
}

/// Why a worker stops, or pauses.
pub(crate) enum Stop {
    /// Another process has the lane.
    LaneLost,
    /// The store cannot be reached, or takes nothing: later.
    StoreDown(Error),
}

/// What became of a batch.
enum Together {
    Done,
    /// Others were faster.
    Conflict,
    /// Its events have to be done singly.
    Apart,
}

/// What became of one event.
enum Outcome {
    Done,
    /// It was handled before.
    Before,
    Failed(Verdict, Option<Box<Ran>>),
    /// It breaks its schema, or cannot be read: no other attempt will.
    Invalid(String),
    /// This release does not handle it, and none that does has come.
    Foreign(String),
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
        // Its row says one tenant and its envelope another.
        Error::TenantDiffers { .. } => Ok(Outcome::Invalid(told(&error))),
        other => Ok(Outcome::Failed(Verdict::Retry(told(&other)), None)),
    }
}

/// An error with everything behind it, as an operator reads it.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// A live row as it would be parked, before its first attempt.
fn as_parked(row: &LogRow) -> Parked {
    row.clone().parked(None, 0, String::new())
}

impl Worker {
    /// Handles these rows, in their order; answers which of them are finished or parked, as they are.
    pub async fn handle(&self, rows: &[Arc<Row>]) -> Result<(), Stop> {
        let rows = self.not_handled_before(rows).await?;
        let alone = |row: &Arc<Row>| self.consumer.runs_alone(&row.subject);
        for rows in rows.chunk_by(|one, next| !alone(one) && !alone(next)) {
            self.handle_new(rows).await?;
        }
        Ok(())
    }

    async fn handle_new(&self, rows: &[Arc<Row>]) -> Result<(), Stop> {
        let (mut waiting, mut free) = (Vec::new(), Vec::new());
        for row in rows.iter().cloned() {
            if self.must_wait(&row)? { waiting.push(row) } else { free.push(row) }
        }
        self.wait_behind(&waiting).await?;
        let mut reads = Reads::Recent;
        // What hung beside an earlier batch would hang in this one, too.
        let hung = free.iter().any(|row| self.late.has(row.event));
        if free.len() > 1 && !hung {
            for _ in 0..BATCH_TRIES_MAX {
                match self.together(&free, reads).await? {
                    Together::Done => {
                        for row in &free {
                            self.well(row);
                            self.finish(row);
                        }
                        return Ok(());
                    }
                    Together::Conflict => reads = Reads::Fresh,
                    Together::Apart => break,
                }
            }
            reads = Reads::Fresh;
        }
        for row in &free {
            // The one before may have parked its key.
            if self.must_wait(row)? {
                self.wait_behind(std::slice::from_ref(row)).await?;
                continue;
            }
            let outcome = match self.late.take(row.event) {
                true => self.was_late(row),
                false => self.singly(row, row.claim(), reads).await?,
            };
            match outcome {
                Outcome::Done => self.well(row),
                Outcome::Before => self.noop(&row.subject),
                Outcome::Failed(verdict, ran) => {
                    self.failed(as_parked(row), verdict, ran).await?;
                }
                Outcome::Invalid(error) => self.invalid(as_parked(row), error).await?,
                Outcome::Foreign(error) => self.give_up(as_parked(row), error).await?,
            }
            self.finish(row);
        }
        self.late.forget(rows.iter().map(|row| row.event));
        Ok(())
    }

    /// It took too long in a batch: that was its attempt.
    fn was_late(&self, row: &LogRow) -> Outcome {
        let (metrics, limit) = (self.shared.store.metrics(), self.consumer.limit);
        metrics.consumed(&self.subscription(&row.subject), Consumed::Error, Some(limit));
        Outcome::Failed(too_long(limit), None)
    }

    /// Tries the parked events whose time has come.
    pub async fn retry_due(&self) -> Result<bool, Stop> {
        let now = self.shared.now_ms();
        // Live events have their turn after as many.
        let due = self.shared.lane(&self.hold, |lane| lane.due(now, self.consumer.batch));
        for event in &due {
            let row = Row::from(event.row());
            match self.singly(&row, event.claim(), Reads::Fresh).await? {
                Outcome::Done => {
                    self.well(&row);
                    self.next_of(event).await?;
                }
                Outcome::Before => {
                    self.noop(&row.subject);
                    self.forget_handled(event).await?;
                    self.next_of(event).await?;
                }
                Outcome::Failed(verdict, ran) => {
                    if let Aside::Before = self.failed(event.clone(), verdict, ran).await? {
                        self.forget_handled(event).await?;
                        self.next_of(event).await?;
                    }
                }
                Outcome::Invalid(error) => self.invalid(event.clone(), error).await?,
                Outcome::Foreign(error) => self.give_up(event.clone(), error).await?,
            }
        }
        self.late.forget(due.iter().map(|event| event.event));
        Ok(!due.is_empty())
    }

    /// A lane that is given up here may be held by its epoch a moment longer: its writes would pass, and what waits in it is
    /// not known any more.
    fn must_wait(&self, row: &LogRow) -> Result<bool, Stop> {
        self.shared.must_wait(&self.hold, row).ok_or(Stop::LaneLost)
    }

    fn finish(&self, row: &LogRow) {
        self.shared.finish(&self.hold, row);
    }

    /// Whoever held the lane before may have handled some of them. Rows of one tenant are handled in their order, so that
    /// nobody asks any more once none of several of its rows was; those of other tenants may be ahead of it by far. Another
    /// that was handled is refused by its claim.
    async fn not_handled_before(&self, rows: &[Arc<Row>]) -> Result<Vec<Arc<Row>>, Stop> {
        let (doubted, reading) = self.shared.doubted(&self.hold, rows);
        if doubted.is_empty() {
            return Ok(rows.to_vec());
        }
        let store = &self.shared.store;
        let old: Vec<_> = doubted.iter().map(|row| row.claim()).collect();
        let handled = store.handled(&self.hold.consumer, &old).await.map_err(Stop::StoreDown)?;
        let parked = |row: &LogRow| self.shared.lane(&self.hold, |lane| lane.is_parked(row));
        let (before, left): (Vec<_>, Vec<_>) =
            rows.iter().cloned().partition(|row| handled.contains(&row.event) || parked(row));
        for row in &before {
            self.noop(&row.subject);
            self.finish(row);
        }
        let is_new = |tenant: &TenantBits| before.iter().all(|row| row.tenant != *tenant);
        self.shared.trust(&self.hold, reading, doubted.iter().map(|row| row.tenant).filter(is_new));
        Ok(left)
    }

    /// All of them in one transaction.
    ///
    /// The first event of every key runs beside the others, so that what they read is read together; those behind it in its
    /// key, and those that decided on what an earlier one wrote, run after the earlier ones. Where most of them do, the next
    /// batches run in order from the start.
    async fn together(&self, rows: &[Arc<Row>], reads: Reads) -> Result<Together, Stop> {
        let mut batch = self.shared.store.batch(&self.hold).reading(reads);
        let mut running = Vec::with_capacity(rows.len());
        let mut keys = HashSet::with_capacity(rows.len());
        // What another release handles is parked singly.
        if rows.iter().any(|row| self.consumer.handler(&row.subject).is_none()) {
            return Ok(Together::Apart);
        }
        let in_order = self.consumer.runs_in_order();
        for row in rows {
            let Ok(envelope) = row.envelope(&self.shared.store).await else { return Ok(Together::Apart) };
            let tx = batch.beside(Arc::new(self.context(&envelope)), row.claim());
            let first = !in_order && keys.insert((row.tenant, row.key.as_str()));
            running.push((first.then(|| self.spawn(tx, row, envelope.clone())), envelope));
        }
        let until = Instant::now() + self.consumer.limit;
        running.iter_mut().filter_map(|(beside, _)| beside.as_mut()).for_each(|beside| beside.until = until);
        let (mut ran, mut again) = (Vec::with_capacity(rows.len()), 0);
        for (place, (row, (beside, envelope))) in rows.iter().zip(running).enumerate() {
            if let Some(mut beside) = beside {
                match beside.verdict(&self.shared.store).await {
                    Ok(Verdict::Done) if batch.join(place) => {
                        ran.push((beside, self.shared.clock.now()));
                        continue;
                    }
                    Ok(Verdict::Done) => again += 1,
                    Ok(_) | Err(_) => {
                        self.learn_alone(&batch, rows);
                        return Ok(Together::Apart);
                    }
                }
            }
            let mut after = self.spawn(batch.again(place), row, envelope);
            match after.verdict(&self.shared.store).await {
                Ok(Verdict::Done) => ran.push((after, self.shared.clock.now())),
                Ok(_) | Err(_) => {
                    self.learn_alone(&batch, rows);
                    return Ok(Together::Apart);
                }
            }
        }
        self.learn_alone(&batch, rows);
        self.consumer.ran_again(again, rows.len());
        match batch.commit().await {
            Ok(done) if done.repeated.is_none() => {
                ran.iter().for_each(|(ran, until)| self.ran(ran, *until, true));
                Ok(Together::Done)
            }
            Err(Error::LaneLost { .. }) => Err(Stop::LaneLost),
            Err(Error::Conflict { .. }) => Ok(Together::Conflict),
            Ok(_) | Err(_) => Ok(Together::Apart),
        }
    }

    /// Remembers whose handlers asked for the Postgres transaction: from now on each of their events is done alone.
    fn learn_alone(&self, batch: &Batch, rows: &[Arc<Row>]) {
        for (_, row) in rows.iter().enumerate().filter(|(place, _)| batch.wants_alone(*place)) {
            if let Some(handler) = self.consumer.handler(&row.subject) {
                handler.alone.store(true, Ordering::Relaxed);
            }
        }
    }

    async fn singly(&self, row: &Row, claim: Claim, first: Reads) -> Result<Outcome, Stop> {
        if self.consumer.handler(&row.subject).is_none() {
            return self.foreign(row).await;
        }
        let envelope = match row.envelope(&self.shared.store).await {
            Ok(envelope) => envelope,
            // No other attempt will read it.
            Err(error @ Error::Refused { .. }) => return Ok(Outcome::Invalid(told(&error))),
            Err(error) => return sorted(error),
        };
        let mut reads = first;
        for _ in 0..CONFLICTS_MAX {
            let mut batch = self.shared.store.batch(&self.hold).reading(reads);
            let tx = batch.handle(&self.context(&envelope), claim.clone());
            let mut running = self.spawn(tx, row, envelope.clone());
            let verdict = running.verdict(&self.shared.store).await;
            let until = self.shared.clock.now();
            reads = Reads::Fresh;
            match verdict {
                Ok(Verdict::Done) => {}
                // By what may be old. One that hangs would hang again.
                Ok(_) | Err(_) if batch.rests_on_recent() && running.has_ended() => continue,
                Ok(verdict) => return Ok(Outcome::Failed(verdict, Some(Ran::at(running, until)))),
                // One of its own statements lost against others.
                Err(failure) if Error::is_conflict(&*failure) => continue,
                Err(failure) if failure.is::<Unreadable>() => {
                    return self.unreadable(&envelope, claim, failure.to_string()).await;
                }
                Err(failure) => {
                    let ran = Ran::at(running, until);
                    let outcome = match failure.downcast::<Error>() {
                        Ok(error) => sorted(*error)?,
                        Err(failure) => Outcome::Failed(Verdict::Retry(told(&*failure)), None),
                    };
                    return Ok(match outcome {
                        Outcome::Failed(verdict, _) => Outcome::Failed(verdict, Some(ran)),
                        other => other,
                    });
                }
            }
            let recent = batch.rests_on_recent();
            match batch.commit().await {
                Ok(done) => match done.repeated {
                    Some(_) if recent => {}
                    None => {
                        self.ran(&running, until, true);
                        return Ok(Outcome::Done);
                    }
                    // What it emits is in the log already: nothing of it was written now, and nothing is to be.
                    Some(Repeated::Intent(_) | Repeated::Unit) => return self.claim_alone(&envelope, claim).await,
                },
                Err(Error::Conflict { .. }) => {}
                Err(error) => match sorted(error)? {
                    // A refusal of what was decided by what may be old.
                    Outcome::Failed(..) | Outcome::Invalid(_) if recent => {}
                    outcome => return Ok(outcome),
                },
            }
        }
        let later = Verdict::Later("others change the same documents or rows all the time".to_owned());
        Ok(Outcome::Failed(later, None))
    }

    /// Another release of the consumer handles this subject. Its key waits for a process of that release; nobody having come, the
    /// event is a letter that an operator can send again, and its key goes on. Nothing is wrong with the consumer.
    async fn foreign(&self, row: &LogRow) -> Result<Outcome, Stop> {
        let (subject, most) = (&row.subject, self.consumer.policy.later_most_ms);
        // Of a lane that was given up here, nothing is known, and it may be held by its epoch a moment longer.
        let others = self.shared.others(&self.hold).ok_or(Stop::LaneLost)?;
        if !others.contains(subject) {
            return Ok(Outcome::Foreign(format!("nobody handles `{subject}` any more")));
        }
        let waited = self.shared.store.parked_ms(&self.consumer.name, row.event).await.map_err(Stop::StoreDown)?;
        if waited < most {
            return Ok(Outcome::Failed(Verdict::Later(format!("{NOT_HERE}: `{subject}`")), None));
        }
        Ok(Outcome::Foreign(format!("no process of a release that handles `{subject}` came in {most} ms")))
    }

    /// A later release may write values that this program does not know, such as one more of a list. Its key waits for a
    /// program that does, which is on its way while releases change; nobody having come, it is passed over.
    /// What breaks the schema that this program knows itself will never be read.
    async fn unreadable(&self, envelope: &Envelope, claim: Claim, error: String) -> Result<Outcome, Stop> {
        let entry = self.shared.store.catalogue().directory().resolve(envelope.subject.as_str());
        if entry.is_some_and(|entry| entry.schema.hash == envelope.schema.hash) {
            return Ok(Outcome::Invalid(error));
        }
        let waited = self.shared.store.parked_ms(&self.consumer.name, envelope.id).await.map_err(Stop::StoreDown)?;
        if waited < self.consumer.policy.later_most_ms {
            let later = Verdict::Later(format!("it is of another release, and cannot be read here: {error}"));
            return Ok(Outcome::Failed(later, None));
        }
        tracing::warn!(consumer = %self.consumer.name, event = %envelope.id, error = %error, "an event of another release is passed over");
        self.claim_alone(envelope, claim).await.map(|outcome| match outcome {
            Outcome::Done => Outcome::Before,
            other => other,
        })
    }

    async fn claim_alone(&self, envelope: &Envelope, claim: Claim) -> Result<Outcome, Stop> {
        let mut batch = self.shared.store.batch(&self.hold);
        drop(batch.handle(&self.context(envelope), claim));
        batch.commit().await.map_or_else(sorted, |_| Ok(Outcome::Done))
    }

    fn subscription<'a>(&'a self, topic: &'a str) -> Subscription<'a> {
        Subscription { service: &self.consumer.service, topic, consumer: &self.consumer.name }
    }

    /// Runs the handler in a task of its own: one that panics or hangs takes nobody along.
    fn spawn(&self, tx: TenantTx, row: &LogRow, envelope: Arc<Envelope>) -> Running {
        let handler = self.consumer.handler(&row.subject);
        let (run, seq, received) = (handler.map(|handler| handler.run.clone()), row.seq, envelope.clone());
        // All of it: a handler may also panic before its first await, or while its event is read.
        let task = tokio::spawn(async move {
            match run {
                Some(run) => run(tx, received, seq).await,
                None => Ok(Verdict::Later(NOT_HERE.to_owned())),
            }
        });
        let (from, began, limit) = (self.shared.clock.now(), Instant::now(), self.consumer.limit);
        Running { task, envelope, from, began, limit, until: began + limit, late: self.late.clone() }
    }

    /// Counts a handler that has run, and tells of it.
    fn ran(&self, ran: &Running, until: Timestamp, ok: bool) {
        self.ran_for(ran, until, ran.began.elapsed(), ok);
    }

    fn ran_for(&self, ran: &Running, until: Timestamp, took: Duration, ok: bool) {
        let Envelope { id, subject, cause, tenant, .. } = &*ran.envelope;
        let result = if ok { Consumed::Ok } else { Consumed::Error };
        let store = &self.shared.store;
        store.metrics().consumed(&self.subscription(subject.as_str()), result, Some(took));
        store.tell(|| SpanRecord {
            trace: cause.correlation,
            id: trace::consume_span(*id, &self.consumer.name),
            parent: trace::publish_span(*id),
            name: format!("consume {subject}"),
            service: self.consumer.service.clone(),
            event: Some(*id),
            tenant: *tenant,
            from: ran.from,
            until,
            ok,
        });
    }

    fn noop(&self, topic: &str) {
        self.shared.store.metrics().consumed(&self.subscription(topic), Consumed::Noop, None);
    }

    fn context(&self, envelope: &Envelope) -> Context {
        Context {
            tenant: envelope.tenant,
            cause: trace::consequence(envelope.id, &envelope.cause, &self.consumer.name),
            actor: Actor { kind: ActorKind::Service, id: self.consumer.service.clone() },
            producer: Producer { service: self.consumer.service.clone(), ..self.shared.producer.clone() },
            residency: envelope.residency.unwrap_or(self.shared.residency),
        }
    }
}
