//! `test`: finds or installs what the tests need, runs them, and counts.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command;
use crate::counts::{Counts, Runner, skipped_tests};
use crate::project::Project;
use crate::python_tool::{self, Python};
use crate::steps::timed;

/// Runs all tests, each property with `cases` cases when given. The last line of stdout is the count.
pub fn run(project: &Project, cases: Option<u32>) -> Result<()> {
    let python = timed("test: tools", || Ok(python_tool::find_or_install()))?;
    let skips = Skips::new()?;
    let mut counts = Counts::default();
    let mut broken = Vec::new();
    for (name, runner, mut suite) in suites(project) {
        equip(&mut suite, &python, &skips, cases);
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
    if let Python::Missing(reason) = &python {
        eprintln!("not available: Python with the CloudEvents SDK: {reason}");
    }
    for (test, reason) in &skipped {
        eprintln!("skipped: {test}: {reason}");
    }
    for reason in &broken {
        eprintln!("failed: {reason}");
    }
    println!("{counts}");
    if counts.failed > 0 {
        bail!("tests failed");
    }
    Ok(())
}

/// What to run. nextest runs no doctests, so they are a suite of their own beside it.
fn suites(project: &Project) -> Vec<(&'static str, Runner, Command)> {
    let nextest = command::output(project.cargo(&["nextest", "--version"])).is_ok();
    let doctests =
        ("doctests", Runner::Libtest, project.cargo(&["test", "--quiet", "--doc", "--workspace", "--no-fail-fast"]));
    if nextest {
        let args = ["nextest", "run", "--workspace", "--no-fail-fast", "--no-tests=pass", "--status-level=fail"];
        return vec![("nextest", Runner::Nextest, project.cargo(&args)), doctests];
    }
    let args = ["test", "--quiet", "--workspace", "--lib", "--bins", "--tests", "--examples", "--no-fail-fast"];
    vec![("cargo test", Runner::Libtest, project.cargo(&args)), doctests]
}

fn equip(suite: &mut Command, python: &Python, skips: &Skips, cases: Option<u32>) {
    suite.env("KARWAN_SKIPS", &skips.file);
    match python {
        Python::Found(path) => suite.env("KARWAN_PYTHON", path).env_remove("KARWAN_PYTHON_MISSING"),
        Python::Missing(reason) => suite.env_remove("KARWAN_PYTHON").env("KARWAN_PYTHON_MISSING", reason),
    };
    if let Some(cases) = cases {
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
