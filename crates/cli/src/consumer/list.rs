//! `karwan consumer list`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use karwan_store::Store;
use karwan_store::report::{ConsumerReport, EffectReport, Lag, LaneReport};

use super::{Format, NOT_RUN, effect_object, events, fed, holder, object, one_line, span};
use crate::exit::{Failure, Outcome};
use crate::output::{self, Paint};
use crate::runtime;
use crate::settings::{BrokerFlags, Flags, Settings};

/// List the consumers of a store and its calls to the outside: how far each is, who holds its lanes, what failed
///
/// Examples:
///   karwan consumer list --store sqlite:karwan.db
///   karwan consumer list --store postgres://node@localhost/app --format json
///   karwan consumer list --store postgres://node@localhost/app --broker nats://localhost
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    broker: BrokerFlags,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub fn run(args: &Args) -> Outcome {
    let settings = Settings::load(&args.flags)?;
    let (address, broker) = (settings.store()?, args.broker.given(&settings)?);
    runtime::block_on(async {
        let store = Store::observe(&address).await?;
        let (mut reports, effects, declared) =
            (store.consumers().await?, store.effects().await?, store.declared().await?);
        fed::correct(&store, &mut reports, broker.as_deref()).await?;
        let mut consumers = Vec::with_capacity(reports.len());
        for report in reports {
            let lag = store.lag(&report, &declared).await?;
            consumers.push((report, lag));
        }
        match args.format {
            Format::Json => {
                let objects = consumers.iter().map(|(report, lag)| object(report, lag));
                let all = objects.chain(effects.iter().map(effect_object));
                output::json(&all.collect::<Vec<_>>())?;
            }
            Format::Table => table(&consumers, &effects)?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn table(consumers: &[(ConsumerReport, Lag)], effects: &[EffectReport]) -> Result<(), Failure> {
    if consumers.is_empty() {
        output::note("no consumer has run on this store yet");
    } else {
        let header = ["CONSUMER", "LANES", "HELD BY", "POSITION", "BEHIND", "EVENTS", "FOR", "PARKED", "DEAD", "STATE"];
        let rows: Vec<Vec<String>> = consumers.iter().map(cells).collect();
        output::data(&output::table(&header, &rows, Paint::stdout()))?;
    }
    if !effects.is_empty() {
        let header = ["EFFECTS", "HELD BY", "OPEN", "FOR", "WAITING", "DEAD", "LAST ERROR"];
        let rows: Vec<Vec<String>> = effects.iter().map(effect_cells).collect();
        let between = if consumers.is_empty() { "" } else { "\n" };
        output::data(&format!("{between}{}", output::table(&header, &rows, Paint::stdout())))?;
    }
    Ok(())
}

fn effect_cells(report: &EffectReport) -> Vec<String> {
    vec![
        report.name(),
        holder(report.lane.as_ref()).0,
        report.open.to_string(),
        span(report.open_ms),
        report.waiting.to_string(),
        report.dead.to_string(),
        report.error.as_deref().map_or_else(|| "-".to_owned(), one_line),
    ]
}

fn cells((report, lag): &(ConsumerReport, Lag)) -> Vec<String> {
    let holders: BTreeSet<&str> = report.lanes.iter().filter_map(LaneReport::run_by).collect();
    let holders: Vec<&str> = holders.into_iter().collect();
    vec![
        report.consumer.clone(),
        report.lanes.len().to_string(),
        if holders.is_empty() { "nobody".to_owned() } else { holders.join(", ") },
        report.position().to_string(),
        if report.behind == fed::UNKNOWN { "-".to_owned() } else { report.behind.to_string() },
        events(lag),
        span(report.behind_ms),
        report.parked.to_string(),
        report.dead.to_string(),
        match &report.suspended {
            Some((reason, _)) => format!("suspended: {}", one_line(reason)),
            None if report.run_by().is_some() => "runs".to_owned(),
            None => NOT_RUN.to_owned(),
        },
    ]
}
