//! `karwan lost`.

mod search;

use std::process::ExitCode;

use karwan::engine::fed_consumer::row;
use karwan_broker::{Broker, Delivery, Topology};
use karwan_envelope::mint::{OsRandom, Random as _};
use karwan_registry::Catalogue;
use karwan_store::{Store, stored};

use crate::exit::{Failure, Outcome};
use crate::log::row::{Format, line};
use crate::progress::Progress;
use crate::settings::{BrokerFlags, Flags, Settings};
use crate::topology::OfStore;
use crate::{output, runtime};
use search::Search;

/// List the events that a broker has and a restored store lost
///
/// A store that was restored from a backup lacks what was committed after it, and what of
/// that was published is in the streams: others have acted on it. Each is printed as
/// `karwan log tail` prints rows, under its number in the stream. Nothing is changed. All
/// messages of the streams are read.
///
/// Examples:
///   karwan lost --store postgres://admin@localhost/app --broker nats://localhost
///   karwan lost --platform melmastoon --services payment-gateway-service --format json > lost.jsonl
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    selection: OfStore,
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    broker: BrokerFlags,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

pub fn run(args: &Args) -> Outcome {
    let settings = Settings::load(&args.flags)?;
    let (address, url) = (settings.store()?, args.broker.url(&settings)?);
    let again = format!("karwan lost{}{}", settings.store_flag(), args.broker.flag());
    let chosen = args.selection.chosen(Some(&address), &again)?;
    let (topology, catalogue) = (chosen.topology()?, chosen.platform.catalogue()?);
    runtime::block_on(async {
        let store = Store::observe(&address).await?;
        let options = karwan_broker::Options { name: "karwan lost".to_owned(), ..karwan_broker::Options::default() };
        let broker = Broker::connect(&url, options).await?;
        let lost = print(&topology, &broker, Search::of(store.relay()).await?, (&catalogue, args.format)).await?;
        output::note(&match lost {
            0 => "this store has everything that its former lives have published".to_owned(),
            lost => format!("{lost} events were published and are not in this store"),
        });
        Ok(ExitCode::SUCCESS)
    })
}

/// Prints what is lost, stream by stream; answers how much it is.
async fn print(
    topology: &Topology,
    broker: &Broker,
    mut search: Search,
    (catalogue, format): (&Catalogue, Format),
) -> Result<u64, Failure> {
    let (progress, mut lost) = (Progress::new(), 0);
    let durable = broker.reader(OsRandom.bits());
    for stream in topology.streams() {
        if !broker.has_stream(&stream.name).await? {
            continue;
        }
        let mut found = |delivery: &Delivery| -> Result<(), Failure> {
            lost += 1;
            let key = |text: &str| stored::ordering_key(catalogue, text);
            let Some(row) = row(delivery, key) else { return Ok(()) };
            Ok(output::data(&line(&row, format).map_err(anyhow::Error::from)?)?)
        };
        let told = |done, total| progress.tell(&stream.name, done, total);
        search.within(broker, stream, &durable, (&mut found, &told)).await?;
    }
    Ok(lost)
}
