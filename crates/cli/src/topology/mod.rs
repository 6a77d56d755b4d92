//! `karwan topology …`.

mod apply;
mod check;
mod emit_nats;
mod show;
mod whose;

use anyhow::anyhow;
use clap::Subcommand;
use karwan_broker::topology::BadConsumer;
use karwan_broker::{Broker, Options, Topology};
use karwan_store::log::{BadPattern, SubjectPattern};
use karwan_store::{Address, Operator};

use crate::exit::{Failure, Outcome};
use crate::platforms::Name;
use crate::settings::{BrokerFlags, Flags, Settings, word};
use crate::suggest::{nearest, quoted};
use crate::{output, runtime};
pub use whose::OfStore;

#[derive(Subcommand)]
pub enum Verb {
    Show(show::Args),
    Apply(apply::Args),
    Check(check::Args),
    EmitNats(emit_nats::Args),
}

pub fn run(verb: Verb) -> Outcome {
    match verb {
        Verb::Show(args) => show::run(&args),
        Verb::Apply(args) => apply::run(&args),
        Verb::Check(args) => check::run(&args),
        Verb::EmitNats(args) => emit_nats::run(&args),
    }
}

/// Whose streams.
#[derive(clap::Args)]
struct Selection {
    /// The platform whose catalogue says which streams there are
    #[arg(long, value_name = "melmastoon|learning|panorama")]
    platform: Name,
    #[command(flatten)]
    services: Services,
}

impl Selection {
    fn chosen(&self) -> Chosen<'_> {
        Chosen { platform: self.platform, services: self.services.names() }
    }
}

/// Which of a platform's streams.
#[derive(clap::Args)]
struct Services {
    /// Only those of these services, with commas between
    #[arg(long, value_delimiter = ',', value_name = "SERVICE")]
    services: Vec<String>,
}

impl Services {
    fn names(&self) -> &[String] {
        &self.services
    }

    /// The flag with which another command means the same ones.
    fn flag(&self) -> String {
        if self.services.is_empty() { String::new() } else { format!(" --services {}", word(&self.services.join(","))) }
    }
}

/// Streams of a platform.
pub struct Chosen<'a> {
    pub platform: Name,
    services: &'a [String],
}

impl Chosen<'_> {
    /// The streams of the whole platform, whatever services are named.
    pub fn whole(&self) -> Result<Topology, Failure> {
        Ok(Topology::of(&self.platform.catalogue()?))
    }

    /// Their streams.
    pub fn topology(&self) -> Result<Topology, Failure> {
        self.of_these(self.whole()?)
    }

    /// Whether the platform has streams of all the services.
    fn has_services(&self) -> Result<bool, Failure> {
        let topology = self.whole()?;
        Ok(self.services.iter().all(|service| topology.streams().iter().any(|stream| stream.service == *service)))
    }

    /// What the named services feed and follow.
    fn of_these(&self, topology: Topology) -> Result<Topology, Failure> {
        if self.services.is_empty() {
            return Ok(topology);
        }
        self.services.iter().try_for_each(|service| has_events(&topology, service))?;
        let services: Vec<&str> = self.services.iter().map(String::as_str).collect();
        Ok(topology.of_services(&services))
    }
}

/// A service without a stream is refused, with the one that was meant.
fn has_events(topology: &Topology, service: &str) -> Result<(), Failure> {
    let known: Vec<&str> = topology.streams().iter().map(|stream| stream.service.as_str()).collect();
    if known.contains(&service) {
        return Ok(());
    }
    let help = match nearest(known.iter().copied(), service) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("there are {}", known.join(", ")),
    };
    let service = quoted(service);
    Err(Failure::usage(anyhow!("no service {service} has events of this platform: {help} (see --help)")))
}

/// Whose consumers.
#[derive(clap::Args)]
struct Followers {
    /// And consumers that have run over this store and are fed from streams; may be given several times
    // A text, and not an address: what cannot be parsed would be quoted with its password.
    #[arg(long, value_name = "URL")]
    consumers_of: Vec<String>,
}

