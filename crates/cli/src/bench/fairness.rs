//! `karwan bench fairness`.

use std::collections::BTreeMap;
use std::fmt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use karwan::{Engine, Store};
use karwan_store::Address;
use serde::Serialize;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

use super::node::{MEASURED, Notes, STORE, Seen};
use super::sample::{self, BatchSize, Preload};
use super::scratch::Place;
use super::spread::Spread;
use super::{median, print};
use crate::exit::{Failure, Outcome};
use crate::progress::Progress;
use crate::runtime;
use crate::settings::{Flags, Settings};

/// The flooder; small tenants come after it.
const FLOODER: u64 = 1;
const ITEMS: u64 = 2000;
/// Small tenants begin when so many events of the flood were handled.
const UNDER_WAY: u64 = 1000;
/// Small tenants emit once in so long each.
const EVERY: Duration = Duration::from_millis(500);
/// How often it is asked who has which lanes.
const LOOK: Duration = Duration::from_millis(50);

/// Measure small tenants while one floods
///
/// One tenant's events are prepared; then a consumer starts, and small tenants emit two
/// events a second each until the flood is over. Measured from before a small tenant's
/// commit to the start of its handler, and how fast the flood goes, against the same
/// flood alone.
///
/// Examples:
///   karwan bench fairness --store postgres://admin@localhost/postgres
///   karwan bench fairness --store postgres://admin@localhost/postgres --processes 2
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// How many events of the flooder
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(100..=10_000_000))]
    events: u64,
    /// How many small tenants
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    tenants: u64,
    /// How many processes share the work (Postgres)
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    processes: u32,
    #[command(flatten)]
    size: BatchSize,
    /// How many pairs of the flood alone and the flood with small tenants
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pairs: u32,
}

#[derive(Serialize)]
struct Figures {
    store: &'static str,
    events: u64,
    tenants: u64,
    processes: u32,
    pairs: u32,
    /// Of all pairs.
    #[serde(flatten)]
    spread: Spread,
    /// The flooder's events a second, with small tenants beside it.
    rate: f64,
    /// And alone.
    base: f64,
    /// The median of the pairs' ratios.
    ratio: f64,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { store, events, tenants, processes, pairs, spread, rate, base, ratio } = self;
        writeln!(
            f,
            "{store}, {events} events of one tenant, {tenants} small tenants, {processes} processes, {pairs} pairs"
        )?;
        writeln!(f, "small tenants: {spread} (p99 at most 50 ms)")?;
        writeln!(f, "the flooder: {rate:.0} a second, alone {base:.0}, ratio {ratio:.2} (at least 0.9)")
    }
}

pub fn run(args: &Args) -> Outcome {
    let address = Settings::load(&args.flags)?.store()?;
    let store = match &address {
        Address::Postgres(_) => "Postgres",
        Address::Sqlite(_) if args.processes > 1 => {
            return Err(Failure::usage(anyhow!(
                "a SQLite file belongs to one process: use --processes 1, or Postgres"
            )));
        }
        Address::Sqlite(_) => "SQLite",
    };
    runtime::block_on(async {
        let (catalogue, kinds) = (sample::catalogue()?, sample::kinds());
        let progress = Progress::new();
        let (mut rates, mut latencies) = (Vec::new(), Vec::new());
        for _ in 0..args.pairs {
            // A store each, so that neither is measured in the other's wake.
            let alone = async |place: &Place| flood(args, place, 0, &progress).await;
            let (base, _) = Place::within(&address, (&catalogue, &kinds), alone).await?;
            let beside = async |place: &Place| flood(args, place, args.tenants, &progress).await;
            let (rate, seen) = Place::within(&address, (&catalogue, &kinds), beside).await?;
            rates.push((rate, base));
            latencies.extend(seen);
        }
        drop(progress);
        let &Args { events, tenants, processes, pairs, .. } = args;
        let (rate, base) = (median(rates.iter().map(|it| it.0)), median(rates.iter().map(|it| it.1)));
        let (spread, ratio) = (Spread::of(latencies), median(rates.iter().map(|(rate, base)| rate / base)));
        print(&Figures { store, events, tenants, processes, pairs, spread, rate, base, ratio }, args.json)
    })
}

