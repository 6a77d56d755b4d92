//! What becomes due, and what is called outside.
//!
//! A deadline fires in a unit of its own, which takes it away. A call is made by whoever holds the lane of its kind, in order
//! per key; its answer is kept before anybody acts on it, so a crash in between repeats the call with the same idempotency
//! key, and a crash after it repeats nothing.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer, Tenant};
use karwan_envelope::envelope::Context;
use karwan_envelope::time::Timestamp;
use karwan_store::consumer::Share;
use karwan_store::deadline::Deadline;
use karwan_store::effect::{self, Effect, Outcome};
use karwan_store::stored::tenant_of;
use karwan_store::write_set::{LaneHold, TenantBits};
use karwan_store::{Error, TenantTx};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::consumer::Failure;
use crate::engine::LEASE_MS;
use crate::node::Shared;
use crate::policy::Policy;

/// The most deadlines that are looked for at once.
const DEADLINES_MAX: usize = 100;

type Fired = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;
type Called = Pin<Box<dyn Future<Output = Result<String, Refusal>> + Send>>;
/// What is done in a unit with something that is due.
type Act<T> = Arc<dyn Fn(TenantTx, &T) -> Fired + Send + Sync>;

/// A deadline on its way into its handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due<T> {
    /// What it was told when it was set.
    pub told: T,
    /// Which one it is.
    pub id: String,
    /// When it was due.
    pub due: Timestamp,
}

/// What is done when a deadline of a kind is due.
#[derive(Clone)]
pub struct Timer {
    service: String,
    kind: String,
    policy: Policy,
    handler: Act<Deadline>,
}

impl Timer {
    /// What a service does with deadlines that it has set by this name.
    pub fn new<T, F, E>(
        service: impl Into<String>,
        kind: impl Into<String>,
        handler: impl Fn(TenantTx, Due<T>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        T: DeserializeOwned,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Failure> + 'static,
    {
        let erased = move |tx: TenantTx, deadline: &Deadline| -> Fired {
            let told = match serde_json::from_str(&deadline.body) {
                Ok(told) => told,
                Err(cause) => return Box::pin(std::future::ready(Err(cause.into()))),
            };
            let fired = handler(tx, Due { told, id: deadline.id.clone(), due: Timestamp::from_unix_ms(deadline.due) });
            Box::pin(async move { fired.await.map_err(Into::into) })
        };
        Self { service: service.into(), kind: kind.into(), policy: Policy::default(), handler: Arc::new(erased) }
    }
}

/// A call on its way to the outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call<Q> {
    /// What is asked for.
    pub told: Q,
    /// The same for every attempt, and for every repetition of what led to it: the other side does it once.
    pub idempotency_key: String,
    /// The key within which calls keep their order.
    pub key: String,
    /// For whom.
    pub tenant: Tenant,
    /// Which attempt this is, from 1.
    pub attempt: u32,
}

/// Why a call has no answer. What the other side decided, also against us, is an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It may be answered another time: no connection, too busy, a time limit.
    Later(String),
    /// It will never be answered.
    Never(String),
}

/// An answer on its way into the unit that acts on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered<Q, A> {
    /// What was asked for.
    pub told: Q,
    /// What the other side answered.
    pub answer: A,
    /// The key of the call.
    pub key: String,
}

/// Who makes the calls of a kind, and what is done with their answers.
#[derive(Clone)]
pub struct Performer {
    service: String,
    pub(crate) kind: String,
    at_once: usize,
    limit: Duration,
    policy: Policy,
    call: Arc<dyn Fn(&Effect) -> Called + Send + Sync>,
    outcome: Act<Effect>,
}

