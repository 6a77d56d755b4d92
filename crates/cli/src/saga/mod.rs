//! `karwan saga …`.

use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use serde_json::json;

use crate::ask::NodeFlag;
use crate::exit::Outcome;
use crate::output::{self, Paint};
use crate::runtime;
use crate::up::sagas::{Listed, Row};

#[derive(Subcommand)]
pub enum Verb {
    List(List),
    Show(Show),
    RetryStep(RetryStep),
}

/// List sagas that run, and those that ended with something left for a person
///
/// A booking runs until it is confirmed or cancelled. It is partial when it is, and a
/// key or a refund is not: somebody has to act, or to try again. Calls that were given up
/// are listed, too, and keys whose maker has failed and is asked again by itself.
///
/// Examples:
///   karwan saga list
///   karwan saga list --stuck --format json
///   karwan saga list --limit 1000
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct List {
    /// Only those that need a person
    #[arg(long)]
    stuck: bool,
    /// At most so many; those that need a person come first
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    #[command(flatten)]
    node: NodeFlag,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

/// Show what is known of one saga
///
/// Example: karwan saga show rsv_01J3K4M5N6P7Q8R9S0T1V2W3X4
#[derive(clap::Args)]
pub struct Show {
    /// The reservation
    reservation: String,
    #[command(flatten)]
    node: NodeFlag,
}

/// Try again what a saga has left for a person: a key, a revocation, a refund
///
/// Where nobody had answered, it is asked under the same key as before, so that what was
/// done after all is not done twice; where the answer was no, under another.
///
/// Example: karwan saga retry-step rsv_01J3K4M5N6P7Q8R9S0T1V2W3X4
#[derive(clap::Args)]
pub struct RetryStep {
    /// The reservation
    reservation: String,
    #[command(flatten)]
    node: NodeFlag,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A table
    Human,
    /// An array of objects
    Json,
}

pub fn run(verb: &Verb) -> Outcome {
    match verb {
        Verb::List(args) => list(args),
        Verb::Show(args) => show(args),
        Verb::RetryStep(args) => retry(args),
    }
}

fn list(args: &List) -> Outcome {
    let node = args.node.node()?;
    runtime::block_on(async {
        let Listed { rows, more } = node.get(&format!("sagas?stuck={}&limit={}", args.stuck, args.limit)).await?;
        match args.format {
            Format::Json => output::json(&rows)?,
            Format::Human if rows.is_empty() && args.stuck => output::note("no saga waits for a person"),
            Format::Human if rows.is_empty() => output::note("no saga is under way, and none waits for a person"),
            Format::Human => output::data(&table(&rows))?,
        }
        if more > 0 {
            output::note(&format!("there are {more} more; --limit shows more, --stuck fewer"));
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn table(rows: &[Row]) -> String {
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let Row { tenant, reservation, saga, state, waits_for, when, .. } = row.clone();
            vec![tenant, reservation, saga, state, when, waits_for]
        })
        .collect();
    output::table(&["TENANT", "RESERVATION", "SAGA", "STATE", "WHEN", "WAITS FOR"], &cells, Paint::stdout())
}

fn show(args: &Show) -> Outcome {
    let node = args.node.node()?;
    runtime::block_on(async {
        let story: Story = node.get(&format!("saga/{}", args.reservation)).await?;
        let mut text = format!("reservation {} of {}: {}", args.reservation, story.tenant, story.status);
        for row in &story.rows {
            text.push_str(&format!("\n  {} {}: waits for {} ({})", row.saga, row.state, row.waits_for, row.when));
        }
        text.push_str(&format!("\n  trace {}", story.correlation));
        output::data(&text)?;
        output::note(&format!("what it led to: karwan trace {}", story.correlation));
        Ok(ExitCode::SUCCESS)
    })
}

fn retry(args: &RetryStep) -> Outcome {
    let node = args.node.node()?;
    runtime::block_on(async {
        let story: Story = node.get(&format!("saga/{}", args.reservation)).await?;
        let asked = json!({ "tenant": story.tenant, "reservation": args.reservation });
        let tried: Vec<String> = node.post("saga-retry", &asked).await?;
        output::data(&tried.join("\n"))?;
        Ok(ExitCode::SUCCESS)
    })
}

/// What a node knows of one saga.
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Story {
    /// Whose.
    pub tenant: String,
    /// How the booking stands.
    pub status: String,
    /// Its trace.
    pub correlation: String,
    /// What is open.
    pub rows: Vec<Row>,
}
