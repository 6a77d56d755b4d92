//! Directory trees: copied, linked, given to another user.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::account::Account;

/// Names that a directory is tried under before giving up.
const NAMES_MAX: u32 = 10_000;

/// The longest path of a throw-away directory: a socket in it must stay below the 104 bytes that macOS allows.
const DIRECTORY_BYTES_MAX: usize = 70;

/// A new directory that nobody else uses, in the temporary directory; in `/tmp` when the path would be too long for a
/// socket.
pub(super) fn throw_away_directory() -> io::Result<PathBuf> {
    let base = fs::canonicalize(std::env::temp_dir())?;
    let base = if base.as_os_str().len() + 32 > DIRECTORY_BYTES_MAX { PathBuf::from("/tmp") } else { base };
    for number in 0..NAMES_MAX {
        let directory = base.join(format!("karwan-pg-{}-{number}", std::process::id()));
        match fs::create_dir(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("{NAMES_MAX} throw-away directories exist in {}", base.display())))
}

/// How a file of a tree gets to its new place.
pub(super) type Place = fn(&Path, &Path) -> io::Result<()>;

/// A file of its own with the same content and permissions.
pub(super) fn copied(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to).map(drop)
}

/// The same file under a second name, or a copy where the new place is on another file system.
pub(super) fn linked(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to).or_else(|_| copied(from, to))
}

/// Makes a tree anew at `to` (which may exist, empty), owned by the account. Links are followed.
pub(super) fn replicate(from: &Path, to: &Path, account: Account, place: Place) -> io::Result<()> {
    let mut waiting = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = waiting.pop() {
        if from.is_dir() {
            fs::create_dir_all(&to)?;
            fs::set_permissions(&to, fs::metadata(&from)?.permissions())?;
            for entry in fs::read_dir(&from)? {
                let entry = entry?;
                waiting.push((entry.path(), to.join(entry.file_name())));
            }
        } else {
            place(&from, &to)?;
        }
        account.own(&to)?;
    }
    Ok(())
}
