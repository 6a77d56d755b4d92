//! `karwan up`: a node.
//!
//! One process with a store, the services it runs, their consumers, deadlines and calls, and its HTTP edge. Told to stop, it
//! takes nothing new, finishes what it has begun, and ends; killed, it goes on where it was when it is started again.

pub mod control;
mod demo;
mod documents;
mod edge;
pub mod error;
mod furnishing;
mod invariants;
pub mod load;
mod logs;
mod node;
mod part_takers;
pub mod place;
mod publishing;
pub mod sagas;
mod summary;
mod tally;
pub mod tries;
mod vendors;
mod webhooks;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use karwan::Catalogue;
use karwan::engine::{Engine, Signals, Work};
use karwan_envelope::cause::Residency;
use karwan_envelope::mint::{OsRandom, Random as _};
use karwan_http::Server;
use karwan_sandbox::Stage;
use karwan_store::trace::Spans;
use karwan_store::{Address, Store};
use tokio::net::TcpListener;

use crate::exit::{Failure, Outcome};
use crate::platforms::Name;
use crate::settings::{BrokerFlags, Flags, Settings};
use crate::topology::Replicas;
use crate::{output, runtime};
use error::Error;
use logs::Form;
use node::{Node, Phase, PhaseCell};
use place::{Card, Place};
use publishing::Publishing;
use summary::{Hints, Tenants};
use tally::Tally;

/// The port, where nothing else is said.
const PORT: u16 = 7070;

/// Run the hotel platform: a store, its services, and their vendors' sandboxes
///
/// With nothing said, everything is in ./karwan-data and on loopback: an embedded
/// store with two tenants to try things with. A store that is named starts empty.
/// Ctrl-C or SIGTERM finishes what is under way; a second one ends at once. Killed,
/// it goes on where it was when it is started again. A broker that is away does not
/// keep it from starting: the log holds everything, /ready says so, and what waits is
/// published when it comes.
///
/// Examples:
///   karwan up
///   karwan up --data /var/lib/karwan --port 8080 --empty
///   karwan up --store postgres://node@localhost/app --broker nats://localhost
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    broker: BrokerFlags,
    #[command(flatten)]
    replicas: Replicas,
    /// Only these services, with commas between
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    services: Vec<String>,
    /// With two tenants to try things with; so by itself on the embedded store
    #[arg(long, conflicts_with = "empty")]
    demo: bool,
    /// With nothing in it
    #[arg(long)]
    empty: bool,
    /// The address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1")]
    bind: IpAddr,
    /// The port; 0 takes a free one
    #[arg(long, default_value_t = PORT)]
    port: u16,
    /// How the log is written: for machines where nobody watches, for people on a terminal
    #[arg(long, value_enum, value_name = "FORM")]
    log: Option<Form>,
    /// Log every event that is published or handled
    #[arg(long)]
    verbose: bool,
}

impl Args {
    /// Commands with what was said to this one, so that they find the same node; what it has by itself is left out.
    fn hints(&self, settings: &Settings) -> Hints {
        let asking = self.flags.data_flag();
        let mut again = format!("karwan up --demo{}{asking}{}", settings.store_flag(), self.flags.config_flag());
        if self.bind != IpAddr::from([127, 0, 0, 1]) {
            again.push_str(&format!(" --bind {}", self.bind));
        }
        if self.port != PORT {
            again.push_str(&format!(" --port {}", self.port));
        }
        if !self.services.is_empty() {
            again.push_str(&format!(" --services {}", self.services.join(",")));
        }
        again.push_str(&self.broker.flag());
        again.push_str(&self.replicas.flag());
        Hints { asking, again }
    }
}

