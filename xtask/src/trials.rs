//! `slow chaos --trials`: a check that cannot fail shows nothing. One rule after the other is left out of the program, and chaos
//! must find what goes wrong without it, at every place where the rule matters.

use std::collections::BTreeSet;
use std::fmt;
use std::process::Output;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::project::Project;
use crate::test_run::Tools;

/// A rule, and where it is missed.
#[derive(Debug, PartialEq, Eq)]
pub struct Trial {
    /// As `karwan chaos --without` calls it.
    pub rule: &'static str,
    /// How the places begin, in the words of the report, that must each be seen red.
    pub places: &'static [&'static str],
}

const FROM_LOG: &str = "what guide-service applied from the log";
const FROM_STREAM: &str = "what watch-service applied from the stream";
const STREAMS: &str = "the stream";
const FOLLOWERS: &str = "what ";

/// Every rule that chaos can go without. Whoever follows from the log and whoever follows from a stream have halves of the first
/// two, which must be seen red one by one. An epoch is checked by the database, in the same way for both.
pub const TRIALS: &[Trial] = &[
    Trial { rule: "ack", places: &[FROM_LOG, FROM_STREAM] },
    Trial { rule: "park", places: &[FROM_LOG, FROM_STREAM] },
    Trial { rule: "sequence", places: &[STREAMS] },
    Trial { rule: "epoch", places: &[FOLLOWERS] },
];

/// How much is tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trials {
    /// Kills with each seed.
    pub kills: u64,
    /// So many seeds at most for each rule.
    pub seeds: u64,
    /// The first seed.
    pub seed: u64,
    /// This rule alone.
    pub without: Option<String>,
}

impl Default for Trials {
    fn default() -> Self {
        // Its race is so narrow that of five seeds without an epoch three went well.
        Self { kills: 40, seeds: 12, seed: 1, without: None }
    }
}

/// What one run of chaos says.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing went wrong.
    Well,
    /// Something did, at these places.
    Red(Vec<String>),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Well => f.write_str("well"),
            Self::Red(places) if places.is_empty() => f.write_str("red in documents alone"),
            Self::Red(places) => write!(f, "red in {}", places.join(", ")),
        }
    }
}

/// Reads a report of `karwan chaos`; none where it is not one.
pub fn verdict(report: &str) -> Option<Verdict> {
    // Events, and four kinds of harm.
    const NUMBERS: usize = 5;
    if report.contains("well: ") {
        return Some(Verdict::Well);
    }
    report.contains("not well").then_some(())?;
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (place, numbers) = words.split_at(words.len().checked_sub(NUMBERS)?);
        let numbers: Vec<u64> = numbers.iter().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        (!place.is_empty() && numbers[1..].iter().any(|harm| *harm > 0)).then(|| place.join(" "))
    };
    Some(Verdict::Red(report.lines().filter_map(row).collect()))
}

/// What is still to be seen red.
pub fn missing<'a>(trial: &'a Trial, red: &BTreeSet<String>) -> Vec<&'a str> {
    let seen = |place: &&&str| red.iter().any(|red| red.starts_with(**place));
    trial.places.iter().filter(|place| !seen(place)).copied().collect()
}

/// Runs all of them; fails where a rule was not missed.
pub fn run(project: &Project, trials: &Trials) -> Result<()> {
    let tools = Tools::find_or_install()?;
    let meant = |trial: &&Trial| trials.without.as_deref().is_none_or(|rule| rule == trial.rule);
    let mut unmissed = Vec::new();
    for trial in TRIALS.iter().filter(meant) {
        let left = try_one(project, &tools, trial, trials)?;
        if !left.is_empty() {
            unmissed.push(format!("{} ({})", trial.rule, left.join(", ")));
        }
    }
    ensure!(unmissed.is_empty(), "chaos did not miss: {}", unmissed.join("; "));
    Ok(())
}

fn try_one<'a>(project: &Project, tools: &Tools, trial: &'a Trial, trials: &Trials) -> Result<Vec<&'a str>> {
    let Trials { kills, seeds, seed, .. } = trials;
    let mut red = BTreeSet::new();
    for (number, seed) in (*seed..).take(usize::try_from(*seeds).unwrap_or(usize::MAX)).enumerate() {
        eprintln!("== without {}: {kills} kills, seed {seed} ({} of {seeds})", trial.rule, number + 1);
        let began = Instant::now();
        let verdict = chaos(project, tools, trial.rule, *kills, seed)?;
        println!("without {}, seed {seed}: {verdict} ({:.0} s)", trial.rule, began.elapsed().as_secs_f64());
        if let Verdict::Red(places) = verdict {
            red.extend(places);
        }
        if missing(trial, &red).is_empty() {
            break;
        }
    }
    Ok(missing(trial, &red))
}

/// The program that is built for it. What it prints on the way is shown where it fails alone.
fn chaos(project: &Project, tools: &Tools, rule: &str, kills: u64, seed: u64) -> Result<Verdict> {
    let mut command = project.cargo(&["run", "--quiet", "--package", "karwan-cli", "--features", "trial", "--"]);
    command.args(["chaos", "--kills", &kills.to_string(), "--seed", &seed.to_string(), "--without", rule]);
    tools.name_servers(&mut command);
    let Output { status, stdout, stderr } = command.output().context("starting `karwan chaos`")?;
    let (report, said) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    match verdict(&report) {
        Some(verdict) => Ok(verdict),
        None => bail!("`karwan chaos --without {rule} --seed {seed}` ended with {status}: {}", said.trim()),
    }
}
