//! Reads a log from a position on, also across lost connections.
//!
//! Invariant: the position moves only past rows that were handed out, so a row is neither skipped nor repeated,
//! whatever happens to the connection. A store that came back as another life answers with *reset*, which ends it.

use std::time::Duration;

use karwan_store::log::{Filter, LogRow, PAGE_MAX, Seq};
use karwan_store::{Address, Error, Position, RelayTx, Store};
use tokio::time::{Instant, sleep, timeout};

use crate::exit::Failure;
use crate::output;

/// A page that takes longer is taken for a lost connection.
const PAGE_WAIT: Duration = Duration::from_secs(60);
/// How long reading to the end waits for a transaction that holds readers back.
const HOLD_WAIT: Duration = Duration::from_secs(2);
/// How often it looks meanwhile.
const HOLD_POLL: Duration = Duration::from_millis(10);
/// How often a lost store is tried again.
const LOST_POLL: Duration = Duration::from_millis(250);

/// A reader at its position.
pub struct Reader {
    address: Address,
    relay: RelayTx,
    filter: Filter,
    /// Everything up to here was handed out.
    pub position: Position,
}

/// Rows, and whether more are known to be there.
pub struct Page {
    /// The rows that the filter wants.
    pub rows: Vec<LogRow>,
    /// Whether more is known to be there.
    pub more: bool,
    /// Whether anything was behind the position.
    pub moved: bool,
}

impl Reader {
    /// A reader at the beginning of the log.
    pub async fn open(address: Address, filter: Filter) -> Result<Self, Error> {
        let relay = Store::observe(&address).await?.relay();
        let position = relay.start().await?;
        Ok(Self { address, relay, filter, position })
    }

    /// Where the log ends now, decided or not.
    pub async fn end(&self) -> Result<Position, Error> {
        self.relay.end().await
    }

    async fn page(&mut self) -> Result<Page, Error> {
        let page = self.relay.page(self.position, &self.filter, PAGE_MAX).await?;
        let moved = page.position != self.position;
        self.position = page.position;
        Ok(Page { rows: page.rows, more: page.more, moved })
    }

    /// Hands out everything up to a number, or as far as unfinished transactions let it; says so where they do not.
    pub async fn read_to(
        &mut self,
        end: Seq,
        mut each: impl FnMut(Vec<LogRow>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut last = Instant::now();
        while self.position.seq < end {
            let page = self.page().await?;
            each(page.rows)?;
            if page.moved {
                last = Instant::now();
            } else if last.elapsed() > HOLD_WAIT {
                self.tell_holders(end).await?;
                break;
            } else {
                sleep(HOLD_POLL).await;
            }
        }
        Ok(())
    }

    async fn tell_holders(&self, end: Seq) -> Result<(), Error> {
        let (from, to) = (self.position.seq + 1, end);
        output::note(&format!("rows {from} to {to} are held back, because others may still commit before them:"));
        for holder in self.relay.holders().await? {
            output::note(&format!("  {} ({}) for {}", holder.who, holder.what, holder.held()));
        }
        Ok(())
    }

    /// The next page; a lost connection is made again, however long it takes.
    pub async fn next(&mut self) -> Result<Page, Error> {
        loop {
            let lost = match timeout(PAGE_WAIT, self.page()).await {
                Ok(Err(lost @ Error::Unreachable { .. })) => lost.to_string(),
                Ok(answer) => return answer,
                Err(_) => format!("{} does not answer", self.address),
            };
            output::note(&format!("{lost}; trying again, nothing will be missed"));
            self.relay = loop {
                match timeout(PAGE_WAIT, Store::observe(&self.address)).await {
                    Ok(Ok(observer)) => break observer.relay(),
                    Ok(Err(Error::Unreachable { .. })) | Err(_) => sleep(LOST_POLL).await,
                    Ok(Err(error)) => return Err(error),
                }
            };
            output::note("connected again");
        }
    }

    /// Goes to where the rows begin that entered the log at an instant or later; answers the first row that is still there.
    pub async fn go_to(&mut self, at_ms: i64) -> Result<Option<LogRow>, Error> {
        let start = self.relay.start().await?;
        let first = self.relay.page(start, &Filter::default(), 1).await?.rows.pop();
        self.position = self.relay.position_at(at_ms).await?;
        Ok(first)
    }

    /// Whether rows were dropped from the beginning of the log.
    pub async fn is_cut(&self) -> Result<bool, Error> {
        Ok(self.relay.start().await?.seq > 0)
    }

    /// Goes back to a number of the same life.
    pub fn rewind(&mut self, seq: Seq) {
        self.position.seq = seq;
    }
}