impl Followers {
    /// What they add to a topology; those of the platform itself, too, where they are wanted.
    fn added(&self, chosen: &Chosen<'_>, platform: bool) -> Result<Topology, Failure> {
        let mut topology = chosen.whole()?;
        let mut left_out = Vec::new();
        let listed = if platform { chosen.platform.consumers() } else { Vec::new() };
        let listed = listed.iter().map(|it| (it.name().to_owned(), it.subjects().map(str::to_owned).collect()));
        for (name, subjects) in self.declared()?.into_iter().chain(listed) {
            let subjects: Vec<&str> = subjects.iter().map(String::as_str).collect();
            // A consumer is called after its service and what it does.
            let service = name.split('.').next().unwrap_or(&name);
            match topology.clone().consumer(&name, service, &subjects) {
                Ok(with) => topology = with,
                // The store has said it already.
                Err(BadConsumer::SameDurable { consumer, other, .. }) if consumer == other => {}
                Err(error) => left_out.push(error.to_string()),
            }
        }
        if !left_out.is_empty() {
            let count = left_out.len();
            output::note(&format!("{count} consumers can be fed from no stream; they read a log:"));
            left_out.iter().for_each(|why| output::note(&format!("  {why}")));
        }
        chosen.of_these(topology)
    }

    /// Those that streams feed, by what they have said of themselves.
    fn declared(&self) -> Result<Vec<(String, Vec<String>)>, Failure> {
        let mut found = Vec::new();
        let every: SubjectPattern = ">".parse().map_err(|error: BadPattern| Failure::usage(error))?;
        for url in &self.consumers_of {
            let address: Address = url.parse().map_err(karwan_store::Error::from)?;
            let declared =
                runtime::ready(async { Ok(Operator::new(&address, Vec::new()).consumers_of(&every).await?) })?;
            let fed = declared.into_iter().filter(|it| it.stream.is_some());
            found.extend(fed.map(|it| (it.consumer, it.subjects)));
        }
        Ok(found)
    }
}

/// Streams, and where they should be.
#[derive(clap::Args)]
struct Wanted {
    #[command(flatten)]
    selection: OfStore,
    #[command(flatten)]
    followers: Followers,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    replicas: Replicas,
}

/// How streams are kept that are made.
#[derive(clap::Args)]
pub struct Replicas {
    /// How many copies of each stream the cluster keeps
    #[arg(long, value_name = "COPIES", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=5))]
    replicas: u32,
}

impl Replicas {
    /// Streams of which so many copies are kept. One that has more keeps them.
    pub fn of(&self, topology: Topology) -> Topology {
        topology.replicated(self.replicas)
    }

    /// As it is said on a command line; nothing where it is left out.
    pub fn flag(&self) -> String {
        if self.replicas == 1 { String::new() } else { format!(" --replicas {}", self.replicas) }
    }
}

impl Wanted {
    /// As the command of this name asks for it.
    fn topology(&self, verb: &str) -> Result<Topology, Failure> {
        let settings = Settings::load(&self.place.flags)?;
        let (store, broker) = (settings.named_store()?, self.place.broker.flag());
        let again = format!("karwan topology {verb}{}{broker}", settings.store_flag());
        let chosen = self.selection.chosen(store.as_ref(), &again)?;
        // Not those of the platform's list: they read a log wherever nobody has said otherwise.
        Ok(self.replicas.of(self.followers.added(&chosen, false)?))
    }
}

/// Which broker.
#[derive(clap::Args)]
struct Place {
    #[command(flatten)]
    broker: BrokerFlags,
    #[command(flatten)]
    flags: Flags,
}

impl Place {
    fn url(&self) -> Result<String, Failure> {
        self.broker.url(&Settings::load(&self.flags)?)
    }
}

async fn connect(url: &str) -> Result<Broker, Failure> {
    Ok(Broker::connect(url, Options { name: "karwan topology".to_owned(), ..Options::default() }).await?)
}
