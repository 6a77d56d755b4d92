//! `karwan relay`.

use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;

use karwan::engine::{Engine, Relay, Signals, Work};
use karwan_broker::{Broker, Mode};
use karwan_store::Store;

use crate::exit::Outcome;
use crate::settings::{BrokerFlags, Flags, Settings};
use crate::topology::{OfStore, Replicas};
use crate::{away, output, runtime, telling};

/// Publish a store's events to NATS JetStream, in order, until told to stop
///
/// Streams are made from the platform's catalogue, with as many --replicas as are named;
/// one that is there and has more keeps them. Several relays may run: each stream has one
/// publisher at a time, and another takes over within seconds. What the broker has
/// already is not published again; while it is away, the log holds everything. Dead
/// letters of the store reach their topics, whatever services are named. Ctrl-C or
/// SIGTERM finishes what is on its way.
///
/// --durable pays where the server has every message on its disk before it answers
/// (`sync_interval: always`). No server tells its clients whether it does: look at its
/// monitoring port, where `curl http://HOST:8222/varz` has `"sync_always": true`. Without
/// it nothing is out of order or doubled, but what was answered may be lost with the
/// machine, and is published again only while the log still has it.
///
/// Examples:
///   karwan relay --store postgres://node@localhost/app --broker nats://localhost
///   karwan relay --platform learning --services authoring-service,delivery-service --durable
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    selection: OfStore,
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    broker: BrokerFlags,
    /// In atomic batches: for a server with `sync_interval: always`, which is not checked
    #[arg(long)]
    durable: bool,
    #[command(flatten)]
    replicas: Replicas,
    /// This process's name among relays
    #[arg(long, default_value = "relay")]
    name: String,
    /// Say also what merely goes on
    #[arg(long)]
    verbose: bool,
}

pub fn run(args: &Args) -> Outcome {
    let settings = Settings::load(&args.flags)?;
    let (address, url) = (settings.store()?, args.broker.url(&settings)?);
    let durable = if args.durable { " --durable" } else { "" };
    let again = format!("karwan relay{}{}{durable}{}", settings.store_flag(), args.broker.flag(), args.replicas.flag());
    let chosen = args.selection.chosen(Some(&address), &again)?;
    let (whole, own) = (args.replicas.of(chosen.whole()?), args.replicas.of(chosen.topology()?));
    let catalogue = Arc::new(chosen.platform.catalogue()?);
    telling::start(args.verbose);
    runtime::block_on(async {
        let store = Store::open(&address, karwan_store::Options::new(catalogue, Vec::new())).await?;
        let options = karwan_broker::Options { name: args.name.clone(), ..karwan_broker::Options::default() };
        let mut told_to_stop = pin!(Signals::listen()?.first());
        let prepared = away::until_there(async || {
            let broker = Broker::connect(&url, options.clone()).await?;
            let changes = own.apply(&broker).await?;
            Ok((broker, changes))
        });
        let (broker, changes) = tokio::select! {
            prepared = prepared => prepared?,
            () = &mut told_to_stop => {
                output::note("told to stop before the broker was there");
                return Ok(ExitCode::SUCCESS);
            }
        };
        changes.iter().for_each(|change| output::note(&change.to_string()));
        let mode = if args.durable { Mode::Durable } else { Mode::Pipelined };
        let streams = own.streams().len();
        output::note(&format!("relaying to {streams} streams of {}; Ctrl-C stops", broker.address()));
        // Of the whole catalogue: letters of any topic may lie in the store.
        let services = own.streams().iter().map(|stream| stream.service.clone());
        let relay = Relay::new(broker, whole).services(services).mode(mode);
        let options = karwan::engine::Options::new(args.name.clone(), karwan::Residency::Eu);
        let engine = Engine::start(&store, Work::new().relay(relay), options);
        told_to_stop.await;
        engine.stop().await;
        Ok(ExitCode::SUCCESS)
    })
}
