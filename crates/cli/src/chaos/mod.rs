//! `karwan chaos`: real processes and servers under load, killed by a plan that a seed decides, and judged by a ledger outside
//! of every database.
//!
//! Two producers commit; two relays publish; two guides apply what lies in the log; two watches apply what comes by the stream,
//! into a database of their own. All are processes of this program. They, both databases and the broker are killed with -9
//! and come back; whoever holds leases is also stopped for about the life of one.
//!
//! Not here: power cuts and broken disks. What a killed server wrote, the system keeps.

pub mod actor;
mod ledger;
mod plan;
mod platform;
mod producer;
mod trial;
mod verdict;
mod witness;
mod yard;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use karwan_envelope::mint::{OsRandom, Random as _};

use self::ledger::Ledger;
use self::plan::{Act, Deed, Size, plan};
use self::verdict::{Violation, Wrong, judge};
use self::witness::{PLACES, Witness};
use self::yard::Yard;
use crate::exit::{Failure, Outcome};
use crate::output::{self, Paint};
use crate::progress::Progress;
use crate::runtime;

/// So many violations are named; the table counts all.
const NAMED_MAX: usize = 20;
/// Kills where neither their number nor a time is given.
const KILLS: u64 = 20;

/// Kill processes, databases and a broker under load, and see that nothing is lost
///
/// Starts private Postgres and NATS servers, and producers, relays and consumers as
/// processes of their own. They are killed with -9 and come back, one after the other
/// and together, by a plan that follows from the seed. In the end everything that was
/// committed, by a ledger outside of the databases, must be in the log, in the streams
/// and applied by every consumer: once, and in order for each key. Nothing that runs
/// already is touched. Exit code 1 means that something was lost, doubled or reordered.
///
/// Examples:
///   karwan chaos
///   karwan chaos --kills 200 --seed 7
///   karwan chaos --minutes 30
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// How many kills; 20 where no time is given either
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    kills: Option<u64>,
    /// What decides who is killed and when; drawn and printed where none is given
    #[arg(long)]
    seed: Option<u64>,
    /// No kill after so many minutes
    #[arg(long, value_parser = minutes)]
    minutes: Option<f64>,
    /// Leave a rule out, to see what goes wrong without it
    #[cfg(feature = "trial")]
    #[arg(long)]
    without: Option<trial::Rule>,
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse().ok().filter(|minutes| (0.01..=10_000.0).contains(minutes));
    minutes.ok_or_else(|| format!("`{text}` is not a number of minutes from 0.01 to 10000"))
}

impl Args {
    #[cfg(feature = "trial")]
    fn without(&self) -> Option<trial::Rule> {
        self.without
    }

    #[cfg(not(feature = "trial"))]
    fn without(&self) -> Option<trial::Rule> {
        None
    }

    fn size(&self) -> Size {
        let kills = self.kills.unwrap_or(if self.minutes.is_some() { u64::MAX } else { KILLS });
        Size { kills, ms: self.minutes.map_or(u64::MAX, |minutes| (minutes * 60_000.0) as u64) }
    }
}

pub fn run(args: &Args) -> Outcome {
    // Short enough to be typed.
    let seed = args.seed.unwrap_or_else(|| OsRandom.bits() % 1_000_000_000);
    output::note(&format!("seed {seed}"));
    runtime::block_on(async {
        let mut yard = Yard::new(args.without()).await?;
        let done = tokio::select! {
            done = chaos(args, seed, &mut yard) => done,
            _ = tokio::signal::ctrl_c() => {
                yard.remove()?;
                return Err(anyhow!("interrupted; everything that was started is gone").into());
            }
        };
        match done {
            Ok(report) if report.is_well() => {
                yard.remove()?;
                report.print()
            }
            Ok(report) => {
                let folder = yard.keep();
                report.print()?;
                output::note(&format!("again: {}", again(args, seed)));
                output::note(&format!("the ledger and what the processes said: {}", folder.display()));
                Ok(ExitCode::FAILURE)
            }
            Err(failure) => {
                let folder = yard.keep();
                output::note(&format!("what the processes said: {}", folder.display()));
                Err(failure)
            }
        }
    })
}

fn again(args: &Args, seed: u64) -> String {
    let mut text = format!("karwan chaos --seed {seed}");
    let (kills, minutes) = (args.kills.map(|it| it.to_string()), args.minutes.map(|it| it.to_string()));
    for (option, value) in [("kills", kills), ("minutes", minutes)] {
        if let Some(value) = value {
            write!(text, " --{option} {value}").expect("a string takes any text");
        }
    }
    text
}

