//! `slow upgrade`: a rolling upgrade from a program that is really older.
//!
//! The tests of every change replace processes by such with other flags, built from the same source. Here the release before is built
//! from an older commit, engine and store included, and the same tests replace its processes by those of this source, and back.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::command;
use crate::gates::{base_commit, check_out, commit};
use crate::project::{Project, Scope};
use crate::test_run::Tools;

/// Builds the older program and runs the tests with it.
pub fn run(project: &Project, from: Option<&str>) -> Result<()> {
    let base = match from {
        Some(name) => commit(project, name).with_context(|| format!("there is no commit `{name}`"))?,
        None => base_commit(project)?.context("there is no earlier commit here")?,
    };
    let metadata = project.metadata(Scope::OurPackages)?;
    let target = metadata["target_directory"].as_str().context("cargo names no target directory")?;
    // A place that stays, so that cargo finds there what it has built.
    let place = Path::new(target).join("upgrade").join(&base);
    if !place.join("Cargo.toml").exists() {
        check_out(project, &base, &place)?;
    }
    let older = built(project, &place)?;
    eprintln!("the release before is of commit {base}");
    let mut command = project.cargo(&["test", "--quiet", "--package", "karwan-engine", "--test", "it", "--"]);
    command.args(["processes::rolling::a_rolling_upgrade", "--nocapture", "--test-threads", "1"]);
    command.env("KARWAN_OLDER_PROGRAM", older);
    Tools::find_or_install()?.name_servers(&mut command);
    command::run(command)
}

/// The program that the engine's tests start, built from another source.
fn built(project: &Project, place: &Path) -> Result<PathBuf> {
    let mut build: Command = project.cargo(&["test", "--no-run", "--package", "karwan-engine", "--test", "it"]);
    build.args(["--message-format", "json-render-diagnostics"]).current_dir(place);
    // Of its own: two checkouts that share one are told apart by the age of their files, and the newer source has older ones.
    build.env("CARGO_TARGET_DIR", place.join("target"));
    let printed = command::text(build).context("the older program does not build")?;
    program(&printed).context("cargo named no program")
}

/// The program in what cargo prints of a build.
pub fn program(printed: &str) -> Option<PathBuf> {
    let artifacts = printed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut programs = artifacts
        .filter(|it| it["target"]["name"] == "it")
        .filter_map(|it| it["executable"].as_str().map(PathBuf::from));
    programs.next()
}
