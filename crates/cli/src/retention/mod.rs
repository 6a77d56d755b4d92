//! `karwan retention …`.

mod plan;
mod run;

use clap::Subcommand;
use karwan_store::retention::{DAYS_MIN, Days, Holder, What};
use serde_json::{Value, json};

use crate::exit::Outcome;

#[derive(Subcommand)]
pub enum Verb {
    Plan(plan::Args),
    Run(run::Args),
}

pub fn run(verb: Verb) -> Outcome {
    match verb {
        Verb::Plan(args) => plan::run(&args),
        Verb::Run(args) => run::run(&args),
    }
}

/// How long everything is kept.
#[derive(clap::Args, Clone, Copy)]
struct Kept {
    /// How many days rows of the log are kept
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
    /// How many days claims and intents are kept; at least 30
    #[arg(long, default_value_t = DAYS_MIN, value_parser = clap::value_parser!(u32).range(30..=36_500))]
    claim_days: u32,
    /// How many days dead letters, and those taken aside, are kept
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    letter_days: u32,
}

impl Kept {
    fn days(self) -> Days {
        let Self { days, claim_days, letter_days } = self;
        Days { log: days, claims: claim_days, intents: claim_days, letters: letter_days, ..Days::default() }
    }
}

/// Who holds rows back; these names are stable.
fn holder_object(holder: &Holder) -> Value {
    json!({
        "consumer": holder.consumer,
        "position": holder.position,
        "holds": { "from": holder.stretch.after + 1, "to": holder.stretch.up_to },
        "waitsMs": holder.waits_ms,
        "runBy": holder.run_by,
    })
}

fn forgotten_object(forgotten: &[(What, u64)]) -> Value {
    forgotten
        .iter()
        .map(|(what, count)| (what.name().to_owned(), json!(count)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Who holds rows back, for people.
fn holder_line(holder: &Holder) -> String {
    let Holder { consumer, position, stretch, run_by, .. } = holder;
    let (first, last) = (stretch.after + 1, stretch.up_to);
    match run_by {
        Some(node) => format!("{consumer} is at {position} and holds rows {first} to {last}; {node} runs it"),
        None => format!(
            "{consumer} is at {position} and holds rows {first} to {last}; nobody runs it: run it, or `karwan consumer forget {consumer}`"
        ),
    }
}

fn forgotten_line(forgotten: &[(What, u64)]) -> String {
    let some: Vec<String> = forgotten
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| format!("{count} {}", what.name()))
        .collect();
    if some.is_empty() { "nothing else is old enough".to_owned() } else { some.join(", ") }
}
