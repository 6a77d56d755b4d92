//! The log, page by page, read once for all streams of a process.
//!
//! Every stream has a place of its own. Those that are close behind each other find the pages that the first of them has
//! read; one that fell behind reads for itself. Bound: [`KEPT`] pages.

use std::collections::VecDeque;
use std::sync::Arc;

use karwan_store::log::{Filter, LogPage, PAGE_MAX, Seq};
use karwan_store::{Error, Position, Store};
use tokio::sync::Mutex;

/// So many pages are kept for those behind.
const KEPT: usize = 8;

/// A page, and where it begins.
#[derive(Debug)]
pub struct Page {
    /// Everything after this.
    pub after: Position,
    /// Its rows, and where they end.
    pub page: LogPage,
}

/// See the module.
pub struct Pages {
    store: Store,
    kept: Mutex<VecDeque<Arc<Page>>>,
}

impl Pages {
    /// Of a store.
    pub fn new(store: Store) -> Self {
        Self { store, kept: Mutex::default() }
    }

    /// The rows after a number, in the present life of the store; none where there is nothing yet.
    pub async fn after(&self, seq: Seq) -> Result<Option<Arc<Page>>, Error> {
        // Held while it reads: who comes second wants the same page.
        let mut kept = self.kept.lock().await;
        let relay = self.store.relay();
        let after = Position { incarnation: relay.incarnation(), seq };
        if let Some(page) = kept.iter().find(|page| page.after == after) {
            return Ok(Some(page.clone()));
        }
        let page = relay.page(after, &Filter::default(), PAGE_MAX).await?;
        if page.position == after {
            return Ok(None);
        }
        let page = Arc::new(Page { after, page });
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(page.clone());
        Ok(Some(page))
    }
}
