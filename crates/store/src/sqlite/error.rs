//! What SQLite says, in the store's own errors.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::backend::Refusal;
use crate::error::{DatabaseError, Error};

/// Why a statement or a rule did not let something pass, before it is known which store it was.
#[derive(Debug)]
pub(super) enum Fault {
    /// SQLite refused.
    Sql(rusqlite::Error),
    /// A rule of ours refused.
    Refused(Box<Refusal>),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}
impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}
impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Refused(Box::new(Refusal::Error(error)))
    }
}

impl Fault {
    /// As a flush answers it.
    pub fn refusal(self, path: &Path) -> Refusal {
        match self {
            Self::Sql(error) => Refusal::Error(said(path, error)),
            Self::Refused(refusal) => *refusal,
        }
    }

    /// As every other call answers it.
    pub fn error(self, path: &Path) -> Error {
        match self.refusal(path) {
            Refusal::Error(error) | Refusal::Lost(error) => error,
            Refusal::Conflict { what } => Error::Conflict { what, attempts: 1 },
            refusal @ (Refusal::UnitRepeated | Refusal::IntentRepeated(_)) => {
                let cause = DatabaseError::Words(format!("{refusal:?} outside of a flush"));
                Error::Database { store: name(path), cause }
            }
        }
    }
}

/// How a store is called in messages.
pub(super) fn name(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

/// What SQLite said of a store.
pub(super) fn said(path: &Path, error: rusqlite::Error) -> Error {
    let store = name(path);
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Error::Full { store, cause: error.into() },
        Some(ErrorCode::ReadOnly) => Error::ReadOnly { store, cause: error.into() },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::InUse { store },
        Some(ErrorCode::NotADatabase) => Error::Damaged {
            store,
            reason: "this is no SQLite database: name another path, or restore a backup to a new one".to_owned(),
        },
        Some(ErrorCode::DatabaseCorrupt) => Error::Damaged {
            store,
            reason: "the file is damaged: restore a backup to a new path; `karwan doctor` says more".to_owned(),
        },
        Some(ErrorCode::CannotOpen) => Error::Unreachable { store, cause: error.into() },
        _ => Error::Database { store, cause: error.into() },
    }
}

/// What the file system said of a store.
pub(super) fn file_said(path: &Path, error: std::io::Error) -> Error {
    let store = name(path);
    match error.kind() {
        std::io::ErrorKind::StorageFull => Error::Full { store, cause: error.into() },
        std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied => {
            Error::ReadOnly { store, cause: error.into() }
        }
        _ => Error::Unreachable { store, cause: error.into() },
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rusqlite::ffi;

    use super::said;

    #[test]
    fn what_sqlite_says_has_a_code_of_ours() {
        let said =
            |code| said(Path::new("shop.db"), rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)).code();
        assert_eq!(said(ffi::SQLITE_FULL), "store-full");
        assert_eq!(said(ffi::SQLITE_READONLY), "store-read-only");
        assert_eq!(said(ffi::SQLITE_READONLY_DIRECTORY), "store-read-only");
        assert_eq!(said(ffi::SQLITE_BUSY), "store-in-use");
        assert_eq!(said(ffi::SQLITE_BUSY_SNAPSHOT), "store-in-use");
        assert_eq!(said(ffi::SQLITE_NOTADB), "store-damaged");
        assert_eq!(said(ffi::SQLITE_CORRUPT), "store-damaged");
        assert_eq!(said(ffi::SQLITE_CANTOPEN), "store-unreachable");
        assert_eq!(said(ffi::SQLITE_IOERR_FSYNC), "store-database");
    }
}
