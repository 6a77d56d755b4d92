//! `karwan consumer seek`.

use std::process::ExitCode;

use anyhow::anyhow;
use karwan::engine::fed_consumer::Error;
use karwan_store::log::SubjectPattern;
use karwan_store::operator::{Moved, Place, Who};
use karwan_store::report::Lag;
use karwan_store::{Observer, Operator, Store};
use serde_json::json;

use super::moving::Moving;
use super::place::{self, Named};
use crate::chosen::{Choice, knows_topic};
use crate::confirm::Asked;
use crate::exit::{Failure, Outcome};
use crate::instant::Instant;
use crate::operator::action;
use crate::progress::Progress;
use crate::settings::{BrokerFlags, Flags, Settings};
use crate::{output, runtime};

/// Move a consumer through the log while it runs: by position or by time, back or forth
///
/// Its lanes go on from there within a second or two, in whatever process they are. What it
/// has handled is read again and passed over, unless --clear takes the claims back: then it
/// is handled again, in order per key. The log goes back as far as it is kept. Of a consumer
/// that a stream feeds, places are the stream's and times its broker's: --broker names it.
///
/// Examples:
///   karwan consumer seek sales-service.secretary --time 2h --reason INC-7 --yes
///   karwan consumer seek sales-service.secretary --to 1-4711 --clear --reason 'INC-7: mended'
///   karwan consumer seek sales-service.secretary --undo --reason 'wrong consumer' --yes
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
#[command(override_usage = "karwan consumer seek [OPTIONS] --reason <TEXT> <CONSUMER>")]
#[command(group(clap::ArgGroup::new("where").required(true).args(["to", "time", "undo"])))]
pub struct Args {
    /// Its name, as `karwan consumer list` prints it
    consumer: String,
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    broker: BrokerFlags,
    /// Behind this number or position, or start, or end
    #[arg(long, value_name = "POSITION")]
    to: Option<Named>,
    /// Before the first event of this instant: 2026-04-22T10:00:00Z, or how long ago: 90s, 2h, 7d
    #[arg(long, value_name = "INSTANT")]
    time: Option<Instant>,
    /// Back to where it was before its last seek, or before the action with this number
    #[arg(long, value_name = "ACTION", num_args = 0..=1, value_parser = action)]
    #[allow(clippy::option_option, reason = "the flag, and the number that may follow it")]
    undo: Option<Option<i64>>,
    /// Take the claims of events from there on back, so that they are handled again
    #[arg(long, conflicts_with = "undo")]
    clear: bool,
    /// With --clear, only these subjects; * is any one segment, > at the end all the rest
    #[arg(long, value_name = "PATTERN", requires = "clear")]
    subject: Option<SubjectPattern>,
    #[command(flatten)]
    choice: Choice,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
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
        let who = args.asked.recorded();
        if let Some(action) = args.undo {
            return undo(&operator, args, &who, action).await;
        }
        let Some(to) = place::of(args.to, args.time) else {
            return Err(Failure::usage(anyhow!("where to? --to, --time or --undo (see --help)")));
        };
        if let Some(subject) = &args.subject {
            knows_topic(&Store::observe(&address).await?, subject).await?;
        }
        let moving = Moving::of(&operator, &args.consumer, broker.as_deref()).await?;
        let would = moving.would_seek(to).await?;
        let passed = match &moving {
            Moving::Store(..) => passed(&Store::observe(&address).await?, &args.consumer, &would).await?,
            // Its events are the stream's.
            Moving::Fed(_) => String::new(),
        };
        if args.dry_run {
            print(args, &would, "would be moved")?;
            if !passed.is_empty() {
                output::note(passed.trim_start_matches(", "));
            }
            return Ok(ExitCode::SUCCESS);
        }
        let cleared = if args.clear { ", and its claims from there on are taken back" } else { "" };
        args.asked.agreed(&format!("move {}: {}{cleared}{passed}?", args.consumer, place::told(&would)))?;
        let moved = moved(&moving, args, &who, to).await?;
        print(args, &moved, "was moved")
    })
}

/// What is asked about is done: the number of the action is settled before the question.
async fn undo(operator: &Operator, args: &Args, who: &Who, action: Option<i64>) -> Outcome {
    let (undone, would) = operator.would_undo_seek(&args.consumer, action).await.map_err(place::named)?;
    if args.dry_run {
        return print(args, &would, &format!("would be put back to before action {undone}"));
    }
    args.asked.agreed(&format!("undo action {undone} of {}: {}?", args.consumer, place::told(&would)))?;
    let moved = operator.undo_seek(who, &args.consumer, Some(undone)).await.map_err(place::named)?;
    print(args, &moved, "is back")
}

/// The events that a consumer would not come to any more, in words; nothing where there are none.
async fn passed(store: &Observer, consumer: &str, would: &Moved) -> Result<String, Failure> {
    let report = store.consumers().await?.into_iter().find(|report| report.consumer == consumer);
    let (Some(report), Some(up_to)) = (report, would.now.iter().max()) else { return Ok(String::new()) };
    Ok(match store.waiting(&report, *up_to).await? {
        Lag::Events { count: count @ 1.., more } => {
            let least = if more { "at least " } else { "" };
            format!(", which passes over {least}{count} of its events (--undo brings it back)")
        }
        Lag::Events { .. } | Lag::Unknown | Lag::Stream(_) => String::new(),
    })
}

async fn moved(moving: &Moving, args: &Args, who: &Who, to: Place) -> Result<Moved, Error> {
    if !args.clear {
        return moving.seek(who, to).await;
    }
    let chosen = args.choice.chosen(args.subject.clone());
    let progress = Progress::new();
    let steps = |done, total| progress.tell("taking claims back", done, total);
    moving.seek_and_clear(who, to, &chosen, &steps).await
}

fn print(args: &Args, moved: &Moved, how: &str) -> Outcome {
    let Moved { action, was, now, cleared } = moved;
    if args.json {
        let object = json!({ "consumer": args.consumer, "action": action, "was": was, "now": now, "cleared": cleared });
        output::json(&object)?;
        return Ok(ExitCode::SUCCESS);
    }
    let claims = if args.clear { format!("; {cleared} claims taken back") } else { String::new() };
    let recorded = if *action > 0 { format!(" (action {action})") } else { String::new() };
    output::data(&format!("{} {how}: {}{claims}{recorded}", args.consumer, place::told(moved)))?;
    Ok(ExitCode::SUCCESS)
}
