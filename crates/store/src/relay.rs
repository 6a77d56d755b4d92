//! `RelayTx`: the log across tenants, and never a document. One of the two cross-tenant doors.

use std::sync::Arc;

use crate::backend::Backend;
use crate::error::Error;
use crate::log::{Filter, Holder, LogPage, LogRow, PAGE_MAX, Position, Seq};
use crate::store::Store;
use crate::write_set::TenantBits;

/// A reader of the whole log.
#[derive(Clone)]
pub struct RelayTx {
    pub(crate) backend: Arc<Backend>,
}

impl Store {
    /// The log across tenants.
    pub fn relay(&self) -> RelayTx {
        RelayTx { backend: self.shared.backend.clone() }
    }
}

impl RelayTx {
    /// The beginning of the log in this life of the store.
    pub async fn start(&self) -> Result<Position, Error> {
        Ok(Position { incarnation: self.backend.incarnation(), seq: self.backend.floor().await? })
    }

    /// Where the log stands, decided or not: what a commit answers is never beyond it.
    pub async fn end(&self) -> Result<Position, Error> {
        self.backend.end().await
    }

    /// How far the log can be read now without missing a row.
    pub async fn safe(&self) -> Result<Seq, Error> {
        self.backend.safe().await
    }

    /// Rows after a position, in order; at most [`PAGE_MAX`].
    pub async fn page(&self, after: Position, filter: &Filter, limit: usize) -> Result<LogPage, Error> {
        let backend = &self.backend;
        // First: looking may find that another life has begun.
        let safe = backend.safe().await?;
        let incarnation = backend.incarnation();
        if after.incarnation != incarnation {
            return Err(Error::Reset { asked: after, now: backend.end().await? });
        }
        let limit = limit.clamp(1, PAGE_MAX);
        let rows = backend.rows(after.seq, safe, filter, limit).await?;
        // Retention may have dropped rows between the two: a hole is an error, never "nothing there".
        let floor = backend.floor().await?;
        if after.seq < floor {
            return Err(Error::BelowFloor { asked: after.seq, floor });
        }
        if after.seq > safe && rows.is_empty() {
            let now = backend.end().await?;
            if after.seq > now.seq {
                return Err(Error::Reset { asked: after, now });
            }
        }
        let more = rows.len() == limit;
        // A position never goes back, also where another process has moved the horizon less far.
        let seq = if more { rows.last().map_or(after.seq, |row| row.seq) } else { safe.max(after.seq) };
        let wanted = |subject: &str| filter.subject.as_ref().is_none_or(|pattern| pattern.matches(subject));
        let rows = rows.into_iter().filter(|row| wanted(&row.subject)).collect();
        Ok(LogPage { rows, position: Position { incarnation, seq }, more })
    }

    /// Rows after one number, up to another that is [`Self::safe`], in order, of all tenants but these.
    pub async fn rows_of_others(
        &self,
        after: Seq,
        until: Seq,
        except: &[TenantBits],
        limit: usize,
    ) -> Result<Vec<LogRow>, Error> {
        self.backend.rows_of_others(after, until, except, limit).await
    }

    /// The same of one tenant.
    pub async fn rows_of(
        &self,
        tenant: TenantBits,
        after: Seq,
        until: Seq,
        limit: usize,
    ) -> Result<Vec<LogRow>, Error> {
        let filter = Filter { tenant: Some(tenant), ..Filter::default() };
        self.backend.rows(after, until, &filter, limit).await
    }

    /// Who has rows between two numbers; a skip over tenants, not a scan of rows.
    pub async fn tenants(&self, after: Seq, until: Seq) -> Result<Vec<TenantBits>, Error> {
        self.backend.tenants(after, until).await
    }

    /// The saved positions of a consumer's lanes, whoever holds them.
    pub async fn positions(&self, consumer: &str) -> Result<Vec<Seq>, Error> {
        self.backend.positions(consumer).await
    }

    /// Who holds the horizon back, longest first.
    pub async fn holders(&self) -> Result<Vec<Holder>, Error> {
        self.backend.holders().await
    }

    /// Ends the sessions that have held the horizon back for longer than so many milliseconds, usually
    /// [`LOG_HOLD_MS_MAX`](crate::log::LOG_HOLD_MS_MAX), and answers which. What they wrote is rolled back. A prepared
    /// transaction has no session: whoever prepared it decides.
    pub async fn end_holders(&self, held_ms: i64) -> Result<Vec<Holder>, Error> {
        self.backend.end_holders(held_ms).await
    }
}