pub fn run(args: &Args) -> Outcome {
    let settings = Settings::load(&args.flags)?;
    let form = logs::start(args.log, args.verbose);
    runtime::block_on(async {
        let place = Place::take(&args.flags.data()).await?;
        let listener = listen(SocketAddr::new(args.bind, args.port)).await?;
        if !args.bind.is_loopback() {
            tracing::warn!(bind = %args.bind, "others can reach this node, over plain HTTP: put a proxy that encrypts before it");
        }
        let control = listen(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let named = settings.named_store()?;
        let demo = args.demo || named.is_none() && !args.empty;
        let tally = Arc::new(Tally::default());
        let spans = logs::spans(args.verbose, tally.clone());
        let (store, address) = opened(&place, named, spans).await?;
        let signals = Signals::listen()?;
        let stage = vendors::open(&place).await?;
        let work = work(args, &stage)?;
        let publishing = match args.broker.given(&settings)? {
            Some(url) => Some(Publishing::begin(&store, url, name(), &args.replicas).await?),
            None => None,
        };
        let public = format!("http://{}", listener.local_addr()?);
        vendors::listen(&stage, &public).await;
        let engine = Engine::start(&store, work, karwan::engine::Options::new(name(), Residency::Me));
        let houses = if demo { furnished(&store, &engine, &args.services).await? } else { Vec::new() };
        let node = Arc::new(Node {
            store: store.clone(),
            address: address.clone(),
            token: format!("{:016x}{:016x}", OsRandom.bits(), OsRandom.bits()),
            stage,
            services: args.services.clone(),
            houses,
            profiles: vec![melmastoon::platform::PROFILE],
            load: std::sync::Mutex::default(),
            tally,
            stalls: place.stalls(),
            phase: PhaseCell::default(),
            broker: publishing.as_ref().map(Publishing::link),
        });
        let control = serve(control, node.clone(), control::answer)?;
        let edge = serve(listener, node.clone(), edge::answer)?;
        engine.at_work().await;
        tries::take_up(&node);
        node.enter(Phase::Working);
        place.announce(&Card {
            control: format!("http://{}", control.address()),
            token: node.token.clone(),
            public: public.clone(),
            store: written(&address),
            pid: std::process::id(),
        })?;
        tracing::info!(public, store = %address, "ready");
        if form == Form::Human {
            let tenants = tenants(&store, demo).await?;
            output::note(&summary::text(&public, &address, tenants, &args.hints(&settings)));
        }
        signals.first().await;
        node.enter(Phase::Draining);
        tracing::info!("draining: what is under way is finished");
        // Whoever asks meanwhile is told that it drains.
        let publishing = async {
            if let Some(publishing) = publishing {
                publishing.stop().await;
            }
        };
        tokio::join!(engine.stop(), publishing);
        tokio::join!(edge.stop(), control.stop());
        drop(place);
        tracing::info!("stopped");
        Ok(ExitCode::SUCCESS)
    })
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// The store of this directory: the embedded one, or one that is named.
async fn opened(place: &Place, named: Option<Address>, spans: Spans) -> Result<(Store, Address), Failure> {
    let owner = named.as_ref().map_or_else(|| "the embedded store".to_owned(), place_of);
    let address = named.unwrap_or_else(|| Address::Sqlite(absolute(place.store())));
    place.admit(&owner)?;
    let store = open(&address, spans).await?;
    place.keep_for(&owner)?;
    sagas::count(&store, &address).await?;
    Ok((store, address))
}

/// Where a store is, whoever logs in to it and how.
fn place_of(address: &Address) -> String {
    match address {
        Address::Sqlite(path) => format!("sqlite:{}", absolute(path.clone()).display()),
        Address::Postgres(_) => {
            let shown = address.to_string();
            let host = shown.rsplit_once('@').map_or(shown.as_str(), |(_, host)| host);
            host.split('?').next().unwrap_or(host).to_owned()
        }
    }
}

/// The address as a command reads it; with its password, for the owner's file alone.
fn written(address: &Address) -> String {
    match address {
        Address::Sqlite(path) => format!("sqlite:{}", path.display()),
        Address::Postgres(url) => url.clone(),
    }
}

/// This process among those that share a store.
fn name() -> String {
    format!("node-{}", std::process::id())
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(address).await.map_err(|cause| match cause.kind() {
        std::io::ErrorKind::AddrInUse => Error::PortInUse { address },
        _ => Error::Bind { address, cause },
    })
}

fn serve<F>(
    listener: TcpListener,
    node: Arc<Node>,
    answer: impl Fn(Arc<Node>, karwan_http::Request) -> F + Send + Sync + 'static,
) -> std::io::Result<Server>
where
    F: Future<Output = karwan_http::Response> + Send + 'static,
{
    Server::start(listener, move |request| answer(node.clone(), request))
}

/// Not every store has a node: its documents are migrated on request.
const WITH_NODE: &str = "`karwan migrate --node --store …` brings the documents that a node keeps";

/// Opens the store; a file is made or brought up to date first. A Postgres database is migrated by its owner, who is another
/// login than the node's.
async fn open(address: &Address, spans: Spans) -> Result<Store, Failure> {
    let catalogue = Name::Melmastoon.catalogue()?;
    if matches!(address, Address::Sqlite(_)) {
        let catalogues = crate::platforms::catalogues(None)?;
        let catalogues: Vec<&Catalogue> = catalogues.iter().collect();
        karwan_store::migrate(address, &catalogues, &crate::platforms::kinds(), &|_, _, _| {}).await?;
    }
    let options = karwan_store::Options {
        spans: Some(spans),
        ..karwan_store::Options::new(Arc::new(catalogue), crate::platforms::kinds())
    };
    Store::open(address, options).await.map_err(|error| {
        let is_bare = matches!(error, karwan_store::Error::NotMigrated { .. });
        let failure = Failure::from(error);
        if is_bare { failure.helped(WITH_NODE) } else { failure }
    })
}

/// The tenants of the demo, once every service of this node knows of them: also those of a start that was killed before they did.
async fn furnished(store: &Store, engine: &Engine, services: &[String]) -> Result<Vec<demo::Furnished>, Failure> {
    let mut houses = Vec::new();
    for house in demo::houses() {
        houses.push(furnishing::furnish(store, &house).await.map_err(anyhow::Error::from)?);
    }
    let end = store.relay().end().await?;
    let runs = |service: &str| services.is_empty() || services.iter().any(|name| name == service);
    for (_, consumer) in SELLERS.into_iter().filter(|(service, _)| runs(service)) {
        match engine.wait_for(consumer, end).await {
            // Somebody has stopped it, and will let it go on.
            Ok(()) | Err(karwan_store::Error::ConsumerSuspended { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(houses)
}

/// Who must know of rooms and prices before anything is sold: of which service, and the consumer.
const SELLERS: [(&str, &str); 4] = [
    ("pricing", "pricing-service.houses"),
    ("inventory", "inventory-service.rooms"),
    ("reservation", "reservation-service.doors"),
    ("lock_integration", "lock-integration-service.key-policy"),
];

/// Who is in the store of this node.
async fn tenants(store: &Store, demo: bool) -> Result<Tenants, Failure> {
    Ok(match sagas::tenants(store).await?.is_empty() {
        _ if demo => Tenants::Demo,
        true => Tenants::None,
        false => Tenants::Others,
    })
}

/// What this node does, but for publishing.
fn work(args: &Args, stage: &Stage) -> Result<Work, Failure> {
    let services: Vec<&str> = args.services.iter().map(String::as_str).collect();
    Ok(melmastoon::hotel::work(&services, &vendors::clients(stage)).map_err(Error::Service)?)
}
