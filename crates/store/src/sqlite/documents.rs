//! Documents: one table a kind, and what is asked of it.

use std::collections::HashMap;
use std::fmt::Write as _;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};

use crate::backend::Refusal;
use crate::error::Error;
use crate::held::DocumentRow;
use crate::kind::{Field, FieldType, FieldValue, Kind, Kinds};
use crate::query::Parts;
use crate::recent::conflict;
use crate::simulation::{Rule, is_left_out};
use crate::sqlite::error::Fault;
use crate::write_set::{Action, DocumentWrite, TenantBits};

/// The statements over every kind's table, written once.
pub(super) struct Tables(HashMap<&'static str, Table>);

struct Table {
    read: String,
    version: String,
    put: String,
    delete: String,
}

/// The table of a kind. Names were judged when the store was opened, and can stand in a statement.
pub(super) fn table(kind: &str) -> String {
    format!("doc_{kind}")
}

/// The column of a declared field.
pub(super) fn column(field: &str) -> String {
    format!("f_{field}")
}

/// The type of a declared field's column.
pub(super) const fn column_type(of: FieldType) -> &'static str {
    match of {
        FieldType::Text => "TEXT",
        FieldType::Integer | FieldType::Time | FieldType::Flag => "INTEGER",
        FieldType::Id => "BLOB",
    }
}

/// A declared field's value as its column holds it; texts and ids are ordered by their bytes, as they are in memory.
pub(super) fn column_value(value: &FieldValue) -> Value {
    match value {
        FieldValue::Absent => Value::Null,
        FieldValue::Text(text) => Value::Text(text.clone()),
        FieldValue::Integer(number) | FieldValue::Time(number) => Value::Integer(*number),
        FieldValue::Flag(flag) => Value::Integer(i64::from(*flag)),
        FieldValue::Id(bits) => Value::Blob(bits.to_be_bytes().to_vec()),
    }
}

impl Tables {
    pub fn of(kinds: &Kinds) -> Self {
        Self(kinds.all().iter().map(|it| (it.kind.name, Table::of(&it.kind))).collect())
    }

    fn table(&self, kind: &Kind) -> Result<&Table, Error> {
        self.0.get(kind.name).ok_or_else(|| Error::KindUnknown { kind: kind.name.to_owned() })
    }

    /// One document, or the tombstone in its place.
    pub fn read(
        &self,
        connection: &Connection,
        tenant: TenantBits,
        kind: &Kind,
        id: &str,
    ) -> Result<Option<DocumentRow>, Fault> {
        let mut statement = connection.prepare_cached(&self.table(kind)?.read)?;
        Ok(statement.query_row(params![tenant.to_be_bytes(), id], document).optional()?)
    }

