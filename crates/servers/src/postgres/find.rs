//! Where the programs are.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Need;
use crate::machine::places::{cache_directory, starts_with_shebang};

/// What is run here; a directory that lacks one of them is of no use.
const NEEDED: &[&str] = &["postgres", "initdb", "psql", "pg_dump", "pg_restore"];

/// Debian's place: a directory for each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The programs of one Postgres.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// The directory that holds them.
    pub directory: PathBuf,
    /// Major and minor version.
    pub version: (u32, u32),
}

impl Programs {
    /// Those of a directory; the error says what is wrong with it.
    pub fn in_directory(directory: &Path) -> Result<Self, String> {
        let directory = &fs::canonicalize(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        for name in NEEDED {
            if !directory.join(name).is_file() {
                return Err(format!("{} has no {name}", directory.display()));
            }
        }
        let server = directory.join("postgres");
        // The process that a script starts is not the one whose number we know.
        if starts_with_shebang(&server) {
            return Err(format!("{} is a script", server.display()));
        }
        let mut ask = Command::new(&server);
        let asked = ask.arg("--version").stdin(Stdio::null()).output();
        let output = asked.map_err(|error| format!("{} does not start: {error}", server.display()))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let version = version(&printed).filter(|_| output.status.success());
        let version = version.ok_or_else(|| format!("{} --version printed `{}`", server.display(), printed.trim()))?;
        Ok(Self { directory: directory.to_owned(), version })
    }

    /// A name that changes with the build: a cluster made by one build is not started by another.
    pub(super) fn build(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.directory.hash(&mut hasher);
        if let Ok(about) = self.directory.join("postgres").metadata() {
            (about.len(), about.mtime(), about.mtime_nsec()).hash(&mut hasher);
        }
        let mut name = format!("{}.{}", self.version.0, self.version.1);
        write!(name, "-{:016x}", hasher.finish()).expect("a string takes any text");
        name
    }
}

/// The programs to use, by the environment and the machine.
pub fn find(variable: impl Fn(&str) -> Option<OsString>) -> Need<Programs> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(directory) = set("KARWAN_POSTGRES_BIN") {
        return match Programs::in_directory(Path::new(&directory)) {
            Ok(programs) => Need::Met(programs),
            Err(reason) => Need::Missing(format!("KARWAN_POSTGRES_BIN: {reason}")),
        };
    }
    if let Some(reason) = set("KARWAN_POSTGRES_BIN_MISSING") {
        return Need::Missing(reason.to_string_lossy().into_owned());
    }
    let mut places = on_path(&set("PATH").unwrap_or_default());
    places.extend(newest_first(Path::new(DEBIAN)));
    places.extend(newest_first(&cache_directory(variable).join("tools").join("postgres")));
    match places.iter().find_map(|place| Programs::in_directory(place).ok()) {
        Some(programs) => Need::Met(programs),
        None => {
            Need::Missing("no Postgres on the PATH or in Debian's place; `cargo xtask test` installs one".to_owned())
        }
    }
}

/// A program on the `PATH` is often a link to its real place, where the others stand beside it.
fn on_path(path: &OsString) -> Vec<PathBuf> {
    let mut places = Vec::new();
    for directory in std::env::split_paths(path) {
        if let Ok(real) = fs::canonicalize(directory.join("postgres")) {
            places.extend(real.parent().map(Path::to_owned));
            places.push(directory);
        }
    }
    places
}

/// `<place>/<version>/bin`, the highest version first.
fn newest_first(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let number = |name: OsString| name.to_string_lossy().parse::<u32>().ok();
    let mut versions: Vec<u32> = entries.filter_map(|entry| number(entry.file_name())).collect();
    versions.sort_unstable_by(|one, other| other.cmp(one));
    versions.iter().map(|version| place.join(version.to_string()).join("bin")).collect()
}

/// `postgres (PostgreSQL) 15.18 (Debian …)`, `postgres (PostgreSQL) 19beta1`
fn version(printed: &str) -> Option<(u32, u32)> {
    let number = printed.strip_prefix("postgres (PostgreSQL) ")?.split_whitespace().next()?;
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    Some((digits(major)?, digits(minor)?))
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_are_read_as_they_are_printed() {
        assert_eq!(version("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some((15, 18)));
        assert_eq!(version("postgres (PostgreSQL) 18.4\n"), Some((18, 4)));
        assert_eq!(version("postgres (PostgreSQL) 19beta1\n"), Some((19, 0)));
        assert_eq!(version("postgres (EnterpriseDB) 9\n"), None);
    }
}
