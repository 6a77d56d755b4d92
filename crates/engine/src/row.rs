//! A row of the log in this process: its envelope is read and judged once, however many consumers handle it.

use std::ops::Deref;
use std::sync::Arc;

use karwan_envelope::Envelope;
use karwan_store::log::LogRow;
use karwan_store::{Error, Store};
use tokio::sync::OnceCell;

/// See the module.
#[derive(Debug)]
pub(crate) struct Row {
    row: LogRow,
    envelope: OnceCell<Arc<Envelope>>,
}

impl Row {
    /// Its envelope, where it is valid.
    pub async fn envelope(&self, store: &Store) -> Result<Arc<Envelope>, Error> {
        let read = || async { store.received(&self.row).await.map(Arc::new) };
        self.envelope.get_or_try_init(read).await.cloned()
    }
}

impl From<LogRow> for Row {
    fn from(row: LogRow) -> Self {
        Self { row, envelope: OnceCell::new() }
    }
}

impl Deref for Row {
    type Target = LogRow;

    fn deref(&self) -> &LogRow {
        &self.row
    }
}
