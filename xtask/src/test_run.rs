//! `test`: finds or installs what the tests need, runs them, and counts.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command;
use crate::counts::{Counts, Runner, skipped_tests};
use crate::nats_tool::{self, Nats};
use crate::postgres_tool::{self, Postgres};
use crate::project::Project;
use crate::promtool_tool::{self, Promtool};
use crate::python_tool::{self, Python};
use crate::steps::timed;

/// What the tests need and a machine may lack.
pub struct Tools {
    /// Judges one test.
    pub python: Python,
    /// The server of the store.
    pub postgres: Postgres,
    /// The broker.
    pub nats: Nats,
    /// Judges the text of metrics.
    pub promtool: Promtool,
}

impl Tools {
    /// Finds or installs them.
    pub fn find_or_install() -> Result<Self> {
        timed("test: tools", || {
            Ok(Self {
                python: python_tool::find_or_install(),
                postgres: postgres_tool::find_or_install(),
                nats: nats_tool::find_or_install(),
                promtool: promtool_tool::find_or_install(),
            })
        })
    }

    /// Names the servers in the environment of a program that starts some.
    pub fn name_servers(&self, command: &mut Command) {
        let servers = [postgres_tool::variables(&self.postgres), nats_tool::variables(&self.nats)];
        for (name, value) in servers.into_iter().flatten() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }
}

/// Which tests run, and how.
#[derive(Default)]
pub struct Selection<'a> {
    /// Of these packages alone; of all when empty.
    pub packages: &'a [&'a str],
    /// Cases for each property, when not the usual number.
    pub cases: Option<u32>,
    /// Those alone whose name contains this.
    pub only: Option<&'a str>,
    /// What is done to processes, so many times, when not the usual number.
    pub rounds: Option<u32>,
}

/// Runs all tests, each property with `cases` cases when given. The last line of stdout is the count.
pub fn run(project: &Project, cases: Option<u32>) -> Result<()> {
    let tools = Tools::find_or_install()?;
    let counts = count(project, &tools, &Selection { cases, ..Selection::default() })?;
    conclude(&counts)
}

/// Prints the count and fails when a test did.
pub fn conclude(counts: &Counts) -> Result<()> {
    println!("{counts}");
    if counts.failed > 0 {
        bail!("tests failed");
    }
    Ok(())
}

/// Runs the selected tests, says what was skipped and what failed, and counts.
pub fn count(project: &Project, tools: &Tools, selection: &Selection<'_>) -> Result<Counts> {
    let skips = Skips::new()?;
    let mut counts = Counts::default();
    let mut broken = Vec::new();
    for (name, runner, mut suite) in suites(project, selection) {
        equip(&mut suite, tools, &skips, selection);
        let before = counts;
        let ended = timed(&format!("test: {name}"), || {
            let status = command::follow(suite, |line| counts.read_line(runner, line))?;
            if status.success() { Ok(()) } else { bail!("{name} ended with {status}") }
        });
        if let Err(error) = ended {
            broken.push(format!("{error:#}"));
            // What was not even built ran no test that could be counted as failed.
            if counts.failed == before.failed {
                counts.failed += 1;
            }
        }
    }
    let skipped = skips.read()?;
    counts.set_skipped(skipped.len() as u64);
    if let Python::Missing(reason) = &tools.python {
        eprintln!("not available: Python with the CloudEvents SDK: {reason}");
    }
    if let Postgres::Missing(reason) = &tools.postgres {
        eprintln!("not available: Postgres: {reason}");
    }
    if let Nats::Missing(reason) = &tools.nats {
        eprintln!("not available: NATS: {reason}");
    }
    if let Promtool::Missing(reason) = &tools.promtool {
        eprintln!("not available: promtool: {reason}");
    }
    for (test, reason) in &skipped {
        eprintln!("skipped: {test}: {reason}");
    }
    for reason in &broken {
        eprintln!("failed: {reason}");
    }
    Ok(counts)
}

/// What to run. nextest runs no doctests, so they are a suite of their own beside it.
fn suites(project: &Project, selection: &Selection<'_>) -> Vec<(&'static str, Runner, Command)> {
    let cargo = |args: &[&str]| {
        let mut command = project.cargo(args);
        match selection.packages {
            [] => command.arg("--workspace"),
            some => command.args(some.iter().flat_map(|package| ["--package", package])),
        };
        command.args(selection.only);
        command
    };
    let nextest = command::output(project.cargo(&["nextest", "--version"])).is_ok();
    let doctests = ("doctests", Runner::Libtest, cargo(&["test", "--quiet", "--doc", "--no-fail-fast"]));
    if nextest {
        let args = ["nextest", "run", "--no-fail-fast", "--no-tests=pass", "--status-level=fail"];
        return vec![("nextest", Runner::Nextest, cargo(&args)), doctests];
    }
    let args = ["test", "--quiet", "--lib", "--bins", "--tests", "--examples", "--no-fail-fast"];
    vec![("cargo test", Runner::Libtest, cargo(&args)), doctests]
}

fn equip(suite: &mut Command, tools: &Tools, skips: &Skips, selection: &Selection<'_>) {
    suite.env("KARWAN_SKIPS", &skips.file);
    match &tools.python {
        Python::Found(path) => suite.env("KARWAN_PYTHON", path).env_remove("KARWAN_PYTHON_MISSING"),
        Python::Missing(reason) => suite.env_remove("KARWAN_PYTHON").env("KARWAN_PYTHON_MISSING", reason),
    };
    match &tools.promtool {
        Promtool::Found(path) => suite.env("KARWAN_PROMTOOL", path).env_remove("KARWAN_PROMTOOL_MISSING"),
        Promtool::Missing(reason) => suite.env_remove("KARWAN_PROMTOOL").env("KARWAN_PROMTOOL_MISSING", reason),
    };
    tools.name_servers(suite);
    if let Some(rounds) = selection.rounds {
        suite.env("KARWAN_PROCESS_ROUNDS", rounds.to_string());
    }
    if let Some(cases) = selection.cases {
        suite.env("PROPTEST_CASES", cases.to_string());
    }
}

/// The file in which tests write that they were skipped.
struct Skips {
    file: PathBuf,
}

impl Skips {
    fn new() -> Result<Self> {
        let file = std::env::temp_dir().join(format!("karwan-skips-{}", std::process::id()));
        std::fs::write(&file, "").with_context(|| format!("creating {}", file.display()))?;
        Ok(Self { file })
    }

    fn read(&self) -> Result<Vec<(String, String)>> {
        let lines = std::fs::read_to_string(&self.file).with_context(|| format!("reading {}", self.file.display()))?;
        Ok(skipped_tests(&lines))
    }
}

impl Drop for Skips {
    fn drop(&mut self) {
        // A small file left behind in the temporary directory harms nobody.
        let _ = std::fs::remove_file(&self.file);
    }
}
