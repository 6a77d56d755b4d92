//! Lanes, positions, parked events and dead letters.

use std::time::SystemTime;

use karwan_envelope::ids::EventId;
use uuid::Uuid;

use super::flush::{instant, millis};
use super::{Postgres, error};
use crate::consumer::{Dead, Lane, LaneTaken, Parked};
use crate::error::Error;
use crate::log::Seq;
use crate::write_set::LaneHold;

impl Postgres {
    pub async fn take_lane(&self, lane: &Lane, node: &str, lease_ms: i64) -> Result<Option<LaneTaken>, Error> {
        let mut client = self.relay().await?;
        let bad = |cause| error::error(&self.shown, cause);
        let number = i32::from(lane.number);
        let tx = client.transaction().await.map_err(bad)?;
        // Exclusive: every write of the lane that has passed its check is committed before the epoch goes up.
        let lock = "SELECT pg_advisory_xact_lock(hashtext('karwan.lane.' || $1), $2)";
        tx.execute(lock, &[&lane.consumer, &number]).await.map_err(bad)?;
        let sql = include_str!("schema/take_lane.sql");
        let taken = tx.query_opt(sql, &[&lane.consumer, &number, &node, &lease_ms]).await.map_err(bad)?;
        let seen: i64 = tx.query_one("SELECT last_value FROM karwan.log_seq", &[]).await.map_err(bad)?.get(0);
        tx.commit().await.map_err(bad)?;
        Ok(taken.map(|row| LaneTaken { epoch: row.get(0), position: row.get(1), seen }))
    }

    pub async fn beat(&self, node: &str, lease_ms: i64) -> Result<Vec<String>, Error> {
        let client = self.relay().await?;
        let rows = client.query(include_str!("schema/beat.sql"), &[&node, &lease_ms]).await;
        Ok(rows.map_err(|cause| self.error(cause))?.iter().map(|row| row.get(0)).collect())
    }

    pub async fn save_position(&self, hold: &LaneHold, seq: Seq, release: bool) -> Result<(), Error> {
        let mut client = self.relay().await?;
        let bad = |cause| error::lane_error(&self.shown, cause);
        let lane = i32::from(hold.lane);
        let tx = client.transaction().await.map_err(bad)?;
        tx.execute("SELECT karwan.check_lane($1, $2, $3)", &[&hold.consumer, &lane, &hold.epoch]).await.map_err(bad)?;
        let sql =
            "UPDATE karwan.lane SET position = greatest(position, $3), holder = CASE WHEN $4 THEN NULL ELSE holder END,
                          until = CASE WHEN $4 THEN NULL ELSE until END WHERE consumer = $1 AND lane = $2::int";
        tx.execute(sql, &[&hold.consumer, &lane, &seq, &release]).await.map_err(bad)?;
        tx.commit().await.map_err(bad)
    }

    pub async fn handled(&self, consumer: &str, events: &[u128]) -> Result<Vec<u128>, Error> {
        let client = self.relay().await?;
        let events: Vec<Uuid> = events.iter().map(|event| Uuid::from_u128(*event)).collect();
        let sql = "SELECT event_id FROM karwan.inbox WHERE consumer = $1 AND event_id = ANY ($2)";
        let rows = client.query(sql, &[&consumer, &events]).await.map_err(|cause| self.error(cause))?;
        Ok(rows.iter().map(|row| row.get::<_, Uuid>(0).as_u128()).collect())
    }

