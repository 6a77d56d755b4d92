//! Transactions in which somebody writes tables of their own, and the store then flushes and commits.
//!
//! They have connections of their own, which wear no hat: a handler that holds one takes none away from those who read
//! documents or flush, or it might wait for itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_postgres::{Client, Object, Pool};
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::error::SqlState;
use tokio_postgres_rustls::MakeRustlsConnect;
use uuid::Uuid;

use super::connect::{Hat, IDLE_IN_TRANSACTION_MS, KEY_PLANS, Life, pool_error, set_all};
use super::flush::{named, refused_whole, rests_on_another};
use super::{Postgres, error};
use crate::backend::Refusal;
use crate::error::Error;
use crate::own_tables::misused;
use crate::write_set::{Flushed, TenantBits, WriteSet};

/// How long a rollback may wait for a statement that still runs, before that is cancelled.
const ROLLBACK_MAX: Duration = Duration::from_secs(1);

/// The connections of such transactions.
#[derive(Clone)]
pub(super) struct OwnPool {
    pub pool: Pool,
    pub tls: MakeRustlsConnect,
}

/// An open transaction. Dropped, it is rolled back.
pub(crate) struct Transaction {
    /// None once it was committed.
    client: Option<Object>,
    tls: MakeRustlsConnect,
    /// For asking whether the server is there.
    app: Pool,
    shown: String,
    lost: AtomicBool,
}

impl Postgres {
    /// Begins one for a tenant, with the rights of the login itself.
    pub async fn own_transaction(&self, tenant: TenantBits) -> Result<Transaction, Error> {
        let Some(OwnPool { pool, tls }) = &self.own else { return Err(Error::Closed) };
        let client = pool.get().await.map_err(|cause| pool_error(&self.shown, cause))?;
        let transaction = Transaction {
            client: Some(client),
            tls: tls.clone(),
            app: self.app.clone(),
            shown: self.shown.clone(),
            lost: AtomicBool::new(false),
        };
        // The flush rests on a snapshot a statement, and a query before the first statement of theirs fixes that. The last
        // setting goes with the transaction: that is how its commit finds that it is still the same one.
        let begin = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL ROLE NONE;
             SET LOCAL idle_in_transaction_session_timeout = {IDLE_IN_TRANSACTION_MS};
             SELECT set_config('app.tenant_id', '{}', true), set_config('karwan.unit', 'open', true)",
            Uuid::from_u128(tenant)
        );
        transaction.client().batch_execute(&begin).await.map_err(|cause| self.error(cause))?;
        Ok(transaction)
    }

    /// Flushes a unit in its own transaction, and commits.
    pub async fn flush_own(&self, own: Transaction, set: &Arc<WriteSet>) -> Result<Flushed, Refusal> {
        let arrays = self.flushes.arrays(&[set])?;
        own.check().await?;
        // These connections are asked for their life by nobody else.
        if set.recent.is_some() {
            let life =
                own.client().query_one(Life::SEEN, &[]).await.map_err(|cause| error::refusal(&self.shown, cause))?;
            if rests_on_another(set, life.get::<_, Option<i64>>(0).unwrap_or_default()) {
                return Err(refused_whole(set));
            }
        }
        let flushed = async {
            let (call, parameters) = arrays.call();
            let statement = own.pooled().prepare_cached(&call).await?;
            own.client().query_one(&statement, &parameters).await
        };
        match flushed.await {
            Ok(row) => own.commit().await.map(|()| Flushed { seq: row.get(0) }),
            Err(cause) => Err(match named(error::refusal(&self.shown, cause), set) {
                // Before the commit nothing can have been committed.
                Refusal::Lost(error) => own.cut(error).await.into(),
                refusal => refusal,
            }),
        }
    }
}

impl Transaction {
    pub fn client(&self) -> &tokio_postgres::Client {
        self.pooled()
    }

    fn pooled(&self) -> &Client {
        self.client.as_ref().expect("it is there until it was committed")
    }

    /// Whether one of its statements lost against others.
    pub fn lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// What a statement of the user's own says, in the words of the store.
    pub async fn failed(&self, cause: tokio_postgres::Error) -> Error {
        if let Some(what) = error::lost_lock(&cause) {
            self.lost.store(true, Ordering::Relaxed);
            return Error::Conflict { what, attempts: 1 };
        }
        if cause.code() == Some(&SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT) {
            return misused(CUT);
        }
        if !error::is_the_stores(&cause) {
            return Error::Statement { cause: cause.into() };
        }
        let error = error::error(&self.shown, cause);
        self.cut(error).await
    }

    /// A broken connection is the unit's own failure where the server is there: it idled, or somebody ended it.
    async fn cut(&self, error: Error) -> Error {
        let Error::Unreachable { .. } = error else { return error };
        let there = async { self.app.get().await.ok()?.batch_execute("").await.ok() };
        if there.await.is_some() { misused(CUT) } else { error }
    }

    /// Whether it is still the transaction that was begun, in which nothing failed. The store's role is put on.
    async fn check(&self) -> Result<(), Refusal> {
        let sql = format!(
            "SELECT coalesce(current_setting('karwan.unit', true), '') = 'open'; SET LOCAL ROLE {}; {}",
            Hat::App.role(),
            set_all("SET LOCAL", &KEY_PLANS)
        );
        match self.client().simple_query(&sql).await {
            Ok(messages) => {
                let same = |message: &SimpleQueryMessage| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some("t"));
                let ended = "it was ended within the unit: COMMIT and ROLLBACK are the unit's";
                if messages.iter().any(same) { Ok(()) } else { Err(misused(ended).into()) }
            }
            Err(cause) if cause.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION) => Err(if self.lost() {
                Refusal::Conflict { what: "a lock".to_owned() }
            } else {
                misused("a statement of it failed, and Postgres commits nothing after that: return the error").into()
            }),
            Err(cause) => Err(self.failed(cause).await.into()),
        }
    }

    async fn commit(mut self) -> Result<(), Refusal> {
        let committed = self.client().batch_execute("COMMIT").await;
        match committed {
            Ok(()) => {
                drop(self.client.take());
                Ok(())
            }
            // Deferred constraints speak only now.
            Err(cause) => Err(match error::lost_lock(&cause) {
                Some(what) => Refusal::Conflict { what },
                None if error::is_the_stores(&cause) => error::refusal(&self.shown, cause),
                None => Error::Statement { cause: cause.into() }.into(),
            }),
        }
    }
}

const CUT: &str = "its connection was ended, as happens to one that is idle for five seconds: do not wait within it";

impl Drop for Transaction {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        let left = Left(Some(client));
        // Without a runtime nobody is left who could be served by it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let tls = self.tls.clone();
        runtime.spawn(async move { left.roll_back(tls).await });
    }
}

/// A connection in mid-transaction: nobody gets it before it is rolled back. Dropped, it is closed.
struct Left(Option<Object>);

impl Left {
    async fn roll_back(mut self, tls: MakeRustlsConnect) {
        let Some(client) = &self.0 else { return };
        match tokio::time::timeout(ROLLBACK_MAX, client.batch_execute("ROLLBACK")).await {
            Ok(Ok(())) => drop(self.0.take()),
            Ok(Err(_)) => {}
            // A statement still runs, perhaps behind a lock, and holds its own locks meanwhile. Where it cannot be cancelled
            // it ends by itself.
            Err(_) => drop(client.cancel_token().cancel_query(tls).await),
        }
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        if let Some(client) = self.0.take() {
            drop(Object::take(client));
        }
    }
}
