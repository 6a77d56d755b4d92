//! `karwan consumer show`.

use std::process::ExitCode;

use anyhow::anyhow;
use karwan_envelope::time::Timestamp;
use karwan_store::effect::DeadEffect;
use karwan_store::operator::{Letter, LetterFilter, State};
use karwan_store::report::{ConsumerReport, EffectReport, Lag};
use karwan_store::{Operator, Store};
use serde_json::json;

use super::{Format, effect_object, events, fed, holder, object, one_line, span};
use crate::exit::{Failure, Outcome};
use crate::output::{self, Paint};
use crate::settings::{BrokerFlags, Flags, Settings, word};
use crate::{dlq, instant, runtime, tenant};

/// The most dead effects that are shown.
const DEAD_MAX: usize = 100;

/// Show one consumer, lane by lane, with what is parked; or the calls of one kind
///
/// Of what is parked, the first by place in the log; `karwan dlq` has all of it, and acts
/// on it.
///
/// Examples:
///   karwan consumer show sales-service.secretary --store sqlite:karwan.db
///   karwan consumer show effect.charge --store sqlite:karwan.db
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Its name, as `karwan consumer list` prints it
    consumer: String,
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    broker: BrokerFlags,
    /// At most so many parked events
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=500))]
    parked: u32,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub fn run(args: &Args) -> Outcome {
    let settings = Settings::load(&args.flags)?;
    let (address, broker) = (settings.store()?, args.broker.given(&settings)?);
    runtime::block_on(async {
        let store = Store::observe(&address).await?;
        let (mut reports, effects) = (store.consumers().await?, store.effects().await?);
        if let Some(report) = effects.iter().find(|report| report.name() == args.consumer) {
            match args.format {
                Format::Json => output::json(&effect_object(report))?,
                Format::Table => {
                    let dead = store.dead_effects(&report.kind, 0, DEAD_MAX).await?;
                    output::data(&effect_text(report, &dead))?;
                }
            }
            return Ok(ExitCode::SUCCESS);
        }
        let Some(place) = reports.iter().position(|report| report.consumer == args.consumer) else {
            let known: Vec<String> = reports
                .iter()
                .map(|report| report.consumer.clone())
                .chain(effects.iter().map(EffectReport::name))
                .collect();
            let known =
                if known.is_empty() { "none has run yet".to_owned() } else { format!("known: {}", known.join(", ")) };
            return Err(Failure::from(anyhow!("no consumer `{}` has run on this store; {known}", args.consumer)));
        };
        fed::correct(&store, &mut reports[place..=place], broker.as_deref()).await?;
        let report = &reports[place];
        let declared = store.declared().await?;
        let lag = store.lag(report, &declared).await?;
        let unhandled = match declared.iter().find(|it| it.consumer == report.consumer) {
            Some(declared) => store.unhandled(declared).await?,
            None => Vec::new(),
        };
        let parked = parked(&Operator::new(&address, Vec::new()), report, args.parked as usize).await?;
        match args.format {
            Format::Json => {
                let mut told = object(report, &lag);
                told["unhandled"] = json!(unhandled);
                told["parkedEvents"] = json!(parked.iter().map(dlq::list::object).collect::<Vec<_>>());
                output::json(&told)?;
            }
            Format::Table => {
                let unhandled = unhandled_text(report, &unhandled);
                output::data(&format!("{}{unhandled}{}", text(report, &lag), parked_text(report, &parked)))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// The first events that are parked, by place in the log.
async fn parked(operator: &Operator, report: &ConsumerReport, most: usize) -> Result<Vec<Letter>, Failure> {
    if report.parked == 0 || most == 0 {
        return Ok(Vec::new());
    }
    let filter =
        LetterFilter { consumer: Some(report.consumer.clone()), state: Some(State::Parked), ..LetterFilter::default() };
    Ok(operator.letters(&filter, None, most).await?.letters)
}

/// Which events wait for another release, and how to say that none will come.
fn unhandled_text(report: &ConsumerReport, unhandled: &[String]) -> String {
    let line = |subject: &String| {
        let consumer = word(&report.consumer);
        format!(
            "\n\nnobody who runs it handles {subject}: its events wait for a release that does, then they are dead letters\n\
             where none will come: karwan consumer forget {consumer} --subject {subject} --reason 'WHY'"
        )
    };
    unhandled.iter().map(line).collect()
}

fn parked_text(report: &ConsumerReport, parked: &[Letter]) -> String {
    if parked.is_empty() {
        return String::new();
    }
    let row = |letter: &Letter| {
        let key = format!("{}:{}", tenant::shown(letter.tenant), one_line(&letter.key));
        let due = letter.due.map_or_else(|| "-".to_owned(), instant::due);
        vec![key, letter.target.event.to_string(), letter.attempts.to_string(), due, one_line(&letter.error)]
    };
    let rows: Vec<Vec<String>> = parked.iter().map(row).collect();
    let table = output::table(&["PARKED", "EVENT", "ATTEMPTS", "NEXT ATTEMPT", "WHY"], &rows, Paint::stdout());
    let more = match report.parked - parked.len() as i64 {
        ..=0 => String::new(),
        more => format!("\nand {more} more: karwan dlq list --consumer {} --state parked", word(&report.consumer)),
    };
    format!("\n\n{table}{more}")
}

fn effect_text(report: &EffectReport, dead: &[DeadEffect]) -> String {
    let (holder, lease) = holder(report.lane.as_ref());
    let error = report.error.as_deref().map(|error| format!("\nlast error: {}", one_line(error))).unwrap_or_default();
    let mut text = format!(
        "{}\n{} open for {}, {} of them waiting, {} dead; held by {holder}, lease {lease}{error}\n",
        report.name(),
        report.open,
        span(report.open_ms),
        report.waiting,
        report.dead,
    );
    if !dead.is_empty() {
        let row = |dead: &DeadEffect| {
            let DeadEffect { number, effect, .. } = dead;
            let error = one_line(effect.error.as_deref().unwrap_or_default());
            vec![number.to_string(), one_line(&effect.key), effect.attempts.to_string(), error]
        };
        let rows: Vec<Vec<String>> = dead.iter().map(row).collect();
        text.push('\n');
        text.push_str(&output::table(&["DEAD", "KEY", "ATTEMPTS", "ERROR"], &rows, Paint::stdout()));
    }
    text
}

fn text(report: &ConsumerReport, lag: &Lag) -> String {
    let rows: Vec<Vec<String>> = report
        .lanes
        .iter()
        .map(|lane| {
            let (holder, lease) = holder(Some(lane));
            vec![lane.lane.to_string(), lane.position.to_string(), holder, lease]
        })
        .collect();
    let suspended = match &report.suspended {
        Some((reason, at)) => format!(
            "suspended since {}: {reason}\nwhen it is mended: karwan consumer resume {} --reason 'WHY'\n",
            Timestamp::from_unix_ms(*at),
            report.consumer
        ),
        None => String::new(),
    };
    let behind = match lag {
        Lag::Stream(stream) if report.behind == fed::UNKNOWN => format!("fed from {stream}"),
        Lag::Stream(stream) => format!("fed from {stream}, behind {} numbers of it", report.behind),
        Lag::Unknown => format!("behind {} numbers, {}", report.behind, span(report.behind_ms)),
        Lag::Events { .. } => {
            format!("behind {} numbers, {} of them its events, {}", report.behind, events(lag), span(report.behind_ms))
        }
    };
    format!(
        "{}\n{suspended}{behind}; {} parked, {} dead\n\n{}",
        report.consumer,
        report.parked,
        report.dead,
        output::table(&["LANE", "POSITION", "HELD BY", "LEASE"], &rows, Paint::stdout())
    )
}
