//! `karwan bench consume`.
//!
//! Handling an event is a claim, a document read and written, and one event emitted; the base issues the same statements in
//! batches of the same size over plain tables, with nothing checked, read, built or validated. Both are measured while they are
//! under way: after the first tenth of the events. Fed from a stream, and with
//! keys that wait, it is measured against itself as it is without.

mod fed;
mod parked;
mod postgres;
mod sqlite;

use std::fmt;
use std::sync::Arc;

use karwan::Engine;
use karwan::engine::Consumer;
use karwan_store::Address;
use serde::Serialize;

use super::sample::{self, Preload};
use super::scratch::Place;
use super::sustained::Sustained;
use super::{median, print};
use crate::exit::{Failure, Outcome};
use crate::progress::Progress;
use crate::runtime;
use crate::settings::{BrokerFlags, Flags, Settings};

/// Items that are counted: of each tenant.
const ITEMS: u64 = 1000;
const TENANTS: u64 = 32;
/// So many events share a transaction of the base, as in the consumer.
const A_BATCH: usize = 64;

/// Measure consuming in batches against the same statements without rules
///
/// Events are prepared, then handled by a consumer of this process: claim, document read
/// and written, one event emitted. The base issues the same statements in the same
/// batches over plain tables. In a scratch store beside the given one, which goes.
///
/// With --broker the events come from a stream, out of another database, and the base is the
/// same consumer fed from the log. With --parked so many keys of the consumer wait, and the
/// base is the same without them.
///
/// Examples:
///   karwan bench consume --store postgres://admin@localhost/postgres
///   karwan bench consume --store postgres://admin@localhost/postgres --broker nats://localhost
///   karwan bench consume --store postgres://admin@localhost/postgres --parked 10000
///   karwan bench consume --store sqlite:karwan.db --json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    broker: BrokerFlags,
    /// So many keys of the consumer wait meanwhile
    #[arg(long, value_name = "KEYS", conflicts_with = "broker", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    parked: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// How many events a measurement
    #[arg(long, default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(64..=10_000_000))]
    events: u64,
    /// How many pairs of measurement and base
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pairs: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    store: String,
    events: u64,
    pairs: u32,
    /// Events a second.
    rate: f64,
    /// The base's.
    base: f64,
    /// The median of the pairs' ratios.
    ratio: f64,
    aim: &'static str,
    /// What the base is.
    against: &'static str,
    ratio_aim: &'static str,
}

/// A measurement, and what it is held against.
struct Against {
    base: &'static str,
    ratio_aim: &'static str,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { store, events, pairs, rate, base, ratio, aim, against, ratio_aim } = self;
        writeln!(f, "{store}, {events} events, median of {pairs} pairs")?;
        writeln!(f, "consumed: {rate:.0} a second ({aim})")?;
        writeln!(f, "{against}: {base:.0} a second")?;
        writeln!(f, "ratio: {ratio:.2} ({ratio_aim})")
    }
}

pub fn run(args: &Args) -> Outcome {
    let settings = Settings::load(&args.flags)?;
    let address = settings.store()?;
    let broker = args.broker.is_given().then(|| args.broker.url(&settings)).transpose()?;
    runtime::block_on(async {
        let figures = match (broker, args.parked) {
            (Some(url), _) => fed::measure(args, &address, &url).await?,
            (None, Some(keys)) => parked::measure(args, &address, keys).await?,
            (None, None) => within(&address, async |place| measure(args, place).await).await?,
        };
        print(&figures, args.json)
    })
}

/// In a scratch store of the sample's.
async fn within<T>(beside: &Address, measure: impl AsyncFnOnce(&Place) -> Result<T, Failure>) -> Result<T, Failure> {
    let (catalogue, kinds) = (sample::catalogue()?, sample::kinds());
    Place::within(beside, (&catalogue, &kinds), measure).await
}

async fn measure(args: &Args, place: &Place) -> Result<Figures, Failure> {
    let progress = Progress::new();
    let address = place.address();
    let base = match place {
        Place::Database(scratch) => Base::Postgres(postgres::Bare::make(scratch).await?),
        Place::File(file) => Base::Sqlite(sqlite::Bare::make(&file.0)),
    };
    let mut pairs = Vec::new();
    for pair in 0..args.pairs {
        let rate = consume(&address, &load(args, pair), &progress).await?;
        progress.tell("the base", 0, args.events);
        let base = match &base {
            Base::Postgres(bare) => bare.consume(args.events).await?,
            Base::Sqlite(bare) => bare.consume(args.events)?,
        };
        pairs.push((rate, base));
    }
    // A file has one writer, so that its base builds nothing beside its statements: the rate is what is asked for.
    let ratio_aim = match base {
        Base::Postgres(_) => "at least 0.6",
        Base::Sqlite(_) => "no aim",
    };
    let against = Against { base: "the same statements without rules", ratio_aim };
    Ok(figures(args, &address, &pairs, against))
}

/// The events of a pair.
fn load(args: &Args, pair: u32) -> Preload {
    let from = u64::from(pair) * args.events;
    Preload { serials: from..from + args.events, tenants: TENANTS, items: ITEMS }
}

fn figures(args: &Args, address: &Address, pairs: &[(f64, f64)], against: Against) -> Figures {
    let (store, aim) = match address {
        Address::Postgres(_) => ("Postgres", "at least 15000, aim 30000"),
        Address::Sqlite(_) => ("SQLite", "at least 10000"),
    };
    Figures {
        store: store.to_owned(),
        events: args.events,
        pairs: args.pairs,
        rate: median(pairs.iter().map(|(rate, _)| *rate)),
        base: median(pairs.iter().map(|(_, base)| *base)),
        ratio: median(pairs.iter().map(|(rate, base)| rate / base)),
        aim,
        against: against.base,
        ratio_aim: against.ratio_aim,
    }
}

enum Base {
    Postgres(postgres::Bare),
    Sqlite(sqlite::Bare),
}

async fn consume(address: &Address, load: &Preload, progress: &Progress) -> Result<f64, Failure> {
    let store = sample::open(address, 8).await?;
    progress.tell("preparing", 0, load.serials.end - load.serials.start);
    load.commit(&store, progress).await?;
    let end = store.relay().end().await?;
    progress.tell("consuming", 0, 0);
    let sustained = Arc::new(Sustained::of(load.serials.end - load.serials.start));
    let options = karwan::engine::Options::new("bench", karwan::Residency::Eu);
    let engine = Engine::start(&store, vec![counted(&sustained)], options);
    engine.wait_for(sample::CONSUMER, end).await?;
    let rate = sustained.rate();
    engine.stop().await;
    Ok(rate)
}

/// The sample's consumer, counted.
fn counted(sustained: &Arc<Sustained>) -> Consumer {
    let sustained = sustained.clone();
    sample::consumer(move |_| sustained.note(1))
}