/// The flood with so many small tenants beside it: its rate, and their latencies.
async fn flood(args: &Args, place: &Place, tenants: u64, progress: &Progress) -> Result<(f64, Vec<u64>), Failure> {
    let address = place.address();
    let store = sample::open(&address, 8).await?;
    progress.tell("preparing", 0, args.events);
    // The flooder's lanes are the small tenants' too: it has items in every one.
    let load = Preload { serials: 0..args.events, tenants: FLOODER, items: ITEMS };
    load.commit(&store, progress).await?;
    let end = store.relay().end().await?;
    progress.tell(if tenants == 0 { "the flood alone" } else { "the flood" }, 0, 0);
    let notes = Notes::default();
    let mut others = Vec::new();
    for number in 1..args.processes {
        others.push(Node::start(&address, &format!("bench-{number}"), args.size)?);
    }
    let start = Instant::now();
    let options = karwan::engine::Options::new("bench", karwan::Residency::Eu);
    let engine = Engine::start(&store, vec![notes.consumer(args.size)], options);
    // Not while lanes are taken, or pass from one process to another: what is measured is a flood that is under way.
    let under_way = async {
        while notes.flood() < UNDER_WAY.min(args.events / 2) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        shared_out(&address, args.processes).await
    };
    tokio::select! {
        begun = under_way => begun?,
        // Others may have handled most of a small one.
        done = engine.wait_for(sample::CONSUMER, end) => done?,
    }
    let mut emitting = tokio::task::JoinSet::new();
    for tenant in 0..tenants {
        emitting.spawn(emit(store.clone(), tenant));
    }
    engine.wait_for(sample::CONSUMER, end).await?;
    let rate = args.events as f64 / start.elapsed().as_secs_f64();
    emitting.abort_all();
    while emitting.join_next().await.is_some() {}
    engine.settle().await?;
    engine.stop().await;
    let mut latencies: Vec<u64> = notes.take().latencies_us.into_values().collect();
    for node in others {
        latencies.extend(node.end().await?.latencies_us.into_values());
    }
    Ok((rate, latencies))
}

/// Waits until every process has its share of the lanes.
async fn shared_out(address: &Address, processes: u32) -> Result<(), Failure> {
    if processes == 1 {
        return Ok(());
    }
    let observer = Store::observe(address).await?;
    loop {
        let consumers = observer.consumers().await?;
        let mut held: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        for lane in consumers.iter().flat_map(|consumer| &consumer.lanes) {
            *held.entry(lane.run_by()).or_default() += 1;
        }
        let share = held.values().sum::<usize>().div_ceil(processes as usize);
        if !held.contains_key(&None) && held.values().all(|lanes| *lanes <= share) {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn emit(store: Store, tenant: u64) -> Result<(), Failure> {
    // Not all of them at the same moment.
    tokio::time::sleep(EVERY.mul_f64(tenant as f64 * 0.618 % 1.0)).await;
    let mut ticks = tokio::time::interval(EVERY);
    for number in 0.. {
        ticks.tick().await;
        let serial = MEASURED + tenant * 1_000_000 + number;
        sample::place(&store, FLOODER + 1 + tenant, &format!("item-{}", number % 50), serial).await?;
    }
    Ok(())
}

/// A process that consumes.
pub struct Node(pub Child);

impl Node {
    pub fn start(address: &Address, name: &str, size: BatchSize) -> Result<Self, Failure> {
        let Address::Postgres(url) = address else {
            return Err(Failure::usage(anyhow!("a SQLite file belongs to one process")));
        };
        let program = std::env::current_exe()?;
        let child = Command::new(program)
            .args(["bench", "node", "--name", name, "--batch", &size.batch.to_string()])
            .env(STORE, url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        Ok(Self(child.context("a process of its own cannot be started")?))
    }

    /// Ends it, and asks what it saw.
    pub async fn end(mut self) -> Result<Seen, Failure> {
        drop(self.0.stdin.take());
        let mut text = Vec::new();
        if let Some(stdout) = &mut self.0.stdout {
            stdout.read_to_end(&mut text).await?;
        }
        self.0.wait().await?;
        Ok(serde_json::from_slice(&text).context("a process of its own ended without an answer")?)
    }
}
