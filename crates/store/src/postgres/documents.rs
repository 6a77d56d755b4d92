//! Queries over declared fields. Documents by their ids are in `reads`.

use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use super::{Postgres, error};
use crate::error::Error;
use crate::held::DocumentRow;
use crate::kind::{FieldValue, Kind};
use crate::query::Parts;
use crate::write_set::TenantBits;

impl Postgres {
    pub async fn query(&self, tenant: TenantBits, kind: &Kind, parts: &Parts) -> Result<Vec<DocumentRow>, Error> {
        let asked = Asked::of(kind, parts);
        let mut client = self.app().await?;
        let bad = |cause| error::error(&self.shown, cause);
        // A query is a transaction of its own, because the tenant is set in it.
        let tx = client.transaction().await.map_err(bad)?;
        let tenant = Uuid::from_u128(tenant);
        let set = tx.prepare_cached("SELECT set_config('app.tenant_id', $1, true)").await.map_err(bad)?;
        tx.execute(&set, &[&tenant.to_string()]).await.map_err(bad)?;
        let statement = tx.prepare_typed_cached(&asked.sql, &asked.types).await.map_err(bad)?;
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&tenant];
        parameters.extend(asked.values.iter().map(|value| value as &(dyn ToSql + Sync)));
        let rows = tx.query(&statement, &parameters).await.map_err(bad)?;
        tx.commit().await.map_err(bad)?;
        let rows = rows.iter().map(|row| DocumentRow {
            id: row.get(0),
            version: row.get(1),
            shape: row.get::<_, i32>(2).unsigned_abs(),
            body: row.get(3),
        });
        Ok(rows.collect())
    }
}

/// A query as text and parameters; the first parameter is the tenant, the others are texts that are cast to their columns.
struct Asked {
    sql: String,
    types: Vec<Type>,
    values: Vec<Option<String>>,
}

impl Asked {
    fn of(kind: &Kind, parts: &Parts) -> Self {
        let mut values = Vec::new();
        let mut conditions = Vec::new();
        let mut parameter = |field: Option<&str>, value: &FieldValue| {
            values.push(field_text(value));
            let of = field.and_then(|name| kind.fields.iter().find(|field| field.name == name)).map(|field| field.of);
            format!("${}::{}", values.len() + 1, of.map_or("text", super::kinds::cast_type))
        };
        for (field, value) in &parts.equal {
            let place = parameter(Some(field), value);
            conditions.push(format!("f_{field} = {place}"));
        }
        let mut order = "id".to_owned();
        if let Some(range) = &parts.order {
            let field = range.field;
            order = format!("f_{field}, id");
            conditions.push(format!("f_{field} IS NOT NULL"));
            for (bound, sign) in [(&range.from, ">="), (&range.until, "<")] {
                if let Some(value) = bound {
                    let place = parameter(Some(field), value);
                    conditions.push(format!("f_{field} {sign} {place}"));
                }
            }
        }
        if let Some(cursor) = &parts.after {
            let id = parameter(None, &FieldValue::Text(cursor.id.clone()));
            match (&parts.order, &cursor.value) {
                (Some(range), Some(value)) => {
                    let place = parameter(Some(range.field), value);
                    conditions.push(format!("(f_{}, id) > ({place}, {id})", range.field));
                }
                _ => conditions.push(format!("id > {id}")),
            }
        }
        let narrowed: String = conditions.iter().map(|condition| format!(" AND {condition}")).collect();
        let limit = parts.page() + 1;
        let sql = format!(
            "SELECT id, version, shape, body FROM karwan.doc_{} WHERE tenant_id = $1 AND body IS NOT NULL{narrowed} \
             ORDER BY {order} LIMIT {limit}",
            kind.name
        );
        let types = std::iter::once(Type::UUID).chain(values.iter().map(|_| Type::TEXT)).collect();
        Self { sql, types, values }
    }
}

/// A field's value as the text that its column's type reads.
pub(super) fn field_text(value: &FieldValue) -> Option<String> {
    match value {
        FieldValue::Absent => None,
        FieldValue::Text(text) => Some(text.clone()),
        FieldValue::Integer(integer) => Some(integer.to_string()),
        FieldValue::Time(ms) => Some(karwan_envelope::time::Timestamp::from_unix_ms(*ms).to_string()),
        FieldValue::Flag(flag) => Some(flag.to_string()),
        FieldValue::Id(bits) => Some(Uuid::from_u128(*bits).to_string()),
    }
}
