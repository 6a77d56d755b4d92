//! `karwan bench takeover`.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use karwan_store::{Address, Position, Store};
use serde::Serialize;

use super::fairness::Node;
use super::node::MEASURED;
use super::sample::BatchSize;
use super::scratch::Place;
use super::spread::Spread;
use super::{print, sample};
use crate::exit::{Failure, Outcome};
use crate::progress::Progress;
use crate::runtime;
use crate::settings::{Flags, Settings};

/// How long events are emitted before the kill, so that both processes have their lanes.
const BEFORE: Duration = Duration::from_secs(3);

/// How long what was committed last may take, and how often that is looked at.
const AFTER: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);

/// Measure how long lanes stand still when a process is killed
///
/// Two processes share a consumer under a steady load; one is killed with -9. Measured
/// over the events committed after the kill, from before the commit to the start of the
/// handler: the largest is the take-over.
///
/// Example: karwan bench takeover --store postgres://admin@localhost/postgres
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// How many events a second
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    rate: u64,
    /// How many events are committed after the kill
    #[arg(long, default_value_t = 1_200, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    events: u64,
    /// How often
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    kills: u32,
}

#[derive(Serialize)]
struct Figures {
    kills: u32,
    #[serde(flatten)]
    spread: Spread,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} kills, events committed after them: {}", self.kills, self.spread)?;
        writeln!(f, "take-over: {:.1} s (aim: at most 10 s)", self.spread.max_ms / 1000.0)
    }
}

pub fn run(args: &Args) -> Outcome {
    let address = Settings::load(&args.flags)?.store()?;
    if let Address::Sqlite(_) = address {
        return Err(Failure::usage(anyhow!(
            "a SQLite file belongs to one process: nobody can take over; use Postgres"
        )));
    }
    runtime::block_on(async {
        let (catalogue, kinds) = (sample::catalogue()?, sample::kinds());
        let mut latencies = Vec::new();
        for _ in 0..args.kills {
            let once = async |place: &Place| kill(args, place).await;
            latencies.extend(Place::within(&address, (&catalogue, &kinds), once).await?);
        }
        print(&Figures { kills: args.kills, spread: Spread::of(latencies) }, args.json)
    })
}

async fn kill(args: &Args, place: &Place) -> Result<Vec<u64>, Failure> {
    let progress = Progress::new();
    let address = place.address();
    let store = sample::open(&address, 4).await?;
    let mut victim = Node::start(&address, "victim", BatchSize::default())?;
    let survivor = Node::start(&address, "survivor", BatchSize::default())?;
    progress.tell("take-over", 0, BEFORE.as_secs() * args.rate + args.events);
    let start = Instant::now();
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / args.rate as u32);
    let mut killed_at = None;
    let mut serial = MEASURED;
    while killed_at.is_none_or(|first| serial < first + args.events) {
        ticks.tick().await;
        if killed_at.is_none() && start.elapsed() >= BEFORE {
            victim.0.start_kill()?;
            killed_at = Some(serial);
        }
        sample::place(&store, 1 + serial % 10, &format!("item-{}", serial % 97), serial).await?;
        serial += 1;
        progress.advance(1);
    }
    drop(victim);
    reached(&store, store.relay().end().await?).await?;
    let first = killed_at.unwrap_or(serial);
    let seen = survivor.end().await?.latencies_us;
    // Every event after the kill is the survivor's.
    let missing = (first..serial).filter(|serial| !seen.contains_key(serial)).count();
    if missing > 0 {
        return Err(anyhow!("{missing} events were not handled {AFTER:?} after the last was committed").into());
    }
    Ok(seen.range(first..).map(|(_, latency)| *latency).collect())
}

/// Waits until everything up to a position is handled, for as long as a take-over may last.
async fn reached(store: &Store, end: Position) -> Result<(), Failure> {
    let patience = Instant::now() + AFTER;
    while Instant::now() < patience {
        if store.relay().positions(sample::CONSUMER).await?.iter().all(|position| *position >= end.seq) {
            break;
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}
