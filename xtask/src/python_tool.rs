//! Python with the official CloudEvents SDK, an independent judge in one test: found, or installed into the cache.
//!
//! Nothing is installed outside the project's cache directory, nothing needs root, and every version is pinned.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command;

/// What is installed, to the last dependency, so that two machines judge alike.
const PINS: &[&str] =
    &["cloudevents==2.2.0", "deprecation==2.1.0", "packaging==25.0", "python-dateutil==2.9.0.post0", "six==1.17.0"];

/// Exits 0 exactly when the first pin is importable in that version.
const PROBE: &str = "import sys, cloudevents.core.v1.event, importlib.metadata as m\n\
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
    let preferred = std::env::var_os("KARWAN_PYTHON").filter(|path| !path.is_empty());
    let candidates = preferred.into_iter().chain(["python3", "python"].map(OsString::from));
    let interpreters: Vec<PathBuf> = candidates.filter_map(|name| interpreter(&name)).collect();
    if let Some(path) = interpreters.iter().find(|path| has_sdk(path)) {
        return Python::Found(path.clone());
    }
    let Some(base) = interpreters.first() else {
        return Python::Missing("no python3 on the PATH".to_owned());
    };
    match installed(base, &cache_directory(|name| std::env::var_os(name))) {
        Ok(path) => Python::Found(path),
        Err(error) => Python::Missing(reason(&error)),
    }
}

/// The project's own cache: `$KARWAN_CACHE`, else `$XDG_CACHE_HOME/karwan`, else `~/.cache/karwan`, else temporary.
pub fn cache_directory(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("KARWAN_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("karwan")))
        .or_else(|| set("HOME").map(|home| home.join(".cache").join("karwan")))
        .unwrap_or_else(|| std::env::temp_dir().join("karwan"))
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

/// The interpreter of the environment in the cache; it is made when the marker does not name our pins. The environment
/// is built beside its place and renamed into it, so that an interrupted run leaves nothing half made.
fn installed(base: &Path, cache: &Path) -> Result<PathBuf> {
    let pins = PINS.join("\n");
    let place = cache.join("tools").join("python-cloudevents");
    let python = place.join("bin").join("python");
    let complete = || fs::read_to_string(place.join("installed")).is_ok_and(|made| made == pins) && has_sdk(&python);
    if complete() {
        return Ok(python);
    }
    let partial = cache.join("tools").join(format!("python-cloudevents.partial-{}", std::process::id()));
    let made = environment(base, &partial, &pins).and_then(|()| {
        if place.exists() {
            fs::remove_dir_all(&place).with_context(|| format!("removing {}", place.display()))?;
        }
        fs::rename(&partial, &place).with_context(|| format!("moving into {}", place.display()))
    });
    if partial.exists() {
        // Best effort: the next run uses another name.
        let _ = fs::remove_dir_all(&partial);
    }
    // Another run may have put the same environment in place meanwhile.
    if complete() {
        return Ok(python);
    }
    made?;
    anyhow::bail!("the installed environment does not import the SDK")
}

fn environment(base: &Path, place: &Path, pins: &str) -> Result<()> {
    fs::create_dir_all(place).with_context(|| format!("creating {}", place.display()))?;
    let mut create = Command::new(base);
    create.args(["-m", "venv", "--clear"]).arg(place);
    command::output(create).context("python3 cannot make a virtual environment")?;
    let mut install = Command::new(place.join("bin").join("python"));
    install.args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]);
    install.args(["--only-binary", ":all:", "--no-deps", "--timeout", "30", "--retries", "2"]).args(PINS);
    command::output(install).context("pip cannot install the SDK")?;
    fs::write(place.join("installed"), pins).context("writing the marker")?;
    Ok(())
}

/// The longest reason worth printing on one line.
const REASON_CHARS_MAX: usize = 200;

/// What failed, and the last line that the failing program printed: that is where programs say why.
fn reason(error: &anyhow::Error) -> String {
    let cause = error.root_cause().to_string();
    let last = cause.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    format!("{error}: {last}").chars().take(REASON_CHARS_MAX).collect()
}
