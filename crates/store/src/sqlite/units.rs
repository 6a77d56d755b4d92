//! What a unit asks of the file: documents, and to be flushed.

use std::sync::Arc;

use rusqlite::Connection;

use super::{GLANCE_MAX, Sqlite, documents, flush};
use crate::backend::{Refusal, Void};
use crate::error::Error;
use crate::held::DocumentRow;
use crate::kind::Kind;
use crate::query::Parts;
use crate::write_set::{Flushed, TenantBits, UnitClaim, WriteSet};

impl Sqlite {
    pub async fn document(&self, tenant: TenantBits, kind: &Kind, id: &str) -> Result<Option<DocumentRow>, Error> {
        self.glance(|connection| self.tables.read(connection, tenant, kind, id)).await
    }

    pub async fn query(&self, tenant: TenantBits, kind: &Kind, parts: &Parts) -> Result<Vec<DocumentRow>, Error> {
        if parts.page() <= GLANCE_MAX && parts.follows_an_index() {
            return self.glance(|connection| documents::query(connection, tenant, kind, parts)).await;
        }
        let (kind, parts) = (*kind, parts.clone());
        self.read(move |connection| documents::query(connection, tenant, &kind, &parts)).await
    }

    pub async fn flush(&self, set: &Arc<WriteSet>) -> Result<Flushed, Refusal> {
        let (set, tables, subjects) = (set.clone(), self.tables.clone(), self.subjects.clone());
        let flush = move |connection: &Connection, now| flush::flush(connection, (&tables, &subjects), &set, now);
        self.try_write(flush).await.map_err(|fault| fault.refusal(&self.path))
    }

    /// No flush is under way that its caller was not answered about, so nothing need be made void.
    pub async fn unit_committed(&self, claim: UnitClaim, _: Void) -> Result<bool, Error> {
        self.glance(|connection| flush::unit_committed(connection, claim)).await
    }
}
