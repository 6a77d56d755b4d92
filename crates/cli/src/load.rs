//! `karwan load`.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::anyhow;
use serde::Serialize;
use serde_json::json;
use tokio::time::sleep;

use crate::ask::{Node, NodeFlag};
use crate::exit::{Failure, Outcome};
use crate::output::{self, Paint};
use crate::progress::Progress as Bar;
use crate::runtime;
use crate::up::load::{Ask, Progress, Report};

const LOOK: Duration = Duration::from_millis(200);
/// How much slower confirmations may be where keys are: a tenth.
const SLOWDOWN_MAX: f64 = 0.1;

/// Put bookings on a running node, measure them, and check what must hold at the end
///
/// Most are paid by card, one in twenty in cash, one in twenty is declined, one in twenty
/// is cancelled by its guest. At the end everything is drained, and the log is compared
/// with the books of the vendors: exit 1 where something does not hold.
///
/// Before it, the log's own rate is measured for half a second, by units that append one
/// event and do nothing else: the base that the rate under the load is compared with.
///
/// With --json, one object: bookings, confirmed, cancelled, tenants, seconds,
/// sagasPerSecond (bookings that ended confirmed), eventsPerSecond, base (events a second
/// of the log alone), ratio (of the two), confirmMsP50, confirmMsP99, keyMsP50, keyMsP99
/// (how far the key lags behind the confirmation; null where no key was issued),
/// drainSeconds, violations.
///
/// With --compare-lock-ms the same load runs four times, with a maker of locks that answers
/// at once, twice with one that takes its time, and at once again, so that a node that gets
/// slower by itself is in both: exit 1 where confirmations are more than 10 % slower. With
/// --json: runs (of each lockMs and what is told of a load), slowdown (0.1 are 10 %; null
/// where nothing was confirmed), slowdownMax.
///
/// Examples:
///   karwan load --bookings 1000
///   karwan load --bookings 1000 --lock-ms 5000 --json
///   karwan load --bookings 1000 --compare-lock-ms 5000
///   karwan load --bookings 5000 --tenants 10 --rate 200 --lifelike --json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// How many bookings
    #[arg(long, default_value_t = 1_000)]
    bookings: usize,
    /// Over how many tenants
    #[arg(long, default_value_t = 2)]
    tenants: usize,
    /// How many a second; as many as go, where nothing is said
    #[arg(long, default_value_t = 0.0)]
    rate: f64,
    /// Vendors take their usual time: a gateway 80 to 300 ms, a lock 3 to 8 s
    #[arg(long)]
    lifelike: bool,
    /// The maker of locks takes so many milliseconds, whatever the others do; a call gives up after ten seconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=9_000))]
    lock_ms: Option<u64>,
    /// Say how much slower confirmations are where the maker of locks takes so many milliseconds
    #[arg(long, value_name = "N", conflicts_with_all = ["lock_ms", "lifelike"])]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=9_000))]
    compare_lock_ms: Option<u64>,
    /// Print an object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeFlag,
}

pub fn run(args: &Args) -> Outcome {
    let node = args.node.node()?;
    let Args { bookings, tenants, rate, lifelike, lock_ms, .. } = *args;
    let ask = Ask { bookings, tenants, rate, lifelike, lock_ms };
    runtime::block_on(async {
        match args.compare_lock_ms {
            Some(lock_ms) => compare(&node, ask, lock_ms, args.json).await,
            None => alone(&node, ask, args.json).await,
        }
    })
}

