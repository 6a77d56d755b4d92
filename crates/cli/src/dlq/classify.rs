//! `karwan dlq classify`.

use std::process::ExitCode;

use karwan_store::Error;
use karwan_store::operator::{LetterStory, Target};
use serde_json::{Value, json};

use super::Format;
use super::desk::Desk;
use super::filter::{EventName, Narrow};
use crate::consumer::one_line;
use crate::exit::{Failure, Outcome};
use crate::output::{self, Paint};
use crate::runtime;
use crate::settings::Flags;

/// Say what kind of failure letters are, by the runbook, and what is to be done
///
/// Schema drift: mend or repair, no retry until valid. Vendor outage: wait, then retry.
/// Transient: let it drain. Poisoned: quarantine. Consumer bug: mend, then retry. It
/// judges and changes nothing.
///
/// Examples:
///   karwan dlq classify 0190c2f0-0000-7000-8000-000000000001 --store sqlite:karwan.db
///   karwan dlq classify --consumer billing-service.clerk --format json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// One letter: its event (or the id of the call); otherwise all that the filter means
    event: Option<EventName>,
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    narrow: Narrow,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

pub fn run(args: &Args) -> Outcome {
    runtime::block_on(async {
        let desk = Desk::open(&args.flags).await?;
        let targets: Vec<Target> = if let Some(EventName(event)) = args.event {
            vec![desk.find(event, args.narrow.consumer.as_deref()).await?]
        } else {
            let filter = args.narrow.filter(&desk).await?;
            let page = desk.operator.letters(&filter, None, args.limit as usize).await?;
            if page.next.is_some() {
                output::note(&format!("there are more than {}; --limit judges more, a filter fewer", args.limit));
            }
            page.letters.into_iter().map(|letter| letter.target).collect()
        };
        let mut stories = Vec::new();
        for target in &targets {
            match desk.operator.letter(target).await {
                Ok(story) => stories.push(story),
                // It was handled or deleted while we looked.
                Err(Error::Claimed { .. } | Error::Deleted { .. }) if args.event.is_none() => {}
                Err(error) => return Err(error.into()),
            }
        }
        match args.format {
            Format::Json => output::json(&stories.iter().map(object).collect::<Vec<_>>())?,
            Format::Human => table(&stories)?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn object(story: &LetterStory) -> Value {
    json!({
        "consumer": story.letter.target.consumer,
        "event": story.letter.target.event.to_string(),
        "class": story.class.name(),
        "advice": story.class.advice(),
        "violations": story.violations,
        "error": story.letter.error,
    })
}

fn table(stories: &[LetterStory]) -> Result<(), Failure> {
    let mut classes: Vec<_> = stories.iter().map(|story| story.class).collect();
    classes.sort_unstable();
    let counted = classes.chunk_by(|one, next| one == next);
    for same in counted {
        let class = same[0];
        output::data(&Paint::stdout().bold(&format!("{} ({}): {}", class.name(), same.len(), class.advice())))?;
        for story in stories.iter().filter(|story| story.class == class) {
            let (letter, broken) = (&story.letter, story.violations.first());
            let why = broken.unwrap_or(&letter.error);
            output::data(&format!("  {}  {}  {}", letter.target.event, letter.target.consumer, one_line(why)))?;
        }
    }
    if stories.is_empty() {
        output::note("no letter: nothing waits, and nothing was given up");
    }
    Ok(())
}
