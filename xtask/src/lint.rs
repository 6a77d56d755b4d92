//! `lint`: everything that can be judged without running the tests.

use anyhow::{Context, Result};

use crate::command;
use crate::finding::settle;
use crate::project::Project;
use crate::steps::{Step, run_all};
use crate::{gates, licences, markdown, requirements, tidy};

/// The steps, cheap ones first; the names are what the ledger may cite as `lint:<name>`.
pub const STEPS: &[Step] = &[
    Step { name: "fmt", run: fmt },
    Step { name: "requirements", run: requirements::verify },
    Step { name: "licences", run: licences::run },
    Step { name: "clippy", run: clippy },
    Step { name: "docs", run: docs },
    Step { name: "tidy", run: tidy::run },
    Step { name: "gates", run: gates::run },
];

/// Runs all steps and reports all failures.
pub fn run(project: &Project) -> Result<()> {
    run_all(project, "lint", STEPS)
}

fn fmt(project: &Project) -> Result<()> {
    command::run(project.cargo(&["fmt", "--all", "--check"])).context("`cargo fmt --all` repairs it")
}

fn clippy(project: &Project) -> Result<()> {
    command::run(project.cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    // What trials leave out is in no program that is shipped, and must not rot.
    command::run(project.cargo(&["check", "--quiet", "--package", "karwan", "--features", "trial"]))
}

fn docs(project: &Project) -> Result<()> {
    let links = settle(markdown::broken_references(&project.files()?));
    let mut rustdoc = project.cargo(&["doc", "--quiet", "--workspace", "--no-deps"]);
    rustdoc.env("RUSTDOCFLAGS", "-D warnings");
    let rustdoc = command::run(rustdoc);
    links.context("links in the documents")?;
    rustdoc
}
