//! `karwan consumer list`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use karwan_store::Store;
use karwan_store::report::ConsumerReport;

use super::{Format, object, span};
use crate::exit::Outcome;
use crate::output::{self, Paint};
use crate::runtime;
use crate::settings::{Flags, Settings};

/// List the consumers of a store: how far each is, who holds its lanes, what failed
///
/// Examples:
///   karwan consumer list --store sqlite:karwan.db
///   karwan consumer list --store postgres://node@localhost/app --format json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub fn run(args: &Args) -> Outcome {
    let address = Settings::load(&args.flags)?.store()?;
    runtime::block_on(async {
        let reports = Store::observe(&address).await?.consumers().await?;
        match args.format {
            Format::Json => output::json(&reports.iter().map(object).collect::<Vec<_>>())?,
            Format::Table if reports.is_empty() => output::note("no consumer has run on this store yet"),
            Format::Table => {
                let header = ["CONSUMER", "LANES", "HELD BY", "POSITION", "BEHIND", "FOR", "PARKED", "DEAD"];
                let rows: Vec<Vec<String>> = reports.iter().map(cells).collect();
                output::data(&output::table(&header, &rows, Paint::stdout()))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn cells(report: &ConsumerReport) -> Vec<String> {
    let holders: BTreeSet<&str> = report.lanes.iter().filter_map(|lane| lane.holder.as_deref()).collect();
    let holders: Vec<&str> = holders.into_iter().collect();
    vec![
        report.consumer.clone(),
        report.lanes.len().to_string(),
        if holders.is_empty() { "nobody".to_owned() } else { holders.join(", ") },
        report.position().to_string(),
        report.behind.to_string(),
        span(report.behind_ms),
        report.parked.to_string(),
        report.dead.to_string(),
    ]
}
