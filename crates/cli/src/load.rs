//! `karwan load`.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::anyhow;
use tokio::time::sleep;

use crate::ask::NodeFlag;
use crate::exit::Outcome;
use crate::output;
use crate::progress::Progress as Bar;
use crate::runtime;
use crate::up::load::{Ask, Progress, Report};

const LOOK: Duration = Duration::from_millis(200);

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
/// Examples:
///   karwan load --bookings 1000
///   karwan load --bookings 1000 --lock-ms 5000 --json
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
    /// Print an object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeFlag,
}

pub fn run(args: &Args) -> Outcome {
    let node = args.node.node()?;
    runtime::block_on(async {
        let Args { bookings, tenants, rate, lifelike, lock_ms, .. } = *args;
        let ask = Ask { bookings, tenants, rate, lifelike, lock_ms };
        node.post::<()>("load", &ask).await?;
        let bar = Bar::new();
        let report = loop {
            match node.get::<Progress>("load").await? {
                Progress::Running { doing, done, total } => bar.tell(&doing, done as u64, total as u64),
                Progress::Done(report) => break report,
                Progress::Failed { why } => return Err(anyhow!("the load could not go on: {why}").into()),
                Progress::Idle => return Err(anyhow!("the node was started anew; the load is gone").into()),
            }
            sleep(LOOK).await;
        };
        drop(bar);
        if args.json {
            output::json(&report)?;
        } else {
            output::data(&text(&report))?;
        }
        Ok(if report.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
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
