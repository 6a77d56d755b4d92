//! Prometheus's own checker of metrics: found, or taken out of the distribution's package into the cache.
//!
//! No wheel holds it; where the machine has apt, the package can be had without root and without being installed. Elsewhere the test
//! says that it was not judged by it; the test's own rules hold everywhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cache::{self, Recipe};
use crate::command;

/// The package; which version is the distribution's business.
const PACKAGE: &str = "prometheus";

/// The program, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promtool {
    /// Here.
    Found(PathBuf),
    /// There is none, for this reason.
    Missing(String),
}

/// What the environment names, else what the machine has, else what the package holds.
pub fn find_or_install() -> Promtool {
    if let Some(named) = std::env::var_os("KARWAN_PROMTOOL").filter(|value| !value.is_empty()) {
        return Promtool::Found(PathBuf::from(named));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|directory| directory.join("promtool")).find(|it| works(it));
    match on_path.map_or_else(installed, Ok) {
        Ok(program) => Promtool::Found(program),
        Err(error) => Promtool::Missing(cache::reason(&error)),
    }
}

fn works(program: &Path) -> bool {
    let mut ask = Command::new(program);
    ask.arg("--version");
    program.is_file() && command::output(ask).is_ok()
}

fn installed() -> Result<PathBuf> {
    let program = |place: &Path| place.join("promtool");
    let recipe = Recipe { name: "promtool", pins: PACKAGE, make: &unpack, works: &|place| works(&program(place)) };
    let place = cache::installed(&cache::directory(|name| std::env::var_os(name)), &recipe)?;
    fs::canonicalize(program(&place)).context("looking for what was installed")
}

fn unpack(place: &Path) -> Result<()> {
    let mut download = Command::new("apt-get");
    download.args(["download", "--quiet", PACKAGE]).current_dir(place);
    command::output(download).context("no promtool, and apt-get cannot fetch the package that has it")?;
    let entries = fs::read_dir(place).context("looking for the package")?.filter_map(Result::ok);
    let package = entries.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|it| it == "deb"));
    let package = package.context("apt-get has fetched nothing")?;
    let files = place.join("files");
    let mut extract = Command::new("dpkg-deb");
    extract.arg("--extract").arg(&package).arg(&files);
    command::output(extract).context("the package cannot be unpacked")?;
    fs::rename(files.join("usr/bin/promtool"), place.join("promtool")).context("the package has no promtool")?;
    fs::remove_dir_all(&files).and_then(|()| fs::remove_file(&package)).context("removing the rest of the package")
}
