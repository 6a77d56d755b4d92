//! Migrations: the tables, a table a kind, a column a declared field.
//!
//! Only what is missing is added. A field that is declared no more keeps its column, so that the release before can still
//! be started; whoever does not know a column leaves it behind, and it is filled again when it is known again.

use std::collections::BTreeMap;
use std::path::Path;

use karwan_envelope::time::{Clock as _, SystemClock};
use karwan_registry::Catalogue;
use rusqlite::{Connection, params};

use crate::error::Error;
use crate::kind::{BadKind, Field, FieldType, KindType, Kinds};
use crate::migrate::{ADMITS_FROM, Migrated, Progress, SCHEMA, admit};
use crate::sqlite::error::{Fault, name, said};
use crate::sqlite::{backfill, documents, file, flush};
use crate::stored;

/// Every schema's addition to the one before it.
const STEPS: [(i64, &str); 3] =
    [(1, include_str!("schema.sql")), (2, include_str!("schema_2.sql")), (6, include_str!("schema_6.sql"))];

/// Brings a store to this program's schema. Blocks its thread: nothing else runs while a store is migrated.
pub(super) fn migrate(
    path: &Path,
    catalogues: &[&Catalogue],
    kinds: &Kinds,
    progress: Progress<'_>,
) -> Result<Migrated, Error> {
    let path = &file::absolute(path)?;
    let _lock = file::lock(path)?;
    let connection = file::writer(path)?;
    let meta = file::meta(&connection).map_err(|error| said(path, error))?;
    match meta {
        Some(meta) if meta.schema >= SCHEMA => admit(&name(path), meta.schema, meta.admits_from)?,
        Some(_) => {}
        None => must_be_empty(path, &connection)?,
    }
    let mut steps = Vec::new();
    let expanded = expand(&connection, meta.map(|meta| meta.schema), catalogues, kinds, &mut steps);
    expanded.map_err(|fault| fault.error(path))?;
    let mut backfilled = 0;
    for kind in kinds.all() {
        backfilled += backfill::run(&connection, kind, progress).map_err(|fault| fault.error(path))?;
    }
    let to = meta.map_or(SCHEMA, |meta| meta.schema.max(SCHEMA));
    Ok(Migrated { from: meta.map(|meta| meta.schema), to, steps, backfilled })
}

/// A database of somebody else's is left alone.
fn must_be_empty(path: &Path, connection: &Connection) -> Result<(), Error> {
    let tables = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0));
    if tables.map_err(|error| said(path, error))? == 0 {
        return Ok(());
    }
    let reason = "this is a database of another program: name a path where nothing is yet".to_owned();
    Err(Error::Damaged { store: name(path), reason })
}

/// Everything that is missing, in one transaction.
fn expand(
    connection: &Connection,
    found: Option<i64>,
    catalogues: &[&Catalogue],
    kinds: &Kinds,
    steps: &mut Vec<String>,
) -> Result<(), Fault> {
    let transaction = connection.unchecked_transaction()?;
    for (_, sql) in STEPS.iter().filter(|(schema, _)| *schema > found.unwrap_or_default()) {
        connection.execute_batch(sql)?;
    }
    if found.is_none() {
        connection.pragma_update(None, "application_id", file::APPLICATION)?;
        // A store that is made again at the same path is another life, so lives are counted by the clock.
        let sql = "INSERT INTO meta VALUES (1, ?, ?, ?, false, 0)";
        connection.execute(sql, params![SCHEMA, ADMITS_FROM, SystemClock.now().unix_ms()])?;
        connection.execute("INSERT INTO life SELECT incarnation, 0 FROM meta", [])?;
    }
    if found.is_none_or(|found| found < SCHEMA) {
        connection.execute("UPDATE meta SET schema = ?, admits_from = ?", [SCHEMA, ADMITS_FROM])?;
        steps.push(format!("schema {SCHEMA}"));
    }
    let known = "SELECT count(*) FROM subject";
    let before: i64 = connection.query_row(known, [], |row| row.get(0))?;
    for entry in catalogues.iter().flat_map(|catalogue| catalogue.directory().entries()) {
        flush::subject(connection, &entry.row.subject)?;
    }
    for schema in catalogues.iter().flat_map(|catalogue| stored::schemas(catalogue)) {
        connection.prepare_cached("INSERT INTO schema VALUES (?, ?, ?) ON CONFLICT DO NOTHING")?.execute(schema)?;
    }
    let after: i64 = connection.query_row(known, [], |row| row.get(0))?;
    if after > before {
        steps.push(format!("{} subjects", after - before));
    }
    for it in kinds.all() {
        expand_kind(connection, it, steps)?;
    }
    Ok(transaction.commit()?)
}

