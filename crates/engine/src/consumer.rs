//! Consumers: which events they take, what they do with each, and what becomes of one that fails.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use karwan_envelope::Envelope;
use karwan_registry::{Event, Platform};
use karwan_store::consumer::Run as WorkedOn;
use karwan_store::log::Seq;
use karwan_store::{Declared, TenantTx};

use crate::health::PARKED_KEYS_MAX;
use crate::policy::Policy;

/// Whatever a handler fails with; the event is tried again by the consumer's policy.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A payload that its schema admits and the handler's struct does not read.
#[derive(Debug)]
pub(crate) struct Unreadable(serde_json::Error);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the payload cannot be read: {}", self.0)
    }
}

impl std::error::Error for Unreadable {}

/// So many batches run in order before it is tried again whether their events may run beside each other.
const IN_ORDER: u32 = 64;

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
type Run = Arc<dyn Fn(TenantTx, Arc<Envelope>, Seq) -> Handled + Send + Sync>;

/// What is done with the events of one subject.
#[derive(Clone)]
pub(crate) struct Handler {
    pub run: Run,
    /// Whether it was seen to take the Postgres transaction, and so shares its commit with no other event.
    pub alone: Arc<AtomicBool>,
}

/// Which figures a consumer gives itself.
#[derive(Debug, Clone, Copy, Default)]
struct Said {
    lanes: bool,
    batch: bool,
    policy: bool,
}

