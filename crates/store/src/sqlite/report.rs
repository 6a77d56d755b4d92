//! What the store tells people, and forgetting intents and unit ids.

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use crate::log::{Position, Seq};
use crate::report::{ConsumerReport, EffectReport, LaneReport, Stats, TableSize};
use crate::sqlite::error::Fault;
use crate::sqlite::log;

/// How many rows are looked at in one transaction; other writers go in between.
const PRUNE_CHUNK: usize = 5_000;

/// Counts for people.
pub(super) fn stats(connection: &Connection, incarnation: i64) -> Result<Stats, Fault> {
    // One snapshot, so that the numbers belong together.
    let _snapshot = connection.unchecked_transaction()?;
    let seq = log::highest(connection)?;
    let sql = "SELECT name, count(*) FROM log JOIN subject ON subject.id = log.subject
               GROUP BY name ORDER BY count(*) DESC, name";
    let subjects = all(connection, sql, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let sql = "SELECT consumer, lane, position FROM lane ORDER BY consumer, lane";
    let positions = all(connection, sql, |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, Seq>(2)?)))?;
    let floor = log::floor(connection)?;
    Ok(Stats { end: Position { incarnation, seq }, safe: seq, floor, subjects, positions, holders: Vec::new() })
}

/// How far every consumer is, by name. `now` is by the store's clock.
pub(super) fn consumers(connection: &Connection, now: i64) -> Result<Vec<ConsumerReport>, Fault> {
    // One snapshot, so that the numbers belong together.
    let _snapshot = connection.unchecked_transaction()?;
    let highest = log::highest(connection)?;
    let sql = "SELECT consumer, lane, position, holder, lease_until FROM lane
               WHERE consumer NOT LIKE 'effect.%' ORDER BY consumer, lane";
    let mut reports = Vec::new();
    let lanes = all(connection, sql, |row| lane(row, now))?;
    lanes.into_iter().for_each(|(consumer, lane)| ConsumerReport::add(&mut reports, consumer, lane));
    for suspension in super::consumer::suspensions(connection)? {
        ConsumerReport::suspend(&mut reports, suspension);
    }
    let sql =
        "SELECT (SELECT count(*) FROM parked WHERE consumer = ?1), (SELECT count(*) FROM dead WHERE consumer = ?1),
                      coalesce((SELECT ?3 - at FROM log WHERE seq > ?2 ORDER BY seq LIMIT 1), 0)";
    let mut statement = connection.prepare_cached(sql)?;
    for report in &mut reports {
        let values = rusqlite::params![report.consumer, report.position(), now];
        let counted = statement.query_row(values, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        (report.parked, report.dead, report.behind_ms) = counted;
        report.behind = (highest - report.position()).max(0);
    }
    Ok(reports)
}

/// See [`crate::backend::Backend::waiting_for`].
pub(super) fn waiting_for(
    connection: &Connection,
    consumer: &str,
    (after, up_to): (Seq, Seq),
    rows_max: usize,
) -> Result<(i64, usize), Fault> {
    let mut statement = connection.prepare_cached(include_str!("waiting_for.sql"))?;
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    let (count, looked): (i64, i64) = statement
        .query_row(rusqlite::params![consumer, after, up_to, rows_max], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((count, usize::try_from(looked).unwrap_or_default()))
}

/// A lane, with the name of who reads it.
fn lane(row: &Row<'_>, now: i64) -> rusqlite::Result<(String, LaneReport)> {
    let holder: Option<String> = row.get(3)?;
    let until: i64 = row.get(4)?;
    let lease_ms = holder.as_ref().map(|_| until - now);
    Ok((row.get(0)?, LaneReport { lane: row.get(1)?, position: row.get(2)?, holder, lease_ms }))
}

/// What is open and what was given up, by kind of effect. `now` is by the store's clock.
pub(super) fn effects(connection: &Connection, now: i64) -> Result<Vec<EffectReport>, Fault> {
    // One snapshot, so that the numbers belong together.
    let _snapshot = connection.unchecked_transaction()?;
    let sql = "SELECT consumer, lane, position, holder, lease_until FROM lane WHERE consumer LIKE 'effect.%'";
    let lanes = all(connection, sql, |row| lane(row, now))?;
    let sql = "SELECT kind FROM effect WHERE state IN ('waiting', 'answered') GROUP BY kind
               UNION SELECT kind FROM effect WHERE state = 'dead' GROUP BY kind";
    let mut reports = EffectReport::of(lanes, all(connection, sql, |row| row.get(0))?);
    let mut statement = connection.prepare_cached(include_str!("effects.sql"))?;
    for report in &mut reports {
        let counted = statement.query_row(rusqlite::params![report.kind, now], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        })?;
        (report.open, report.waiting, report.open_ms, report.dead, report.error) = counted;
    }
    Ok(reports)
}

/// See [`crate::backend::Backend::letters`].
pub(super) fn letters(connection: &Connection) -> Result<Vec<(String, String, i64)>, Fault> {
    Ok(all(connection, include_str!("letters.sql"), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?)
}

/// The size of every table, indexes included. SQLite keeps no dead rows.
pub(super) fn sizes(connection: &Connection) -> Result<Vec<TableSize>, Fault> {
    let _snapshot = connection.unchecked_transaction()?;
    let mut sizes: Vec<TableSize> = all(connection, include_str!("sizes.sql"), |row| {
        Ok(TableSize { table: row.get(0)?, rows: 0, dead: 0, bytes: row.get(1)? })
    })?;
    for size in &mut sizes {
        let count = format!("SELECT count(*) FROM \"{}\"", size.table);
        size.rows = connection.query_row(&count, [], |row| row.get(0))?;
    }
    Ok(sizes)
}

fn all<T>(
    connection: &Connection,
    sql: &str,
    each: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare(sql)?.query_map([], each)?.collect()
}

/// What is forgotten after a while: a table and its primary key.
pub(super) struct Prunable {
    pub table: &'static str,
    key: &'static str,
    columns: usize,
    /// What of it is meant.
    pub only: &'static str,
}

impl Prunable {
    pub const fn new(table: &'static str, key: &'static str, columns: usize, only: &'static str) -> Self {
        Self { table, key, columns, only }
    }
}

/// Every table that is pruned.
pub(super) const PRUNABLE: [Prunable; 2] =
    [Prunable::new("intent", "tenant, subject, idem", 3, "true"), Prunable::new("unit", "id, tenant", 2, "true")];

/// Forgets what is older than an instant in one chunk of a table, in the order of its key; answers how many went, and
/// where the next chunk starts. Walking the key needs no index over instants, which every append would pay for.
pub(super) fn prune_chunk(
    connection: &Connection,
    of: &Prunable,
    after: &[Value],
    before_ms: i64,
) -> Result<(u64, Option<Vec<Value>>), Fault> {
    let Prunable { table, key, columns, only } = of;
    let marks = vec!["?"; *columns].join(", ");
    let beyond = if after.is_empty() { "true".to_owned() } else { format!("({key}) > ({marks})") };
    let sql = format!("SELECT {key} FROM {table} WHERE {beyond} ORDER BY {key} LIMIT 1 OFFSET {PRUNE_CHUNK}");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(after))?;
    let end: Option<Vec<Value>> = match rows.next()? {
        Some(row) => Some((0..*columns).map(|column| row.get(column)).collect::<rusqlite::Result<_>>()?),
        None => None,
    };
    let within = if end.is_none() { "true".to_owned() } else { format!("({key}) <= ({marks})") };
    let sql = format!("DELETE FROM {table} WHERE {beyond} AND {within} AND {only} AND at < ?");
    let values = after.iter().chain(end.iter().flatten()).cloned().chain([Value::Integer(before_ms)]);
    let gone = connection.prepare_cached(&sql)?.execute(params_from_iter(values))?;
    Ok((gone as u64, end))
}
