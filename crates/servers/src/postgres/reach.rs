//! Programs that another user cannot reach, because they lie in a home directory, get a second name where it can.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::account::Account;
use super::files::{linked, replicate};
use super::find::Programs;

/// Written by `cargo xtask test` into the root of what it installed.
const MARKER: &str = "installed";

/// The directory with the programs for this account: where they are, or below `directory`.
pub(super) fn reachable(programs: &Programs, account: Account, directory: &Path) -> io::Result<PathBuf> {
    let mut probe = account.command(&programs.directory.join("postgres"), directory);
    let probe = probe.arg("--version").stdin(Stdio::null()).output();
    if account == Account::Ours || probe.is_ok_and(|output| output.status.success()) {
        return Ok(programs.directory.clone());
    }
    let (root, prefix) = layout(&programs.directory);
    let to = directory.join("programs");
    fs::create_dir(&to)?;
    account.own(&to)?;
    for part in parts(&root, &prefix)? {
        let place = to.join(part.strip_prefix(&root).map_err(io::Error::other)?);
        fs::create_dir_all(&place)?;
        replicate(&part, &place, Account::Ours, linked)?;
    }
    let inner = programs.directory.strip_prefix(&root).map_err(io::Error::other)?;
    Ok(to.join(inner))
}

/// What has to stay together, and within it the place of the programs' `bin`.
fn layout(bin: &Path) -> (PathBuf, PathBuf) {
    let prefix = bin.parent().unwrap_or(bin);
    let root = prefix.ancestors().find(|ancestor| ancestor.join(MARKER).is_file()).unwrap_or(prefix);
    (root.to_owned(), prefix.to_owned())
}

/// The directories that running needs: those of the programs themselves, and beside the package its libraries.
fn parts(root: &Path, prefix: &Path) -> io::Result<Vec<PathBuf>> {
    let mut parts: Vec<PathBuf> = ["bin", "lib", "share"].iter().map(|part| prefix.join(part)).collect();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "libs") {
            parts.push(path);
        }
    }
    parts.retain(|part| part.is_dir());
    Ok(parts)
}
