//! The log: pages of rows, how far it goes, and dropping its beginning.
//!
//! There is one writer, so numbers become visible in their order: every visible row is decided.

use std::collections::HashSet;
use std::fmt::Write as _;

use karwan_envelope::ids::EventId;
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use crate::log::{Filter, LogRow, Seq};
use crate::sqlite::error::Fault;
use crate::write_set::TenantBits;

/// How many numbers of the log are dropped in one transaction; other writers go in between.
const DROP_CHUNK: Seq = 5_000;

/// The highest number, or the last dropped one where nothing is left.
pub(super) fn highest(connection: &Connection) -> Result<Seq, Fault> {
    let sql = "SELECT coalesce((SELECT max(seq) FROM log), floor) FROM meta";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// The last number that was dropped.
pub(super) fn floor(connection: &Connection) -> Result<Seq, Fault> {
    Ok(connection.prepare_cached("SELECT floor FROM meta")?.query_row([], |row| row.get(0))?)
}

/// Rows in order, filtered by tenant and key.
pub(super) fn rows(
    connection: &Connection,
    after: Seq,
    until: Seq,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<LogRow>, Fault> {
    let mut sql = "SELECT seq, tenant, name, key, slot, event, at, envelope
                   FROM log JOIN subject ON subject.id = log.subject WHERE seq > ? AND seq <= ?"
        .to_owned();
    let mut values = vec![Value::Integer(after), Value::Integer(until)];
    if let Some(tenant) = filter.tenant {
        sql.push_str(" AND tenant = ?");
        values.push(Value::Blob(tenant.to_be_bytes().to_vec()));
    }
    if let Some(key) = &filter.key {
        sql.push_str(" AND key = ?");
        values.push(Value::Text(key.clone()));
    }
    write!(sql, " ORDER BY seq LIMIT {limit}").expect("a text takes all of it");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(values), row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Rows in order, of all tenants but these.
pub(super) fn rows_of_others(
    connection: &Connection,
    after: Seq,
    until: Seq,
    except: &[TenantBits],
    limit: usize,
) -> Result<Vec<LogRow>, Fault> {
    let except: HashSet<TenantBits> = except.iter().copied().collect();
    let sql = "SELECT seq, tenant, name, key, slot, event, at, envelope
               FROM log JOIN subject ON subject.id = log.subject WHERE seq > ? AND seq <= ? ORDER BY seq";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([after, until], row)?;
    let wanted = rows.filter(|row| row.as_ref().map_or(true, |row| !except.contains(&row.tenant)));
    Ok(wanted.take(limit).collect::<rusqlite::Result<_>>()?)
}

/// Who has rows between two numbers: from one tenant to the next along the index, and a look at each.
pub(super) fn tenants(connection: &Connection, after: Seq, until: Seq) -> Result<Vec<TenantBits>, Fault> {
    let sql = "WITH RECURSIVE known (tenant) AS (
                   SELECT min(tenant) FROM log
                   UNION ALL
                   SELECT (SELECT min(log.tenant) FROM log WHERE log.tenant > known.tenant) FROM known
                   WHERE known.tenant IS NOT NULL
               )
               SELECT tenant FROM known WHERE tenant IS NOT NULL
               AND EXISTS (SELECT 1 FROM log WHERE log.tenant = known.tenant AND seq > ? AND seq <= ?)";
    let mut statement = connection.prepare_cached(sql)?;
    let tenants = statement.query_map([after, until], |row| row.get::<_, [u8; 16]>(0).map(u128::from_be_bytes))?;
    Ok(tenants.collect::<rusqlite::Result<_>>()?)
}

fn row(row: &Row<'_>) -> rusqlite::Result<LogRow> {
    let (tenant, event): ([u8; 16], [u8; 16]) = (row.get(1)?, row.get(5)?);
    Ok(LogRow {
        seq: row.get(0)?,
        tenant: u128::from_be_bytes(tenant),
        subject: row.get(2)?,
        key: row.get(3)?,
        slot: row.get(4)?,
        event: EventId::from_bits(u128::from_be_bytes(event)),
        at: row.get(6)?,
        envelope: row.get(7)?,
    })
}

/// Drops one chunk of the log's beginning, never past a saved position; answers the new floor, and whether it is as far
/// as it can go.
pub(super) fn drop_chunk(connection: &Connection, up_to: Seq) -> Result<(Seq, bool), Fault> {
    let floor = floor(connection)?;
    let saved: Option<Seq> =
        connection
            .query_row("SELECT min(position) FROM lane WHERE consumer NOT LIKE 'effect.%'", [], |row| row.get(0))?;
    let bound = up_to.min(highest(connection)?).min(saved.unwrap_or(Seq::MAX));
    if bound <= floor {
        return Ok((floor, true));
    }
    let to = bound.min(floor + DROP_CHUNK);
    connection.execute("DELETE FROM log WHERE seq <= ?", [to])?;
    connection.execute("UPDATE meta SET floor = ?", [to])?;
    Ok((to, to == bound))
}
