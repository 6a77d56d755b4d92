//! `karwan consumer show`.

use std::process::ExitCode;

use anyhow::anyhow;
use karwan_store::Store;
use karwan_store::report::ConsumerReport;

use super::{Format, object, span};
use crate::exit::{Failure, Outcome};
use crate::output::{self, Paint};
use crate::runtime;
use crate::settings::{Flags, Settings};

/// Show one consumer, lane by lane
///
/// Example: karwan consumer show sales-service.secretary --store sqlite:karwan.db
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Its name, as `karwan consumer list` prints it
    consumer: String,
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
        let Some(report) = reports.iter().find(|report| report.consumer == args.consumer) else {
            let known: Vec<&str> = reports.iter().map(|report| report.consumer.as_str()).collect();
            let known =
                if known.is_empty() { "none has run yet".to_owned() } else { format!("known: {}", known.join(", ")) };
            return Err(Failure::from(anyhow!("no consumer `{}` has run on this store; {known}", args.consumer)));
        };
        match args.format {
            Format::Json => output::json(&object(report))?,
            Format::Table => output::data(&text(report))?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn text(report: &ConsumerReport) -> String {
    let rows: Vec<Vec<String>> = report
        .lanes
        .iter()
        .map(|lane| {
            let lease = match lane.lease_ms {
                Some(ms) if ms < 0 => format!("run out {} ago", span(-ms)),
                Some(ms) => span(ms),
                None => "-".to_owned(),
            };
            let holder = lane.holder.clone().unwrap_or_else(|| "nobody".to_owned());
            vec![lane.lane.to_string(), lane.position.to_string(), holder, lease]
        })
        .collect();
    format!(
        "{}\nbehind {} numbers, {}; {} parked, {} dead\n\n{}",
        report.consumer,
        report.behind,
        span(report.behind_ms),
        report.parked,
        report.dead,
        output::table(&["LANE", "POSITION", "HELD BY", "LEASE"], &rows, Paint::stdout())
    )
}
