//! `slow`: suites too long for every change.

use anyhow::Result;

use crate::project::Project;
use crate::test_run;

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
}

/// Reads the words after `slow`; the error says what was expected.
pub fn parse(words: &[&str]) -> Result<Suite, String> {
    match words {
        ["proptest", "--cases", cases] => match cases.parse::<u32>() {
            Ok(cases) if (1..=CASES_MAX).contains(&cases) => Ok(Suite::Proptest { cases }),
            Ok(_) | Err(_) => Err(format!("--cases takes a number from 1 to {CASES_MAX}, not `{cases}`")),
        },
        ["proptest", ..] => Err("slow proptest needs `--cases N`".to_owned()),
        [other, ..] => Err(format!("no such slow suite: `{other}`")),
        [] => Err("slow needs the name of a suite".to_owned()),
    }
}

/// Runs the suite.
pub fn run(project: &Project, suite: &Suite) -> Result<()> {
    match suite {
        Suite::Proptest { cases } => test_run::run(project, Some(*cases)),
    }
}
