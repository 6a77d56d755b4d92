//! New clusters. `initdb` takes a second, so that its result is kept in the cache, one for each build of Postgres, and
//! copied.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::account::Account;
use super::files::{copied, replicate};
use crate::machine::places::{Medium, cache_directory, throw_away_directory};

/// The user that `initdb` makes.
pub(super) const SUPERUSER: &str = "postgres";

/// Changes whenever a template of an older release would be of no use.
const FORMAT: u32 = 2;

/// What makes a cluster.
#[derive(Debug, Clone, Copy)]
pub(super) struct Maker<'a> {
    /// The programs, where the account can reach them.
    pub bin: &'a Path,
    /// Names the build of the programs.
    pub build: &'a str,
    /// Who owns the cluster.
    pub account: Account,
}

impl Maker<'_> {
    /// Fills the data directory, which is empty or does not exist, with a copy of the template.
    pub(super) fn copy_into(self, data: &Path) -> io::Result<()> {
        replicate(&self.template()?, data, self.account, copied)
    }

    /// Fills the data directory, which is empty or does not exist, with a cluster like no other. Its first WAL segment is
    /// 1 MB instead of 16, which would be a third of what is copied.
    pub(super) fn init_into(self, data: &Path) -> io::Result<()> {
        fs::create_dir_all(data)?;
        self.account.own(data)?;
        let mut initdb = self.account.command(&self.bin.join("initdb"), Path::new("/"));
        without_postgres_variables(&mut initdb);
        initdb.args(["-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C", "--wal-segsize=1"]);
        initdb.args(["--no-sync", "--no-instructions", "-D"]).arg(data).stdin(Stdio::null());
        let output = initdb.output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!("initdb: {}", String::from_utf8_lossy(&output.stderr))))
    }

    /// The template in the cache; made when there is none, by one process while others wait.
    fn template(self) -> io::Result<PathBuf> {
        let cache = cache_directory(|name| std::env::var_os(name)).join("postgres-templates");
        let place = cache.join(format!("{}-{FORMAT}", self.build));
        if place.is_dir() {
            return Ok(place);
        }
        fs::create_dir_all(&cache)?;
        let lock = File::create(cache.join("lock"))?;
        lock.lock()?;
        if place.is_dir() {
            return Ok(place);
        }
        // The user that runs initdb may not be able to write into the cache, which lies in our home.
        let scratch = Scratch(throw_away_directory("pg", Medium::Any)?);
        self.account.own(&scratch.0)?;
        let data = scratch.0.join("data");
        self.init_into(&data)?;
        let partial = cache.join(format!("partial-{}", std::process::id()));
        if partial.exists() {
            fs::remove_dir_all(&partial)?;
        }
        replicate(&data, &partial, Account::Ours, copied)?;
        fs::rename(&partial, &place)?;
        Ok(place)
    }
}

/// A directory that is removed at the end of its scope.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // Left behind in the temporary directory it harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Postgres programs obey variables that belong to somebody else's server.
pub(super) fn without_postgres_variables(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
    command.env("LC_ALL", "C").env("LANG", "C");
}
