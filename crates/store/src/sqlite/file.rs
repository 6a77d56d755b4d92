//! The file: who may open it, and how connections to it are made.
//!
//! Invariant: one process writes a file. The proof is a lock on `<path>.lock`, held for as long as the writer lives;
//! readers of other processes need none.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use crate::error::Error;
use crate::migrate;
use crate::sqlite::error::{file_said, name, said};

/// Pages that wait in the write-ahead log before they are copied: the pages of many tenants are written again and again, and
/// copying them once for many commits more than doubled the rate. 32 MiB, which is also what a crash has to read again.
const CHECKPOINT_PAGES: i64 = 8_000;
/// What the writer keeps of the file in memory.
const CACHE_KIB: i64 = 64 * 1024;
/// How long a statement waits for another process that has no business writing here, such as a shell.
const BUSY_MS: u64 = 5_000;
/// How often, and how long in between, a lock is tried that somebody else has.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(10);
/// Prepared statements that a connection keeps.
const STATEMENTS_MAX: usize = 256;
/// What marks a file as a store: `KARW`.
pub(super) const APPLICATION: i64 = 0x4B41_5257;

/// The right to write a file; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct FileLock(#[expect(dead_code, reason = "the lock lives as long as the open file")] File);

/// What a store says of itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meta {
    /// Its schema.
    pub schema: i64,
    /// The oldest program that can use it.
    pub admits_from: i64,
    /// Which life it is.
    pub incarnation: i64,
    /// Whether effects and relay wait for an operator.
    pub suspended: bool,
}

/// The path as SQLite is given it: absolute, so that `:memory:` and `file:` are names like any other.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|error| file_said(path, error))
}

/// The path with something behind it: `shop.db` and `-wal` are `shop.db-wal`.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Takes the right to write.
pub(super) fn lock(path: &Path) -> Result<FileLock, Error> {
    let options = File::options().create(true).truncate(false).write(true).open(beside(path, ".lock"));
    let file = options.map_err(|error| file_said(path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(FileLock(file)),
        Err(TryLockError::WouldBlock) => Err(Error::InUse { store: name(path) }),
        Err(TryLockError::Error(error)) => Err(file_said(path, error)),
    }
}

/// Takes the right to write, or waits a moment for it: a program that somebody is just starting holds, until it runs, every lock
/// that its parent held when it was born.
#[expect(clippy::disallowed_methods, reason = "a lock of another process gives no signal that could be waited for")]
pub(super) async fn lock_soon(path: &Path) -> Result<FileLock, Error> {
    let (first, again) = (lock(path), path.to_owned());
    if !matches!(first, Err(Error::InUse { .. })) {
        return first;
    }
    // In a thread of its own, which needs no timer of the caller's.
    let waited = tokio::task::spawn_blocking(move || {
        for _ in 0..LOCK_TRIES {
            std::thread::sleep(LOCK_PAUSE);
            match lock(&again) {
                Err(Error::InUse { .. }) => {}
                other => return other,
            }
        }
        lock(&again)
    });
    waited.await.unwrap_or(first)
}

/// A connection that reads.
pub(super) fn reader(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| said(path, error))?;
    settle(&connection).map_err(|error| said(path, error))?;
    Ok(connection)
}

/// A connection that writes; the file is made where it is missing.
pub(super) fn writer(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| said(path, error))?;
    let settled = settle(&connection).and_then(|()| {
        connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        // FULL: what was acknowledged survives a power cut, not only a crash of this process.
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        connection.pragma_update(None, "cache_size", -CACHE_KIB)
    });
    settled.map_err(|error| said(path, error))?;
    Ok(connection)
}

fn settle(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::from_millis(BUSY_MS))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // A plan does not depend on what is bound: without this, every statement with a bound LIMIT is prepared anew each time.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "temp_store", "memory")
}

/// What a store says of itself; none where the file is no store of ours.
pub(super) fn meta(connection: &Connection) -> rusqlite::Result<Option<Meta>> {
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application != APPLICATION {
        return Ok(None);
    }
    let sql = "SELECT schema, admits_from, incarnation, suspended FROM meta";
    connection
        .query_row(sql, [], |row| {
            Ok(Meta { schema: row.get(0)?, admits_from: row.get(1)?, incarnation: row.get(2)?, suspended: row.get(3)? })
        })
        .optional()
}

/// The store's word of itself, where this program may use it.
pub(super) fn admitted(path: &Path, connection: &Connection) -> Result<Meta, Error> {
    let store = name(path);
    let Some(meta) = meta(connection).map_err(|error| said(path, error))? else {
        return Err(Error::NotMigrated { store });
    };
    migrate::admit(&store, meta.schema, meta.admits_from)?;
    Ok(meta)
}

/// Refuses a path where no file is: only a migration makes one.
pub(super) fn must_exist(path: &Path) -> Result<(), Error> {
    if path.is_file() { Ok(()) } else { Err(Error::NotMigrated { store: name(path) }) }
}
