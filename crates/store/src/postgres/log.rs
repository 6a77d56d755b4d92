//! Reading the log without gaps, and its upkeep.

use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio_postgres::GenericClient;

use tokio_postgres::types::ToSql;
use uuid::Uuid;

use karwan_envelope::ids::EventId;

use super::connect::Hat;
use super::flush::millis;
use super::{Postgres, error};
use crate::error::Error;
use crate::horizon::Horizon;
use crate::log::{Apart, Filter, Holder, LogRow, Seq};
use crate::retention::Stretch;
use crate::write_set::TenantBits;

/// The highest visible number, and then, in a snapshot of its own, who holds the lock that every insert takes first.
const HIGHEST: &str = "SELECT max(seq) FROM karwan.log WHERE seq > $1";
pub(super) const HOLDERS: &str = "SELECT virtualtransaction FROM pg_locks
    WHERE locktype = 'relation' AND relation = 'karwan.log'::regclass
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND mode = 'RowExclusiveLock' AND granted";

/// How long dropping a stretch may wait for a lock: a waiting DROP queues every append behind it.
const DROP_LOCK_MS: u32 = 50;
const DROP_ATTEMPTS_MAX: u32 = 20;
const PRUNE_CHUNK: i64 = 10_000;

/// A horizon and the connection that it was observed from. They go together: a server that was restarted gives open
/// transactions other names, and what was seen before says nothing about them.
pub(super) struct Watch {
    client: deadpool_postgres::Client,
    horizon: Horizon,
}

impl Watch {
    async fn observe(&mut self) -> Result<Seq, tokio_postgres::Error> {
        let highest = self.client.prepare_cached(HIGHEST).await?;
        let holders = self.client.prepare_cached(HOLDERS).await?;
        // One trip: the server answers them in this order, each from a snapshot of its own.
        let safe = self.horizon.safe();
        let (seq, rows) =
            futures_util::future::try_join(async { self.client.query_one(&highest, &[&safe]).await }, async {
                self.client.query(&holders, &[]).await
            })
            .await?;
        let seq: Option<Seq> = seq.get(0);
        let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        Ok(self.horizon.observe(seq, &names))
    }
}

impl Postgres {
    pub async fn highest(&self) -> Result<Seq, Error> {
        let client = self.app().await?;
        let row = client.query_one("SELECT karwan.highest()", &[]).await;
        Ok(row.map_err(|cause| self.error(cause))?.get(0))
    }

    pub async fn safe(&self) -> Result<Seq, Error> {
        let mut watch = self.horizon.lock().await;
        let mut current = match watch.take() {
            Some(current) => current,
            None => self.watch().await?,
        };
        let safe = current.observe().await.map_err(|cause| self.error(cause))?;
        self.undecided.store(current.horizon.is_undecided(), Ordering::Relaxed);
        *watch = Some(current);
        Ok(safe)
    }

    /// A new connection to observe from. It may be to another server than the last one, which lost commits or is a copy:
    /// then another life has begun, and positions of the old one are answered with *reset*.
    async fn watch(&self) -> Result<Watch, Error> {
        let client = self.relay().await?;
        let bad = |cause| error::error(&self.shown, cause);
        let sql = "SELECT floor, pg_is_in_recovery() FROM karwan.meta";
        let row = client.query_one(sql, &[]).await.map_err(bad)?;
        if row.get(1) {
            let reason = "it is a standby, which shows no open transactions: readers use the primary".to_owned();
            return Err(Error::Damaged { store: self.shown.clone(), reason });
        }
        self.life.ask(&client).await.map_err(bad)?;
        Ok(Watch { client, horizon: Horizon::after(row.get(0)) })
    }

    pub async fn schema(&self, hash: &str) -> Result<Option<String>, Error> {
        let client = self.relay().await?;
        let row = client.query_opt("SELECT document FROM karwan.schema WHERE hash = $1", &[&hash]).await;
        Ok(row.map_err(|cause| self.error(cause))?.map(|row| row.get(0)))
    }

