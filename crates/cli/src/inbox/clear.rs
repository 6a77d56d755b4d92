//! `karwan inbox clear`.

use std::process::ExitCode;

use karwan_store::log::SubjectPattern;
use karwan_store::operator::Place;
use karwan_store::{Operator, Store};

use crate::chosen::{Choice, knows_topic};
use crate::confirm::Asked;
use crate::consumer::moving::Moving;
use crate::exit::Outcome;
use crate::instant::Instant;
use crate::progress::Progress;
use crate::settings::{BrokerFlags, Flags, Settings};
use crate::{output, runtime};

/// Take the claims of a consumer back, so that events that are read again are handled again
///
/// Nothing is read again by this alone: `karwan consumer seek` does that, or --clear there
/// does both. Events that were given up, skipped or quarantined keep their claims. Of a
/// consumer that a stream feeds, events are the stream's, and times its broker's: --broker.
///
/// Example:
///   karwan inbox clear --consumer sales-service.secretary --since 2h --reason INC-7 --yes
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Whose claims
    #[arg(long)]
    consumer: String,
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    broker: BrokerFlags,
    /// Of events that were logged since then: 2026-04-22T10:00:00Z, or how long ago: 90s, 2h, 7d
    #[arg(long, value_name = "INSTANT")]
    since: Instant,
    /// Only these subjects; * is any one segment, > at the end all the rest
    #[arg(long, value_name = "PATTERN")]
    subject: Option<SubjectPattern>,
    #[command(flatten)]
    choice: Choice,
    /// Only count
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    asked: Asked,
}

pub fn run(args: &Args) -> Outcome {
    let settings = Settings::load(&args.flags)?;
    let (address, broker) = (settings.store()?, args.broker.given(&settings)?);
    let operator = Operator::new(&address, Vec::new());
    let (since, chosen) = (Place::Time(args.since.unix_ms()), args.choice.chosen(args.subject.clone()));
    runtime::block_on(async {
        if let Some(subject) = &args.subject {
            knows_topic(&Store::observe(&address).await?, subject).await?;
        }
        let moving = Moving::of(&operator, &args.consumer, broker.as_deref()).await?;
        let claims = moving.count_claims(since, &chosen).await?;
        if args.dry_run {
            output::data(&format!("{claims} claims of {} would be taken back", args.consumer))?;
            return Ok(ExitCode::SUCCESS);
        }
        if claims == 0 {
            output::data(&format!("nothing to take back: {} has no such claims", args.consumer))?;
            return Ok(ExitCode::SUCCESS);
        }
        args.asked.agreed(&format!("take {claims} claims of {} back?", args.consumer))?;
        let progress = Progress::new();
        let steps = |done, total| progress.tell("taking claims back", done, total);
        let moved = moving.clear_inbox(&args.asked.recorded(), since, &chosen, &steps).await?;
        drop(progress);
        let (cleared, action) = (moved.cleared, moved.action);
        output::data(&format!("{cleared} claims of {} were taken back (action {action})", args.consumer))?;
        Ok(ExitCode::SUCCESS)
    })
}
