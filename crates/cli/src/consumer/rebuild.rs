//! `karwan consumer rebuild`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use karwan_store::operator::{Chosen, Place};
use karwan_store::{Address, Operator, Store};
use serde_json::json;

use super::moving::Moving;
use super::place;
use crate::confirm::Asked;
use crate::exit::{Failure, Outcome};
use crate::progress::Progress;
use crate::settings::{BrokerFlags, Flags, Settings};
use crate::{output, runtime};

/// How often it is looked how far the consumer is.
const LOOK: Duration = Duration::from_millis(100);
/// A consumer that nobody runs for so long is told of.
const NOBODY: Duration = Duration::from_secs(10);

/// Let a consumer handle everything again, and measure how long that takes
///
/// For read models that were wiped, or whose handlers were mended: claims are taken back and
/// the consumer begins where the log begins, or the stream that feeds it (--broker names whom
/// to ask). What it writes must be wiped before, or be the same when written again. With
/// --measure it waits until the consumer is where its feed ended when it began; some process
/// must run it. Ctrl-C ends the waiting, not the rebuild.
///
/// Examples:
///   karwan consumer rebuild search.listings --measure --reason 'game day' --yes
///   karwan consumer rebuild search.listings --reason INC-7 --store sqlite:karwan.db
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Its name, as `karwan consumer list` prints it
    consumer: String,
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    broker: BrokerFlags,
    /// Wait until it is done, and say how long it took
    #[arg(long)]
    measure: bool,
    #[command(flatten)]
    asked: Asked,
    /// Print an object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let settings = Settings::load(&args.flags)?;
    let (address, broker) = (settings.store()?, args.broker.given(&settings)?);
    let operator = Operator::new(&address, Vec::new());
    runtime::block_on(async {
        let moving = Moving::of(&operator, &args.consumer, broker.as_deref()).await?;
        let would = moving.would_seek(Place::Start).await?;
        output::note("what it has written stays: what a second writing adds to is wiped before");
        let question = format!("let {} handle everything again: {}?", args.consumer, place::told(&would));
        args.asked.agreed(&question)?;
        let began = Instant::now();
        let end = moving.end().await?;
        let progress = Progress::new();
        let steps = |done, total| progress.tell("taking claims back", done, total);
        let whole = Chosen::default();
        let who = args.asked.recorded();
        let moved = moving.seek_and_clear(&who, Place::Start, &whole, &steps).await?;
        let cleared = began.elapsed();
        if args.measure {
            let start = moved.now.iter().copied().min().unwrap_or_default();
            reached(&address, &args.consumer, (start, end), &progress).await?;
        }
        drop(progress);
        let seconds = began.elapsed().as_secs_f64();
        if args.json {
            let rebuilt = args.measure.then_some(seconds);
            let object = json!({ "consumer": args.consumer, "action": moved.action, "events": moved.cleared,
                "clearedSeconds": cleared.as_secs_f64(), "rebuiltSeconds": rebuilt });
            output::json(&object)?;
        } else if args.measure {
            let rate = moved.cleared as f64 / seconds.max(0.001);
            let events = moved.cleared;
            output::data(&format!("{} was rebuilt in {seconds:.1} s: {events} events, {rate:.0}/s", args.consumer))?;
        } else {
            let claims = moved.cleared;
            output::data(&format!(
                "{} begins anew: {claims} claims taken back (action {})",
                args.consumer, moved.action
            ))?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Waits until every lane has saved that it is at a number.
async fn reached(
    address: &Address,
    consumer: &str,
    (start, end): (i64, i64),
    progress: &Progress,
) -> Result<(), Failure> {
    let store = Store::observe(address).await?;
    let (mut since, mut told) = (Instant::now(), false);
    let mut last = start;
    loop {
        let positions = store.relay().positions(consumer).await?;
        let lowest = positions.into_iter().min().unwrap_or_default();
        progress.tell("rebuilding", (lowest - start).max(0).unsigned_abs(), (end - start).max(0).unsigned_abs());
        if lowest >= end {
            return Ok(());
        }
        if lowest != last {
            (last, since) = (lowest, Instant::now());
        } else if since.elapsed() > NOBODY && !told {
            told = true;
            output::note(&format!(
                "{consumer} does not move: does a process run it? (karwan consumer show {consumer})"
            ));
        }
        tokio::time::sleep(LOOK).await;
    }
}
