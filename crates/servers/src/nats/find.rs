//! Where the program is, and whether it is new enough.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Need;
use crate::machine::places::{cache_directory, starts_with_shebang};

/// Older servers ignore `filter_subjects` without a word: a consumer would get the whole stream.
const OLDEST: Version = (2, 10, 0);

/// Major, minor and patch.
pub type Version = (u32, u32, u32);

/// The program of one NATS server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Where it is.
    pub path: PathBuf,
    /// What it says it is.
    pub version: Version,
}

impl Program {
    /// The program at a path; the error says what is wrong with it.
    pub fn at(path: &Path) -> Result<Self, String> {
        let path = fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()))?;
        if starts_with_shebang(&path) {
            return Err(format!("{} is a script", path.display()));
        }
        let asked = Command::new(&path).arg("--version").stdin(Stdio::null()).output();
        let output = asked.map_err(|error| format!("{} does not start: {error}", path.display()))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let version = version(&printed).filter(|_| output.status.success());
        let version = version.ok_or_else(|| format!("{} --version printed `{}`", path.display(), printed.trim()))?;
        new_enough(&path, version)?;
        Ok(Self { path, version })
    }
}

fn new_enough(path: &Path, version: Version) -> Result<(), String> {
    if version >= OLDEST {
        return Ok(());
    }
    let ((major, minor, patch), (needed, since, _)) = (version, OLDEST);
    let place = path.display();
    Err(format!(
        "{place} is {major}.{minor}.{patch}, which ignores `filter_subjects`; {needed}.{since} or newer is needed"
    ))
}

/// The program to use, by the environment and the machine.
pub fn find(variable: impl Fn(&str) -> Option<OsString>) -> Need<Program> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(path) = set("KARWAN_NATS_BIN") {
        return match Program::at(Path::new(&path)) {
            Ok(program) => Need::Met(program),
            Err(reason) => Need::Missing(format!("KARWAN_NATS_BIN: {reason}")),
        };
    }
    if let Some(reason) = set("KARWAN_NATS_BIN_MISSING") {
        return Need::Missing(reason.to_string_lossy().into_owned());
    }
    let path = set("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).map(|place| place.join("nats-server")).collect();
    places.push(cache_directory(variable).join("tools").join("nats").join("nats-server"));
    let mut refused = None;
    for place in places.iter().filter(|place| place.is_file()) {
        match Program::at(place) {
            Ok(program) => return Need::Met(program),
            Err(reason) => refused = refused.or(Some(reason)),
        }
    }
    let none = || "no nats-server on the PATH or in the cache; `cargo xtask test` installs one".to_owned();
    Need::Missing(refused.unwrap_or_else(none))
}

/// `nats-server: v2.15.1`, `nats-server: v2.11.0-RC.1`
fn version(printed: &str) -> Option<Version> {
    let number = printed.trim().strip_prefix("nats-server: v")?;
    let mut parts = number.split('-').next()?.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??, parts.next()??))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{new_enough, version};

    #[test]
    fn versions_are_read_as_they_are_printed() {
        assert_eq!(version("nats-server: v2.15.1\n"), Some((2, 15, 1)));
        assert_eq!(version("nats-server: v2.11.0-RC.1\n"), Some((2, 11, 0)));
        assert_eq!(version("gnatsd 1.4\n"), None);
    }

    #[test]
    fn a_server_that_ignores_filters_is_refused_with_the_reason() {
        let path = Path::new("nats-server");
        assert_eq!(new_enough(path, (2, 10, 0)), Ok(()));
        let reason = new_enough(path, (2, 9, 10)).unwrap_err();
        assert_eq!(reason, "nats-server is 2.9.10, which ignores `filter_subjects`; 2.10 or newer is needed");
    }
}
