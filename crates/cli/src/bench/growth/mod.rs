//! `karwan bench growth`.
//!
//! A log grows in ten rounds, with producers and a relay at work together. Then the streams are emptied, and a process of its own
//! publishes the whole log again: how fast the last tenth goes against the first, held against the same of plain publishing, and
//! with how much memory.

pub mod drain;
mod figures;

use std::time::Instant;

use anyhow::anyhow;
use bytes::Bytes;
use karwan::Engine;
use karwan::engine::{Relay, Work};
use karwan_broker::{Mode, raw};
use karwan_envelope::mint::{OsRandom, Random as _};
use karwan_store::{Address, Store};

use super::print;
use super::sample::{self, Preload};
use super::scratch::{Place, Scratch};
use super::streams::{LOAD, RAW, Streams};
use crate::exit::{Failure, Outcome};
use crate::progress::Progress;
use crate::runtime;
use crate::settings::{BrokerFlags, Flags, Settings};
use figures::{Drain, Figures, Round, Table};

const ROUNDS: u64 = 10;
const ITEMS: u64 = 1000;
const TENANTS: u64 = 32;

/// Measure a log that grows: its rate, its dead rows, and the memory of a relay that drains it
///
/// Events of about 1 KB are committed to a scratch database beside the given one, in ten
/// rounds, while a relay publishes them. Then the streams are emptied, and another process
/// publishes everything again; the base publishes as many bytes with the client library
/// alone. Rates of the first and the last tenth are told, tables by round, and the
/// process's memory. Streams are made and go again, as by `karwan bench relay`.
///
/// Examples:
///   karwan bench growth --store postgres://admin@localhost/postgres --broker nats://localhost
///   karwan bench growth --store postgres://admin@localhost/postgres --broker nats://localhost \
///       --events 100000 --json
///   karwan bench growth --store postgres://admin@localhost/postgres --broker nats://localhost \
///       --durable
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    broker: BrokerFlags,
    /// Publish in atomic batches: for a server with `sync_interval: always`
    #[arg(long)]
    durable: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// How many events in all
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1_000..=100_000_000))]
    events: u64,
}

pub fn run(args: &Args) -> Outcome {
    let settings = Settings::load(&args.flags)?;
    let (address, url) = (settings.store()?, args.broker.url(&settings)?);
    if let Address::Sqlite(_) = address {
        return Err(Failure::usage(anyhow!("a SQLite file belongs to one process: use Postgres (see --help)")));
    }
    runtime::block_on(async {
        let (catalogue, kinds) = (sample::catalogue()?, sample::kinds());
        let figures = Streams::within(&url, &catalogue, async |streams| {
            Place::within(&address, (&catalogue, &kinds), async |place| match place {
                Place::Database(scratch) => measure(args, streams, (scratch, &url)).await,
                Place::File(_) => Err(Failure::usage(anyhow!("a SQLite file belongs to one process"))),
            })
            .await
        });
        print(&figures.await?, args.json)
    })
}

async fn measure(args: &Args, streams: &Streams, (scratch, url): (&Scratch, &str)) -> Result<Figures, Failure> {
    let Args { events, durable, .. } = *args;
    let mode = if durable { Mode::Durable } else { Mode::Pipelined };
    let progress = Progress::new();
    let store = sample::open(&scratch.node, 8).await?;
    let mut rounds = Vec::new();
    let (mut serial, mut marks) = (0, Vec::new());
    let relay = Relay::new(streams.broker.clone(), streams.topology.clone()).mode(mode);
    let options = karwan::engine::Options::new("bench", karwan::Residency::Eu);
    let engine = Engine::start(&store, Work::new().relay(relay), options);
    progress.tell("growing", 0, events);
    for round in 1..=ROUNDS {
        let until = events * round / ROUNDS;
        let load = Preload { serials: serial..until, tenants: TENANTS, items: ITEMS };
        let start = Instant::now();
        load.commit(&store, &progress).await?;
        let end = store.relay().end().await?;
        engine.published(LOAD, end).await?;
        let rate = (until - serial) as f64 / start.elapsed().as_secs_f64();
        marks.push(end.seq);
        serial = until;
        rounds.push(Round { round, rate, tables: tables(scratch).await? });
    }
    engine.stop().await;
    let envelope = sample::envelope(&store).await?;
    drop(store);
    streams.empty().await?;
    progress.tell("draining", 0, 0);
    let wanted = [marks[0], marks[marks.len() - 2], marks[marks.len() - 1]];
    let drained = drain::drain(&scratch.node, url, mode, &wanted).await?;
    progress.tell("the base", 0, events);
    let base = base(events, streams, envelope).await?;
    let tenth = events as f64 / ROUNDS as f64;
    let rates = |seconds: &[f64]| match seconds {
        [first, before, last] => (tenth / first, tenth / (last - before)),
        _ => (0.0, 0.0),
    };
    let drain = Drain::of(events, &drained.seconds, rates(&drained.seconds), rates(&base));
    Ok(Figures::of(events, rounds, drain, &drained))
}

/// Every table that has rows, by fresh statistics.
async fn tables(scratch: &Scratch) -> Result<Vec<Table>, Failure> {
    let owner = karwan_store::bare::connect(&scratch.owner).await?;
    // Counts dead rows, where the statistics of sessions that are still open do not know them yet.
    owner.batch_execute("ANALYZE").await.map_err(anyhow::Error::from)?;
    let sizes = Store::observe(&scratch.owner).await?.sizes().await?;
    Ok(sizes.into_iter().filter(|size| size.rows > 0 || size.dead > 0).map(Table::from).collect())
}

/// Publishes as much with the client library alone; answers the seconds to the first tenth, to the last, and to the end.
async fn base(events: u64, streams: &Streams, envelope: String) -> Result<[f64; 3], Failure> {
    let (seed, payload, start) = (OsRandom.bits(), Bytes::from(envelope), Instant::now());
    let mut seconds = [0.0; 3];
    let marks = [0, events / ROUNDS, events * (ROUNDS - 1) / ROUNDS, events];
    for (place, mark) in marks.windows(2).enumerate() {
        let ids = (mark[0]..mark[1]).map(|number| format!("{seed:016x}{number:016x}"));
        raw::publish(&streams.broker, RAW.1, payload.clone(), ids).await?;
        seconds[place] = start.elapsed().as_secs_f64();
    }
    Ok(seconds)
}