fn expand_kind(connection: &Connection, of: &KindType, steps: &mut Vec<String>) -> Result<(), Fault> {
    let kind = &of.kind;
    let stored = stored_kind(connection, kind.name)?;
    let Some(stored) = stored else {
        connection.execute_batch(&documents::create(kind.name))?;
        connection.execute("INSERT INTO kind VALUES (?, ?, x'', '')", params![kind.name, of.writes])?;
        steps.push(format!("table {}", kind.name));
        for field in kind.fields {
            connection.execute_batch(&documents::add_field(kind.name, field))?;
            let values = params![kind.name, field.name, type_name(field.of)];
            connection.execute("INSERT INTO field VALUES (?, ?, ?, true)", values)?;
        }
        return Ok(());
    };
    if stored.shape > kind.shape {
        return Err(Error::ShapeNewer { kind: kind.name.to_owned(), found: stored.shape, known: kind.shape }.into());
    }
    if stored.shape < of.writes {
        // An upcast body may give other values: all columns are filled again.
        connection.execute("UPDATE kind SET shape = ?2 WHERE name = ?1", params![kind.name, of.writes])?;
        forget_filled(connection, kind.name, stored.fields.keys().map(String::as_str))?;
        steps.push(format!("shape {} of {}", of.writes, kind.name));
    }
    for field in kind.fields {
        match stored.fields.get(field.name) {
            Some(known) if known.of == type_name(field.of) => {}
            Some(_) => return Err(Error::from(BadKind::Retyped { kind: kind.name, name: field.name }).into()),
            None => {
                connection.execute_batch(&documents::add_field(kind.name, field))?;
                let values = params![kind.name, field.name, type_name(field.of)];
                connection.execute("INSERT INTO field VALUES (?, ?, ?, false)", values)?;
                forget_filled(connection, kind.name, [field.name].into_iter())?;
                steps.push(format!("column {}.{}", kind.name, field.name));
            }
        }
    }
    Ok(())
}

/// What the store knows of a kind.
struct StoredKind {
    shape: u32,
    fields: BTreeMap<String, StoredField>,
}

struct StoredField {
    of: String,
    filled: bool,
}

fn stored_kind(connection: &Connection, kind: &str) -> Result<Option<StoredKind>, Fault> {
    let mut shape = connection.prepare_cached("SELECT shape FROM kind WHERE name = ?")?;
    let mut rows = shape.query([kind])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let shape = row.get(0)?;
    let mut fields = connection.prepare_cached("SELECT name, of, filled FROM field WHERE kind = ?")?;
    let fields =
        fields.query_map([kind], |row| Ok((row.get(0)?, StoredField { of: row.get(1)?, filled: row.get(2)? })))?;
    Ok(Some(StoredKind { shape, fields: fields.collect::<rusqlite::Result<_>>()? }))
}

/// The columns of these fields do not hold what they should; the next migration starts over with them.
fn forget_filled<'a>(
    connection: &Connection,
    kind: &str,
    fields: impl Iterator<Item = &'a str>,
) -> rusqlite::Result<()> {
    for field in fields {
        connection.execute("UPDATE field SET filled = false WHERE kind = ? AND name = ?", [kind, field])?;
    }
    connection.execute("UPDATE kind SET fill_tenant = x'', fill_id = '' WHERE name = ?", [kind])?;
    Ok(())
}

/// Whether the store has what a program with these kinds needs.
pub(super) fn admit_kinds(path: &Path, connection: &Connection, kinds: &Kinds) -> Result<(), Fault> {
    for KindType { kind, writes, .. } in kinds.all() {
        let behind = || Error::NotMigrated { store: format!("the document kind `{}` of {}", kind.name, name(path)) };
        let stored = stored_kind(connection, kind.name)?.ok_or_else(behind)?;
        if stored.shape > kind.shape {
            let (found, known) = (stored.shape, kind.shape);
            return Err(Error::ShapeNewer { kind: kind.name.to_owned(), found, known }.into());
        }
        let filled = |field: &Field| {
            stored.fields.get(field.name).is_some_and(|known| known.filled && known.of == type_name(field.of))
        };
        if stored.shape < *writes || !kind.fields.iter().all(filled) {
            return Err(behind().into());
        }
    }
    Ok(())
}

/// This program writes documents without the columns that it does not know: they do not hold what they should any more.
pub(super) fn leave_behind(connection: &Connection, kinds: &Kinds) -> Result<(), Fault> {
    for kind in kinds.all().iter().map(|it| &it.kind) {
        let Some(stored) = stored_kind(connection, kind.name)? else { continue };
        let declared = |name: &str| kind.fields.iter().any(|field| field.name == name);
        let left: Vec<&str> = stored
            .fields
            .iter()
            .filter(|(name, field)| field.filled && !declared(name))
            .map(|(name, _)| name.as_str())
            .collect();
        if !left.is_empty() {
            forget_filled(connection, kind.name, left.into_iter())?;
        }
    }
    Ok(())
}

const fn type_name(of: FieldType) -> &'static str {
    match of {
        FieldType::Text => "text",
        FieldType::Integer => "integer",
        FieldType::Time => "time",
        FieldType::Flag => "flag",
        FieldType::Id => "id",
    }
}
