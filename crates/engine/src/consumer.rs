//! Consumers: which events they take, what they do with each, and what becomes of one that fails.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use karwan_envelope::Envelope;
use karwan_registry::Event;
use karwan_store::TenantTx;
use karwan_store::log::Seq;

use crate::policy::Policy;

/// Whatever a handler fails with; the event is tried again by the consumer's policy.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What a handler says of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is handled: what the handler wrote is committed with the claim.
    Done,
    /// Something that must come before has not come yet; its key waits, and no attempt is counted.
    Later(String),
    /// It failed, and may succeed another time.
    Retry(String),
    /// It can never succeed: it is given up at once, and its key goes on.
    Dead(String),
    /// It waits for a person, and its key with it.
    Park(String),
}

/// An event on its way into a handler.
#[derive(Debug, Clone)]
pub struct Received<E> {
    /// What happened.
    pub event: E,
    /// Who, when, why and whose.
    pub envelope: Arc<Envelope>,
    /// Its place in the log.
    pub seq: Seq,
}

pub(crate) type Handled = Pin<Box<dyn Future<Output = Result<Verdict, Failure>> + Send>>;
type Handler = Arc<dyn Fn(TenantTx, Arc<Envelope>, Seq) -> Handled + Send + Sync>;

/// Somebody who reads the log and acts on some of its events, each once, in order per key.
#[derive(Clone)]
pub struct Consumer {
    pub(crate) name: String,
    pub(crate) service: String,
    pub(crate) lanes: u16,
    pub(crate) batch: usize,
    pub(crate) limit: Duration,
    pub(crate) policy: Policy,
    handlers: BTreeMap<&'static str, Handler>,
}

impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subjects: Vec<_> = self.handlers.keys().collect();
        f.debug_struct("Consumer").field("name", &self.name).field("subjects", &subjects).finish_non_exhaustive()
    }
}

impl Consumer {
    /// A consumer of a service. Its name is remembered with every event that it handled: `<service>.<what it does>`.
    pub fn new(service: impl Into<String>, what: &str) -> Self {
        let service = service.into();
        Self {
            name: format!("{service}.{what}"),
            service,
            lanes: 4,
            batch: 32,
            limit: Duration::from_secs(30),
            policy: Policy::default(),
            handlers: BTreeMap::new(),
        }
    }

    /// What is done with an event of this type, inside the unit of work that claims it. The handler reads and writes its
    /// handle and nothing else; it may run again when what it read has changed.
    #[must_use]
    pub fn on<E, F, T>(mut self, handler: impl Fn(TenantTx, Received<E>) -> F + Send + Sync + 'static) -> Self
    where
        E: Event + Send,
        F: Future<Output = Result<Verdict, T>> + Send + 'static,
        T: Into<Failure> + 'static,
    {
        let erased: Handler =
            Arc::new(move |tx, envelope, seq| match serde_json::from_str::<E>(envelope.payload.get()) {
                Ok(event) => {
                    let handled = handler(tx, Received { event, envelope, seq });
                    Box::pin(async move { handled.await.map_err(Into::into) })
                }
                // The schema admits it and the struct does not read it: no other attempt will.
                Err(cause) => {
                    Box::pin(std::future::ready(Ok(Verdict::Dead(format!("the payload cannot be read: {cause}")))))
                }
            });
        self.handlers.insert(E::SUBJECT, erased);
        self
    }

    /// How many shares the keys are parted into: the most that can be handled at once, over all processes. Fixed once the
    /// consumer has run.
    #[must_use]
    pub fn lanes(mut self, lanes: u16) -> Self {
        self.lanes = lanes.clamp(1, karwan_store::write_set::SLOTS);
        self
    }

    /// How many events may share a transaction.
    #[must_use]
    pub fn batch(mut self, batch: usize) -> Self {
        self.batch = batch.clamp(1, 256);
        self
    }

    /// How long a handler may take for one event.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// What becomes of events that fail.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn handler(&self, subject: &str) -> Option<&Handler> {
        self.handlers.get(subject)
    }
}
