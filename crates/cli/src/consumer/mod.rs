//! `karwan consumer …`.

mod fed;
mod forget;
mod list;
pub mod moving;
mod pause;
pub mod place;
mod rebuild;
mod resume;
mod seek;
mod show;

use clap::{Subcommand, ValueEnum};
use karwan_store::report::{ConsumerReport, EffectReport, Lag, LaneReport};
use serde_json::{Value, json};

use crate::exit::Outcome;
use crate::operator::Who;
use crate::settings::Flags;

/// A consumer, and who does something about it.
#[derive(clap::Args)]
struct Named {
    /// Its name, as `karwan consumer list` prints it
    consumer: String,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    flags: Flags,
}

/// The state of a consumer or a relay that no process runs.
pub const NOT_RUN: &str = "stands still";

/// The most characters of an error that are shown in a table.
const TEXT_CHARS_MAX: usize = 200;

#[derive(Subcommand)]
pub enum Verb {
    List(list::Args),
    Show(show::Args),
    Pause(pause::Args),
    Resume(resume::Args),
    Seek(seek::Args),
    Rebuild(rebuild::Args),
    Forget(forget::Args),
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Columns for people
    Table,
    /// JSON
    Json,
}

pub fn run(verb: Verb) -> Outcome {
    match verb {
        Verb::List(args) => list::run(&args),
        Verb::Show(args) => show::run(&args),
        Verb::Pause(args) => pause::run(&args),
        Verb::Resume(args) => resume::run(&args),
        Verb::Seek(args) => seek::run(&args),
        Verb::Rebuild(args) => rebuild::run(&args),
        Verb::Forget(args) => forget::run(&args),
    }
}

/// A consumer and what waits for it; these names are stable.
fn object(report: &ConsumerReport, lag: &Lag) -> Value {
    json!({
        "consumer": report.consumer,
        "position": report.position(),
        "behind": (report.behind != fed::UNKNOWN).then_some(report.behind),
        "behindEvents": if let Lag::Events { count, .. } = lag { Some(count) } else { None },
        "behindMs": report.behind_ms,
        "parked": report.parked,
        "dead": report.dead,
        "suspended": report.suspended.as_ref().map(
            |(reason, at)| json!({ "reason": reason, "at": karwan_envelope::time::Timestamp::from_unix_ms(*at).to_string() }),
        ),
        "lanes": report.lanes.iter().map(lane).collect::<Vec<_>>(),
    })
}

/// The calls of a kind; these names are stable.
fn effect_object(report: &EffectReport) -> Value {
    json!({
        "consumer": report.name(),
        "open": report.open,
        "openMs": report.open_ms,
        "waiting": report.waiting,
        "dead": report.dead,
        "error": report.error,
        "lanes": report.lane.iter().map(lane).collect::<Vec<_>>(),
    })
}

fn lane(lane: &LaneReport) -> Value {
    json!({ "lane": lane.lane, "position": lane.position, "holder": lane.holder, "leaseMs": lane.lease_ms })
}

/// How many events wait, for people.
fn events(lag: &Lag) -> String {
    match lag {
        Lag::Unknown | Lag::Stream(_) => "-".to_owned(),
        Lag::Events { count, more: false } => count.to_string(),
        Lag::Events { count, more: true } => format!("{count} or more"),
    }
}

/// Who holds a lane, and for how long still.
fn holder(lane: Option<&LaneReport>) -> (String, String) {
    let lease = match lane.and_then(|lane| lane.lease_ms) {
        Some(ms) if ms < 0 => format!("run out {} ago", span(-ms)),
        Some(ms) => span(ms),
        None => "-".to_owned(),
    };
    (lane.and_then(|lane| lane.holder.clone()).unwrap_or_else(|| "nobody".to_owned()), lease)
}

/// What somebody outside said, on one line and without what a terminal would obey.
pub fn one_line(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A span of time for people.
pub fn span(ms: i64) -> String {
    match ms.max(0) {
        ms @ 0..1_000 => format!("{ms} ms"),
        ms @ 1_000..120_000 => format!("{} s", ms / 1_000),
        ms => format!("{} min", ms / 60_000),
    }
}