impl Performer {
    /// Makes the calls that units have recorded under this name, and hands each answer to a unit of its own.
    pub fn new<Q, A, C, F, E>(
        service: impl Into<String>,
        kind: impl Into<String>,
        call: impl Fn(Call<Q>) -> C + Send + Sync + 'static,
        outcome: impl Fn(TenantTx, Answered<Q, A>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        Q: DeserializeOwned,
        A: Serialize + DeserializeOwned,
        C: Future<Output = Result<A, Refusal>> + Send + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Failure> + 'static,
    {
        let erased_call = move |effect: &Effect| -> Called {
            let told = match serde_json::from_str(&effect.body) {
                Ok(told) => told,
                Err(cause) => return Box::pin(std::future::ready(Err(unreadable(&cause)))),
            };
            let called = call(Call {
                told,
                idempotency_key: uuid::Uuid::from_u128(effect.of.id).to_string(),
                key: effect.key.clone(),
                tenant: tenant_of(effect.of.tenant),
                attempt: effect.attempts + 1,
            });
            Box::pin(async move { serde_json::to_string(&called.await?).map_err(|cause| unreadable(&cause)) })
        };
        let erased_outcome = move |tx: TenantTx, effect: &Effect| -> Fired {
            let read = || -> Result<Answered<Q, A>, serde_json::Error> {
                let answer = serde_json::from_str(effect.answer.as_deref().unwrap_or("null"))?;
                Ok(Answered { told: serde_json::from_str(&effect.body)?, answer, key: effect.key.clone() })
            };
            match read() {
                Ok(answered) => {
                    let acted = outcome(tx, answered);
                    Box::pin(async move { acted.await.map_err(Into::into) })
                }
                Err(cause) => Box::pin(std::future::ready(Err(cause.into()))),
            }
        };
        Self {
            service: service.into(),
            kind: kind.into(),
            at_once: 8,
            limit: Duration::from_secs(30),
            policy: Policy::default(),
            call: Arc::new(erased_call),
            outcome: Arc::new(erased_outcome),
        }
    }

    /// How many calls of this kind are under way at once.
    #[must_use]
    pub fn at_once(mut self, at_once: usize) -> Self {
        self.at_once = at_once.clamp(1, 1000);
        self
    }

    /// How long a call may take.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// What becomes of calls that have no answer.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }
}

fn unreadable(cause: &serde_json::Error) -> Refusal {
    Refusal::Never(format!("what is asked or answered cannot be read: {cause}"))
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").field("kind", &self.kind).finish_non_exhaustive()
    }
}
impl fmt::Debug for Performer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Performer").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// A decision that a unit refused; carried out of it as a text, because a unit may be run again.
struct Undone(Failure);

impl From<Error> for Undone {
    fn from(error: Error) -> Self {
        Self(error.into())
    }
}

impl Undone {
    /// Whether somebody else did it.
    fn is_gone(&self) -> bool {
        matches!(self.0.downcast_ref::<Error>(), Some(Error::Gone { .. }))
    }
}

fn context(shared: &Shared, service: &str, tenant: TenantBits, cause: &Cause) -> Context {
    Context {
        tenant: tenant_of(tenant),
        cause: cause.clone(),
        actor: Actor { kind: ActorKind::System, id: service.to_owned() },
        producer: Producer { service: service.to_owned(), ..shared.producer.clone() },
        residency: shared.residency,
    }
}

/// Deadlines that failed: how often, and when they are tried again.
#[derive(Default)]
pub(crate) struct Failed(Mutex<HashMap<u128, (u32, i64)>>);

/// Fires the deadlines of a kind that are due; whether there was any.
pub(crate) async fn fire_due(shared: &Shared, timer: &Timer, failed: &Failed) -> Result<bool, Error> {
    let now = shared.clock.now();
    let due = shared.store.due_deadlines(&timer.kind, Share::ALL, now, DEADLINES_MAX).await?;
    let mut any = false;
    for deadline in due {
        let waits = |failed: &HashMap<u128, (u32, i64)>| failed.get(&deadline.token).copied();
        let before = waits(&failed.0.lock().expect("nothing panics while holding it"));
        if before.is_some_and(|(_, until)| until > now.unix_ms()) {
            continue;
        }
        any = true;
        let context = context(shared, &timer.service, deadline.tenant, &deadline.cause);
        let fire = async |tx: TenantTx| (timer.handler)(tx, &deadline).await.map_err(Undone);
        let outcome = shared.store.fire(&deadline, &context, fire).await;
        let mut failed = failed.0.lock().expect("nothing panics while holding it");
        match outcome {
            Ok(_) => drop(failed.remove(&deadline.token)),
            Err(undone) if undone.is_gone() => drop(failed.remove(&deadline.token)),
            Err(Undone(error)) => {
                let attempts = before.map_or(1, |(attempts, _)| attempts + 1);
                let wait = timer.policy.wait_ms(attempts, &*shared.random);
                tracing::warn!(kind = %timer.kind, id = %deadline.id, attempts, error = %error, "a deadline failed");
                failed.insert(deadline.token, (attempts, now.unix_ms() + wait));
            }
        }
    }
    Ok(any)
}

/// Makes the calls of a kind that may be made, as the holder of its lane; whether there was any.
pub(crate) async fn perform_due(
    shared: &Arc<Shared>,
    performer: &Arc<Performer>,
    hold: &LaneHold,
) -> Result<bool, Error> {
    let now = shared.clock.now();
    let due = shared.store.due_effects(&performer.kind, Share::ALL, now, performer.at_once).await?;
    let mut calls = tokio::task::JoinSet::new();
    let any = !due.is_empty();
    for effect in due {
        let (shared, performer, hold) = (shared.clone(), performer.clone(), hold.clone());
        calls.spawn(async move { perform(&shared, &performer, &hold, effect).await });
    }
    let mut outcome = Ok(any);
    while let Some(ended) = calls.join_next().await {
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(error)) => outcome = Err(error),
            Err(broken) => {
                tracing::warn!(kind = %performer.kind, error = %broken, "a call broke off; it is made again")
            }
        }
    }
    outcome
}