async fn chaos(args: &Args, seed: u64, yard: &mut Yard) -> Result<Report, Failure> {
    let progress = Progress::new();
    progress.tell("starting", 0, 1);
    yard.begin()?;
    let mut witness = Witness::of(yard).await?;
    witness.first().await?;
    if witness.trails().iter().any(|trails| trails.count() == 0) {
        return Err(anyhow!("the processes do not work, before anything was done to them").into());
    }
    drop(witness);
    output::note("everybody works");
    let deeds = plan(seed, args.size(), &yard.cast(), actor::LEASE_MS);
    let began = Instant::now();
    let counts = play(&deeds, yard, &progress).await?;
    let seconds = began.elapsed().as_secs_f64();
    progress.tell("finishing", 0, 1);
    output::note("the producers finish what they began");
    yard.end(true)?;
    let ledger = Ledger::read(&yard.ledger())?;
    let mut witness = Witness::of(yard).await?;
    progress.tell("looking", 0, 1);
    output::note("looking for what was committed");
    witness.all(&ledger).await?;
    // Whoever still does something does it now, where it is seen.
    yard.end(false)?;
    witness.look().await?;
    let trails = witness.trails();
    let violations = PLACES.iter().zip(trails).flat_map(|(place, trails)| judge(place, trails, &ledger)).collect();
    let seen = trails.map(verdict::Trails::count);
    Ok(Report { seed, counts, seconds, committed: ledger.committed(), seen, violations, torn: witness.torn().await? })
}

/// How often something was done to whom.
#[derive(Default)]
struct Counts {
    kills: BTreeMap<String, u64>,
    stops: u64,
}

async fn play(deeds: &[Deed], yard: &mut Yard, progress: &Progress) -> Result<Counts, Failure> {
    let mut counts = Counts::default();
    let total = deeds.iter().filter(|deed| deed.act == Act::Kill).count() as u64;
    let began = tokio::time::Instant::now();
    for Deed { at_ms, victim, act } in deeds.iter().copied() {
        tokio::time::sleep_until(began + Duration::from_millis(at_ms)).await;
        tokio::task::block_in_place(|| yard.act(victim, act))?;
        let name = yard.name(victim).to_owned();
        let seconds = began.elapsed().as_secs_f64();
        match act {
            Act::Kill => {
                output::note(&format!("{seconds:6.1} s  kill -9 {name}"));
                *counts.kills.entry(name).or_default() += 1;
                progress.tell("kills", counts.kills.values().sum(), total);
            }
            Act::Freeze => {
                output::note(&format!("{seconds:6.1} s  stop {name}"));
                counts.stops += 1;
            }
            Act::Start | Act::Thaw => {}
        }
    }
    Ok(counts)
}

/// What came of it.
struct Report {
    seed: u64,
    counts: Counts,
    seconds: f64,
    committed: u64,
    seen: [usize; 5],
    violations: Vec<Violation>,
    torn: Vec<String>,
}

impl Report {
    fn is_well(&self) -> bool {
        self.violations.is_empty() && self.torn.is_empty()
    }

    fn print(&self) -> Outcome {
        output::data(&self.text(Paint::stdout()))?;
        Ok(ExitCode::SUCCESS)
    }

    fn text(&self, paint: Paint) -> String {
        let Self { seed, counts, seconds, committed, .. } = self;
        let kills: u64 = counts.kills.values().sum();
        let who: Vec<String> = counts.kills.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let mut text = format!(
            "seed {seed}: {kills} kills ({}) and {} stops in {seconds:.1} s; {committed} events committed\n",
            who.join(", "),
            counts.stops
        );
        let header: Vec<&str> = ["PLACE", "EVENTS"].into_iter().chain(Wrong::ALL.map(Wrong::word)).collect();
        let rows = PLACES.iter().zip(self.seen).map(|(place, seen)| {
            let wrong = Wrong::ALL.map(|wrong| {
                let found = self.violations.iter().filter(|it| it.place == *place && it.wrong == wrong);
                found.count().to_string()
            });
            [(*place).to_owned(), seen.to_string()].into_iter().chain(wrong).collect()
        });
        text.push_str(&output::table(&header, &rows.collect::<Vec<_>>(), paint));
        text.push('\n');
        let named = self.violations.iter().map(Violation::to_string).chain(self.torn.iter().cloned());
        for violation in named.clone().take(NAMED_MAX) {
            text.push_str(&format!("  {violation}\n"));
        }
        let more = named.count().saturating_sub(NAMED_MAX);
        if more > 0 {
            text.push_str(&format!("  and {more} more\n"));
        }
        text.push_str(&if self.is_well() {
            paint.green("well: nothing is lost, applied twice or out of order")
        } else {
            paint.red("not well")
        });
        text
    }
}
