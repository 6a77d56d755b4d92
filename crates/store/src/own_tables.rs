//! Tables of the user's own: the Postgres transaction in which a unit's own statements commit with the unit.
//!
//! Invariant: what was written through it is committed with the unit's claim, documents and facts, or not at all. Nobody
//! but the unit's commit ends it, and nobody uses it once that has begun.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Mutex;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, ToStatement};

use crate::error::Error;
use crate::postgres::own::Transaction;
use crate::tx::TenantTx;

/// A unit's Postgres transaction, for tables that are not the store's; [`TenantTx::postgres`] gives it.
///
/// A statement that fails leaves the transaction unusable, as always in Postgres: return the error. One that lost against
/// others (a deadlock, a serialization failure, a lock that was not to be had) answers [`Error::Conflict`], and the unit is
/// run again. The transaction is READ COMMITTED.
pub struct PostgresTx(Arc<Transaction>);

type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

impl PostgresTx {
    /// Runs a statement; how many rows it touched.
    pub async fn execute<S: ?Sized + ToStatement>(&self, sql: &S, with: Parameters<'_>) -> Result<u64, Error> {
        self.told(self.client().execute(sql, with).await).await
    }

    /// The rows of a query.
    pub async fn query<S: ?Sized + ToStatement>(&self, sql: &S, with: Parameters<'_>) -> Result<Vec<Row>, Error> {
        self.told(self.client().query(sql, with).await).await
    }

    /// The one row of a query; any other number is an error.
    pub async fn query_one<S: ?Sized + ToStatement>(&self, sql: &S, with: Parameters<'_>) -> Result<Row, Error> {
        self.told(self.client().query_one(sql, with).await).await
    }

    /// The row of a query that has at most one.
    pub async fn query_opt<S: ?Sized + ToStatement>(
        &self,
        sql: &S,
        with: Parameters<'_>,
    ) -> Result<Option<Row>, Error> {
        self.told(self.client().query_opt(sql, with).await).await
    }

    /// Several statements without parameters, such as `SAVEPOINT a`.
    pub async fn batch_execute(&self, sql: &str) -> Result<(), Error> {
        self.told(self.client().batch_execute(sql).await).await
    }

    /// The driver's own client, for everything else: prepared statements, COPY, streams. Its errors are the driver's. Beginning
    /// and ending the transaction is the unit's: a `COMMIT` or `ROLLBACK` sent here makes its commit refuse.
    pub fn client(&self) -> &tokio_postgres::Client {
        self.0.client()
    }

    async fn told<T>(&self, answer: Result<T, tokio_postgres::Error>) -> Result<T, Error> {
        match answer {
            Ok(answer) => Ok(answer),
            Err(cause) => Err(self.0.failed(cause).await),
        }
    }
}

impl TenantTx {
    /// The Postgres transaction in which this unit commits: statements over tables of one's own, the claim of the event or
    /// command, documents, deadlines, effects and facts are then written together or not at all. Asked for twice it is the
    /// same one; a unit that never asks has none, and holds no connection.
    ///
    /// It runs with the login's own rights, not with the store's, and `app.tenant_id` is the unit's tenant, for row-level
    /// policies of one's own. [`Self::get`] and [`Self::query`] do not see what was written through it.
    ///
    /// A handler that asks for it runs alone: in a batch this is refused, the batch falls apart, and its subject is handled
    /// singly from then on. A connection is held until the commit, and the server ends a transaction that is idle for five
    /// seconds: do not wait for anything else in between. On SQLite there is none.
    pub async fn postgres(&self) -> Result<PostgresTx, Error> {
        let place = self.own();
        if place.in_company {
            place.refused.store(true, Ordering::Relaxed);
            // Also where the handler goes on without it.
            self.refuse(Error::RunsAlone);
            return Err(Error::RunsAlone);
        }
        let mut held = place.held.lock().await;
        match &*held {
            Held::Open(transaction) => Ok(PostgresTx(transaction.clone())),
            Held::Over => Err(misused("the unit was committed or given up before")),
            Held::Nothing => {
                let transaction = Arc::new(self.shared().backend.own_transaction(self.tenant()).await?);
                *held = Held::Open(transaction.clone());
                Ok(PostgresTx(transaction))
            }
        }
    }
}

/// Where a unit keeps its transaction.
#[derive(Default)]
pub(crate) struct Place {
    /// Whether the unit shares its commit with others.
    in_company: bool,
    /// Whether it was asked for all the same.
    refused: AtomicBool,
    held: Mutex<Held>,
}

#[derive(Default)]
enum Held {
    #[default]
    Nothing,
    Open(Arc<Transaction>),
    Over,
}

impl Place {
    /// Of a unit that shares its commit with others.
    pub fn in_company() -> Self {
        Self { in_company: true, ..Self::default() }
    }

    /// Whether a unit in company asked for its transaction.
    pub fn was_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// Whether one of its statements lost against others.
    pub async fn lost(&self) -> bool {
        matches!(&*self.held.lock().await, Held::Open(transaction) if transaction.lost())
    }

    async fn end(&self) -> Result<Option<Transaction>, Error> {
        match std::mem::replace(&mut *self.held.lock().await, Held::Over) {
            Held::Open(transaction) => match Arc::try_unwrap(transaction) {
                Ok(transaction) => Ok(Some(transaction)),
                // Its next statement would run in somebody else's transaction.
                Err(_) => Err(misused("somebody still has it: drop every `PostgresTx` before the decision returns")),
            },
            Held::Nothing | Held::Over => Ok(None),
        }
    }
}

/// Takes the transaction away from units that are about to commit.
pub(crate) async fn end(units: &[TenantTx]) -> Result<Option<Transaction>, Error> {
    let mut ended = None;
    for unit in units {
        let transaction = unit.own().end().await?;
        if transaction.is_some() && units.len() > 1 {
            return Err(Error::RunsAlone);
        }
        ended = ended.or(transaction);
    }
    Ok(ended)
}

/// A transaction that was not left as it was given.
pub(crate) fn misused(reason: &'static str) -> Error {
    Error::OwnTransaction { reason }
}
