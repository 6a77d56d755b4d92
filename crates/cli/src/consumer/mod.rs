//! `karwan consumer …`.

mod list;
mod show;

use clap::{Subcommand, ValueEnum};
use karwan_store::report::ConsumerReport;
use serde_json::{Value, json};

use crate::exit::Outcome;

#[derive(Subcommand)]
pub enum Verb {
    List(list::Args),
    Show(show::Args),
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
    }
}

/// A consumer; these names are stable.
fn object(report: &ConsumerReport) -> Value {
    let lanes = report.lanes.iter().map(
        |lane| json!({ "lane": lane.lane, "position": lane.position, "holder": lane.holder, "leaseMs": lane.lease_ms }),
    );
    json!({
        "consumer": report.consumer,
        "position": report.position(),
        "behind": report.behind,
        "behindMs": report.behind_ms,
        "parked": report.parked,
        "dead": report.dead,
        "lanes": lanes.collect::<Vec<_>>(),
    })
}

/// A span of time for people.
fn span(ms: i64) -> String {
    match ms.max(0) {
        ms @ 0..1_000 => format!("{ms} ms"),
        ms @ 1_000..120_000 => format!("{} s", ms / 1_000),
        ms => format!("{} min", ms / 60_000),
    }
}
