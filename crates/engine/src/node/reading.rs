//! Reading the log for the lanes that are held.

use karwan_store::Error;
use karwan_store::log::{Filter, Seq};

use super::Shared;
use super::state::{Behind, Page, Plan, Wanted};

/// With fewer rows queued, what is committed is read at once.
const HUNGRY: usize = 500;

/// What a look at the log brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    Nothing,
    Some,
    /// Something, and there may be more at once.
    More,
}

impl Shared {
    /// Whether something new should be read at once, because the lanes may run dry.
    pub fn is_hungry(&self) -> bool {
        self.state().is_hungry(HUNGRY)
    }

    /// Reads what can be read now.
    pub async fn read(&self) -> Result<Read, Error> {
        let relay = self.store.relay();
        let safe = relay.safe().await?;
        let (plan, reading) = {
            let mut state = self.state();
            state.safe = safe;
            (state.plan(safe), state.reading)
        };
        match plan {
            Plan::Nothing => Ok(Read::Nothing),
            Plan::Sweep { after, until } => {
                let tenants = relay.tenants(after, until).await?;
                let mut state = self.state();
                if state.reading == reading {
                    state.sweep(&tenants, after, until);
                }
                drop(state);
                self.room.notify_one();
                Ok(Read::More)
            }
            Plan::Page(page) => self.read_page(page, reading, safe).await,
        }
    }

    async fn read_page(&self, page: Page, reading: u64, safe: Seq) -> Result<Read, Error> {
        let Page { after, except, limit, full, wanted } = page;
        if safe <= after {
            return Ok(Read::Nothing);
        }
        if full {
            self.store.heard("every queue is full").await;
            return Ok(Read::Nothing);
        }
        let filter = Filter { except, envelopes_of: Some(wanted), ..Filter::default() };
        let rows = self.store.relay().rows(after, safe, &filter, limit).await?;
        let more = rows.len() == limit;
        let outcome = if more { Read::More } else { Read::Some };
        let mut state = self.state();
        if state.reading == reading {
            let last = rows.last().map(|row| row.seq).filter(|_| more);
            state.push_page(&filter.except, rows, last.unwrap_or(safe));
        }
        Ok(outcome)
    }

    /// Reads on in the tenants that are read apart and have room; whether there may be more at once.
    pub async fn read_behind(&self) -> Result<Read, Error> {
        let (behind, wanted, reading) = {
            let state = self.state();
            (state.behind(), state.wanted(), state.reading)
        };
        let mut outcome = if behind.is_empty() { Read::Nothing } else { Read::Some };
        for behind in behind {
            let still = {
                let state = self.state();
                if state.reading != reading {
                    return Ok(Read::More);
                }
                // Those before it may have filled the queues of some.
                state.still(&behind)
            };
            let Some(behind) = still else { continue };
            if self.read_apart(&behind, reading, &wanted).await? {
                outcome = Read::More;
            }
        }
        Ok(outcome)
    }

    /// Reads on in one tenant that is read apart; whether there may be more.
    async fn read_apart(&self, behind: &Behind, reading: u64, wanted: &Wanted) -> Result<bool, Error> {
        let until = self.state().read;
        let filter = Filter { tenant: Some(behind.tenant), envelopes_of: Some(wanted.clone()), ..Filter::default() };
        let rows = self.store.relay().rows(behind.after, until, &filter, behind.limit).await?;
        let full = rows.len() == behind.limit;
        self.store.heard("a page of a tenant that is read apart").await;
        let mut state = self.state();
        if state.reading != reading {
            return Ok(true);
        }
        state.push_behind(behind, rows, until, full);
        Ok(full)
    }
}
