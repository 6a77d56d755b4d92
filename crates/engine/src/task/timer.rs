//! Deadlines: looked for by every process, fired by whoever is first.
//!
//! One that fails is postponed in the store, so that it is neither lost with its process nor in the way of others.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use karwan_envelope::time::Timestamp;
use karwan_store::consumer::Share;
use karwan_store::deadline::Deadline;
use karwan_store::{Error, TenantTx};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::slots::Slots;
use super::{Act, Acted, LOOK_AGAIN, LOOK_MAX, Undone, context, in_its_own_task};
use crate::consumer::Failure;
use crate::engine::{STORE_DOWN, Stopping, pause};
use crate::node::Shared;
use crate::policy::Policy;
use crate::worker::told;

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
    pub(super) kind: String,
    at_once: usize,
    limit: Duration,
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
        let erased = move |tx: TenantTx, deadline: &Deadline| -> Acted {
            let told = match serde_json::from_str(&deadline.body) {
                Ok(told) => told,
                Err(cause) => return Box::pin(std::future::ready(Err(cause.into()))),
            };
            let fired = handler(tx, Due { told, id: deadline.id.clone(), due: Timestamp::from_unix_ms(deadline.due) });
            Box::pin(async move { fired.await.map_err(Into::into) })
        };
        Self {
            service: service.into(),
            kind: kind.into(),
            at_once: 8,
            limit: Duration::from_secs(30),
            policy: Policy::default(),
            handler: Arc::new(erased),
        }
    }

    /// How many deadlines of this kind are fired at once.
    #[must_use]
    pub fn at_once(mut self, at_once: usize) -> Self {
        self.at_once = at_once.clamp(1, 1000);
        self
    }

    /// How long the handler may take for one deadline.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// How long a deadline that failed waits. It is tried until it succeeds, is moved or is cancelled: none is given up.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Fires the deadlines of a kind when they are due, until it is stopped.
pub(crate) async fn run(shared: Arc<Shared>, timer: Arc<Timer>, stopping: Arc<Stopping>) {
    let mut slots = Slots::new(timer.at_once);
    let mut next = VecDeque::new();
    let mut looked = Instant::now();
    while !stopping.is_now() {
        let step = async {
            slots.reap()?;
            if looked.elapsed() >= LOOK_AGAIN {
                next.clear();
            }
            if slots.has_room() && next.is_empty() {
                let limit = timer.at_once + LOOK_MAX;
                let due = shared.store.due_deadlines(&timer.kind, Share::ALL, shared.clock.now(), limit).await?;
                next = due.into_iter().filter(|deadline: &Deadline| !slots.is_taken(&deadline.token)).collect();
                looked = Instant::now();
            }
            if !slots.has_room() || next.is_empty() {
                return slots.wait(&shared.store, &stopping, std::future::pending()).await;
            }
            while slots.has_room()
                && let Some(deadline) = next.pop_front()
            {
                slots.start(deadline.token, fire(shared.clone(), timer.clone(), deadline));
            }
            Ok(())
        };
        if let Err(error) = step.await {
            tracing::warn!(kind = %timer.kind, error = %error, "a deadline cannot be looked for or fired");
            pause(STORE_DOWN, &stopping).await;
        }
    }
    slots.finish(&shared.store, &timer.kind).await;
}

async fn fire(shared: Arc<Shared>, timer: Arc<Timer>, deadline: Deadline) -> Result<(), Error> {
    let context = context(&shared, &timer.service, deadline.tenant, &deadline.cause);
    let fire = async |tx: TenantTx| {
        let (timer, deadline) = (timer.clone(), deadline.clone());
        let limit = timer.limit;
        in_its_own_task(&shared.store, limit, async move { (timer.handler)(tx, &deadline).await }).await.map_err(Undone)
    };
    let error = match shared.store.fire(&deadline, &context, fire).await {
        Ok(_) => return Ok(()),
        Err(undone) if undone.is_gone() => return Ok(()),
        Err(undone) => undone.unless_away()?,
    };
    let attempts = deadline.attempts.saturating_add(1);
    let try_at = shared.now_ms() + timer.policy.wait_ms(attempts, &*shared.random);
    let why = told(&*error);
    tracing::warn!(kind = %timer.kind, id = %deadline.id, attempts, error = %why, "a deadline failed");
    shared.store.postpone_deadline(&deadline, try_at, &why).await
}
