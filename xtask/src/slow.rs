//! `slow`: suites too long for every change.

use anyhow::{Result, ensure};

use crate::command;
use crate::counts::Counts;
use crate::postgres_tool::{self, Postgres};
use crate::project::{Project, Scope};
use crate::test_run::{self, Selection, Tools};
use crate::trials::{self, TRIALS, Trials};
use crate::upgrade;

/// The versions of Postgres that the store is tested with: one of each row.
const POSTGRES: &[(&str, &[u32])] = &[("15 or 16", &[15, 16]), ("18", &[18])];

/// Packages whose tests start Postgres. One that does not exist is left out.
const POSTGRES_PACKAGES: &[&str] = &["karwan-store", "karwan-testkit"];

/// The most cases a property is run with: past this a run would not end within a day.
pub const CASES_MAX: u32 = 10_000_000;

/// Rounds of the tests with processes, where nothing else is said.
const ROUNDS: u32 = 15;
/// The most rounds: a round takes some seconds.
pub const ROUNDS_MAX: u32 = 10_000;

/// A long suite and its size.
#[derive(Debug, PartialEq, Eq)]
pub enum Suite {
    /// All tests, each property with this many cases.
    Proptest {
        /// Cases for each property.
        cases: u32,
    },
    /// The tests that start Postgres, with each version that is supported.
    Postgres,
    /// The tests that kill, stop and replace real processes, each doing so many times.
    Processes {
        /// Kills, stops or replacements of a test.
        rounds: u32,
    },
    /// Simulations of several processes, one a seed.
    Sim(Sim),
    /// Hotels, and services of one alone, one a seed: what must hold of bookings, rooms, money, keys, listings and figures.
    Hotel(Hotel),
    /// Nodes that are killed in the middle of everything that can go wrong with a booking.
    Kills(Kills),
    /// A rolling upgrade from the program of an older commit.
    Upgrade {
        /// The commit; where this branch left the base, where none is given.
        from: Option<String>,
    },
    /// `karwan chaos`: processes and servers are killed under load.
    Chaos(Chaos),
    /// `karwan chaos` without each of its rules, until it finds what goes wrong.
    Trials(Trials),
}

/// Which simulations.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sim {
    /// How many; one where none is given.
    pub seeds: Option<u64>,
    /// The first seed; drawn where none is given.
    pub seed: Option<u64>,
    /// A rule of the store that is left out, to see what goes wrong without it.
    pub without: Option<String>,
}

/// Which hotels.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hotel {
    /// How many.
    pub seeds: u64,
    /// The first seed; 1 where none is given.
    pub seed: Option<u64>,
}

/// The tests that play hotels, or a service of one, from seeds.
pub const HOTEL_TESTS: [&str; 4] = [
    "simulation::hotels_from_seeds_keep_every_rule",
    "lock::no_key_outlives_its_booking_and_no_room_has_two",
    "search::listings_equal_a_recomputation_from_the_log",
    "analytics::the_figures_equal_a_recomputation_from_the_log",
];

/// Which kills.
#[derive(Debug, PartialEq, Eq)]
pub struct Kills {
    /// So many of each fault, on each store.
    pub moments: u64,
    /// Decides when; drawn where none is given.
    pub seed: Option<u64>,
}

/// Moments of each fault, where nothing else is said.
const MOMENTS: u64 = 3;

/// What chaos does.
#[derive(Debug, PartialEq, Eq)]
pub struct Chaos {
    /// How many kills.
    pub kills: u64,
    /// Decides who and when; drawn where none is given.
    pub seed: Option<u64>,
    /// A rule that is left out, to see what goes wrong without it.
    pub without: Option<String>,
}

/// Kills of the slow suite, where nothing else is said.
const KILLS: u64 = 200;

/// The rules that a simulation can leave out.
const RULES: &[&str] = &["claim", "version", "epoch"];

/// Reads the words after `slow`; the error says what was expected.
pub fn parse(words: &[&str]) -> Result<Suite, String> {
    match words {
        ["proptest", "--cases", cases] => match cases.parse::<u32>() {
            Ok(cases) if (1..=CASES_MAX).contains(&cases) => Ok(Suite::Proptest { cases }),
            Ok(_) | Err(_) => Err(format!("--cases takes a number from 1 to {CASES_MAX}, not `{cases}`")),
        },
        ["processes"] => Ok(Suite::Processes { rounds: ROUNDS }),
        ["processes", "--rounds", rounds] => match rounds.parse::<u32>() {
            Ok(rounds) if (1..=ROUNDS_MAX).contains(&rounds) => Ok(Suite::Processes { rounds }),
            Ok(_) | Err(_) => Err(format!("--rounds takes a number from 1 to {ROUNDS_MAX}, not `{rounds}`")),
        },
        ["processes", ..] => Err("slow processes takes `--rounds N` or nothing".to_owned()),
        ["postgres"] => Ok(Suite::Postgres),
        ["sim", rest @ ..] => sim(rest).map(Suite::Sim),
        ["chaos", "--trials", rest @ ..] => trials(rest).map(Suite::Trials),
        ["chaos", rest @ ..] => chaos(rest).map(Suite::Chaos),
        ["hotel", rest @ ..] => hotel(rest).map(Suite::Hotel),
        ["kills", rest @ ..] => kills(rest).map(Suite::Kills),
        ["upgrade"] => Ok(Suite::Upgrade { from: None }),
        ["upgrade", "--from", commit] => Ok(Suite::Upgrade { from: Some((*commit).to_owned()) }),
        ["upgrade", ..] => Err("slow upgrade takes `--from COMMIT` or nothing".to_owned()),
        ["postgres", ..] => Err("slow postgres takes no more words".to_owned()),
        ["proptest", ..] => Err("slow proptest needs `--cases N`".to_owned()),
        [other, ..] => Err(format!("no such slow suite: `{other}`")),
        [] => Err("slow needs the name of a suite".to_owned()),
    }
}

