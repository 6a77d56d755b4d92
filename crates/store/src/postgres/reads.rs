//! Documents by their ids: what is asked for at the same time is asked in one call.
//!
//! Bounds: [`AT_ONCE`] calls under way, [`A_CALL`] documents each.

use std::collections::HashMap;

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::Postgres;
use super::arrays::list;
use super::crowd::Crowd;
use crate::error::Error;
use crate::held::DocumentRow;
use crate::kind::Kind;
use crate::write_set::TenantBits;

const AT_ONCE: usize = 2;
const A_CALL: usize = 256;
const READ: &str = "SELECT place, version, shape, body FROM karwan.read_stretches($1, $2, $3, $4, $5)";

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
        let mut asks = self.reads.take(A_CALL, |_, _| true);
        // As the database goes through them.
        asks.sort_by_key(|ask| ask.of.kind);
        if asks.is_empty() {
            return Ok(());
        }
        let client = self.app().await?;
        let statement = client.prepare_cached(READ).await.map_err(|cause| self.error(cause))?;
        let (mut kinds, mut ends) = (Vec::new(), Vec::new());
        for (end, ask) in (1_i32..).zip(&asks) {
            if kinds.last() == Some(&ask.of.kind) {
                ends.pop();
            } else {
                kinds.push(ask.of.kind);
            }
            ends.push(end);
        }
        let tenants: Vec<Uuid> = asks.iter().map(|ask| Uuid::from_u128(ask.of.tenant)).collect();
        let ids: Vec<&str> = asks.iter().map(|ask| ask.of.id.as_str()).collect();
        let parameters: [&(dyn ToSql + Sync); 5] = [&list(&tenants), &kinds, &ends, &tenants, &ids];
        let rows = client.query(&statement, &parameters).await.map_err(|cause| self.error(cause))?;
        drop(client);
        let mut found: HashMap<i32, &Row> = rows.iter().map(|row| (row.get(0), row)).collect();
        // The database counts from 1.
        for (place, ask) in (1..).zip(asks) {
            let row = found.remove(&place).map(|row| DocumentRow {
                id: ask.of.id.clone(),
                version: row.get(1),
                shape: row.get::<_, i32>(2).unsigned_abs(),
                body: row.get(3),
            });
            ask.answer(row);
        }
        Ok(())
    }
}
