//! The project's own cache, and what is installed there: whole or not at all, without root.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// `$KARWAN_CACHE`, else `$XDG_CACHE_HOME/karwan`, else `~/.cache/karwan`, else temporary.
pub fn directory(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("KARWAN_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("karwan")))
        .or_else(|| set("HOME").map(|home| home.join(".cache").join("karwan")))
        .unwrap_or_else(|| std::env::temp_dir().join("karwan"))
}

/// A tool to install.
pub struct Recipe<'a> {
    /// Its directory under `tools`.
    pub name: &'a str,
    /// What exactly is installed; another text means another installation.
    pub pins: &'a str,
    /// Fills a directory that exists and is empty.
    pub make: &'a dyn Fn(&Path) -> Result<()>,
    /// Whether the installation in this directory works.
    pub works: &'a dyn Fn(&Path) -> bool,
}

/// The directory of the tool in the cache; it is made when the marker there does not name our pins. It is filled beside
/// its place and renamed into it, so that an interrupted run leaves nothing half made.
pub fn installed(cache: &Path, recipe: &Recipe<'_>) -> Result<PathBuf> {
    let tools = cache.join("tools");
    let place = tools.join(recipe.name);
    let marked = || fs::read_to_string(place.join(MARKER)).is_ok_and(|made| made == recipe.pins);
    let complete = || marked() && (recipe.works)(&place);
    if complete() {
        return Ok(place);
    }
    let partial = tools.join(format!("{}.partial-{}", recipe.name, std::process::id()));
    let made = fill(&partial, recipe).and_then(|()| {
        if place.exists() {
            fs::remove_dir_all(&place).with_context(|| format!("removing {}", place.display()))?;
        }
        fs::rename(&partial, &place).with_context(|| format!("moving into {}", place.display()))
    });
    if partial.exists() {
        // Best effort: the next run uses another name.
        let _ = fs::remove_dir_all(&partial);
    }
    // Another run may have put the same tool in place meanwhile.
    if complete() {
        return Ok(place);
    }
    made?;
    anyhow::bail!("what was installed does not work")
}

/// Names the pins of an installation that is whole; the testkit looks for it too.
const MARKER: &str = "installed";

fn fill(partial: &Path, recipe: &Recipe<'_>) -> Result<()> {
    fs::create_dir_all(partial).with_context(|| format!("creating {}", partial.display()))?;
    (recipe.make)(partial)?;
    fs::write(partial.join(MARKER), recipe.pins).context("writing the marker")
}

/// The longest reason worth printing on one line.
const REASON_CHARS_MAX: usize = 200;

/// What failed, and the last line that the failing program printed: that is where programs say why.
pub fn reason(error: &anyhow::Error) -> String {
    let cause = error.root_cause().to_string();
    let last = cause.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    format!("{error}: {last}").chars().take(REASON_CHARS_MAX).collect()
}
