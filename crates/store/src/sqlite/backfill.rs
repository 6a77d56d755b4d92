//! Fills new columns from stored bodies, a chunk a transaction, and goes on where it was interrupted.

use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use crate::error::Error;
use crate::kind::KindType;
use crate::migrate::Progress;
use crate::sqlite::documents::{column, column_value, table};
use crate::sqlite::error::Fault;

/// How many documents are filled in one transaction.
const CHUNK: usize = 500;

/// A stored document on its way through the chunks.
struct Stored {
    tenant: [u8; 16],
    id: String,
    shape: u32,
    body: String,
}

/// Fills the columns of a kind's declared fields that are not filled; answers how many documents it wrote.
pub(super) fn run(connection: &Connection, kind: &KindType, progress: Progress<'_>) -> Result<u64, Fault> {
    if kind.kind.fields.is_empty() || is_filled(connection, kind)? {
        return Ok(0);
    }
    let table = table(kind.kind.name);
    let total = format!("SELECT count(*) FROM {table} WHERE body IS NOT NULL");
    let total: i64 = connection.query_row(&total, [], |row| row.get(0))?;
    let done = format!(
        "SELECT count(*) FROM {table}, kind
         WHERE name = ? AND body IS NOT NULL AND (tenant, id) <= (fill_tenant, fill_id)"
    );
    let before: i64 = connection.query_row(&done, [kind.kind.name], |row| row.get(0))?;
    let mut filled = 0;
    loop {
        progress(kind.kind.name, before as u64 + filled, total as u64);
        let chunk = chunk(connection, kind)?;
        filled += chunk as u64;
        if chunk < CHUNK {
            return Ok(filled);
        }
    }
}

fn is_filled(connection: &Connection, kind: &KindType) -> rusqlite::Result<bool> {
    let mut filled = connection.prepare_cached("SELECT filled FROM field WHERE kind = ? AND name = ?")?;
    for field in kind.kind.fields {
        if !filled.query_row([kind.kind.name, field.name], |row| row.get::<_, bool>(0))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// One chunk, and where it ended, in one transaction. A chunk that is not full was the last one.
fn chunk(connection: &Connection, kind: &KindType) -> Result<usize, Fault> {
    let transaction = connection.unchecked_transaction()?;
    let documents = next(connection, kind)?;
    let columns: Vec<String> = kind.kind.fields.iter().map(|field| format!("{} = ?", column(field.name))).collect();
    let sql = format!("UPDATE {} SET {} WHERE tenant = ? AND id = ?", table(kind.kind.name), columns.join(", "));
    for Stored { tenant, id, shape, body } in &documents {
        let bad = |cause| Error::Body { kind: kind.kind.name, id: id.clone(), cause };
        let fields = (kind.fields)(*shape, body).map_err(bad)?;
        let key = [Value::Blob(tenant.to_vec()), Value::Text(id.clone())];
        let values = fields.iter().map(column_value).chain(key);
        connection.prepare_cached(&sql)?.execute(params_from_iter(values))?;
    }
    if let Some(last) = documents.last() {
        let sql = "UPDATE kind SET fill_tenant = ?2, fill_id = ?3 WHERE name = ?1";
        connection.execute(sql, params![kind.kind.name, last.tenant, last.id])?;
    }
    if documents.len() < CHUNK {
        for field in kind.kind.fields {
            let sql = "UPDATE field SET filled = true WHERE kind = ? AND name = ?";
            connection.execute(sql, [kind.kind.name, field.name])?;
        }
    }
    transaction.commit()?;
    Ok(documents.len())
}

fn next(connection: &Connection, kind: &KindType) -> rusqlite::Result<Vec<Stored>> {
    let sql = format!(
        "SELECT tenant, id, doc.shape, body FROM {} AS doc
         WHERE (tenant, id) > (SELECT fill_tenant, fill_id FROM kind WHERE name = ?) AND body IS NOT NULL
         ORDER BY tenant, id LIMIT {CHUNK}",
        table(kind.kind.name)
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([kind.kind.name], |row| {
        Ok(Stored { tenant: row.get(0)?, id: row.get(1)?, shape: row.get(2)?, body: row.get(3)? })
    })?;
    rows.collect()
}
