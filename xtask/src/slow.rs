//! `slow`: suites too long for every change.

use anyhow::{Result, ensure};

use crate::counts::Counts;
use crate::postgres_tool::{self, Postgres};
use crate::project::{Project, Scope};
use crate::python_tool;
use crate::test_run::{self, Selection, Tools};

/// The versions of Postgres that the store is tested with: one of each row.
const POSTGRES: &[(&str, &[u32])] = &[("15 or 16", &[15, 16]), ("18", &[18])];

/// Packages whose tests start Postgres. One that does not exist is left out.
const POSTGRES_PACKAGES: &[&str] = &["karwan-store", "karwan-testkit"];

/// The most cases a property is run with: past this a run would not end within a day.
pub const CASES_MAX: u32 = 10_000_000;

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
}

/// Reads the words after `slow`; the error says what was expected.
pub fn parse(words: &[&str]) -> Result<Suite, String> {
    match words {
        ["proptest", "--cases", cases] => match cases.parse::<u32>() {
            Ok(cases) if (1..=CASES_MAX).contains(&cases) => Ok(Suite::Proptest { cases }),
            Ok(_) | Err(_) => Err(format!("--cases takes a number from 1 to {CASES_MAX}, not `{cases}`")),
        },
        ["postgres"] => Ok(Suite::Postgres),
        ["postgres", ..] => Err("slow postgres takes no more words".to_owned()),
        ["proptest", ..] => Err("slow proptest needs `--cases N`".to_owned()),
        [other, ..] => Err(format!("no such slow suite: `{other}`")),
        [] => Err("slow needs the name of a suite".to_owned()),
    }
}

/// Runs the suite.
pub fn run(project: &Project, suite: &Suite) -> Result<()> {
    match suite {
        Suite::Proptest { cases } => test_run::run(project, Some(*cases)),
        Suite::Postgres => postgres(project),
    }
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
                let tools = Tools { python: python_tool::find_or_install(), postgres };
                counts.add(test_run::count(project, &tools, &Selection { packages: &packages, cases: None })?);
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