    /// Checks one document of a unit, and writes it where the unit does.
    ///
    /// Only the writer comes here, so nothing can change between reading a version and writing the next one. What was
    /// read as missing has version 0, and so has what is missing now: no row is needed to check an absence.
    pub fn write(&self, connection: &Connection, write: &DocumentWrite) -> Result<(), Fault> {
        let (tenant, table) = (write.tenant.to_be_bytes(), self.table(&write.kind)?);
        // Its body stays where it is: nothing is decided on it here, and it may be long.
        let mut stored = connection.prepare_cached(&table.version)?;
        let stored = stored.query_row(params![tenant, write.id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let version = judge(write, stored.unwrap_or((0, false)))? + 1;
        match &write.action {
            Action::Check | Action::Hold => {}
            Action::Put { shape, body, fields } => {
                let key = [tenant.to_vec().into(), write.id.clone().into()];
                let row: [Value; 3] = [version.into(), i64::from(*shape).into(), body.clone().into()];
                let values = key.into_iter().chain(row).chain(fields.iter().map(column_value));
                connection.prepare_cached(&table.put)?.execute(params_from_iter(values))?;
            }
            Action::Delete => {
                connection.prepare_cached(&table.delete)?.execute(params![tenant, write.id, version])?;
            }
        }
        Ok(())
    }
}

/// The version of a document that a write may go on from, by the stored one and whether a body stands there.
fn judge(write: &DocumentWrite, (version, is_there): (i64, bool)) -> Result<i64, Refusal> {
    if write.blind {
        let exists = || Error::Exists { kind: write.kind.name.to_owned(), id: write.id.clone() };
        // A tombstone's version goes on counting: no version is used twice for one id.
        return if is_there { Err(exists().into()) } else { Ok(version) };
    }
    if version == write.expected || is_left_out(Rule::Version) {
        return Ok(version);
    }
    Err(Refusal::Conflict { what: conflict(write.kind.name, write.tenant, &write.id) })
}

impl Table {
    fn of(kind: &Kind) -> Self {
        let name = table(kind.name);
        let columns: Vec<String> = kind.fields.iter().map(|field| column(field.name)).collect();
        let list = |each: &dyn Fn(&str) -> String| columns.iter().map(|it| each(it)).collect::<String>();
        let marks = ", ?".repeat(columns.len());
        Self {
            read: format!("SELECT id, version, shape, body FROM {name} WHERE tenant = ? AND id = ?"),
            version: format!("SELECT version, body IS NOT NULL FROM {name} WHERE tenant = ? AND id = ?"),
            put: format!(
                "INSERT INTO {name} (tenant, id, version, shape, body{}) VALUES (?, ?, ?, ?, ?{marks})
                 ON CONFLICT (tenant, id) DO UPDATE
                 SET version = excluded.version, shape = excluded.shape, body = excluded.body{}",
                list(&|it| format!(", {it}")),
                list(&|it| format!(", {it} = excluded.{it}")),
            ),
            delete: format!(
                "UPDATE {name} SET version = ?3, body = NULL{} WHERE tenant = ?1 AND id = ?2",
                list(&|it| format!(", {it} = NULL")),
            ),
        }
    }
}

/// The documents of a page and one more; no tombstones.
pub(super) fn query(
    connection: &Connection,
    tenant: TenantBits,
    kind: &Kind,
    parts: &Parts,
) -> Result<Vec<DocumentRow>, Fault> {
    let (sql, values) = statement(tenant, kind, parts);
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(values), document)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn statement(tenant: TenantBits, kind: &Kind, parts: &Parts) -> (String, Vec<Value>) {
    let mut sql = format!("SELECT id, version, shape, body FROM {} WHERE tenant = ?", table(kind.name));
    let mut values = vec![Value::Blob(tenant.to_be_bytes().to_vec())];
    let mut and = |condition: &str, of: &[&FieldValue]| {
        write!(sql, " AND {condition}").expect("a text takes all of it");
        values.extend(of.iter().map(|value| column_value(value)));
    };
    and("body IS NOT NULL", &[]);
    for (field, value) in &parts.equal {
        and(&format!("{} = ?", column(field)), &[value]);
    }
    if let Some(order) = &parts.order {
        let column = column(order.field);
        and(&format!("{column} IS NOT NULL"), &[]);
        if let Some(from) = &order.from {
            and(&format!("{column} >= ?"), &[from]);
        }
        if let Some(until) = &order.until {
            and(&format!("{column} < ?"), &[until]);
        }
        if let Some((value, id)) = parts.after.as_ref().and_then(|after| Some((after.value.as_ref()?, &after.id))) {
            and(&format!("({column}, id) > (?, ?)"), &[value, &FieldValue::Text(id.clone())]);
        }
        write!(sql, " ORDER BY {column}, id").expect("a text takes all of it");
    } else {
        if let Some(after) = &parts.after {
            and("id > ?", &[&FieldValue::Text(after.id.clone())]);
        }
        sql.push_str(" ORDER BY id");
    }
    sql.push_str(" LIMIT ?");
    values.push(Value::Integer(parts.page() as i64 + 1));
    (sql, values)
}

/// What creates a kind's table, without its declared fields.
pub(super) fn create(kind: &str) -> String {
    format!(
        "CREATE TABLE {} (
             tenant  BLOB NOT NULL,
             id      TEXT NOT NULL,
             version INTEGER NOT NULL,
             shape   INTEGER NOT NULL,
             -- None where a tombstone stands.
             body    TEXT,
             PRIMARY KEY (tenant, id)
         ) STRICT",
        table(kind)
    )
}

/// What adds a declared field, with the index for queries by it.
pub(super) fn add_field(kind: &str, field: &Field) -> String {
    let (table, column) = (table(kind), column(field.name));
    format!(
        "ALTER TABLE {table} ADD COLUMN {column} {};
         CREATE INDEX {table}_{column} ON {table} (tenant, {column}, id);",
        column_type(field.of)
    )
}

fn document(row: &Row<'_>) -> rusqlite::Result<DocumentRow> {
    Ok(DocumentRow { id: row.get(0)?, version: row.get(1)?, shape: row.get(2)?, body: row.get(3)? })
}
