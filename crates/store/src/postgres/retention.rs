//! What a database drops and forgets: partitions where they go whole, rows in chunks where they do not.

use std::time::Duration;

use super::flush::instant;
use super::lanes::{Lanes, record};
use crate::error::Error;
use crate::log::Seq;
use crate::operator::{Verb, Who};
use crate::retention::What;

/// How long dropping may wait for a lock: a waiting DROP queues every append and every claim behind it.
const DROP_LOCK_MS: u32 = 50;
const DROP_ATTEMPTS_MAX: u32 = 20;
const DROP_PAUSE: Duration = Duration::from_millis(20);
const CHUNK: i64 = 10_000;

/// The table, and what of it is meant.
const fn table(what: What) -> (&'static str, &'static str) {
    match what {
        What::Intents => ("intent", "true"),
        What::Units => ("unit", "true"),
        What::Claims => ("inbox", "true"),
        What::Dead => ("dead", "true"),
        What::Aside => ("aside", "true"),
        What::Attempts => ("attempt", "true"),
        What::Repairs => ("repair", "true"),
        What::Selections => ("selection", "true"),
        What::Effects => ("effect", "state = 'done'"),
        What::Actions => ("action", "true"),
    }
}

impl Lanes {
    /// How far the next stretch goes that can be dropped behind a number, where one can.
    pub async fn stretch(&mut self, after: Seq, old: Seq) -> Result<Option<Seq>, Error> {
        let sql = "SELECT upper - 1 FROM karwan.partition
                   WHERE lower <= $1::bigint + 1 AND upper - 1 > $1::bigint AND upper <= karwan.highest() AND upper - 1 <= least($2::bigint, coalesce(
                       (SELECT min(position) FROM karwan.lane WHERE consumer NOT LIKE 'effect.%'
                        AND consumer NOT IN (SELECT consumer FROM karwan.declared WHERE stream IS NOT NULL)), $2::bigint))
                   ORDER BY lower LIMIT 1";
        let row = self.client.query_opt(sql, &[&after, &old]).await;
        Ok(row.map_err(self.bad())?.map(|row| row.get(0)))
    }

    /// Drops the oldest stretch, where it ends at a number and nobody needs it; answers the new floor.
    pub async fn drop_stretch(&mut self, up_to: Seq) -> Result<Option<Seq>, Error> {
        self.dropping("SELECT karwan.drop_stretch($1)", &up_to).await
    }

    /// How much is older than an instant.
    pub async fn count(&mut self, what: What, before: i64) -> Result<u64, Error> {
        let (table, only) = table(what);
        let sql = format!("SELECT count(*) FROM karwan.{table} WHERE {only} AND at < $1");
        let row = self.client.query_one(&sql, &[&instant(before)]).await;
        Ok(row.map_err(self.bad())?.get::<_, i64>(0).unsigned_abs())
    }

    /// Forgets what is older than an instant; answers how much.
    pub async fn forget_old(&mut self, what: What, before: i64) -> Result<u64, Error> {
        let (table, only) = table(what);
        if what == What::Claims {
            return self.forget_claims(before).await;
        }
        let sql = format!(
            "DELETE FROM karwan.{table} WHERE ctid = ANY (ARRAY(
                 SELECT ctid FROM karwan.{table} WHERE {only} AND at < $1 LIMIT {CHUNK}))"
        );
        self.in_chunks(&sql, before).await
    }

    /// Leaves that lie wholly before the instant are dropped, and rows of the others deleted. One that could not be dropped
    /// for the moment is emptied.
    async fn forget_claims(&mut self, before: i64) -> Result<u64, Error> {
        let all = self.count(What::Claims, before).await?;
        while self.dropping::<String>("SELECT karwan.drop_claims($1)", &instant(before)).await?.is_some() {}
        let left = self.count(What::Claims, before).await?;
        let sql = format!(
            "DELETE FROM karwan.inbox WHERE at < $1 AND (consumer, event_id, at) IN (
                 SELECT consumer, event_id, at FROM karwan.inbox WHERE at < $1 LIMIT {CHUNK})"
        );
        Ok(all.saturating_sub(left) + self.in_chunks(&sql, before).await?)
    }

    async fn in_chunks(&mut self, sql: &str, before: i64) -> Result<u64, Error> {
        let mut gone = 0;
        loop {
            let chunk = self.client.execute(sql, &[&instant(before)]).await.map_err(self.bad())?;
            gone += chunk;
            if chunk < CHUNK.unsigned_abs() {
                return Ok(gone);
            }
        }
    }

    /// Drops something, as soon as nobody stands in the way; none where nothing can go, or not now.
    async fn dropping<T>(
        &mut self,
        sql: &str,
        value: &(dyn tokio_postgres::types::ToSql + Sync),
    ) -> Result<Option<T>, Error>
    where
        T: for<'a> tokio_postgres::types::FromSql<'a>,
    {
        let bad = self.bad();
        for _ in 0..DROP_ATTEMPTS_MAX {
            let transaction = self.client.transaction().await.map_err(&bad)?;
            let timeout = format!("SET LOCAL lock_timeout = {DROP_LOCK_MS}");
            transaction.batch_execute(&timeout).await.map_err(&bad)?;
            match transaction.query_one(sql, &[value]).await {
                Ok(row) => {
                    let dropped = row.get(0);
                    transaction.commit().await.map_err(&bad)?;
                    return Ok(dropped);
                }
                Err(cause) if cause.code().is_some_and(|code| code.code() == "55P03") => {
                    drop(transaction);
                    tokio::time::sleep(DROP_PAUSE).await;
                }
                Err(cause) => return Err(bad(cause)),
            }
        }
        Ok(None)
    }

    /// Notes that claims of rows up to a number may be gone.
    pub async fn note_pruned(&mut self, up_to: Seq) -> Result<(), Error> {
        let sql = "INSERT INTO karwan.pruned AS p (what, up_to) VALUES ('inbox', $1) ON CONFLICT (what)
                   DO UPDATE SET up_to = greatest(p.up_to, excluded.up_to)";
        self.client.execute(sql, &[&up_to]).await.map(drop).map_err(self.bad())
    }

    /// Writes an action down that concerns no consumer.
    pub async fn record(&mut self, who: &Who, (verb, detail): (Verb, &str)) -> Result<i64, Error> {
        let bad = self.bad();
        let transaction = self.client.transaction().await.map_err(&bad)?;
        let action = record(&transaction, who, (verb, "", detail)).await.map_err(&bad)?;
        transaction.commit().await.map_err(&bad)?;
        Ok(action)
    }
}