/// Somebody who reads the log and acts on some of its events, each once, in order per key.
///
/// One of whose last hundred keys fifty fail suspends itself, in every process, until somebody resumes it. Fifty is also the least: one
/// that has fewer keys goes on, though all of them fail, and its events are given up one by one.
#[derive(Clone)]
pub struct Consumer {
    pub(crate) name: String,
    pub(crate) service: String,
    pub(crate) lanes: u16,
    pub(crate) batch: usize,
    pub(crate) limit: Duration,
    pub(crate) policy: Policy,
    pub(crate) holds_dead: bool,
    pub(crate) waiting_max: usize,
    /// What it says of itself, and does not have from its platform.
    said: Said,
    /// The stream that feeds it, where it is not the log.
    pub(crate) stream: Option<String>,
    /// How long a delivery of it may stay without word, and how many may be out, where it says so.
    pub(crate) deliveries: Option<(Duration, u32)>,
    /// Others go first.
    pub(crate) background: bool,
    forward_only: bool,
    rebuildable: bool,
    takes_each: bool,
    /// For so many batches its events run one after the other.
    in_order: Arc<AtomicU32>,
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
            holds_dead: false,
            waiting_max: PARKED_KEYS_MAX,
            said: Said::default(),
            stream: None,
            deliveries: None,
            background: false,
            forward_only: false,
            rebuildable: false,
            takes_each: false,
            in_order: Arc::default(),
            handlers: BTreeMap::new(),
        }
    }

    /// What is done with an event of this type, inside the unit of work that claims it. The handler reads and writes its
    /// handle and nothing else; it may run again when what it read has changed. Tables of one's own are written through
    /// [`TenantTx::postgres`]; such a handler runs alone, whatever [`Self::batch`] says.
    ///
    /// A release that handles a subject more than the one before takes all lanes over as soon as one of its processes lives:
    /// the subject begins where each lane stands then. Processes without that subject get lanes again when no other lives, and
    /// keep its events parked for the other release, for as long as the policy's `later_most_ms`; then they are dead letters.
    /// Taking a subject away for good needs a word of the operator: `karwan consumer forget NAME --subject SUBJECT`.
    #[must_use]
    pub fn on<E, F, T>(mut self, handler: impl Fn(TenantTx, Received<E>) -> F + Send + Sync + 'static) -> Self
    where
        E: Event + Send,
        F: Future<Output = Result<Verdict, T>> + Send + 'static,
        T: Into<Failure> + 'static,
    {
        let run: Run = Arc::new(move |tx, envelope, seq| match serde_json::from_str::<E>(envelope.payload.get()) {
            Ok(event) => {
                let handled = handler(tx, Received { event, envelope, seq });
                Box::pin(async move { handled.await.map_err(Into::into) })
            }
            Err(cause) => Box::pin(std::future::ready(Err(Unreadable(cause).into()))),
        });
        self.handlers.insert(E::SUBJECT, Handler { run, alone: Arc::default() });
        self
    }

    /// What is done with every event of these subjects, whatever its type: for those who keep events or pass them on without
    /// acting on what they say, such as an audit.
    #[must_use]
    pub fn on_each<F, T>(
        mut self,
        subjects: impl IntoIterator<Item = &'static str>,
        handler: impl Fn(TenantTx, Arc<Envelope>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Verdict, T>> + Send + 'static,
        T: Into<Failure> + 'static,
    {
        let run: Run = Arc::new(move |tx, envelope, _| {
            let handled = handler(tx, envelope);
            Box::pin(async move { handled.await.map_err(Into::into) })
        });
        self.takes_each = true;
        for subject in subjects {
            self.handlers.insert(subject, Handler { run: run.clone(), alone: Arc::default() });
        }
        self
    }

    /// How many shares the keys are parted into: the most that can be handled at once, over all processes. Processes that
    /// share a consumer agree on it; with another number a process waits until all of the former one have stopped, and then
    /// parts the keys anew. Where nothing is said it is the platform's figure for the service ([`Platform::workers`]), else 4.
    #[must_use]
    pub fn lanes(mut self, lanes: u16) -> Self {
        self.said.lanes = true;
        self.lanes = lanes.clamp(1, karwan_store::write_set::SLOTS);
        self
    }

    /// How many events may share a transaction. Where nothing is said it is the platform's figure for the service, else 32.
    #[must_use]
    pub fn batch(mut self, batch: usize) -> Self {
        self.said.batch = true;
        self.batch = batch.clamp(1, 256);
        self
    }

    /// How long a handler may take for one event.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// What becomes of events that fail. Where nothing is said it is the platform's policy, where it has one.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.said.policy = true;
        self.policy = policy;
        self
    }

    /// An event that is given up waits for a person, and its key with it, instead of letting its key go on without it.
    #[must_use]
    pub fn hold_dead(mut self) -> Self {
        self.holds_dead = true;
        self
    }

    /// How many of its keys may wait in one process, over all of its lanes that the process holds; where more do, it is
    /// suspended. 10,000 at most, and where nothing is said. Processes that share a consumer have a bound each.
    #[must_use]
    pub fn waiting_max(mut self, keys: usize) -> Self {
        self.waiting_max = keys.clamp(1, PARKED_KEYS_MAX);
        self
    }

    /// It is fed from a stream of a broker, and from that alone, instead of the log of its store: for events of services that
    /// have another database. Its work needs a broker ([`Work::broker`](crate::Work::broker)). One process at a time has all
    /// of its lanes.
    #[must_use]
    pub fn from_stream(mut self, stream: impl Into<String>) -> Self {
        self.stream = Some(stream.into());
        self
    }

    /// How long a delivery of its stream may stay without an acknowledgement or word that it is worked on, which is given at a
    /// third of it, and how many deliveries may be out at once. Where nothing is said: ten minutes, and 8,192.
    #[must_use]
    pub fn deliveries(mut self, ack_wait: Duration, unacked_max: u32) -> Self {
        self.deliveries = Some((ack_wait.max(Duration::from_millis(1)), unacked_max.max(1)));
        self
    }

    /// Others go first: while this process has events for other consumers, one batch at a time is under way for all that are in the
    /// background, so that they go on, in large batches. For what nobody waits for, such as projections, messages and an audit.
    #[must_use]
    pub fn background(mut self) -> Self {
        self.background = true;
        self
    }

    /// It never goes back: an operator can neither seek it backwards nor send it events once more. For what must not be told
    /// twice, such as an audit.
    #[must_use]
    pub fn forward_only(mut self) -> Self {
        self.forward_only = true;
        self
    }

    /// It may handle everything anew, also what nobody remembers that it handled: its handlers put the same into the same
    /// place. For read models that can be wiped and built again.
    #[must_use]
    pub fn rebuildable(mut self) -> Self {
        self.rebuildable = true;
        self
    }

    /// What it says nothing of it has from its platform: a service that comes later cannot forget its figures.
    pub(crate) fn of_platform(mut self, platform: &Platform) -> Self {
        let said = self.said;
        if let Some(workers) = platform.workers_of(&self.service) {
            self = if said.lanes { self } else { self.lanes(workers.lanes()) };
            self = if said.batch { self } else { self.batch(workers.messages) };
        }
        match Policy::of_profile(platform.name).filter(|_| !said.policy) {
            Some(policy) => self.policy(policy),
            None => self,
        }
    }

    /// Whether it may handle everything anew.
    pub(crate) fn is_rebuildable(&self) -> bool {
        self.rebuildable
    }

    /// What it says of itself, for operators.
    pub(crate) fn declared(&self) -> Declared {
        Declared {
            consumer: self.name.clone(),
            forward_only: self.forward_only,
            rebuildable: self.rebuildable,
            subjects: self.subjects().map(str::to_owned).collect(),
            stream: self.stream.clone(),
            at: 0,
        }
    }

    /// What a process that works on it says with its beats.
    pub(crate) fn run(&self) -> WorkedOn {
        let subjects = self.subjects().map(str::to_owned).collect();
        WorkedOn { consumer: self.name.clone(), lanes: self.lanes, subjects }
    }

    /// Whose it is.
    pub fn service(&self) -> &str {
        &self.service
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The subjects that it handles.
    pub fn subjects(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.handlers.keys().copied()
    }

    /// Whether one handler of it takes many subjects ([`Self::on_each`]).
    pub fn takes_each(&self) -> bool {
        self.takes_each
    }

    pub(crate) fn handler(&self, subject: &str) -> Option<&Handler> {
        self.handlers.get(subject)
    }

    /// Whether the events of the next batch run one after the other: those of the last ones rested on each other.
    pub(crate) fn runs_in_order(&self) -> bool {
        let less = |left: u32| left.checked_sub(1);
        self.in_order.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    /// How many of a batch's events ran beside others for nothing. Where most did, the next batches spare it: such a consumer
    /// keeps one document a tenant, and all of its events rest on it.
    pub(crate) fn ran_again(&self, again: usize, of: usize) {
        if again * 2 > of {
            self.in_order.store(IN_ORDER, Ordering::Relaxed);
        }
    }

    /// Whether events of a subject are handled one a transaction.
    pub(crate) fn runs_alone(&self, subject: &str) -> bool {
        self.handler(subject).is_some_and(|handler| handler.alone.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use karwan_registry::Platform;
    use karwan_registry::platform::Workers;

    use super::Consumer;
    use crate::policy::{LEARNING, Policy};

    ///
    #[test]
    fn a_consumer_is_called_after_its_service_and_what_it_does() {
        let consumer = Consumer::new("inventory-service", "booking-confirmed");
        assert_eq!(consumer.name(), "inventory-service.booking-confirmed");
    }

    #[test]
    fn what_a_consumer_says_nothing_of_it_has_from_its_platform() {
        let workers = Workers { service: "a-service", instances: (1, 5), at_once: 4, messages: 16, guard: None };
        let platform =
            Platform { workers: Box::leak(Box::new([workers])), ..Platform::plain("learning", &[], Vec::new) };
        let figures = |consumer: Consumer| {
            let consumer = consumer.of_platform(&platform);
            (consumer.lanes, consumer.batch, consumer.policy)
        };
        assert_eq!(figures(Consumer::new("a-service", "x")), (20, 16, LEARNING));
        assert_eq!(figures(Consumer::new("b-service", "x")), (4, 32, LEARNING));
        let own = Policy { attempts_max: 2, ..Policy::default() };
        assert_eq!(figures(Consumer::new("a-service", "x").lanes(4).batch(32).policy(own)), (4, 32, own));
        let nobody = Consumer::new("a-service", "x").of_platform(&Platform::plain("stranger", &[], Vec::new));
        assert_eq!((nobody.lanes, nobody.batch, nobody.policy), (4, 32, Policy::default()));
    }
}
