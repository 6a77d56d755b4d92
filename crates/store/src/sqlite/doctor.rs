//! Is the store in order? Looks without the lock, beside a process that uses it.

use std::path::Path;

use rusqlite::Connection;

use crate::doctor::{Check, Health};
use crate::error::Error;
use crate::sqlite::error::{Fault, name};
use crate::sqlite::file::Meta;
use crate::sqlite::{backup, file, log};

/// A write-ahead log of this size is not being checkpointed.
const WAL_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How far the newest row may lie in the future.
const CLOCK_AHEAD_MS: i64 = 1_000;
/// For how long a lane may be without a holder's beat.
const LEASE_PAST_MS: i64 = 60_000;

/// Looks at a store from all sides. Free disk space is not looked at: a full disk is answered by name when it happens.
pub(super) fn doctor(path: &Path, now_ms: i64) -> Result<Vec<Check>, Error> {
    let path = &file::absolute(path)?;
    let opened = file::must_exist(path).and_then(|()| file::reader(path));
    let (connection, meta) = match opened.and_then(|it| file::admitted(path, &it).map(|meta| (it, meta))) {
        Ok(opened) => opened,
        Err(error) => {
            let remedy = "migrate it, restore a backup, or name another path";
            return Ok(vec![Check::not_good("file", Health::Bad, error.to_string(), remedy)]);
        }
    };
    let mut checks = vec![Check::good("schema", format!("schema {}", meta.schema)), life(path, meta), wal(path)];
    for check in [
        integrity,
        |it: &Connection, _| log_range(it),
        clock,
        lanes,
        |it: &Connection, _| waiting(it),
        |it: &Connection, _| fields(it),
    ] {
        checks.push(check(&connection, now_ms).map_err(|fault: Fault| fault.error(path))?);
    }
    Ok(checks)
}

fn life(path: &Path, meta: Meta) -> Check {
    let found = format!("incarnation {}", meta.incarnation);
    if !meta.suspended {
        return Check::good("incarnation", found);
    }
    let remedy = format!("once it may call the outside: karwan restore --store {} --resume --reason …", name(path));
    Check::not_good("incarnation", Health::Warning, format!("{found}, effects and relay suspended"), remedy)
}

fn wal(path: &Path) -> Check {
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |it| it.len());
    let (own, wal) = (size(path), size(&file::beside(path, "-wal")));
    let found = format!("{own} bytes, write-ahead log {wal} bytes");
    if wal <= WAL_BYTES_MAX {
        return Check::good("file", found);
    }
    let remedy = "a reader keeps the write-ahead log from shrinking: end long backups and open shells";
    Check::not_good("file", Health::Warning, found, remedy)
}

fn integrity(connection: &Connection, _: i64) -> Result<Check, Fault> {
    Ok(match backup::sound(connection)? {
        None => Check::good("integrity", "quick_check found nothing"),
        Some(reason) => {
            Check::not_good("integrity", Health::Bad, reason, "restore a backup to a new path, and keep this file")
        }
    })
}

fn log_range(connection: &Connection) -> Result<Check, Fault> {
    let (floor, highest) = (log::floor(connection)?, log::highest(connection)?);
    Ok(Check::good("log", format!("rows {} to {highest}", floor + 1)))
}

fn clock(connection: &Connection, now_ms: i64) -> Result<Check, Fault> {
    let sql = "SELECT max(at) FROM (SELECT at FROM log ORDER BY seq DESC LIMIT 100)";
    let newest: Option<i64> = connection.query_row(sql, [], |row| row.get(0))?;
    let ahead = newest.map_or(0, |newest| newest - now_ms);
    if ahead <= CLOCK_AHEAD_MS {
        return Ok(Check::good("clock", "no row lies in the future"));
    }
    let found = format!("the newest rows lie {ahead} ms in the future");
    Ok(Check::not_good("clock", Health::Warning, found, "the clock went back: synchronise this machine's time"))
}

fn lanes(connection: &Connection, now_ms: i64) -> Result<Check, Fault> {
    let sql = "SELECT count(*), coalesce(sum(holder IS NOT NULL AND lease_until < ?), 0) FROM lane";
    let (all, past): (i64, i64) =
        connection.query_row(sql, [now_ms - LEASE_PAST_MS], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if past == 0 {
        return Ok(Check::good("lanes", format!("{all} lanes")));
    }
    let found = format!("{past} of {all} lanes are past their lease, and nobody took them over");
    Ok(Check::not_good("lanes", Health::Warning, found, "start a node that runs these consumers"))
}

fn waiting(connection: &Connection) -> Result<Check, Fault> {
    let sql = "SELECT (SELECT count(*) FROM parked), (SELECT count(*) FROM dead)";
    let (parked, dead): (i64, i64) = connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let found = format!("{parked} parked, {dead} dead");
    if dead == 0 {
        return Ok(Check::good("events", found));
    }
    Ok(Check::not_good("events", Health::Warning, found, "look at the dead letters, and retry or drop them"))
}

fn fields(connection: &Connection) -> Result<Check, Fault> {
    let sql = "SELECT coalesce(group_concat(kind || '.' || name, ', '), '') FROM field WHERE NOT filled";
    let unfilled: String = connection.query_row(sql, [], |row| row.get(0))?;
    if unfilled.is_empty() {
        return Ok(Check::good("documents", "every document has its declared fields"));
    }
    let found = format!("not every document has: {unfilled}");
    Ok(Check::not_good("documents", Health::Warning, found, "run `karwan migrate` of the newest program"))
}
