//! `karwan bench latency`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use karwan::Engine;
use karwan_store::Address;
use serde::Serialize;

use super::scratch::Place;
use super::spread::Spread;
use super::{print, sample};
use crate::exit::{Failure, Outcome};
use crate::progress::Progress;
use crate::runtime;
use crate::settings::{Flags, Settings};

/// Measure how long a committed event waits for its handler in an idle system
///
/// One process commits events at a steady rate and handles them. Measured from the
/// moment at which the commit is answered to the start of the handler.
///
/// Example: karwan bench latency --store postgres://admin@localhost/postgres
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// How many events
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    events: u64,
    /// How many a second
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    rate: u64,
}

#[derive(Serialize)]
struct Figures {
    store: &'static str,
    rate: u64,
    #[serde(flatten)]
    spread: Spread,
    aim: &'static str,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, {} events a second, commit to handler: {}", self.store, self.rate, self.spread)?;
        writeln!(f, "aim: {}", self.aim)
    }
}

pub fn run(args: &Args) -> Outcome {
    let address = Settings::load(&args.flags)?.store()?;
    runtime::block_on(async {
        let (catalogue, kinds) = (sample::catalogue()?, sample::kinds());
        let spread = Place::within(&address, (&catalogue, &kinds), async |place| measure(args, place).await).await?;
        let (store, aim) = match &address {
            Address::Postgres(_) => ("Postgres", "p50 at most 3 ms, p99 at most 15 ms"),
            Address::Sqlite(_) => ("SQLite", "p50 at most 2 ms"),
        };
        print(&Figures { store, rate: args.rate, spread, aim }, args.json)
    })
}

/// When an event was answered, and when it was handled.
type Time = (Option<Instant>, Option<Instant>);

/// The same of each serial.
#[derive(Default)]
struct Times(Mutex<HashMap<u64, Time>>);

impl Times {
    fn note(&self, serial: u64, note: impl FnOnce(&mut Time)) {
        note(self.0.lock().expect("nothing panics while holding it").entry(serial).or_default());
    }

    fn spread(&self) -> Spread {
        let times = self.0.lock().expect("nothing panics while holding it");
        let both = times.values().filter_map(|(answered, handled)| Some(((*answered)?, (*handled)?)));
        // A handler may be quicker than the answer.
        Spread::of(both.map(|(from, to)| to.saturating_duration_since(from).as_micros() as u64).collect())
    }
}

async fn measure(args: &Args, place: &Place) -> Result<Spread, Failure> {
    let progress = Progress::new();
    let store = sample::open(&place.address(), 8).await?;
    let times = Arc::new(Times::default());
    let seen = times.clone();
    let consumer =
        sample::consumer(move |placed| seen.note(placed.event.serial, |times| times.1 = Some(Instant::now())));
    let engine = Engine::start(&store, vec![consumer], karwan::engine::Options::new("bench", karwan::Residency::Eu));
    // Lanes are taken and statements prepared before anything counts.
    for serial in 0..20 {
        sample::place(&store, 1, &format!("warm-{serial}"), 1_000_000_000 + serial).await?;
    }
    engine.settle().await?;
    progress.tell("commit to handler", 0, args.events);
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / args.rate as u32);
    for serial in 0..args.events {
        ticks.tick().await;
        sample::place(&store, 1 + serial % 10, &format!("item-{serial}"), serial).await?;
        times.note(serial, |times| times.0 = Some(Instant::now()));
        progress.advance(1);
    }
    engine.settle().await?;
    engine.stop().await;
    Ok(times.spread())
}
