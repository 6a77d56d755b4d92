//! Performers: who calls the outside, and what a call and its answer look like.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use karwan_envelope::cause::Tenant;
use karwan_store::TenantTx;
use karwan_store::effect::Effect;
use karwan_store::stored::tenant_of;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::breaker::BreakerPolicy;
use super::{Act, Acted};
use crate::consumer::Failure;
use crate::policy::Policy;

pub(super) type Called = Pin<Box<dyn Future<Output = Result<String, Refusal>> + Send>>;
type Caller = dyn Fn(&Effect) -> Called + Send + Sync;
/// The target of a call, by its body.
type Target = dyn Fn(&str) -> Option<String> + Send + Sync;

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
    /// Which attempt this is, from 1. One that finds out whether a silent target answers again is not counted.
    pub attempt: u32,
}

/// Why a call has no answer. What the other side decided, also against us, is an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It may be answered another time: no connection, too busy, a time limit. Several in a row hold back their target.
    Later(String),
    /// It will never be answered: it is given up, and its key goes on.
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
    pub(super) service: String,
    pub(super) kind: String,
    pub(super) at_once: usize,
    pub(super) limit: Duration,
    pub(super) policy: Policy,
    pub(super) breaker: BreakerPolicy,
    target: Arc<Target>,
    pub(super) call: Arc<Caller>,
    pub(super) outcome: Act<Effect>,
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
        let erased_outcome = move |tx: TenantTx, effect: &Effect| -> Acted {
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
            breaker: BreakerPolicy::default(),
            target: Arc::new(|_| None),
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

    /// How long a call may take, and after it the unit that acts on its answer.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// What becomes of calls that have no answer, and of answers that cannot be acted on.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Who is called, by what is asked for: a host, an account. A target that does not answer is held back without those
    /// of other targets. Where nothing is said, all calls of the kind have one target.
    #[must_use]
    pub fn target<Q: DeserializeOwned>(mut self, target: impl Fn(&Q) -> String + Send + Sync + 'static) -> Self {
        self.target = Arc::new(move |body| serde_json::from_str(body).ok().map(|told: Q| target(&told)));
        self
    }

    /// When a target is held back.
    #[must_use]
    pub fn breaker(mut self, breaker: BreakerPolicy) -> Self {
        self.breaker = breaker;
        self
    }

    /// The target of a call: the kind, where nothing else is known.
    pub(super) fn target_of(&self, effect: &Effect) -> String {
        // What a user wrote does not take the other calls of the kind along.
        let target = catch_unwind(AssertUnwindSafe(|| (self.target)(&effect.body)));
        target.ok().flatten().unwrap_or_else(|| self.kind.clone())
    }
}

fn unreadable(cause: &serde_json::Error) -> Refusal {
    Refusal::Never(format!("what is asked or answered cannot be read: {cause}"))
}

impl fmt::Debug for Performer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Performer").field("kind", &self.kind).finish_non_exhaustive()
    }
}
