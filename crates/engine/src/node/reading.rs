//! Reading the log for the lanes that are held.

use karwan_store::Error;
use karwan_store::log::{self, Filter, Seq, Wanted};

use super::Shared;
use super::state::{Behind, Page, Plan};

/// With fewer rows queued, what is committed is read at once.
const HUNGRY: usize = 500;
/// So many tenants are read apart in one look: whoever comes late to a flood finds many that have a few rows each.
const APART_AT_ONCE: usize = 64;

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
        for behind in behind.chunks(APART_AT_ONCE) {
            let (still, limit) = {
                let state = self.state();
                if state.reading != reading {
                    return Ok(Read::More);
                }
                // Those before it may have filled the queues of some.
                state.still(behind)
            };
            if !still.is_empty() && self.read_apart(&still, limit, reading, &wanted).await? {
                outcome = Read::More;
            }
        }
        Ok(outcome)
    }

    /// Reads on in tenants that are read apart; whether there may be more.
    async fn read_apart(&self, of: &[Behind], limit: usize, reading: u64, wanted: &Wanted) -> Result<bool, Error> {
        let until = self.state().read;
        let behind = of.iter().map(|it| log::Behind { tenant: it.tenant, after: it.after }).collect();
        let asked = log::Apart { behind, until, limit, envelopes_of: Some(wanted.clone()) };
        let lists = self.store.relay().rows_apart(&asked).await?;
        self.store.heard("a page of tenants that are read apart").await;
        let mut state = self.state();
        if state.reading != reading {
            return Ok(true);
        }
        let mut more = false;
        for (behind, rows) in of.iter().zip(lists) {
            let full = rows.len() == limit;
            more |= full;
            state.push_behind(behind, rows, until, full);
        }
        Ok(more)
    }
}
