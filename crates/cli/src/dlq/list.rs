//! `karwan dlq list`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use karwan_store::operator::{Letter, State};
use serde_json::{Value, json};

use super::Format;
use super::desk::{Desk, Graveyard};
use super::filter::Narrow;
use crate::consumer::one_line;
use crate::exit::{Failure, Outcome};
use crate::output::{self, Paint};
use crate::settings::Flags;
use crate::{instant, runtime, tenant};

/// The most characters of an error in a line.
const ERROR_CHARS_MAX: usize = 80;

/// List letters: events that wait or were given up, and calls that were given up
///
/// Without a state, those that need somebody: parked and dead ones. Order: by consumer,
/// then by place in the log.
///
/// Examples:
///   karwan dlq list --store sqlite:karwan.db
///   karwan dlq list --consumer billing-service.clerk --error 'no connection' --since 2h
///   karwan dlq list --state quarantined --format json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    narrow: Narrow,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

pub fn run(args: &Args) -> Outcome {
    runtime::block_on(async {
        let desk = Desk::open(&args.flags).await?;
        let filter = args.narrow.filter(&desk).await?;
        let limit = args.limit as usize;
        let (mut letters, mut after) = (Vec::new(), None);
        loop {
            let page = desk.operator.letters(&filter, after.as_ref(), limit - letters.len()).await?;
            letters.extend(page.letters);
            after = page.next;
            if after.is_none() || letters.len() >= limit {
                break;
            }
        }
        match args.format {
            Format::Json => output::json(&letters.iter().map(|it| placed(&desk, it)).collect::<Vec<_>>())?,
            Format::Human => table(&desk, &letters)?,
        }
        if after.is_some() {
            output::note(&format!("there are more than {limit}; --limit shows more, a filter fewer"));
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn table(desk: &Desk, letters: &[Letter]) -> Result<(), Failure> {
    if letters.is_empty() {
        output::note("no letter: nothing waits, and nothing was given up");
        return Ok(());
    }
    let header = ["STATE", "CONSUMER", "EVENT", "TOPIC", "KEY", "ATTEMPTS", "NEXT ATTEMPT", "ERROR"];
    let rows: Vec<Vec<String>> = letters.iter().map(cells).collect();
    output::data(&output::table(&header, &rows, Paint::stdout()))?;
    let dead = letters.iter().filter(|letter| letter.state == State::Dead);
    for Graveyard { topic, stream } in dead.filter_map(|letter| desk.graveyard(letter)).collect::<BTreeSet<_>>() {
        output::note(&format!("with a broker, its dead letters go to {topic}, in the stream {stream}"));
    }
    Ok(())
}

fn cells(letter: &Letter) -> Vec<String> {
    vec![
        letter.state.name().to_owned(),
        letter.target.consumer.clone(),
        letter.target.event.to_string(),
        letter.subject.clone(),
        format!("{}:{}", tenant::shown(letter.tenant), one_line(&letter.key)),
        letter.attempts.to_string(),
        letter.due.map_or_else(|| "-".to_owned(), instant::due),
        one_line(&letter.error).chars().take(ERROR_CHARS_MAX).collect(),
    ]
}

/// A letter, and where a broker has it once it is dead; these names are stable.
pub fn placed(desk: &Desk, letter: &Letter) -> Value {
    let mut object = object(letter);
    let (topic, stream) = desk.graveyard(letter).map(|it| (it.topic, it.stream)).unzip();
    object["deadLetterTopic"] = json!(topic);
    object["deadLetterStream"] = json!(stream);
    object
}

/// A letter; these names are stable.
pub fn object(letter: &Letter) -> Value {
    json!({
        "consumer": letter.target.consumer,
        "event": letter.target.event.to_string(),
        "state": letter.state.name(),
        "topic": letter.subject,
        "tenant": tenant::shown(letter.tenant),
        "key": letter.key,
        "seq": letter.seq,
        "logged": instant::shown(letter.logged),
        "due": letter.due.map(instant::shown),
        "attempts": letter.attempts,
        "error": letter.error,
    })
}