    pub async fn rows(&self, after: Seq, until: Seq, filter: &Filter, limit: usize) -> Result<Vec<LogRow>, Error> {
        let client = self.relay().await?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let tenant = filter.tenant.map(Uuid::from_u128);
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&after, &until];
        let wanted = filter.envelopes_of.as_deref().and_then(|subjects| self.subject_ids(subjects));
        let envelope = match &wanted {
            Some(wanted) => {
                parameters.push(wanted);
                "CASE WHEN subject = ANY ($3) THEN envelope ELSE '' END"
            }
            None => "envelope",
        };
        let mut sql = format!(
            "SELECT seq, tenant_id, subject, key, slot, event_id, at, {envelope} FROM karwan.log WHERE seq > $1 AND seq <= $2"
        );
        if let Some(tenant) = &tenant {
            parameters.push(tenant);
            sql.push_str(&format!(" AND tenant_id = ${}", parameters.len()));
        }
        if let Some(key) = &filter.key {
            parameters.push(key);
            sql.push_str(&format!(" AND key = ${}", parameters.len()));
        }
        let except: Vec<Uuid> = filter.except.iter().map(|tenant| Uuid::from_u128(*tenant)).collect();
        if !except.is_empty() {
            parameters.push(&except);
            sql.push_str(&format!(" AND tenant_id <> ALL (${})", parameters.len()));
        }
        parameters.push(&limit);
        sql.push_str(&format!(" ORDER BY seq LIMIT ${}", parameters.len()));
        let statement = client.prepare_cached(&sql).await.map_err(|cause| self.error(cause))?;
        let rows = client.query(&statement, &parameters).await.map_err(|cause| self.error(cause))?;
        self.learn(&client, rows.iter().map(|row| row.get(2))).await?;
        Ok(rows.iter().map(|row| self.log_row(row)).collect())
    }

    pub async fn rows_apart(&self, asked: &Apart) -> Result<Vec<Vec<LogRow>>, Error> {
        let client = self.relay().await?;
        let tenants: Vec<Uuid> = asked.behind.iter().map(|it| Uuid::from_u128(it.tenant)).collect();
        let after: Vec<Seq> = asked.behind.iter().map(|it| it.after).collect();
        let limit = i64::try_from(asked.limit).unwrap_or(i64::MAX);
        let wanted = asked.envelopes_of.as_deref().and_then(|subjects| self.subject_ids(subjects));
        let statement = client.prepare_cached(include_str!("schema/rows_apart.sql")).await;
        let statement = statement.map_err(|cause| self.error(cause))?;
        let rows = client.query(&statement, &[&tenants, &after, &asked.until, &limit, &wanted]).await;
        let rows = rows.map_err(|cause| self.error(cause))?;
        self.learn(&client, rows.iter().map(|row| row.get(2))).await?;
        let mut lists: Vec<Vec<LogRow>> = vec![Vec::new(); asked.behind.len()];
        for row in &rows {
            let place = usize::try_from(row.get::<_, i64>(8) - 1).unwrap_or_default();
            if let Some(list) = lists.get_mut(place) {
                list.push(self.log_row(row));
            }
        }
        Ok(lists)
    }

    pub async fn tenants(&self, after: Seq, until: Seq) -> Result<Vec<TenantBits>, Error> {
        let client = self.relay().await?;
        let rows = client.query(include_str!("schema/tenants.sql"), &[&after, &until]).await;
        let rows = rows.map_err(|cause| self.error(cause))?;
        Ok(rows.iter().map(|row| row.get::<_, Uuid>(0).as_u128()).collect())
    }

    pub async fn positions(&self, consumer: &str) -> Result<Vec<Seq>, Error> {
        let client = self.relay().await?;
        let sql = "SELECT position FROM karwan.lane WHERE consumer = $1 ORDER BY lane";
        let rows = client.query(sql, &[&consumer]).await.map_err(|cause| self.error(cause))?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    pub async fn all_positions(&self) -> Result<Vec<Seq>, Error> {
        let client = self.relay().await?;
        let sql = "SELECT position FROM karwan.lane WHERE consumer NOT LIKE 'effect.%'
                   AND consumer NOT IN (SELECT consumer FROM karwan.declared WHERE stream IS NOT NULL)";
        let rows = client.query(sql, &[]).await.map_err(|cause| self.error(cause))?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    pub async fn stretches(&self) -> Result<Vec<Stretch>, Error> {
        let client = self.relay().await?;
        let rows = client.query("SELECT lower, upper FROM karwan.partition ORDER BY lower", &[]).await;
        let stretch =
            |row: &tokio_postgres::Row| Stretch { after: row.get::<_, Seq>(0) - 1, up_to: row.get::<_, Seq>(1) - 1 };
        Ok(rows.map_err(|cause| self.error(cause))?.iter().map(stretch).collect())
    }

    fn log_row(&self, row: &tokio_postgres::Row) -> LogRow {
        LogRow {
            seq: row.get(0),
            tenant: row.get::<_, Uuid>(1).as_u128(),
            subject: self.subject_name(row.get(2)),
            key: row.get(3),
            slot: row.get::<_, i16>(4).cast_unsigned(),
            event: EventId::from_bits(row.get::<_, Uuid>(5).as_u128()),
            at: millis(row.get(6)),
            envelope: row.get(7),
        }
    }

    pub async fn floor(&self) -> Result<Seq, Error> {
        let client = self.relay().await?;
        let row = client.query_one("SELECT floor FROM karwan.meta", &[]).await;
        Ok(row.map_err(|cause| self.error(cause))?.get(0))
    }

    pub async fn holders(&self) -> Result<Vec<Holder>, Error> {
        let mut client = self.relay().await?;
        self.told_holders(&mut client).await.map_err(|cause| self.error(cause))
    }

    /// The login may be told more about other sessions than the relay's role: it is asked without the hat.
    pub(super) async fn told_holders(
        &self,
        client: &mut deadpool_postgres::Client,
    ) -> Result<Vec<Holder>, tokio_postgres::Error> {
        let tx = client.transaction().await?;
        tx.batch_execute("SET LOCAL ROLE NONE").await?;
        let held = holders(&*tx).await?;
        tx.commit().await?;
        Ok(held)
    }

    /// As maintenance's login and under no hat: ending a session needs the login's own rights. How long a transaction has
    /// held the lock is counted from the first call that saw it: its age says nothing of when it appended.
    pub async fn end_holders(&self, held_ms: i64) -> Result<Vec<Holder>, Error> {
        let client = self.maintenance.connect().await?;
        let bad = |cause: tokio_postgres::Error| {
            if cause.code() == Some(&tokio_postgres::error::SqlState::INSUFFICIENT_PRIVILEGE) {
                let remedy = "GRANT pg_signal_backend, pg_read_all_stats TO the login of maintenance".to_owned();
                return Error::Permission { store: self.shown.clone(), remedy, cause: cause.into() };
            }
            self.error(cause)
        };
        let seen: Vec<String> = client.query(HOLDERS, &[]).await.map_err(bad)?.iter().map(|row| row.get(0)).collect();
        let mut sightings = self.sightings.lock().await;
        sightings.retain(|holder, _| seen.contains(holder));
        let held = |since: &Instant| i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX);
        let mut past: Vec<(String, i64)> = Vec::new();
        for holder in seen {
            let since = *sightings.entry(holder.clone()).or_insert_with(Instant::now);
            past.push((holder, held(&since)));
        }
        past.retain(|(_, held)| *held >= held_ms);
        let mut ended = Vec::new();
        for (holder, held_ms) in past {
            for row in client.query(include_str!("schema/end_holder.sql"), &[&holder]).await.map_err(bad)? {
                if row.get(2) {
                    ended.push(Holder { who: row.get(0), what: row.get(1), held_ms: Some(held_ms) });
                }
            }
        }
        Ok(ended)
    }

    pub async fn prune(&self, before_ms: i64) -> Result<u64, Error> {
        let pool = self.maintenance.pool(Hat::Maintenance, 1, None)?;
        let client = pool.get().await.map_err(|cause| super::pool_error(&self.shown, cause))?;
        let mut pruned = 0;
        for table in ["intent", "unit"] {
            let sql = format!(
                "DELETE FROM karwan.{table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM karwan.{table} WHERE at < $1 LIMIT {PRUNE_CHUNK}))"
            );
            loop {
                let gone =
                    client.execute(&sql, &[&super::flush::instant(before_ms)]).await.map_err(|it| self.error(it))?;
                pruned += gone;
                if gone < PRUNE_CHUNK.unsigned_abs() {
                    break;
                }
            }
        }
        Ok(pruned)
    }

    pub async fn drop_log(&self, up_to: Seq) -> Result<Seq, Error> {
        let pool = self.maintenance.pool(Hat::Maintenance, 1, None)?;
        let client = pool.get().await.map_err(|cause| super::pool_error(&self.shown, cause))?;
        client.batch_execute(&format!("SET lock_timeout = {DROP_LOCK_MS}")).await.map_err(|it| self.error(it))?;
        let mut attempts = 0;
        loop {
            match client.query_one("SELECT karwan.drop_stretch($1)", &[&up_to]).await {
                Ok(row) if row.get::<_, Option<Seq>>(0).is_some() => {}
                Ok(_) => return self.floor().await,
                // Somebody appends at this moment; let it go first.
                Err(cause)
                    if cause.code().is_some_and(|code| code.code() == "55P03") && attempts < DROP_ATTEMPTS_MAX =>
                {
                    attempts += 1;
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
                Err(cause) => return Err(self.error(cause)),
            }
        }
    }
}

/// Who has appended and not ended, longest first; prepared transactions have no process.
pub(super) async fn holders(client: &impl GenericClient) -> Result<Vec<Holder>, tokio_postgres::Error> {
    let rows = client.query(include_str!("schema/holders.sql"), &[]).await?;
    let holder = |row: &tokio_postgres::Row| Holder { who: row.get(0), what: row.get(1), held_ms: row.get(2) };
    Ok(rows.iter().map(holder).collect())
}
