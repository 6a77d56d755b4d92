//! Runs named steps to the end, times them, and lists at the end those that failed.

use std::time::Instant;

use anyhow::{Result, bail};

use crate::project::Project;

/// One part of a verb.
pub struct Step {
    /// Its name, as printed and as `lint:<name>` in the ledger.
    pub name: &'static str,
    /// What it does; the error says why it failed.
    pub run: fn(&Project) -> Result<()>,
}

/// Runs every step, also after a failure.
pub fn run_all(project: &Project, verb: &str, steps: &[Step]) -> Result<()> {
    let mut failed = Vec::new();
    for step in steps {
        if let Err(error) = timed(&format!("{verb}: {}", step.name), || (step.run)(project)) {
            failed.push(format!("{}: {error:#}", step.name));
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    let indented = failed.join("\n").replace('\n', "\n  ");
    bail!("{verb}: {} of {} steps failed\n  {indented}", failed.len(), steps.len())
}

/// Prints the name before and the duration after.
pub fn timed<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("== {name}");
    let started = Instant::now();
    let outcome = work();
    let verdict = match &outcome {
        Ok(_) => "ok",
        Err(_) => "FAILED",
    };
    eprintln!("== {name}: {verdict} in {:.1} s", started.elapsed().as_secs_f64());
    outcome
}