async fn perform(shared: &Shared, performer: &Performer, hold: &LaneHold, mut effect: Effect) -> Result<(), Error> {
    if effect.answer.is_none() {
        let called = tokio::time::timeout(performer.limit, (performer.call)(&effect)).await;
        let called = called.unwrap_or_else(|_| Err(Refusal::Later(format!("no answer within {:?}", performer.limit))));
        let outcome = match called {
            Ok(answer) => {
                effect.answer = Some(answer.clone());
                Outcome::Answered(answer)
            }
            Err(refusal) => unanswered(shared, performer, &effect, refusal),
        };
        match shared.store.record_effect(hold, effect.of, &outcome).await {
            Ok(()) => {}
            // Whoever recorded it acts on it too.
            Err(Error::Gone { .. }) => return Ok(()),
            Err(error) => return Err(error),
        }
        if effect.answer.is_none() {
            return Ok(());
        }
    }
    let context = context(shared, &performer.service, effect.of.tenant, &effect.cause);
    let act = async |tx: TenantTx| (performer.outcome)(tx, &effect).await.map_err(Undone);
    match shared.store.act_on(effect.of, &context, act).await {
        Ok(_) => Ok(()),
        Err(undone) if undone.is_gone() => Ok(()),
        Err(Undone(error)) => {
            let outcome = unanswered(shared, performer, &effect, Refusal::Later(error.to_string()));
            shared.store.record_effect(hold, effect.of, &outcome).await
        }
    }
}

/// What becomes of a call without an answer, or of an answer that could not be acted on.
fn unanswered(shared: &Shared, performer: &Performer, effect: &Effect, refusal: Refusal) -> Outcome {
    let attempts = effect.attempts + 1;
    match refusal {
        Refusal::Never(error) => Outcome::Dead { error },
        Refusal::Later(error) if attempts >= performer.policy.attempts_max => Outcome::Dead { error },
        Refusal::Later(error) => {
            Outcome::Later { due: shared.now_ms() + performer.policy.wait_ms(attempts, &*shared.random), error }
        }
    }
}

/// Holds the lane of a performer, where it is free.
pub(crate) async fn hold(shared: &Shared, performer: &Performer, node: &str) -> Result<Option<LaneHold>, Error> {
    let lane = effect::lane(&performer.kind);
    let taken = shared.store.take_lane(&lane, node, LEASE_MS).await?;
    Ok(taken.map(|taken| LaneHold { consumer: lane.consumer, lane: lane.number, epoch: taken.epoch }))
}

/// Whether nothing of a timer's or a performer's is due.
pub(crate) async fn is_quiet(
    shared: &Shared,
    timers: &[(Arc<Timer>, Arc<Failed>)],
    performers: &[Arc<Performer>],
) -> Result<bool, Error> {
    let now = shared.clock.now();
    for (timer, failed) in timers {
        let due = shared.store.due_deadlines(&timer.kind, Share::ALL, now, DEADLINES_MAX).await?;
        let failed = failed.0.lock().expect("nothing panics while holding it");
        let waits = |deadline: &Deadline| failed.get(&deadline.token).is_some_and(|(_, until)| *until > now.unix_ms());
        if !due.iter().all(waits) {
            return Ok(false);
        }
    }
    for performer in performers {
        if !shared.store.due_effects(&performer.kind, Share::ALL, now, 1).await?.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}
