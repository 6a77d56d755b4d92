//! What a unit asks of the file: documents, and to be flushed.

use std::sync::Arc;

use rusqlite::Connection;

use super::{GLANCE_MAX, Sqlite, documents, flush};
use crate::backend::{Refusal, Void};
use crate::error::Error;
use crate::held::DocumentRow;
use crate::kind::Kind;
use crate::query::Parts;
use crate::sqlite::recent::Known;
use crate::write_set::{Flushed, TenantBits, UnitClaim, WriteSet};

impl Sqlite {
    pub async fn document(&self, tenant: TenantBits, kind: &Kind, id: &str) -> Result<Option<DocumentRow>, Error> {
        let read = |connection: &Connection| self.tables.read(connection, tenant, kind, id);
        let Some(recent) = &self.recent else { return self.glance(read).await };
        match recent.known(kind, tenant, id) {
            Known::Row(row) => {
                tokio::task::coop::consume_budget().await;
                Ok(Some(row))
            }
            Known::Nothing(asked_at) => {
                let row = self.glance(read).await?;
                recent.learn(kind, tenant, &row, asked_at);
                Ok(row)
            }
        }
    }

    pub async fn query(&self, tenant: TenantBits, kind: &Kind, parts: &Parts) -> Result<Vec<DocumentRow>, Error> {
        if parts.page() <= GLANCE_MAX {
            return self.glance(|connection| documents::query(connection, tenant, kind, parts)).await;
        }
        let (kind, parts) = (*kind, parts.clone());
        self.read(move |connection| documents::query(connection, tenant, &kind, &parts)).await
    }

    pub async fn flush(&self, set: &Arc<WriteSet>) -> Result<Flushed, Refusal> {
        let (set, recent) = (set.clone(), self.recent.clone());
        let (tables, subjects) = (self.tables.clone(), self.subjects.clone());
        let flush = move |connection: &Connection, now| {
            let flushed = flush::flush(connection, (&tables, &subjects), &set, now);
            let Some(recent) = recent else { return flushed.map(|(flushed, _)| flushed) };
            match flushed {
                Ok((flushed, written)) => {
                    recent.write(written);
                    Ok(flushed)
                }
                Err(fault) => {
                    recent.forget(&set.documents);
                    Err(fault)
                }
            }
        };
        let flushed = self.try_write(flush).await;
        flushed.map_err(|fault| fault.refusal(&self.path))
    }

    /// No flush is under way that its caller was not answered about, so nothing need be made void.
    pub async fn unit_committed(&self, claim: UnitClaim, _: Void) -> Result<bool, Error> {
        self.glance(|connection| flush::unit_committed(connection, claim)).await
    }
}
