//! Python with the official CloudEvents SDK, an independent judge in one test, and with a Postgres driver, for the examples
//! of a guide: found, or installed into the cache.
//!
//! Nothing is installed outside the project's cache directory, nothing needs root, and every version is pinned.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cache::{self, Recipe};
use crate::command;

/// What is installed, to the last dependency, so that two machines judge alike.
const PINS: &[&str] = &[
    "cloudevents==2.2.0",
    "deprecation==2.1.0",
    "packaging==25.0",
    "psycopg==3.3.8",
    "psycopg-binary==3.3.8",
    "python-dateutil==2.9.0.post0",
    "six==1.17.0",
    "typing_extensions==4.16.0",
];

/// Exits 0 exactly when the first pin is importable in that version, and the driver in any.
const PROBE: &str = "import sys, cloudevents.core.v1.event, psycopg, importlib.metadata as m\n\
     sys.exit('cloudevents==' + m.version('cloudevents') != sys.argv[1])";

/// An interpreter that has the SDK, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Python {
    /// This one has it.
    Found(PathBuf),
    /// There is none, for this reason.
    Missing(String),
}

/// Looks for an interpreter that has the SDK already, then in the cache, then installs.
pub fn find_or_install() -> Python {
    let interpreters = interpreters();
    if let Some(path) = interpreters.iter().find(|path| has_sdk(path)) {
        return Python::Found(path.clone());
    }
    let Some(base) = interpreters.first() else {
        return Python::Missing("no python3 on the PATH".to_owned());
    };
    match installed(base, &cache::directory(|name| std::env::var_os(name))) {
        Ok(path) => Python::Found(path),
        Err(error) => Python::Missing(cache::reason(&error)),
    }
}

/// Interpreters that start, the preferred one first.
pub fn interpreters() -> Vec<PathBuf> {
    let preferred = std::env::var_os("KARWAN_PYTHON").filter(|path| !path.is_empty());
    let candidates = preferred.into_iter().chain(["python3", "python"].map(OsString::from));
    candidates.filter_map(|name| interpreter(&name)).collect()
}

/// The full path of an interpreter that starts.
fn interpreter(name: &OsString) -> Option<PathBuf> {
    let mut ask = Command::new(name);
    ask.args(["-c", "import sys; print(sys.executable)"]);
    command::text(ask).ok().map(PathBuf::from)
}

fn has_sdk(python: &Path) -> bool {
    let mut probe = Command::new(python);
    probe.args(["-c", PROBE, PINS[0]]);
    command::output(probe).is_ok()
}

/// The interpreter of the environment in the cache.
fn installed(base: &Path, cache: &Path) -> Result<PathBuf> {
    let interpreter = |place: &Path| place.join("bin").join("python");
    let recipe = Recipe {
        name: "python-cloudevents",
        pins: &PINS.join("\n"),
        make: &|place| environment(base, place),
        works: &|place| has_sdk(&interpreter(place)),
    };
    cache::installed(cache, &recipe).map(|place| interpreter(&place))
}

fn environment(base: &Path, place: &Path) -> Result<()> {
    let pip = virtual_environment(base, place)?;
    command::output(pip_install(&pip, PINS)).context("pip cannot install the SDK and the driver")?;
    Ok(())
}

/// Makes a virtual environment, which has pip also where the interpreter has not; gives the environment's interpreter.
pub fn virtual_environment(base: &Path, place: &Path) -> Result<PathBuf> {
    let mut create = Command::new(base);
    create.args(["-m", "venv", "--clear"]).arg(place);
    command::output(create).context("python3 cannot make a virtual environment")?;
    Ok(place.join("bin").join("python"))
}

/// Installs exactly these packages, none that they ask for, and builds nothing.
pub fn pip_install(python: &Path, pins: &[&str]) -> Command {
    let mut install = Command::new(python);
    install.args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]);
    install.args(["--only-binary", ":all:", "--no-deps", "--timeout", "30", "--retries", "2"]).args(pins);
    install
}
