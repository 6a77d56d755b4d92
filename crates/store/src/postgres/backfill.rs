//! Fills in the columns of newly declared fields, a chunk at a time. Interrupted, it goes on where it stopped.

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Transaction};
use uuid::Uuid;

use super::documents::field_text;
use super::{error, kinds};
use crate::error::Error;
use crate::kind::{KindType, Kinds};
use crate::migrate::Progress;

/// Documents a transaction.
const CHUNK: i64 = 500;

/// Fills in what is missing of the kinds that this program knows; answers how many documents were written.
pub(super) async fn run(store: &str, client: &mut Client, kinds: &Kinds, progress: Progress<'_>) -> Result<u64, Error> {
    let bad = |cause| error::error(store, cause);
    client.batch_execute("SET ROLE karwan_maintenance").await.map_err(bad)?;
    let mut written = 0;
    for kind in kinds.all().iter().filter(|kind| !kind.kind.fields.is_empty()) {
        written += fill_kind(store, client, kind, progress).await?;
    }
    client.batch_execute("RESET ROLE").await.map_err(bad)?;
    Ok(written)
}

async fn fill_kind(store: &str, client: &mut Client, kind: &KindType, progress: Progress<'_>) -> Result<u64, Error> {
    let bad = |cause| error::error(store, cause);
    let name = kind.kind.name;
    let declared: Vec<&str> = kind.kind.fields.iter().map(|field| field.name).collect();
    let mut written = 0;
    let unfilled = "SELECT count(*) FROM karwan.field WHERE kind = $1 AND name = ANY ($2) AND NOT filled";
    let open: i64 = client.query_one(unfilled, &[&name, &declared]).await.map_err(bad)?.get(0);
    if open > 0 {
        let estimate = format!("SELECT count(*) FROM karwan.doc_{name} WHERE body IS NOT NULL");
        let total: i64 = client.query_one(&estimate, &[]).await.map_err(bad)?.get(0);
        let resume = "SELECT at_tenant, at_id FROM karwan.field WHERE kind = $1 AND name = ANY ($2) AND NOT filled
                      ORDER BY at_tenant NULLS FIRST, at_id NULLS FIRST LIMIT 1";
        let row = client.query_one(resume, &[&name, &declared]).await.map_err(bad)?;
        let (tenant, id): (Option<Uuid>, Option<String>) = (row.get(0), row.get(1));
        let mut place = (tenant.unwrap_or(Uuid::nil()), id.unwrap_or_default());
        loop {
            let tx = client.transaction().await.map_err(bad)?;
            let sql = format!(
                "SELECT tenant_id, id, version, shape, body FROM karwan.doc_{name}
                 WHERE (tenant_id, id) > ($1, $2) AND body IS NOT NULL ORDER BY tenant_id, id LIMIT {CHUNK}"
            );
            let rows = tx.query(&sql, &[&place.0, &place.1]).await.map_err(bad)?;
            let Some(last) = rows.last() else { break };
            place = (last.get(0), last.get(1));
            written += fill(store, &tx, kind, &rows).await?;
            let save =
                "UPDATE karwan.field SET at_tenant = $3, at_id = $4 WHERE kind = $1 AND name = ANY ($2) AND NOT filled";
            tx.execute(save, &[&name, &declared, &place.0, &place.1]).await.map_err(bad)?;
            tx.commit().await.map_err(bad)?;
            progress(name, written, total.unsigned_abs());
        }
        let done = "UPDATE karwan.field SET filled = true WHERE kind = $1 AND name = ANY ($2)";
        client.execute(done, &[&name, &declared]).await.map_err(bad)?;
    }
    // What programs without the new fields have written meanwhile. One pass: a program that does not know every field itself
    // leaves rows behind, and would find them again for ever.
    let mut place = (Uuid::nil(), String::new());
    loop {
        let tx = client.transaction().await.map_err(bad)?;
        let sql = format!(
            "SELECT tenant_id, id, version, shape, body FROM karwan.doc_{name}
             WHERE behind AND (tenant_id, id) > ($1, $2) ORDER BY tenant_id, id LIMIT {CHUNK}"
        );
        let rows = tx.query(&sql, &[&place.0, &place.1]).await.map_err(bad)?;
        let Some(last) = rows.last() else { return Ok(written) };
        place = (last.get(0), last.get(1));
        written += fill(store, &tx, kind, &rows).await?;
        tx.commit().await.map_err(bad)?;
    }
}

/// Writes the fields of some documents, where they are still the version that was read.
async fn fill(store: &str, tx: &Transaction<'_>, kind: &KindType, rows: &[tokio_postgres::Row]) -> Result<u64, Error> {
    let fields = kind.kind.fields;
    let mut columns: Vec<Vec<Option<String>>> = vec![Vec::new(); fields.len()];
    let (mut tenants, mut ids, mut versions): (Vec<Uuid>, Vec<String>, Vec<i64>) = Default::default();
    for row in rows {
        let (id, shape, body): (String, i32, Option<String>) = (row.get(1), row.get(3), row.get(4));
        let Some(body) = body else { continue };
        let values = (kind.fields)(shape.unsigned_abs(), &body).map_err(|cause| Error::Body {
            kind: kind.kind.name,
            id: id.clone(),
            cause,
        })?;
        for (column, value) in columns.iter_mut().zip(values) {
            column.push(field_text(&value));
        }
        tenants.push(row.get(0));
        ids.push(id);
        versions.push(row.get(2));
    }
    let sets: Vec<String> = fields
        .iter()
        .enumerate()
        .map(|(place, field)| {
            format!("f_{0} = (${1}::text[])[n.ord]::{2}", field.name, place + 5, kinds::cast_type(field.of))
        })
        .collect();
    let sql = format!(
        "UPDATE karwan.doc_{0} d SET behind = EXISTS (SELECT FROM karwan.field f WHERE f.kind = '{0}' AND f.name <> ALL ($4)), {1}
         FROM unnest($1::uuid[], $2::text[], $3::bigint[]) WITH ORDINALITY AS n(tenant, id, version, ord)
         WHERE d.tenant_id = n.tenant AND d.id = n.id AND d.version = n.version",
        kind.kind.name,
        sets.join(", ")
    );
    let declared: Vec<&str> = fields.iter().map(|field| field.name).collect();
    let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&tenants, &ids, &versions, &declared];
    parameters.extend(columns.iter().map(|column| column as &(dyn ToSql + Sync)));
    tx.execute(&sql, &parameters).await.map_err(|cause| error::error(store, cause))
}