fn sim(mut words: &[&str]) -> Result<Sim, String> {
    let mut sim = Sim::default();
    while let [option, value, rest @ ..] = words {
        let number = || value.parse().map_err(|_| format!("{option} takes a number, not `{value}`"));
        match *option {
            "--seeds" => sim.seeds = Some(number()?),
            "--seed" => sim.seed = Some(number()?),
            "--without" => sim.without = Some(rule(value, RULES)?),
            other => return Err(format!("slow sim does not know `{other}`")),
        }
        words = rest;
    }
    match words {
        [] if sim.seeds.is_some() || sim.seed.is_some() => Ok(sim),
        [] => Err("slow sim needs `--seeds N` or `--seed S`".to_owned()),
        [word, ..] => Err(format!("slow sim does not know `{word}`, or it needs a value")),
    }
}

fn hotel(words: &[&str]) -> Result<Hotel, String> {
    let number =
        |option: &str, value: &str| value.parse().map_err(|_| format!("{option} takes a number, not `{value}`"));
    match words {
        ["--seeds", seeds] => Ok(Hotel { seeds: number("--seeds", seeds)?, seed: None }),
        ["--seed", seed] => Ok(Hotel { seeds: 1, seed: Some(number("--seed", seed)?) }),
        ["--seeds", seeds, "--seed", seed] => {
            Ok(Hotel { seeds: number("--seeds", seeds)?, seed: Some(number("--seed", seed)?) })
        }
        _ => Err("slow hotel takes `--seeds N`, `--seed S`, or both".to_owned()),
    }
}

fn kills(mut words: &[&str]) -> Result<Kills, String> {
    let mut kills = Kills { moments: MOMENTS, seed: None };
    while let [option, value, rest @ ..] = words {
        let number = || value.parse().map_err(|_| format!("{option} takes a number, not `{value}`"));
        match *option {
            "--moments" => kills.moments = number()?,
            "--seed" => kills.seed = Some(number()?),
            other => return Err(format!("slow kills does not know `{other}`")),
        }
        words = rest;
    }
    match words {
        [] => Ok(kills),
        [word, ..] => Err(format!("slow kills does not know `{word}`, or it needs a value")),
    }
}

fn chaos(mut words: &[&str]) -> Result<Chaos, String> {
    let mut chaos = Chaos { kills: KILLS, seed: None, without: None };
    while let [option, value, rest @ ..] = words {
        let number = || value.parse().map_err(|_| format!("{option} takes a number, not `{value}`"));
        match *option {
            "--kills" => chaos.kills = number()?,
            "--seed" => chaos.seed = Some(number()?),
            "--without" => chaos.without = Some(rule(value, &chaos_rules())?),
            other => return Err(format!("slow chaos does not know `{other}`")),
        }
        words = rest;
    }
    match words {
        [] => Ok(chaos),
        [word, ..] => Err(format!("slow chaos does not know `{word}`, or it needs a value")),
    }
}

fn trials(mut words: &[&str]) -> Result<Trials, String> {
    let mut trials = Trials::default();
    while let [option, value, rest @ ..] = words {
        let number = || match value.parse() {
            Ok(number) if number > 0 => Ok(number),
            Ok(_) | Err(_) => Err(format!("{option} takes a number from 1 on, not `{value}`")),
        };
        match *option {
            "--kills" => trials.kills = number()?,
            "--seeds" => trials.seeds = number()?,
            "--seed" => trials.seed = number()?,
            "--without" => trials.without = Some(rule(value, &chaos_rules())?),
            other => return Err(format!("slow chaos --trials does not know `{other}`")),
        }
        words = rest;
    }
    match words {
        [] => Ok(trials),
        [word, ..] => Err(format!("slow chaos --trials does not know `{word}`, or it needs a value")),
    }
}

/// The rules that chaos can go without.
fn chaos_rules() -> Vec<&'static str> {
    TRIALS.iter().map(|trial| trial.rule).collect()
}

fn rule(value: &str, rules: &[&str]) -> Result<String, String> {
    let known = rules.contains(&value);
    known.then(|| value.to_owned()).ok_or_else(|| format!("--without takes one of {}, not `{value}`", rules.join(", ")))
}