/// One load.
async fn alone(node: &Node, ask: Ask, json: bool) -> Outcome {
    let report = put(node, &ask).await?;
    if json {
        output::json(&report)?;
    } else {
        output::data(&text(&report))?;
    }
    Ok(if report.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Puts a load on the node, and waits for its end.
async fn put(node: &Node, ask: &Ask) -> Result<Report, Failure> {
    node.post::<()>("load", ask).await?;
    let bar = Bar::new();
    loop {
        match node.get::<Progress>("load").await? {
            Progress::Running { doing, done, total } => bar.tell(&doing, done as u64, total as u64),
            Progress::Done(report) => return Ok(report),
            Progress::Failed { why } => return Err(anyhow!("the load could not go on: {why}").into()),
            Progress::Idle => return Err(anyhow!("the node was started anew; the load is gone").into()),
        }
        sleep(LOOK).await;
    }
}

/// A load, and how long the maker of locks took in it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    lock_ms: u64,
    #[serde(flatten)]
    report: Report,
}

/// The same load with keys at once and with slow ones, in turns.
async fn compare(node: &Node, ask: Ask, lock_ms: u64, json: bool) -> Outcome {
    let mut runs = Vec::new();
    for lock_ms in [0, lock_ms, lock_ms, 0] {
        let report = put(node, &Ask { lock_ms: Some(lock_ms), ..ask }).await?;
        runs.push(Run { lock_ms, report });
    }
    let confirms = |slow: bool| {
        let of = runs.iter().filter(|run| (run.lock_ms > 0) == slow);
        of.map(|run| run.report.confirm_ms_p50).collect::<Option<Vec<f64>>>()
    };
    let slowdown = confirms(false).zip(confirms(true)).and_then(|(at_once, slow)| slowdown(&at_once, &slow));
    if json {
        output::json(&json!({ "runs": runs, "slowdown": slowdown, "slowdownMax": SLOWDOWN_MAX }))?;
    } else {
        output::data(&compared(&runs, slowdown))?;
    }
    let holds = runs.iter().all(|run| run.report.violations.is_empty());
    let is_fast = slowdown.is_some_and(|slowdown| slowdown <= SLOWDOWN_MAX);
    Ok(if holds && is_fast { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How much slower the second are on average, as a share of the first.
fn slowdown(at_once: &[f64], slow: &[f64]) -> Option<f64> {
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let share = mean(slow) / mean(at_once) - 1.0;
    share.is_finite().then_some(share)
}

fn compared(runs: &[Run], slowdown: Option<f64>) -> String {
    let ms = |figure: Option<f64>| figure.map_or_else(|| "none".to_owned(), |ms| format!("{ms:.0} ms"));
    let rows = runs.iter().map(|Run { lock_ms, report }| {
        vec![
            format!("{lock_ms} ms"),
            format!("{} of {}", report.confirmed, report.bookings),
            format!("{:.0}/s", report.sagas_per_second),
            ms(report.confirm_ms_p50),
            ms(report.confirm_ms_p99),
            ms(report.key_ms_p50),
            ms(report.key_ms_p99),
        ]
    });
    let header = ["LOCK", "CONFIRMED", "RATE", "CONFIRM P50", "P99", "KEY BEHIND IT P50", "P99"];
    let mut text = output::table(&header, &rows.collect::<Vec<_>>(), Paint::stdout());
    text.push_str(&match slowdown {
        Some(share) => format!("\nconfirmations with slow keys {}", verdict(share)),
        None => "\nno booking was confirmed, so there is nothing to compare".to_owned(),
    });
    let violations: Vec<&String> = runs.iter().flat_map(|run| &run.report.violations).collect();
    if violations.is_empty() {
        text.push_str("\neverything holds: rooms, money, keys, causes");
    }
    for violation in violations {
        text.push_str(&format!("\nVIOLATED: {violation}"));
    }
    text
}

fn verdict(share: f64) -> String {
    let how = if share < 0.0 { "faster" } else { "slower" };
    let (percent, max) = (share.abs() * 100.0, SLOWDOWN_MAX * 100.0);
    let is = if share <= SLOWDOWN_MAX { "as it should be" } else { "TOO SLOW" };
    format!("come {percent:.0} % {how}; at most {max:.0} % slower: {is}")
}

/// Two figures, or why there are none: nothing is as fast as what never was.
fn figures(half: Option<f64>, most: Option<f64>, none: &str) -> String {
    half.zip(most).map_or_else(|| none.to_owned(), |(half, most)| format!("p50 {half:.0} ms, p99 {most:.0} ms"))
}

fn text(report: &Report) -> String {
    let Report { bookings, confirmed, cancelled, tenants, .. } = report;
    let mut text = format!(
        "{bookings} bookings of {tenants} tenants in {:.1} s: {confirmed} confirmed, {cancelled} refused or declined\n\
         confirmed      {:.0}/s\n\
         events         {:.0}/s, {:.2} of the log alone ({:.0}/s)\n\
         confirm        {}\n\
         key behind it  {}\n\
         drained after  {:.1} s\n",
        report.seconds,
        report.sagas_per_second,
        report.events_per_second,
        report.ratio,
        report.base,
        figures(report.confirm_ms_p50, report.confirm_ms_p99, "no booking was confirmed"),
        figures(report.key_ms_p50, report.key_ms_p99, "no key was issued"),
        report.drain_seconds,
    );
    if report.violations.is_empty() {
        text.push_str("everything holds: rooms, money, keys, causes");
    }
    for violation in &report.violations {
        text.push_str(&format!("VIOLATED: {violation}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{slowdown, verdict};

    #[test]
    fn a_slowdown_is_told_by_the_averages_and_judged_by_a_tenth() {
        for (at_once, slow, told) in [
            ([100.0, 100.0], [90.0, 110.0], "come 0 % slower; at most 10 % slower: as it should be"),
            ([80.0, 120.0], [80.0, 80.0], "come 20 % faster; at most 10 % slower: as it should be"),
            ([100.0, 100.0], [100.0, 124.0], "come 12 % slower; at most 10 % slower: TOO SLOW"),
        ] {
            assert_eq!(slowdown(&at_once, &slow).map(verdict).as_deref(), Some(told));
        }
        assert_eq!(slowdown(&[0.0], &[0.0]), None);
        assert_eq!(slowdown(&[], &[]), None);
    }
}