    pub async fn park(&self, hold: &LaneHold, events: &[Parked]) -> Result<(), Error> {
        let mut client = self.relay().await?;
        let bad = |cause| error::lane_error(&self.shown, cause);
        let lane = i32::from(hold.lane);
        let tx = client.transaction().await.map_err(bad)?;
        tx.execute("SELECT karwan.check_lane($1, $2, $3)", &[&hold.consumer, &lane, &hold.epoch]).await.map_err(bad)?;
        let statement = tx.prepare_cached(include_str!("schema/park.sql")).await.map_err(bad)?;
        for event in events {
            let subject = self.subject(&event.subject)?;
            let due: Option<SystemTime> = event.due.map(instant);
            let (id, tenant) = (Uuid::from_u128(event.event.bits()), Uuid::from_u128(event.tenant));
            let (attempts, logged) = (event.attempts.cast_signed(), instant(event.logged));
            let parked = tx
                .execute(
                    &statement,
                    &[
                        &hold.consumer,
                        &id,
                        &lane,
                        &event.seq,
                        &tenant,
                        &subject,
                        &event.key,
                        &due,
                        &attempts,
                        &event.error,
                        &event.envelope,
                        &logged,
                    ],
                )
                .await
                .map_err(bad)?;
            if parked == 0 {
                return Err(Error::Claimed { consumer: hold.consumer.clone(), event: event.event });
            }
        }
        tx.commit().await.map_err(bad)
    }

    pub async fn parked(&self, lane: &Lane, limit: usize) -> Result<Vec<Parked>, Error> {
        let client = self.relay().await?;
        let sql =
            "SELECT seq, tenant_id, subject, key, event_id, attempts, error, envelope, logged, due FROM karwan.parked
                   WHERE consumer = $1 AND lane = $2::int ORDER BY seq LIMIT $3";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = client.query(sql, &[&lane.consumer, &i32::from(lane.number), &limit]).await;
        let due = |row: &tokio_postgres::Row| row.get::<_, Option<SystemTime>>(9).map(millis);
        let rows = rows.map_err(|cause| self.error(cause))?;
        self.learn(&client, rows.iter().map(|row| row.get(2))).await?;
        Ok(rows.iter().map(|row| self.event(row, due(row))).collect())
    }

    pub async fn bury(&self, hold: &LaneHold, dead: &Dead) -> Result<(), Error> {
        let mut client = self.relay().await?;
        let bad = |cause| error::lane_error(&self.shown, cause);
        let lane = i32::from(hold.lane);
        let event = &dead.event;
        let subject = self.subject(&event.subject)?;
        let (id, tenant) = (Uuid::from_u128(event.event.bits()), Uuid::from_u128(event.tenant));
        let (attempts, logged) = (event.attempts.cast_signed(), instant(event.logged));
        let tx = client.transaction().await.map_err(bad)?;
        tx.execute("SELECT karwan.check_lane($1, $2, $3)", &[&hold.consumer, &lane, &hold.epoch]).await.map_err(bad)?;
        let buried = tx
            .execute(
                include_str!("schema/bury.sql"),
                &[
                    &hold.consumer,
                    &id,
                    &event.seq,
                    &tenant,
                    &subject,
                    &event.key,
                    &attempts,
                    &event.error,
                    &event.envelope,
                    &logged,
                ],
            )
            .await
            .map_err(bad)?;
        if buried == 0 {
            return Err(Error::Claimed { consumer: hold.consumer.clone(), event: event.event });
        }
        tx.commit().await.map_err(bad)
    }

    pub async fn dead(&self, consumer: &str, after: Seq, limit: usize) -> Result<Vec<Dead>, Error> {
        let client = self.relay().await?;
        let sql =
            "SELECT seq, tenant_id, subject, key, event_id, attempts, error, envelope, logged, at FROM karwan.dead
                   WHERE consumer = $1 AND seq > $2 ORDER BY seq LIMIT $3";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = client.query(sql, &[&consumer, &after, &limit]).await.map_err(|cause| self.error(cause))?;
        self.learn(&client, rows.iter().map(|row| row.get(2))).await?;
        Ok(rows.iter().map(|row| Dead { event: self.event(row, None), at: millis(row.get(9)) }).collect())
    }

    fn event(&self, row: &tokio_postgres::Row, due: Option<i64>) -> Parked {
        Parked {
            seq: row.get(0),
            logged: millis(row.get(8)),
            tenant: row.get::<_, Uuid>(1).as_u128(),
            subject: self.subject_name(row.get(2)),
            key: row.get(3),
            event: EventId::from_bits(row.get::<_, Uuid>(4).as_u128()),
            due,
            attempts: row.get::<_, i32>(5).unsigned_abs(),
            error: row.get(6),
            envelope: row.get(7),
        }
    }
}
