//! A node's relay. A broker that is away keeps no node from starting: the log holds everything, and it is asked again until it
//! answers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use karwan::engine::relay::{Trouble, Troubles};
use karwan::engine::{Engine, Options, Work};
use karwan::{Relay, Residency};
use karwan_broker::{Broker, Error, Topology};
use karwan_store::Store;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::away;
use crate::exit::Failure;
use crate::topology::Replicas;

/// How long a broker that is away is left alone, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// How it is with the broker.
enum State {
    /// It has not answered yet, for this reason.
    Away(String),
    /// It is there, and cannot be used as it is: for this reason, until somebody does this.
    Wrong(String, Option<&'static str>),
    /// It is published to; whether it is there now, the connection knows, and whether it takes anything, the relay.
    Found(Broker, Troubles),
}

impl State {
    /// Of a broker that cannot be published to.
    fn of(error: &Error) -> Self {
        match error {
            Error::Unreachable { .. } | Error::NoAnswer { .. } => Self::Away(away::told(error)),
            Error::Address(_)
            | Error::Credentials { .. }
            | Error::Denied { .. }
            | Error::OldServer { .. }
            | Error::NotDurable { .. }
            | Error::NoJetStream { .. }
            | Error::StreamGone { .. }
            | Error::ConsumerGone { .. }
            | Error::Gap { .. }
            | Error::NoPlace { .. }
            | Error::Behind { .. }
            | Error::Interrupted { .. }
            | Error::OutOfStep { .. }
            | Error::Refused { .. }
            | Error::BatchRefused { .. }
            | Error::Full { .. }
            | Error::Topology { .. }
            | Error::Overlap { .. }
            | Error::OtherPlatform { .. }
            | Error::Consumer(_)
            | Error::Answer { .. } => {
                Self::Wrong(format!("{} (docs/errors/{}.md)", away::told(error), error.code()), error.remedy())
            }
        }
    }

    fn log(&self) {
        match self {
            Self::Away(why) => tracing::warn!(
                why,
                "the broker is away: the log holds everything, and it is asked again until it answers"
            ),
            Self::Wrong(why, remedy) => tracing::warn!(
                why,
                remedy,
                "the broker is there and cannot be published to as it is: the log holds everything, and it is asked again until somebody has mended that"
            ),
            Self::Found(..) => {}
        }
    }
}

/// What others see of it.
#[derive(Clone)]
pub struct Link(Arc<Mutex<State>>);

impl Link {
    /// For whoever asks whether the node is well.
    pub fn told(&self) -> Value {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Found(broker, troubles) if broker.is_connected() => published_to(&troubles.now()),
            State::Found(broker, _) => {
                json!({ "status": "away", "why": format!("the connection to {} is broken", broker.address()) })
            }
            State::Away(why) => json!({ "status": "away", "why": why }),
            State::Wrong(why, remedy) => json!({ "status": "wrong", "why": why, "remedy": remedy }),
        }
    }

    fn set(&self, state: State) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

/// Of a broker that is connected. One that does not answer is, too.
fn published_to(troubles: &[Trouble]) -> Value {
    let Some(oldest) = troubles.first() else { return json!({ "status": "connected" }) };
    let streams: Vec<&str> = troubles.iter().map(|trouble| &*trouble.stream).collect();
    json!({
        "status": "stuck",
        "why": format!("{} (docs/errors/{}.md)", oldest.why, oldest.code),
        "remedy": oldest.remedy,
        "since": oldest.since.to_string(),
        "streams": streams,
    })
}

/// A relay that works, or waits for its broker.
pub struct Publishing {
    link: Link,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// What is needed to begin.
struct Wanted {
    store: Store,
    url: String,
    name: String,
    topology: Topology,
}

impl Publishing {
    /// Asks the broker once. What waiting does not mend (a wrong login, an old server) keeps the node from starting; a broker
    /// that is away does not.
    pub async fn begin(store: &Store, url: String, name: String, replicas: &Replicas) -> Result<Self, Failure> {
        let topology = replicas.of(Topology::of(store.catalogue()));
        let wanted = Wanted { store: store.clone(), url, name, topology };
        let (link, found) = match wanted.prepared().await {
            Ok(broker) => {
                let state = State::Found(broker.clone(), Troubles::default());
                (Link(Arc::new(Mutex::new(state))), Some(broker))
            }
            Err(error) if away::is_worth_waiting(&error) => {
                let state = State::of(&error);
                state.log();
                (Link(Arc::new(Mutex::new(state))), None)
            }
            Err(error) => return Err(error.into()),
        };
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(wanted.publish(found, link.clone(), stopped));
        Ok(Self { link, stop, task })
    }

    /// How it is with the broker.
    pub fn link(&self) -> Link {
        self.link.clone()
    }

    /// What is under way is finished.
    pub async fn stop(self) {
        // It may have ended by itself.
        let _ = self.stop.send(());
        let _ = self.task.await;
    }
}

impl Wanted {
    async fn prepared(&self) -> Result<Broker, Error> {
        let options = karwan_broker::Options { name: self.name.clone(), ..karwan_broker::Options::default() };
        let broker = Broker::connect(&self.url, options).await?;
        for change in self.topology.apply(&broker).await? {
            tracing::info!(change = %change, "the broker is prepared");
        }
        Ok(broker)
    }

    async fn publish(self, found: Option<Broker>, link: Link, mut stopped: oneshot::Receiver<()>) {
        let broker = match found {
            Some(broker) => broker,
            None => tokio::select! {
                broker = self.until_there(&link) => broker,
                _ = &mut stopped => return,
            },
        };
        // A node of its own: lanes of consumers are shared among those who run them.
        let options = Options::new(format!("{}-relay", self.name), Residency::Me);
        let relay = Relay::new(broker.clone(), self.topology.clone());
        let engine = Engine::start(&self.store, Work::new().relay(relay), options);
        link.set(State::Found(broker, engine.relay_troubles()));
        // Also where whoever would say so is gone.
        let _ = stopped.await;
        engine.stop().await;
    }

    /// A node that works does not end by what its broker says: whoever looks after it mends that meanwhile.
    async fn until_there(&self, link: &Link) -> Broker {
        let (mut wait, mut said) = (PAUSES.0, None);
        loop {
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(PAUSES.1);
            let error = match self.prepared().await {
                Ok(broker) => {
                    tracing::info!(broker = broker.address(), "the broker is there: what the log holds is published");
                    return broker;
                }
                Err(error) => error,
            };
            let (state, why) = (State::of(&error), away::told(&error));
            if said.as_ref() != Some(&why) {
                state.log();
                said = Some(why);
            }
            link.set(state);
        }
    }
}
