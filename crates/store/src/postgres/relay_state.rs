//! What a relay keeps of its stream, and what holders of lanes ask for besides.

use std::time::SystemTime;

use karwan_envelope::ids::EventId;
use tokio_postgres::Transaction;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::consumer::EVENT;
use super::flush::{instant, millis};
use super::{Postgres, error};
use crate::consumer::{Dead, Lane};
use crate::error::Error;
use crate::log::Seq;
use crate::relay_state::{BEFORE, Life, RETRIED_MS_MIN, RelayState, StreamPlace};
use crate::retention::REMEMBERED_MS;
use crate::write_set::{LaneHold, TenantBits, slot};

impl Postgres {
    pub async fn revisions(&self) -> Result<Vec<(String, i64)>, Error> {
        let client = self.relay().await?;
        let sql = "SELECT consumer, number FROM karwan.revision ORDER BY consumer";
        let rows = client.query(sql, &[]).await.map_err(|cause| self.error(cause))?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    pub async fn paused_keys(&self, lane: &Lane) -> Result<Vec<(TenantBits, String)>, Error> {
        let client = self.relay().await?;
        let sql = "SELECT tenant_id, key FROM karwan.paused_key WHERE consumer = $1 ORDER BY tenant_id, key";
        let rows = client.query(sql, &[&lane.consumer]).await.map_err(|cause| self.error(cause))?;
        let keys = rows.iter().map(|row| (row.get::<_, Uuid>(0).as_u128(), row.get::<_, String>(1)));
        Ok(keys.filter(|(tenant, key)| slot(*tenant, key) % lane.of.max(1) == lane.number).collect())
    }

    pub async fn save_relay(&self, hold: &LaneHold, state: RelayState) -> Result<(), Error> {
        let client = self.relay().await?;
        let bad = |cause| error::lane_error(&self.shown, cause);
        let RelayState { seq, stream_seq, stream_created } = state;
        let statement = client.prepare_cached("SELECT karwan.save_relay($1, $2, $3, $4, $5, $6)").await.map_err(bad)?;
        let lane = i32::from(hold.lane);
        let values: &[&(dyn ToSql + Sync)] = &[&hold.consumer, &lane, &hold.epoch, &seq, &stream_seq, &stream_created];
        client.execute(&statement, values).await.map(drop).map_err(bad)
    }

    pub async fn relay_state(&self, consumer: &str) -> Result<Option<RelayState>, Error> {
        let client = self.relay().await?;
        let sql = "SELECT l.position, r.stream_seq, r.stream_created
                   FROM karwan.relay r JOIN karwan.lane l ON l.consumer = r.consumer AND l.lane = 0 WHERE r.consumer = $1";
        let row = client.query_opt(sql, &[&consumer]).await.map_err(|cause| self.error(cause))?;
        Ok(row.map(|row| RelayState { seq: row.get(0), stream_seq: row.get(1), stream_created: row.get(2) }))
    }

    pub async fn rewind(&self, hold: &LaneHold, seq: Seq) -> Result<(), Error> {
        let client = self.relay().await?;
        let bad = |cause| error::lane_error(&self.shown, cause);
        let lane = i32::from(hold.lane);
        let sql = "SELECT karwan.rewind($1, $2, $3, $4)";
        client.execute(sql, &[&hold.consumer, &lane, &hold.epoch, &seq]).await.map(drop).map_err(bad)
    }

    pub async fn dead_unfed(&self, skip: usize, limit: usize) -> Result<Vec<(String, Dead)>, Error> {
        let client = self.relay().await?;
        let sql = format!(
            "SELECT {EVENT}, at, consumer FROM karwan.dead WHERE fed_at IS NULL ORDER BY at, seq, consumer LIMIT $1 OFFSET $2"
        );
        let [limit, skip] = [limit, skip].map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        let rows = client.query(&sql, &[&limit, &skip]).await.map_err(|cause| self.error(cause))?;
        self.learn(&client, rows.iter().map(|row| row.get(2))).await?;
        let dead = |row: &tokio_postgres::Row| Dead { event: self.event(row, None), at: millis(row.get(9)) };
        Ok(rows.iter().map(|row| (row.get(10), dead(row))).collect())
    }

    pub async fn mark_fed(&self, letters: &[(String, EventId, i64)]) -> Result<(), Error> {
        let client = self.relay().await?;
        let consumers: Vec<&str> = letters.iter().map(|(consumer, ..)| consumer.as_str()).collect();
        let events: Vec<Uuid> = letters.iter().map(|(_, event, _)| Uuid::from_u128(event.bits())).collect();
        // A time is told in milliseconds, and kept more finely.
        let died: Vec<SystemTime> = letters.iter().map(|(.., at)| instant(*at)).collect();
        let sql = "UPDATE karwan.dead d SET fed_at = clock_timestamp()
                   FROM unnest($1::text[], $2::uuid[], $3::timestamptz[]) AS f(consumer, event, died)
                   WHERE d.consumer = f.consumer AND d.event_id = f.event AND date_trunc('milliseconds', d.at) = f.died";
        client.execute(sql, &[&consumers, &events, &died]).await.map(drop).map_err(|cause| self.error(cause))
    }

    pub async fn unpark(&self, hold: &LaneHold, event: EventId) -> Result<(), Error> {
        let mut client = self.relay().await?;
        let bad = |cause| error::lane_error(&self.shown, cause);
        let tx = client.transaction().await.map_err(bad)?;
        check(&tx, hold).await.map_err(bad)?;
        let sql = "DELETE FROM karwan.parked WHERE consumer = $1 AND event_id = $2";
        tx.execute(sql, &[&hold.consumer, &Uuid::from_u128(event.bits())]).await.map_err(bad)?;
        tx.commit().await.map_err(bad)
    }

    pub async fn retried(&self, hold: &LaneHold, event: EventId, place: StreamPlace) -> Result<(), Error> {
        let mut client = self.relay().await?;
        let bad = |cause| error::lane_error(&self.shown, cause);
        let tx = client.transaction().await.map_err(bad)?;
        check(&tx, hold).await.map_err(bad)?;
        let event = Uuid::from_u128(event.bits());
        let values: &[&(dyn ToSql + Sync)] = &[&hold.consumer, &event, &place.seq, &place.created];
        tx.execute(include_str!("schema/retried.sql"), values).await.map_err(bad)?;
        tx.commit().await.map_err(bad)
    }

    pub async fn park_lost(&self, hold: &LaneHold, from: Seq, end: StreamPlace) -> Result<u64, Error> {
        let mut client = self.relay().await?;
        let bad = |cause| error::lane_error(&self.shown, cause);
        let tx = client.transaction().await.map_err(bad)?;
        check(&tx, hold).await.map_err(bad)?;
        forget_retried(&tx, hold).await.map_err(bad)?;
        let values: &[&(dyn ToSql + Sync)] = &[&hold.consumer, &from, &end.seq, &end.created];
        let lost = tx.execute(include_str!("schema/park_lost.sql"), values).await.map_err(bad)?;
        tx.commit().await.map_err(bad)?;
        Ok(lost)
    }

    pub async fn amended_to(&self, relay: &str) -> Result<Seq, Error> {
        let client = self.relay().await?;
        let sql = "SELECT coalesce(max(seq), 0) FROM (SELECT seq FROM karwan.inbox WHERE consumer = $1
                   UNION ALL SELECT seq FROM karwan.retried WHERE consumer = $1) AS amended";
        let statement = client.prepare_cached(sql).await.map_err(|cause| self.error(cause))?;
        Ok(client.query_one(&statement, &[&relay]).await.map_err(|cause| self.error(cause))?.get(0))
    }

