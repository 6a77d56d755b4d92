//! `RelayTx`: the log across tenants, and never a document. One of the two cross-tenant doors.

use std::sync::Arc;

use karwan_envelope::ids::EventId;

use crate::backend::Backend;
use crate::bell::Listening;
use crate::error::Error;
use crate::log::{Apart, Filter, Holder, LogPage, LogRow, PAGE_MAX, Position, Seq};
use crate::retention::Stretch;
use crate::store::Store;
use crate::write_set::{Claim, TenantBits};

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
        let seq = self.backend.floor().await?;
        Ok(Position { incarnation: self.backend.incarnation(), seq })
    }

    /// Where the log stands, decided or not: what a commit answers is never beyond it.
    pub async fn end(&self) -> Result<Position, Error> {
        self.backend.end().await
    }

    /// Hears when facts are committed, here or in another process; what plain SQL appends is not told.
    pub fn listen(&self) -> Listening {
        self.backend.bell().listen()
    }

    /// How far the log can be read now without missing a row.
    pub async fn safe(&self) -> Result<Seq, Error> {
        self.backend.safe().await
    }

    /// Whether the last look saw rows that could not be read yet, because transactions beside them were open: they can be soon.
    pub fn is_undecided(&self) -> bool {
        self.backend.is_undecided()
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

    /// The position behind which those rows begin that entered the log at an instant or later. By halving: numbers grow with
    /// time, as far as the store's clock does; where it was set back, rows of both times lie on either side.
    pub async fn position_at(&self, at_ms: i64) -> Result<Position, Error> {
        let backend = &self.backend;
        let (mut before, mut beyond) = (backend.floor().await?, backend.safe().await?);
        while before < beyond {
            let middle = before + (beyond - before) / 2;
            let row = backend.rows(middle, beyond, &Filter::default(), 1).await?.pop();
            match row.filter(|row| row.at < at_ms) {
                Some(row) => before = row.seq,
                None => beyond = middle,
            }
        }
        Ok(Position { incarnation: backend.incarnation(), seq: before })
    }

    /// Rows after one number, up to another that is [`Self::safe`], in order, filtered in the database: by everything but
    /// their subject.
    pub async fn rows(&self, after: Seq, until: Seq, filter: &Filter, limit: usize) -> Result<Vec<LogRow>, Error> {
        self.backend.rows(after, until, filter, limit).await
    }

    /// Rows of several tenants up to a number that is [`Self::safe`]; a list for each, in order. One look for all of them: many
    /// tenants may have a few rows each.
    pub async fn rows_apart(&self, asked: &Apart) -> Result<Vec<Vec<LogRow>>, Error> {
        self.backend.rows_apart(asked).await
    }

    /// Who has rows between two numbers; a skip over tenants, not a scan of rows.
    pub async fn tenants(&self, after: Seq, until: Seq) -> Result<Vec<TenantBits>, Error> {
        self.backend.tenants(after, until).await
    }

    /// The lowest saved position of all who read the log; none where nobody does.
    pub async fn lowest_position(&self) -> Result<Option<Seq>, Error> {
        let positions = self.backend.all_positions().await?;
        Ok(positions.into_iter().min())
    }

    /// The stretches that the log is dropped in, in order; none where it goes row by row.
    pub async fn stretches(&self) -> Result<Vec<Stretch>, Error> {
        self.backend.stretches().await
    }

    /// The saved positions of a consumer's lanes, whoever holds them.
    pub async fn positions(&self, consumer: &str) -> Result<Vec<Seq>, Error> {
        self.backend.positions(consumer).await
    }

    /// Which of these events a consumer has handled or given up.
    pub async fn handled(&self, consumer: &str, claims: &[Claim]) -> Result<Vec<EventId>, Error> {
        self.backend.handled(consumer, claims).await
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
