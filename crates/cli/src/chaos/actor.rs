//! A process that is killed: this program, started by itself with what it is in its environment. It ends with its standard
//! input, so that nobody is left behind where the one who started it is gone.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use karwan::broker::{Broker, Topology};
use karwan::engine::{Options, Work};
use karwan::{Engine, Relay, Residency, Store};
use karwan_store::Address;
use serde::{Deserialize, Serialize};

use super::platform::{self, GUIDE, WALK};
use super::producer;
use super::trial::Rule;
use crate::exit::{Failure, Outcome};
use crate::{output, runtime, telling};

/// Says what a started process is.
pub const ACTOR: &str = "KARWAN_CHAOS_ACTOR";
/// How long a lane is held: short, so that a run sees many of them pass from hand to hand.
pub const LEASE_MS: u64 = 1_500;
/// How long a server that is away is left alone.
const AWAY: Duration = Duration::from_millis(100);
/// How long a broker's answer may take.
const ANSWER_MS_MAX: u64 = 2_000;

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Takes steps.
    Producer,
    /// Publishes them.
    Relay,
    /// Follows them from the log.
    Guide,
    /// Follows them from a stream, in another database.
    Watch,
}

/// A process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Actor {
    /// Its name among all.
    pub name: String,
    /// What it does.
    pub role: Role,
    /// The database that it works on.
    pub store: String,
    /// The broker.
    pub broker: String,
    /// Where a producer writes down what it does.
    pub ledger: PathBuf,
    /// The rule that it leaves out.
    pub without: Option<Rule>,
}

/// Be one of the processes of `karwan chaos`
#[derive(clap::Args)]
pub struct Args {}

pub fn run() -> Outcome {
    let by_hand =
        || Failure::usage(anyhow::anyhow!("this is run by `karwan chaos`, not by hand (see karwan chaos --help)"));
    let told = std::env::var(ACTOR).map_err(|_| by_hand())?;
    let actor: Actor = serde_json::from_str(&told).map_err(|_| by_hand())?;
    telling::start(true);
    if let Some(rule) = actor.without {
        rule.leave_out();
    }
    let enough = Arc::new(AtomicBool::new(false));
    let (told, role) = (enough.clone(), actor.role);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        told.store(true, Ordering::Relaxed);
        if role != Role::Producer {
            std::process::exit(0);
        }
    });
    runtime::block_on(async move {
        let address: Address = actor.store.parse().map_err(karwan_store::Error::from)?;
        let store = until(async || platform::open(&address).await, "its store").await;
        match actor.role {
            Role::Producer => producer::run(store, &actor.name, &actor.ledger, enough).await?,
            Role::Relay | Role::Guide | Role::Watch => at_work(&actor, &store).await?.run_until_signal().await?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

async fn at_work(actor: &Actor, store: &Store) -> Result<Engine, Failure> {
    let work = match actor.role {
        Role::Producer => Work::new(),
        Role::Guide => Work::new().consumer(platform::guide()),
        Role::Watch => Work::new().consumer(platform::watch()).broker(broker(actor).await),
        Role::Relay => {
            let topology = Topology::of(&*platform::catalogue()?);
            let broker = broker(actor).await;
            until(async || Ok(topology.apply(&broker).await?), "its streams").await;
            // What the watch tells lies in another database.
            Work::new().relay(Relay::new(broker, topology).services([WALK, GUIDE].map(str::to_owned)))
        }
    };
    let options = Options { lease: Duration::from_millis(LEASE_MS), ..Options::new(actor.name.clone(), Residency::Eu) };
    Ok(Engine::start(store, work, options))
}

/// Connected to the broker, as soon as it is there.
async fn broker(actor: &Actor) -> Broker {
    until(async || Ok(connect(&actor.broker, &actor.name).await?), "its broker").await
}

/// A connection that does not wait for long.
pub async fn connect(url: &str, name: &str) -> Result<Broker, karwan::broker::Error> {
    let options = karwan::broker::Options {
        name: name.to_owned(),
        answer_ms_max: ANSWER_MS_MAX,
        ..karwan::broker::Options::default()
    };
    Broker::connect(url, options).await
}

/// Asks again and again: whoever starts may find every server away.
async fn until<T>(mut ask: impl AsyncFnMut() -> Result<T, Failure>, what: &str) -> T {
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(failure) => {
                output::note(&format!("waits for {what}: {}", failure.text()));
                tokio::time::sleep(AWAY).await;
            }
        }
    }
}