    pub async fn published(&self, relay: &str, events: &[EventId]) -> Result<Vec<(EventId, String)>, Error> {
        let client = self.relay().await?;
        let events: Vec<Uuid> = events.iter().map(|event| Uuid::from_u128(event.bits())).collect();
        let sql = "SELECT event_id, envelope FROM karwan.retried WHERE consumer = $1 AND event_id = ANY ($2)";
        let rows = client.query(sql, &[&relay, &events]).await.map_err(|cause| self.error(cause))?;
        Ok(rows.iter().map(|row| (EventId::from_bits(row.get::<_, Uuid>(0).as_u128()), row.get(1))).collect())
    }

    pub async fn parked_ms(&self, consumer: &str, event: EventId) -> Result<i64, Error> {
        let client = self.relay().await?;
        let sql = "SELECT (extract(epoch FROM clock_timestamp() - at) * 1000)::bigint FROM karwan.parked
                   WHERE consumer = $1 AND event_id = $2";
        let row = client.query_opt(sql, &[&consumer, &Uuid::from_u128(event.bits())]).await;
        Ok(row.map_err(|cause| self.error(cause))?.map_or(0, |row| row.get(0)))
    }

    pub async fn lives(&self) -> Result<Vec<Life>, Error> {
        let client = self.relay().await?;
        let sql = "SELECT number, began FROM karwan.incarnation ORDER BY number";
        let rows = client.query(sql, &[]).await.map_err(|cause| self.error(cause))?;
        Ok(rows.iter().map(|row| Life { incarnation: row.get(0), began: row.get(1) }).collect())
    }

    pub async fn restart_feed(&self, holds: &[LaneHold], (after, stream_created): (Seq, i64)) -> Result<(), Error> {
        let Some(LaneHold { consumer, .. }) = holds.first() else { return Ok(()) };
        let mut client = self.relay().await?;
        let bad = |cause| error::lane_error(&self.shown, cause);
        let tx = client.transaction().await.map_err(bad)?;
        for hold in holds {
            check(&tx, hold).await.map_err(bad)?;
        }
        let sql = "UPDATE karwan.lane SET position = $2 WHERE consumer = $1";
        tx.execute(sql, &[consumer, &after]).await.map_err(bad)?;
        let sql = "UPDATE karwan.parked SET seq = seq - $2 WHERE consumer = $1";
        tx.execute(sql, &[consumer, &BEFORE]).await.map_err(bad)?;
        let sql = "INSERT INTO karwan.relay VALUES ($1, 0, $2) ON CONFLICT (consumer)
                   DO UPDATE SET stream_seq = 0, stream_created = excluded.stream_created";
        tx.execute(sql, &[consumer, &stream_created]).await.map_err(bad)?;
        tx.commit().await.map_err(bad)
    }
}

/// Forgets what consumers may have forgotten: published again, it would be handled twice.
async fn forget_retried(tx: &Transaction<'_>, hold: &LaneHold) -> Result<(), tokio_postgres::Error> {
    let sql = "DELETE FROM karwan.retried WHERE consumer = $1 AND logged < clock_timestamp() - $2::bigint * interval '1 millisecond'
               AND at < clock_timestamp() - $3::bigint * interval '1 millisecond'";
    tx.execute(sql, &[&hold.consumer, &REMEMBERED_MS, &RETRIED_MS_MIN]).await.map(drop)
}

/// Refuses a hold that is not the lane's present one, and keeps the lane from being taken until the transaction ends.
async fn check(tx: &Transaction<'_>, hold: &LaneHold) -> Result<(), tokio_postgres::Error> {
    let lane = i32::from(hold.lane);
    tx.execute("SELECT karwan.check_lane($1, $2, $3)", &[&hold.consumer, &lane, &hold.epoch]).await.map(drop)
}
