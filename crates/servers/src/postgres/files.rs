//! Directory trees: copied, linked, given to another user.

use std::fs;
use std::io;
use std::path::Path;

use super::account::Account;

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
