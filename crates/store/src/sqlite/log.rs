//! The log: pages of rows, how far it goes, and dropping its beginning.
//!
//! There is one writer, so numbers become visible in their order: every visible row is decided.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use karwan_envelope::ids::EventId;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, params_from_iter};

use super::{GLANCE_MAX, Sqlite};
use crate::error::Error;
use crate::log::{Apart, Behind, Filter, LogRow, Seq};
use crate::sqlite::error::Fault;
use crate::sqlite::subjects::Subjects;
use crate::write_set::TenantBits;

/// How many numbers of the log are dropped in one transaction; other writers go in between.
const DROP_CHUNK: Seq = 5_000;

impl Sqlite {
    pub async fn rows(&self, after: Seq, until: Seq, filter: &Filter, limit: usize) -> Result<Vec<LogRow>, Error> {
        // Who is filtered out is looked at, too.
        let range = usize::try_from(until.saturating_sub(after)).unwrap_or(usize::MAX);
        let is_plain = filter.except.is_empty() && filter.key.is_none();
        if range <= GLANCE_MAX || limit <= GLANCE_MAX && is_plain {
            return self.glance(|it| rows(it, &self.subjects, (after, until), filter, limit)).await;
        }
        let (subjects, filter) = (self.subjects.clone(), filter.clone());
        self.read(move |connection| rows(connection, &subjects, (after, until), &filter, limit)).await
    }

    pub async fn rows_apart(&self, asked: &Apart) -> Result<Vec<Vec<LogRow>>, Error> {
        let (subjects, Apart { behind, until, limit, envelopes_of }) = (self.subjects.clone(), asked.clone());
        self.read(move |connection| {
            let rows = |Behind { tenant, after }: Behind| {
                let filter = Filter { tenant: Some(tenant), envelopes_of: envelopes_of.clone(), ..Filter::default() };
                rows(connection, &subjects, (after, until), &filter, limit)
            };
            behind.into_iter().map(rows).collect()
        })
        .await
    }
}

/// The highest number, or the last dropped one where nothing is left.
pub(super) fn highest(connection: &Connection) -> Result<Seq, Fault> {
    let sql = "SELECT coalesce((SELECT max(seq) FROM log), floor) FROM meta";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// The last number that was dropped.
pub(super) fn floor(connection: &Connection) -> Result<Seq, Fault> {
    Ok(connection.prepare_cached("SELECT floor FROM meta")?.query_row([], |row| row.get(0))?)
}

/// The schema with this content hash.
pub(super) fn schema(connection: &Connection, hash: &str) -> Result<Option<String>, Fault> {
    let mut statement = connection.prepare_cached("SELECT document FROM schema WHERE hash = ?")?;
    Ok(statement.query_row([hash], |row| row.get(0)).optional()?)
}

/// Rows in order, filtered.
pub(super) fn rows(
    connection: &Connection,
    subjects: &Subjects,
    (after, until): (Seq, Seq),
    filter: &Filter,
    limit: usize,
) -> Result<Vec<LogRow>, Fault> {
    let mut sql =
        "SELECT seq, tenant, subject, key, slot, event, at, envelope FROM log WHERE seq > ? AND seq <= ?".to_owned();
    let mut values = vec![Value::Integer(after), Value::Integer(until)];
    if let Some(tenant) = filter.tenant {
        sql.push_str(" AND tenant = ?");
        values.push(Value::Blob(tenant.to_be_bytes().to_vec()));
    }
    if let Some(key) = &filter.key {
        sql.push_str(" AND key = ?");
        values.push(Value::Text(key.clone()));
    }
    sql.push_str(" ORDER BY seq");
    let except: HashSet<TenantBits> = filter.except.iter().copied().collect();
    let wanted = filter.envelopes_of.as_deref().filter(|subjects| !subjects.is_empty());
    let is_wanted = |name: &str| wanted.is_none_or(|wanted| wanted.iter().any(|it| *it == name));
    // By their numbers: the subjects of this page, and whether their envelopes are wanted.
    let mut names: HashMap<i64, (Arc<str>, bool)> = HashMap::new();
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(params_from_iter(values))?;
    let mut rows = Vec::new();
    while rows.len() < limit
        && let Some(next) = found.next()?
    {
        // Before anything of it is copied: tenants are left out because they have many rows.
        if !except.is_empty() && except.contains(&u128::from_be_bytes(next.get(1)?)) {
            continue;
        }
        let subject: i64 = next.get(2)?;
        let (name, wanted) = match names.entry(subject) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let name = subjects.name(connection, subject)?;
                let wanted = is_wanted(&name);
                entry.insert((name, wanted))
            }
        };
        rows.push(row(next, name, *wanted)?);
    }
    Ok(rows)
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

fn row(row: &Row<'_>, subject: &str, with_envelope: bool) -> rusqlite::Result<LogRow> {
    let (tenant, event): ([u8; 16], [u8; 16]) = (row.get(1)?, row.get(5)?);
    Ok(LogRow {
        seq: row.get(0)?,
        tenant: u128::from_be_bytes(tenant),
        subject: subject.to_owned(),
        key: row.get(3)?,
        slot: row.get(4)?,
        event: EventId::from_bits(u128::from_be_bytes(event)),
        at: row.get(6)?,
        envelope: if with_envelope { row.get(7)? } else { String::new() },
    })
}

/// The lowest saved position of those who read the log.
pub(super) fn lowest_position(connection: &Connection) -> Result<Option<Seq>, Fault> {
    // Those of effects read no log, and those that a stream feeds have its numbers.
    let sql = "SELECT min(position) FROM lane WHERE consumer NOT LIKE 'effect.%'
               AND consumer NOT IN (SELECT consumer FROM declared WHERE stream IS NOT NULL)";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}

/// Drops one chunk of the log's beginning, never past a saved position; answers the new floor, and whether it is as far
/// as it can go.
pub(super) fn drop_chunk(connection: &Connection, up_to: Seq) -> Result<(Seq, bool), Fault> {
    let floor = floor(connection)?;
    let saved = lowest_position(connection)?;
    let bound = up_to.min(highest(connection)?).min(saved.unwrap_or(Seq::MAX));
    if bound <= floor {
        return Ok((floor, true));
    }
    let to = bound.min(floor + DROP_CHUNK);
    connection.execute("DELETE FROM log WHERE seq <= ?", [to])?;
    connection.execute("UPDATE meta SET floor = ?", [to])?;
    Ok((to, to == bound))
}
