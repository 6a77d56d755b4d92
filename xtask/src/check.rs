//! `check`: lint, then test; both run, whatever the first says.

use anyhow::{Result, bail};

use crate::project::Project;
use crate::{lint, test_run};

/// Runs both halves, so that one run shows everything that is wrong.
pub fn run(project: &Project) -> Result<()> {
    let lint = lint::run(project);
    if let Err(error) = &lint {
        eprintln!("xtask: {error:#}");
    }
    let test = test_run::run(project, None);
    match (lint, test) {
        (Ok(()), test) => test,
        (Err(_), Ok(())) => bail!("lint failed, the tests passed"),
        (Err(_), Err(error)) => Err(error.context("lint failed, and so did the tests")),
    }
}
