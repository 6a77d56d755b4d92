//! `karwan bench relay`.
//!
//! Events lie in the log; a relay publishes them to a stream. The base publishes as many messages of the same bytes with the
//! client library alone, 1,024 under way, each with an id, to a stream of its own on the same server.

use std::fmt;
use std::time::Instant;

use bytes::Bytes;
use karwan::Engine;
use karwan::engine::{Relay, Work};
use karwan_broker::{Broker, Mode, Topology, raw};
use karwan_envelope::mint::{OsRandom, Random as _};
use karwan_store::Address;
use serde::Serialize;

use super::environment::Environment;
use super::sample::{self, Preload};
use super::scratch::Place;
use super::streams::{LOAD, RAW, Streams};
use super::{held, median, print};
use crate::exit::{Failure, Outcome};
use crate::progress::Progress;
use crate::runtime;
use crate::settings::{BrokerFlags, Flags, Settings};

const ITEMS: u64 = 1000;
const TENANTS: u64 = 32;

/// Measure the relay against publishing with the client library alone
///
/// Events of about 1 KB are prepared in a scratch store beside the given one, then
/// published. The base publishes as many bytes without a log, an order or a position.
/// The broker's streams LOAD, LOAD_DLQ and KARWAN_BENCH_RAW are made and go again; a
/// broker that has one of them already is refused.
///
/// With --minutes, producers commit at a rate beside the relay instead: told are the rate
/// that was held, the lowest of any ten seconds, and by how much the stream was behind.
///
/// Beside the figures it is told what they were measured on: the database and what a
/// commit waits for there (synchronous_commit), the broker's version, the cores.
///
/// Examples:
///   karwan bench relay --store postgres://admin@localhost/postgres --broker nats://localhost
///   karwan bench relay --store postgres://admin@localhost/postgres --broker nats://localhost \
///       --minutes 10
///   karwan bench relay --store postgres://admin@localhost/postgres --broker nats://localhost --durable
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
    /// How many events a measurement
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(64..=10_000_000))]
    events: u64,
    /// How many pairs of measurement and base
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pairs: u32,
    /// Hold a rate for so long, with producers on this machine
    #[arg(long, value_name = "MINUTES", value_parser = minutes, conflicts_with_all = ["events", "pairs"])]
    minutes: Option<f64>,
    /// What the producers commit a second
    #[arg(long, default_value_t = 10_000, requires = "minutes", value_parser = clap::value_parser!(u64).range(10..=1_000_000))]
    rate: u64,
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse().ok().filter(|minutes| (0.01..=1_440.0).contains(minutes));
    minutes.ok_or_else(|| format!("`{text}` is not a number of minutes from 0.01 to 1440"))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    mode: &'static str,
    events: u64,
    pairs: u32,
    /// Events a second.
    rate: f64,
    /// The base's.
    base: f64,
    /// The median of the pairs' ratios.
    ratio: f64,
    aim: &'static str,
    environment: Environment,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mode, events, pairs, rate, base, ratio, aim, environment } = self;
        writeln!(f, "{mode}, {events} events, median of {pairs} pairs")?;
        writeln!(f, "relayed: {rate:.0} a second")?;
        writeln!(f, "published by the client library alone: {base:.0} a second")?;
        writeln!(f, "ratio: {ratio:.2} ({aim})")?;
        writeln!(f, "on: {environment}")
    }
}

pub fn run(args: &Args) -> Outcome {
    let settings = Settings::load(&args.flags)?;
    let (address, url) = (settings.store()?, args.broker.url(&settings)?);
    runtime::block_on(async {
        let catalogue = sample::catalogue()?;
        let kinds = sample::kinds();
        let mode = if args.durable { Mode::Durable } else { Mode::Pipelined };
        if let Some(minutes) = args.minutes {
            let wanted = held::Wanted { minutes, rate: args.rate, mode };
            let held = Streams::within(&url, &catalogue, async |streams| {
                Place::within(&address, (&catalogue, &kinds), async |place| held::measure(wanted, streams, place).await)
                    .await
            });
            return print(&held.await?, args.json);
        }
        let figures = Streams::within(&url, &catalogue, async |streams| {
            let bench = Bench { args, broker: streams.broker.clone(), topology: streams.topology.clone() };
            Place::within(&address, (&catalogue, &kinds), async |place| bench.measure(place).await).await
        });
        print(&figures.await?, args.json)
    })
}

struct Bench<'a> {
    args: &'a Args,
    broker: Broker,
    topology: Topology,
}

impl Bench<'_> {
    async fn measure(&self, place: &Place) -> Result<Figures, Failure> {
        let progress = Progress::new();
        let Args { events, pairs, durable, .. } = *self.args;
        let mode = if durable { Mode::Durable } else { Mode::Pipelined };
        let address = place.address();
        let environment = Environment::of(&address, &self.broker).await?;
        let mut measured = Vec::new();
        for pair in 0..pairs {
            let from = u64::from(pair) * events;
            let load = Preload { serials: from..from + events, tenants: TENANTS, items: ITEMS };
            progress.tell("preparing", 0, events);
            let (rate, envelope) = self.relay(&address, &load, mode, &progress).await?;
            progress.tell("the base", 0, events);
            measured.push((rate, self.base(envelope).await?));
        }
        Ok(Figures {
            mode: if durable { "durable" } else { "pipelined" },
            events,
            pairs,
            rate: median(measured.iter().map(|(rate, _)| *rate)),
            base: median(measured.iter().map(|(_, base)| *base)),
            ratio: median(measured.iter().map(|(rate, base)| rate / base)),
            aim: if durable { "at least 5, aim 10" } else { "at least 0.70, aim 0.85" },
            environment,
        })
    }

    /// Publishes what was prepared; answers events a second, and an envelope.
    async fn relay(
        &self,
        address: &Address,
        load: &Preload,
        mode: Mode,
        progress: &Progress,
    ) -> Result<(f64, String), Failure> {
        let store = sample::open(address, 8).await?;
        load.commit(&store, progress).await?;
        let end = store.relay().end().await?;
        progress.tell("relaying", 0, 0);
        let relay = Relay::new(self.broker.clone(), self.topology.clone()).mode(mode);
        let options = karwan::engine::Options::new("bench", karwan::Residency::Eu);
        let start = Instant::now();
        let engine = Engine::start(&store, Work::new().relay(relay), options);
        engine.published(LOAD, end).await?;
        let rate = (load.serials.end - load.serials.start) as f64 / start.elapsed().as_secs_f64();
        engine.stop().await;
        Ok((rate, sample::envelope(&store).await?))
    }

    async fn base(&self, envelope: String) -> Result<f64, Failure> {
        let seed = OsRandom.bits();
        let start = Instant::now();
        let ids = (0..self.args.events).map(|number| format!("{seed:016x}{number:016x}"));
        raw::publish(&self.broker, RAW.1, Bytes::from(envelope), ids).await?;
        Ok(self.args.events as f64 / start.elapsed().as_secs_f64())
    }
}
