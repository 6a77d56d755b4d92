//! Documents by their ids: what is asked for at the same time is asked in one call.
//!
//! Bounds: [`AT_ONCE`] calls under way, [`A_CALL`] documents each.

use std::collections::HashMap;

use uuid::Uuid;

use super::Postgres;
use super::crowd::Crowd;
use crate::error::Error;
use crate::held::DocumentRow;
use crate::kind::Kind;
use crate::write_set::TenantBits;

const AT_ONCE: usize = 4;
const A_CALL: usize = 256;

/// Those who wait for a document.
pub(super) type Reads = Crowd<Wanted, Option<DocumentRow>>;

/// A document that is asked for.
pub(super) struct Wanted {
    kind: &'static str,
    tenant: TenantBits,
    id: String,
}

/// Nobody waits yet.
pub(super) fn reads() -> Reads {
    Crowd::new(AT_ONCE)
}

impl Postgres {
    pub async fn document(&self, tenant: TenantBits, kind: &Kind, id: &str) -> Result<Option<DocumentRow>, Error> {
        let wanted = || Wanted { kind: kind.name, tenant, id: id.to_owned() };
        self.reads.ask(wanted, || self.read_waiting()).await
    }

    async fn read_waiting(&self) -> Result<(), Error> {
        let mut asks = self.reads.take(A_CALL, |one, other| one.kind == other.kind);
        asks.sort_by_key(|ask| ask.of.tenant);
        let Some(first) = asks.first() else { return Ok(()) };
        let client = self.app().await?;
        let sql = format!("SELECT tenant_id, id, version, shape, body FROM karwan.read_{}($1, $2)", first.of.kind);
        let statement = client.prepare_cached(&sql).await.map_err(|cause| self.error(cause))?;
        let tenants: Vec<Uuid> = asks.iter().map(|ask| Uuid::from_u128(ask.of.tenant)).collect();
        let ids: Vec<&str> = asks.iter().map(|ask| ask.of.id.as_str()).collect();
        let rows = client.query(&statement, &[&tenants, &ids]).await.map_err(|cause| self.error(cause))?;
        drop(client);
        let found: HashMap<(TenantBits, &str), DocumentRow> = rows
            .iter()
            .map(|row| {
                let id: &str = row.get(1);
                let document = DocumentRow {
                    id: id.to_owned(),
                    version: row.get(2),
                    shape: row.get::<_, i32>(3).unsigned_abs(),
                    body: row.get(4),
                };
                ((row.get::<_, Uuid>(0).as_u128(), id), document)
            })
            .collect();
        for ask in asks {
            let row = found.get(&(ask.of.tenant, ask.of.id.as_str())).cloned();
            ask.answer(row);
        }
        Ok(())
    }
}
