//! How far the log is read ahead of the handlers.

use karwan_store::log::{LogRow, Seq};

/// How much of the log a process reads ahead of its handlers, and how it reads. What is here fits most programs; smaller
/// figures are for small machines, and for tests of what happens at a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadAhead {
    /// Rows of one tenant that are queued for one consumer; beyond, the tenant is read apart for it.
    pub tenant_rows: usize,
    /// Rows that are queued for one consumer; beyond, nothing more is read for it, and others go on.
    pub consumer_rows: usize,
    /// Bytes of envelopes that are queued for one consumer; beyond, the same.
    pub consumer_bytes: usize,
    /// Rows that are queued in all; beyond, nothing is read for consumers that have an equal share of it.
    pub rows: usize,
    /// Bytes of envelopes that are queued in all, counted for each consumer; beyond, the same.
    pub bytes: usize,
    /// Rows that are read at once.
    pub page_rows: usize,
    /// Bytes of envelopes that are read at once, by the size of those before: large ones are read in small pages.
    pub page_bytes: usize,
    /// A reader that is further behind looks first who has rows at all.
    pub sweep_behind: Seq,
}

impl Default for ReadAhead {
    /// A tenant's share lasts longer than reading the next of it takes, and no more than that: rows that wait for seconds are in
    /// no cache any more when their turn comes, and the memory that they fill is new each time.
    fn default() -> Self {
        Self {
            tenant_rows: 1_024,
            consumer_rows: 8 * 1_024,
            consumer_bytes: 32 << 20,
            rows: 64 * 1_024,
            bytes: 128 << 20,
            page_rows: 1_000,
            page_bytes: 16 << 20,
            sweep_behind: 10_000,
        }
    }
}

impl ReadAhead {
    /// With fewer rows of a tenant queued, one that is read apart is read on.
    pub(super) fn tenant_low(&self) -> usize {
        self.tenant_rows / 2
    }

    /// How many rows are read at once, where envelopes are so large on the average.
    pub(super) fn rows_at_once(&self, most: usize, envelope_bytes: usize) -> usize {
        (self.page_bytes / envelope_bytes.max(1)).clamp(1, most.max(1))
    }

    /// How many rows of each of several tenants that are read apart are read at once: no more of all than of one alone.
    pub(super) fn rows_apart(&self, tenants: usize, envelope_bytes: usize) -> usize {
        (self.rows_at_once(self.tenant_low(), envelope_bytes) / tenants.max(1)).max(1)
    }

    /// Whether nothing more is queued for one of several consumers.
    pub(super) fn is_full(&self, of: Amount, all: Amount, readers: usize) -> bool {
        let share = |bound: usize| bound / readers.max(1);
        self.is_full_alone(of)
            || all.rows >= self.rows && of.rows >= share(self.rows)
            || all.bytes >= self.bytes && of.bytes >= share(self.bytes)
    }

    /// Whether it is full by what is queued for it, whatever others have.
    pub(super) fn is_full_alone(&self, of: Amount) -> bool {
        of.rows >= self.consumer_rows || of.bytes >= self.consumer_bytes
    }

    /// Whether as much is queued in all as may be.
    pub(super) fn is_past(&self, all: Amount) -> bool {
        all.rows >= self.rows || all.bytes >= self.bytes
    }
}

/// How much is queued.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub rows: usize,
    /// Of envelopes.
    pub bytes: usize,
}

impl Amount {
    pub fn add(&mut self, row: &LogRow) {
        self.rows += 1;
        self.bytes += row.envelope.len();
    }

    pub fn remove(&mut self, row: &LogRow) {
        self.subtract(Self { rows: 1, bytes: row.envelope.len() });
    }

    pub fn subtract(&mut self, other: Self) {
        self.rows = self.rows.saturating_sub(other.rows);
        self.bytes = self.bytes.saturating_sub(other.bytes);
    }
}