/// Runs the suite.
pub fn run(project: &Project, suite: &Suite) -> Result<()> {
    match suite {
        Suite::Proptest { cases } => test_run::run(project, Some(*cases)),
        Suite::Postgres => postgres(project),
        Suite::Processes { rounds } => processes(project, *rounds),
        Suite::Sim(sim) => simulate(project, sim),
        Suite::Chaos(chaos) => make_chaos(project, chaos),
        Suite::Trials(trials) => trials::run(project, trials),
        Suite::Hotel(hotel) => play_hotels(project, hotel),
        Suite::Kills(kills) => kill_nodes(project, kills),
        Suite::Upgrade { from } => upgrade::run(project, from.as_deref()),
    }
}

fn processes(project: &Project, rounds: u32) -> Result<()> {
    let tools = Tools::find_or_install()?;
    for (package, only) in [("karwan-engine", "processes::"), ("karwan-cli", "up::kill::")] {
        let selection = Selection { packages: &[package], only: Some(only), rounds: Some(rounds), cases: None };
        test_run::conclude(&test_run::count(project, &tools, &selection)?)?;
    }
    Ok(())
}

/// The testkit's own program plays the seeds: it prints the first one, and at the first that goes wrong what is wrong.
fn simulate(project: &Project, sim: &Sim) -> Result<()> {
    let mut command = project.cargo(&["run", "--quiet", "--package", "karwan-testkit", "--bin", "simulate", "--"]);
    let numbers = [("--seeds", sim.seeds), ("--seed", sim.seed)];
    for (option, value) in numbers.into_iter().filter_map(|(option, value)| Some((option, value?))) {
        command.args([option, &value.to_string()]);
    }
    if let Some(rule) = &sim.without {
        command.args(["--without", rule]);
    }
    command::run(command)
}

/// The platform's own tests play the seeds, optimised: a seed is all processor time. One that breaks a rule is named with it.
fn play_hotels(project: &Project, hotel: &Hotel) -> Result<()> {
    let mut command = project.cargo(&["test", "--release", "--quiet", "--package", "melmastoon", "--test", "it", "--"]);
    command.args(["--exact", "--nocapture"]).args(HOTEL_TESTS).env("KARWAN_HOTEL_SEEDS", hotel.seeds.to_string());
    if let Some(seed) = hotel.seed {
        command.env("KARWAN_HOTEL_SEED", seed.to_string());
    }
    command::run(command)
}

/// The node's own test, without the limit of time that tests have together; it prints its seed.
fn kill_nodes(project: &Project, kills: &Kills) -> Result<()> {
    let test = "up::faults::killed_in_the_middle_everything_ends_as_it_should";
    let mut command = project.cargo(&["test", "--quiet", "--package", "karwan-cli", "--test", "it", "--"]);
    command.args(["--exact", test, "--nocapture"]).env("KARWAN_KILL_MOMENTS", kills.moments.to_string());
    if let Some(seed) = kills.seed {
        command.env("KARWAN_KILL_SEED", seed.to_string());
    }
    Tools::find_or_install()?.name_servers(&mut command);
    command::run(command)
}

/// The program itself; a rule can be left out of one that was built for it alone.
fn make_chaos(project: &Project, chaos: &Chaos) -> Result<()> {
    let trial: &[&str] = if chaos.without.is_some() { &["--features", "trial"] } else { &[] };
    let mut command = project.cargo(&["run", "--quiet", "--package", "karwan-cli"]);
    command.args(trial).args(["--", "chaos", "--kills", &chaos.kills.to_string()]);
    if let Some(seed) = chaos.seed {
        command.args(["--seed", &seed.to_string()]);
    }
    if let Some(rule) = &chaos.without {
        command.args(["--without", rule]);
    }
    Tools::find_or_install()?.name_servers(&mut command);
    command::run(command)
}

fn postgres(project: &Project) -> Result<()> {
    let metadata = project.metadata(Scope::OurPackages)?;
    let ours: Vec<&str> =
        metadata["packages"].as_array().into_iter().flatten().filter_map(|package| package["name"].as_str()).collect();
    let packages: Vec<&str> = POSTGRES_PACKAGES.iter().copied().filter(|package| ours.contains(package)).collect();
    ensure!(!packages.is_empty(), "none of the packages {POSTGRES_PACKAGES:?} exists");
    let mut counts = Counts::default();
    let mut missing = Vec::new();
    for (version, majors) in POSTGRES {
        let postgres = postgres_tool::find_or_install_one_of(majors);
        match &postgres {
            Postgres::Found(bin) => {
                eprintln!("== Postgres {version}: {}", bin.display());
                let tools = Tools { postgres, ..Tools::find_or_install()? };
                counts.add(test_run::count(
                    project,
                    &tools,
                    &Selection { packages: &packages, ..Selection::default() },
                )?);
            }
            Postgres::Missing(reason) => missing.push(format!("skipped: all tests with Postgres {version}: {reason}")),
        }
    }
    for line in &missing {
        eprintln!("{line}");
    }
    counts.skipped += missing.len() as u64;
    test_run::conclude(&counts)
}
