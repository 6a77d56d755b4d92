//! Publishes the log to a broker: one publisher a stream, in the order of the log.
//!
//! A relay is a reader of the log like any other. It holds the one lane of the pseudo-consumer `relay.<STREAM>`, so that one
//! process at a time feeds a stream; relays that live share the streams out (`share`). What the broker refuses is parked there, its key waits, and every other
//! key flows on. Where more keys wait than are known to it, it publishes nothing new: one of them might overtake. While the broker is away the log holds everything, and nobody who commits notices.
//!
//! Invariants: events of one key reach the stream in the order of the log; a position passes an event only when it is in the
//! stream, or parked; where the stream and the store disagree, the stream says what was published (`resume`).
//!
//! Not here: the wire (`karwan_broker`), what consumers of a stream do (`feed`).

mod letters;
mod outgoing;
mod pages;
mod resume;
mod retry;
mod session;
mod share;
mod stream;
mod trouble;

use std::sync::Arc;

use karwan_broker::topology::Stream as StreamPlan;
use karwan_broker::{Broker, Mode, Topology};
use karwan_store::consumer::{Lane, Node, Run};
use tokio::sync::watch;

use crate::engine::{Lease, Stopping};
use crate::health::PARKED_KEYS_MAX;
use crate::node::Shared;
pub(crate) use letters::Letters;
use pages::Pages;
use stream::Stream;
pub use trouble::{Trouble, Troubles};

/// The pseudo-consumers of relays begin with this.
pub const RELAYS: &str = "relay.";

/// The lane of a stream's publisher.
pub fn lane(stream: &str) -> Lane {
    Lane { consumer: format!("{RELAYS}{stream}"), number: 0, of: 1 }
}

/// What is published where.
#[derive(Debug, Clone)]
pub struct Relay {
    broker: Broker,
    topology: Topology,
    services: Option<Vec<String>>,
    mode: Mode,
    waiting_max: usize,
}

impl Relay {
    /// Everything that a topology has streams for, pipelined.
    pub fn new(broker: Broker, topology: Topology) -> Self {
        Self { broker, topology, services: None, mode: Mode::Pipelined, waiting_max: PARKED_KEYS_MAX }
    }

    /// The streams of these services alone.
    #[must_use]
    pub fn services(mut self, services: impl IntoIterator<Item = String>) -> Self {
        self.services = Some(services.into_iter().collect());
        self
    }

    /// In atomic batches that one synchronisation of the server's disk covers.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// How many keys of a stream may wait; where more do, its relay is suspended. 10,000 at most, and where nothing is said.
    #[must_use]
    pub fn waiting_max(mut self, keys: usize) -> Self {
        self.waiting_max = keys.clamp(1, PARKED_KEYS_MAX);
        self
    }

    /// The streams that it may publish.
    fn streams(&self) -> impl Iterator<Item = &StreamPlan> {
        let wanted = |plan: &&StreamPlan| match &self.services {
            Some(services) => services.contains(&plan.service),
            None => true,
        };
        self.topology.streams().iter().filter(wanted)
    }

    /// The same, as other processes hear of it.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Run> {
        share::runs(self.streams().map(|plan| &*plan.name))
    }
}

/// Who publishes: this process, and those that live.
#[derive(Clone)]
pub(crate) struct Sharing {
    pub node: String,
    pub lease: Lease,
    pub living: watch::Receiver<Vec<Node>>,
}

/// Starts a task a stream, and one for dead letters.
pub(crate) fn start(
    relay: Relay,
    shared: &Arc<Shared>,
    sharing: &Sharing,
    stopping: &Arc<Stopping>,
    tasks: &mut tokio::task::JoinSet<()>,
) {
    let pages = Arc::new(Pages::new(shared.store.clone()));
    for plan in relay.streams() {
        let stream = Stream {
            sharing: sharing.clone(),
            lane: lane(&plan.name),
            shared: shared.clone(),
            pages: pages.clone(),
            broker: relay.broker.clone(),
            name: plan.name.clone(),
            service: plan.service.clone(),
            subjects: plan.subjects.iter().cloned().collect(),
            mode: relay.mode,
            waiting_max: relay.waiting_max,
            // A login that may make its own streams may not make others'.
            topology: relay.topology.clone().of_services(&[&plan.service]),
        };
        tasks.spawn(stream.run(stopping.clone()));
    }
    let Sharing { node, lease, .. } = sharing;
    let letters = Letters { shared: shared.clone(), broker: relay.broker, topology: relay.topology };
    tasks.spawn(letters.run((node.clone(), *lease), stopping.clone()));
}
