//! What becomes due, and what is called outside.
//!
//! A deadline fires in a unit of its own, which takes it away. A call is made by whoever holds the lane of its kind, in order
//! per key; its answer is kept before anybody acts on it, so a crash in between repeats the call with the same idempotency
//! key, and a crash after it repeats nothing.
//!
//! Both keep a number of tasks under way all the time (`slots`): a slow one holds its own slot and nothing else. What
//! has to wait, because it failed or because its target is held back (`breaker`), waits in the store: it survives its
//! process, fills no page, and is quiet.

pub mod breaker;
pub(crate) mod calls;
pub mod performer;
mod slots;
pub(crate) mod timer;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer};
use karwan_envelope::envelope::Context;
use karwan_store::stored::tenant_of;
use karwan_store::write_set::TenantBits;
use karwan_store::{Error, Store, TenantTx};
use tokio::task::JoinSet;

use crate::consumer::Failure;
use crate::node::Shared;

pub use breaker::BreakerPolicy;
pub use performer::{Answered, Call, Performer, Refusal};
pub use timer::{Due, Timer};

/// The most that is looked for at once, beyond what is under way.
const LOOK_MAX: usize = 100;
/// What was found longer ago is looked for again: somebody else may have done it.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

type Acted = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;
/// What is done in a unit with something that is due.
type Act<T> = Arc<dyn Fn(TenantTx, &T) -> Acted + Send + Sync>;

/// Why a unit was not committed.
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

    /// Why, where that is the task's own failure; an error where the store is away, which is nobody's.
    fn unless_away(self) -> Result<Failure, Error> {
        match self.0.downcast::<Error>() {
            Ok(error) if error.is_away() => Err(*error),
            Ok(error) => Ok(error),
            Err(failure) => Ok(failure),
        }
    }
}

/// Why a task has no outcome of its own.
#[derive(Debug)]
enum Broken {
    Panicked(String),
    Late(Duration),
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Panicked(said) => write!(f, "it broke off: {said}"),
            Self::Late(limit) => write!(f, "it took longer than {limit:?}"),
        }
    }
}

impl std::error::Error for Broken {}

/// Runs what a user wrote in a task of its own: where it panics or hangs, it takes nobody along.
async fn in_its_own_task<T, E>(
    store: &Store,
    limit: Duration,
    work: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<Broken> + Send + 'static,
{
    // Dropped, the set cuts its task off.
    let mut running = JoinSet::new();
    running.spawn(work);
    let ended = tokio::time::timeout(limit, running.join_next()).await;
    store.heard("a task of a user's has ended").await;
    match ended {
        Ok(Some(Ok(outcome))) => outcome,
        Ok(Some(Err(broken))) => Err(Broken::Panicked(said(broken)).into()),
        Ok(None) => Err(Broken::Panicked("nothing was started".to_owned()).into()),
        Err(_) => Err(Broken::Late(limit).into()),
    }
}

/// What somebody said who panicked.
fn said(broken: tokio::task::JoinError) -> String {
    let Ok(panic) = broken.try_into_panic() else { return "it was cut off".to_owned() };
    match panic.downcast::<String>() {
        Ok(said) => *said,
        Err(panic) => panic.downcast::<&str>().map_or_else(|_| "it panicked".to_owned(), |said| (*said).to_owned()),
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

/// Whether nothing of a timer's or a performer's may be tried now. What is under way still may.
pub(crate) async fn is_quiet(
    shared: &Shared,
    timers: &[Arc<Timer>],
    performers: &[Arc<Performer>],
) -> Result<bool, Error> {
    let timers: Vec<&str> = timers.iter().map(|timer| timer.kind.as_str()).collect();
    let performers: Vec<&str> = performers.iter().map(|performer| performer.kind.as_str()).collect();
    if timers.is_empty() && performers.is_empty() {
        return Ok(true);
    }
    shared.store.any_due(&timers, &performers, shared.clock.now()).await.map(|due| !due)
}
