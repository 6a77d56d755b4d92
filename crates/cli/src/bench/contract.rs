//! `karwan bench contract`.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use karwan_envelope::Envelope;
use karwan_envelope::envelope::Context;
use karwan_envelope::mint::{Mint, SeededRandom};
use karwan_envelope::time::SystemClock;
use karwan_envelope::wire;
use karwan_registry::Catalogue;
use melmastoon::payment::IntentCaptured;
use serde::Serialize;

use super::event::{captured, context};
use super::median;
use crate::exit::Outcome;
use crate::output;
use crate::platforms::Name;

/// Measure the contract's cost: build + validate + encode against plain encoding of the same value
///
/// One thread, one run; the two are measured in alternating rounds and the median
/// of the ratios is printed.
///
/// Example: karwan bench contract --json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// How many rounds of each
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// How many events a round
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    events: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    event_bytes: usize,
    rounds: u32,
    events: u32,
    build_validate_encode_ns: f64,
    base_encode_ns: f64,
    ratio: f64,
}

type TestMint = Mint<SystemClock, SeededRandom>;

pub fn run(args: &Args) -> Outcome {
    let catalogue = Name::Melmastoon.catalogue()?;
    let mint = Mint::new(SystemClock, SeededRandom::new(1));
    let (event, context) = (captured(1), context(0, mint.correlation()));
    let text = produce(&catalogue, &mint, &event, &context)?;
    let value: serde_json::Value = serde_json::from_str(&text).context("what was encoded parses")?;

    let mut rounds: Vec<(f64, f64)> = Vec::new();
    for _ in 0..args.rounds {
        let whole = time(args.events, || produce(&catalogue, &mint, black_box(&event), &context).map(|it| it.len()));
        let base = time(args.events, || serde_json::to_string(black_box(&value)).map(|it| it.len()));
        rounds.push((whole, base));
    }
    let figures = Figures {
        event_bytes: text.len(),
        rounds: args.rounds,
        events: args.events,
        build_validate_encode_ns: median(rounds.iter().map(|(whole, _)| *whole)),
        base_encode_ns: median(rounds.iter().map(|(_, base)| *base)),
        ratio: median(rounds.iter().map(|(whole, base)| whole / base)),
    };
    if args.json {
        output::json(&figures)?;
    } else {
        output::data(&format!(
            "event                     {} bytes\n\
             build + validate + encode {:.0} ns\n\
             base: serde_json encode   {:.0} ns\n\
             ratio                     {:.2} (aim: at most 5)",
            figures.event_bytes, figures.build_validate_encode_ns, figures.base_encode_ns, figures.ratio
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn produce(
    catalogue: &Catalogue,
    mint: &TestMint,
    event: &IntentCaptured,
    context: &Context,
) -> anyhow::Result<String> {
    let envelope: Envelope = catalogue.envelope(event, context, None, mint)?;
    Ok(wire::encode(&melmastoon::platform::PROFILE, catalogue.directory(), &envelope)?)
}

/// Nanoseconds a call.
fn time<T>(calls: u32, mut call: impl FnMut() -> T) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(call());
    }
    start.elapsed().as_nanos() as f64 / f64::from(calls)
}
