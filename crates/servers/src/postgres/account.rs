//! Who runs the server: Postgres refuses to be run by root.

use std::io;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// Users to run the server as when we are root, the preferred one first.
const USERS: &[&str] = &["postgres", "nobody"];

/// The user that a server runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Account {
    /// The one that runs the tests.
    Ours,
    /// Another one, because we are root.
    Other {
        /// The user's number.
        uid: u32,
        /// The group's number.
        gid: u32,
    },
}

impl Account {
    /// Root is recognised by what it owns: `own` is a file that this process made.
    pub(super) fn choose(own: &Path) -> Result<Self, String> {
        let about = own.metadata().map_err(|error| format!("{}: {error}", own.display()))?;
        if about.uid() != 0 {
            return Ok(Self::Ours);
        }
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let found = USERS.iter().find_map(|user| ids(&users, user));
        let (uid, gid) = found.ok_or("Postgres does not run as root, and there is no user `postgres` or `nobody`")?;
        Ok(Self::Other { uid, gid })
    }

    /// A program started by this user, in a directory that the user can enter.
    pub(super) fn command(self, program: &Path, directory: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(directory);
        if let Self::Other { uid, gid } = self {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// Gives a file or directory (not what lies in it) to the user.
    pub(super) fn own(self, path: &Path) -> io::Result<()> {
        match self {
            Self::Ours => Ok(()),
            Self::Other { uid, gid } => chown(path, Some(uid), Some(gid)),
        }
    }
}

/// The numbers of a user and its group, from the text of the user table.
fn ids(users: &str, name: &str) -> Option<(u32, u32)> {
    let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    let uid = fields.next()?.parse().ok()?;
    let gid = fields.next()?.parse().ok()?;
    Some((uid, gid))
}

#[cfg(test)]
mod tests {
    use super::ids;

    #[test]
    fn the_numbers_are_those_of_the_user_of_that_very_name() {
        let users = "postgresql:x:7:8::/:\npostgres:x:101:104:admin,,,:/var/lib:/bin/bash\n";
        assert_eq!(ids(users, "postgres"), Some((101, 104)));
        assert_eq!(ids(users, "nobody"), None);
    }
}
