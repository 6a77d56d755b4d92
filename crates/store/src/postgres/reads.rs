//! Documents by their ids: what is asked for at the same time is asked in one call.
//!
//! Nobody waits for company: whoever finds a turn takes along what waits at that moment. Bounds: [`AT_ONCE`] calls under way,
//! [`A_CALL`] documents each.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::{Semaphore, oneshot};
use uuid::Uuid;

use super::Postgres;
use crate::error::Error;
use crate::held::DocumentRow;
use crate::kind::Kind;
use crate::write_set::TenantBits;

const AT_ONCE: usize = 4;
const A_CALL: usize = 256;

/// Those who wait for a document.
pub(super) struct Reads {
    waiting: Mutex<VecDeque<Ask>>,
    turns: Semaphore,
}

struct Ask {
    kind: &'static str,
    tenant: TenantBits,
    id: String,
    /// Somebody asks the database for it, or has.
    taken: Arc<AtomicBool>,
    answer: oneshot::Sender<Option<DocumentRow>>,
}

impl Default for Reads {
    fn default() -> Self {
        Self { waiting: Mutex::default(), turns: Semaphore::new(AT_ONCE) }
    }
}

impl Reads {
    fn waiting(&self) -> std::sync::MutexGuard<'_, VecDeque<Ask>> {
        self.waiting.lock().expect("nothing panics while holding it")
    }

    /// Those of one kind that wait, sorted by tenant.
    fn take(&self) -> Vec<Ask> {
        let mut waiting = self.waiting();
        let Some(kind) = waiting.front().map(|ask| ask.kind) else { return Vec::new() };
        let (mut taken, mut left) = (Vec::new(), VecDeque::new());
        for ask in waiting.drain(..) {
            // Who has gone away needs no answer.
            if ask.kind == kind && taken.len() < A_CALL && !ask.answer.is_closed() {
                ask.taken.store(true, Ordering::Relaxed);
                taken.push(ask);
            } else if !ask.answer.is_closed() {
                left.push_back(ask);
            }
        }
        *waiting = left;
        taken.sort_by_key(|ask| ask.tenant);
        taken
    }
}

impl Postgres {
    pub async fn document(&self, tenant: TenantBits, kind: &Kind, id: &str) -> Result<Option<DocumentRow>, Error> {
        loop {
            let (answer, mut answered) = oneshot::channel();
            let taken = Arc::new(AtomicBool::new(false));
            let ask = Ask { kind: kind.name, tenant, id: id.to_owned(), taken: taken.clone(), answer };
            self.reads.waiting().push_back(ask);
            let turn = tokio::select! {
                biased;
                row = &mut answered => match row {
                    Ok(row) => return Ok(row),
                    // Whoever asked for it gave up, or was refused: it is asked again.
                    Err(_) => continue,
                },
                turn = self.reads.turns.acquire() => turn.map_err(|_| Error::Closed)?,
            };
            // Others that are about to ask come along.
            tokio::task::yield_now().await;
            // What somebody else has taken meanwhile is only waited for: asking on would be asking for nothing, all the time.
            let mut read = Ok(());
            while !taken.load(Ordering::Relaxed) {
                read = self.read_waiting().await;
            }
            drop(turn);
            match answered.await {
                Ok(row) => return Ok(row),
                // A failure to read what others wait for is told to them, when they ask again.
                Err(_) => read?,
            }
        }
    }

    async fn read_waiting(&self) -> Result<(), Error> {
        let asks = self.reads.take();
        let Some(first) = asks.first() else { return Ok(()) };
        let client = self.app().await?;
        let sql = format!("SELECT tenant_id, id, version, shape, body FROM karwan.read_{}($1, $2)", first.kind);
        let statement = client.prepare_cached(&sql).await.map_err(|cause| self.error(cause))?;
        let tenants: Vec<Uuid> = asks.iter().map(|ask| Uuid::from_u128(ask.tenant)).collect();
        let ids: Vec<&str> = asks.iter().map(|ask| ask.id.as_str()).collect();
        let rows = client.query(&statement, &[&tenants, &ids]).await.map_err(|cause| self.error(cause))?;
        drop(client);
        let found: HashMap<(TenantBits, &str), DocumentRow> = rows
            .iter()
            .map(|row| {
                let id: &str = row.get(1);
                let document = DocumentRow {
                    id: id.to_owned(),
                    version: row.get(2),
                    shape: row.get::<_, i32>(3).unsigned_abs(),
                    body: row.get(4),
                };
                ((row.get::<_, Uuid>(0).as_u128(), id), document)
            })
            .collect();
        for ask in asks {
            let row = found.get(&(ask.tenant, ask.id.as_str())).cloned();
            // Who has gone away needs no answer.
            let _ = ask.answer.send(row);
        }
        Ok(())
    }
}
