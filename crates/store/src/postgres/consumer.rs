//! Lanes, positions, parked events and dead letters.

use std::time::SystemTime;

use karwan_envelope::ids::EventId;
use tokio_postgres::Transaction;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::flush::{instant, millis};
use super::lanes::{DECLARED, declared_row, living};
use super::{Postgres, error};
use crate::consumer::{Beat, Dead, Lane, LaneTaken, Node, Parked, Suspension};
use crate::error::Error;
use crate::lanes::{Declared, OPERATOR};
use crate::log::Seq;
use crate::write_set::{Claim, LaneHold, TenantBits};

/// What parked and dead events have in common, in the order in which it is read.
pub(super) const EVENT: &str = "seq, tenant_id, subject, key, event_id, attempts, error, envelope, logged";

/// How long taking a lane waits for a write of it that is under way, in milliseconds.
const TAKE_LOCK_MS: &str = "500";

/// Notes what a consumer says of itself. Where it handles a subject that nobody did, its lanes are taken from whoever holds
/// them: they know nothing of it, and would pass its events by. An operator who holds them handles none.
async fn declare_one(tx: &Transaction<'_>, declared: &Declared) -> Result<(), tokio_postgres::Error> {
    let Declared { consumer, forward_only, rebuildable, stream, subjects, .. } = declared;
    let sql = "SELECT subjects FROM karwan.declared WHERE consumer = $1 FOR UPDATE";
    let known: Vec<String> = tx.query_opt(sql, &[consumer]).await?.map(|row| row.get(0)).unwrap_or_default();
    let sql = "INSERT INTO karwan.declared AS d (consumer, forward_only, rebuildable, subjects, stream) VALUES ($1, $2, $3, $4, $5)
               ON CONFLICT (consumer) DO UPDATE SET forward_only = excluded.forward_only, rebuildable = excluded.rebuildable,
                   subjects = ARRAY(SELECT unnest(d.subjects) UNION SELECT unnest(excluded.subjects) ORDER BY 1),
                   stream = excluded.stream, at = excluded.at";
    tx.execute(sql, &[consumer, forward_only, rebuildable, subjects, stream]).await?;
    if subjects.iter().all(|subject| known.contains(subject)) {
        return Ok(());
    }
    // Exclusive: every write that has passed its check is committed before the epochs go up.
    let sql = "SELECT pg_advisory_xact_lock(hashtext('karwan.lane.' || $1), lane)
               FROM (SELECT lane::int FROM karwan.lane WHERE consumer = $1 ORDER BY lane) AS lanes";
    tx.execute(sql, &[consumer]).await?;
    let sql = "UPDATE karwan.lane SET epoch = epoch + 1, holder = NULL, until = NULL
               WHERE consumer = $1 AND (holder IS NULL OR NOT starts_with(holder, $2))";
    tx.execute(sql, &[consumer, &OPERATOR]).await.map(drop)
}

impl Postgres {
    pub async fn declare(&self, consumers: &[Declared]) -> Result<(), Error> {
        let mut client = self.relay().await?;
        let bad = |cause| error::error(&self.shown, cause);
        for declared in consumers {
            let tx = client.transaction().await.map_err(bad)?;
            tx.execute("SELECT set_config('lock_timeout', $1, true)", &[&TAKE_LOCK_MS]).await.map_err(bad)?;
            declare_one(&tx, declared).await.map_err(bad)?;
            tx.commit().await.map_err(bad)?;
        }
        Ok(())
    }

    pub async fn subjects(&self, consumer: &str) -> Result<Vec<String>, Error> {
        let client = self.relay().await?;
        // Locked: who declares one that is new has either taken every lane from its holder, or is waited for here.
        let sql = "SELECT subjects FROM karwan.declared WHERE consumer = $1 FOR SHARE";
        let row = client.query_opt(sql, &[&consumer]).await.map_err(|cause| self.error(cause))?;
        Ok(row.map(|row| row.get(0)).unwrap_or_default())
    }

    pub async fn living(&self) -> Result<Vec<Node>, Error> {
        let client = self.relay().await?;
        living(&**client).await.map_err(|cause| self.error(cause))
    }

    pub async fn declared(&self) -> Result<Vec<Declared>, Error> {
        let client = self.relay().await?;
        let rows = client.query(&format!("{DECLARED} ORDER BY consumer"), &[]).await;
        Ok(rows.map_err(|cause| self.error(cause))?.iter().map(declared_row).collect())
    }

    pub async fn free_lanes(&self, consumer: &str, lanes: u16, lease_ms: i64) -> Result<Vec<u16>, Error> {
        let client = self.relay().await?;
        let statement = client.prepare_cached(include_str!("schema/free_lanes.sql")).await;
        let statement = statement.map_err(|cause| self.error(cause))?;
        let rows = client.query(&statement, &[&consumer, &i32::from(lanes), &lease_ms]).await;
        let number = |row: &tokio_postgres::Row| u16::try_from(row.get::<_, i32>(0)).unwrap_or(u16::MAX);
        Ok(rows.map_err(|cause| self.error(cause))?.iter().map(number).collect())
    }

    pub async fn take_lane(&self, lane: &Lane, node: &str, lease_ms: i64) -> Result<Option<LaneTaken>, Error> {
        // Without locks: whoever waits for one that somebody has asks again and again, and would stand in that one's way.
        if !self.free_lanes(&lane.consumer, lane.of, lease_ms).await?.contains(&lane.number) {
            return Ok(None);
        }
        match self.take_free_lane(lane, node, lease_ms).await {
            // Somebody is writing under it, or stands still in the middle of that: it is not free now.
            Err(error) if error::is_lock_timeout(&error) => Ok(None),
            other => other,
        }
    }

    async fn take_free_lane(&self, lane: &Lane, node: &str, lease_ms: i64) -> Result<Option<LaneTaken>, Error> {
        let mut client = self.relay().await?;
        let bad = |cause| error::error(&self.shown, cause);
        let number = i32::from(lane.number);
        let tx = client.transaction().await.map_err(bad)?;
        tx.execute("SELECT set_config('lock_timeout', $1, true)", &[&TAKE_LOCK_MS]).await.map_err(bad)?;
        self.agree_on_lanes(&tx, lane, lease_ms).await?;
        // Exclusive: every write of the lane that has passed its check is committed before the epoch goes up.
        let lock = "SELECT pg_advisory_xact_lock(hashtext('karwan.lane.' || $1), $2)";
        tx.execute(lock, &[&lane.consumer, &number]).await.map_err(bad)?;
        let sql = include_str!("schema/take_lane.sql");
        let taken = tx.query_opt(sql, &[&lane.consumer, &number, &node, &lease_ms]).await.map_err(bad)?;
        let seen: i64 = tx.query_one("SELECT last_value FROM karwan.log_seq", &[]).await.map_err(bad)?.get(0);
        tx.commit().await.map_err(bad)?;
        Ok(taken.map(|row| LaneTaken { epoch: row.get(0), position: row.get(1), seen }))
    }

    /// Makes sure that the consumer is parted into as many lanes as the taker believes, until the transaction ends.
    async fn agree_on_lanes(&self, tx: &Transaction<'_>, lane: &Lane, lease_ms: i64) -> Result<(), Error> {
        let bad = |cause| error::error(&self.shown, cause);
        let (consumer, wanted) = (&lane.consumer, lane.of.cast_signed());
        let sql = "INSERT INTO karwan.lane_count (consumer, lanes) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        tx.execute(sql, &[consumer, &wanted]).await.map_err(bad)?;
        // Locked: nobody takes a lane of this consumer while it is parted anew.
        let sql = "SELECT lanes FROM karwan.lane_count WHERE consumer = $1 FOR UPDATE";
        let stored: i16 = tx.query_one(sql, &[consumer]).await.map_err(bad)?.get(0);
        if stored == wanted {
            return Ok(());
        }
        let held = include_str!("schema/lane_held.sql");
        if tx.query_one(held, &[consumer, &lease_ms]).await.map_err(bad)?.get(0) {
            let (stored, wanted) = (stored.cast_unsigned(), lane.of);
            return Err(Error::LanesDiffer { consumer: consumer.clone(), stored, wanted });
        }
        // Every write that has passed its check is committed before the epochs go up.
        let sql = "SELECT pg_advisory_xact_lock(hashtext('karwan.lane.' || $1), number)
                   FROM generate_series(0, $2::int - 1) AS number";
        tx.execute(sql, &[consumer, &i32::from(stored.max(wanted))]).await.map_err(bad)?;
        let sql =
            "SELECT CASE WHEN count(*) < $2::int THEN 0 ELSE coalesce(min(position), 0) END, coalesce(max(epoch), 0)
                   FROM karwan.lane WHERE consumer = $1";
        let old = tx.query_one(sql, &[consumer, &i32::from(stored)]).await.map_err(bad)?;
        let (position, epoch): (i64, i64) = (old.get(0), old.get(1));
        tx.execute("DELETE FROM karwan.lane WHERE consumer = $1", &[consumer]).await.map_err(bad)?;
        let sql = "INSERT INTO karwan.lane (consumer, lane, position, epoch)
                   SELECT $1, number, $3, $4 FROM generate_series(0, $2::int - 1) AS number";
        tx.execute(sql, &[consumer, &i32::from(wanted), &position, &epoch]).await.map_err(bad)?;
        let sql = "UPDATE karwan.parked SET lane = karwan.slot(karwan.key_number(tenant_id, key)) % $2::int WHERE consumer = $1";
        tx.execute(sql, &[consumer, &i32::from(wanted)]).await.map_err(bad)?;
        let sql = "UPDATE karwan.lane_count SET lanes = $2 WHERE consumer = $1";
        tx.execute(sql, &[consumer, &wanted]).await.map_err(bad)?;
        Ok(())
    }

    pub async fn beat(&self, node: &Node, holds: &[LaneHold], lease_ms: i64) -> Result<Beat, Error> {
        let client = self.relay().await?;
        let consumers: Vec<&str> = holds.iter().map(|hold| hold.consumer.as_str()).collect();
        let lanes: Vec<i32> = holds.iter().map(|hold| i32::from(hold.lane)).collect();
        let epochs: Vec<i64> = holds.iter().map(|hold| hold.epoch).collect();
        let sql = include_str!("schema/beat.sql");
        let rows = client.query(sql, &[&node.name, &lease_ms, &node.runs_text(), &consumers, &lanes, &epochs]).await;
        let rows = rows.map_err(|cause| self.error(cause))?;
        let (mut living, mut kept) = (Vec::new(), Vec::new());
        for row in &rows {
            match row.get::<_, Option<i32>>(2) {
                None => living.push(Node::stored(row.get(0), row.get(1))),
                Some(lane) => kept.push((row.get::<_, &str>(0), lane, row.get::<_, i64>(3))),
            }
        }
        let key = |hold: &LaneHold| (i32::from(hold.lane), hold.epoch);
        let is_kept = |hold: &LaneHold| kept.iter().any(|it| it.0 == hold.consumer && (it.1, it.2) == key(hold));
        Ok(Beat::new(living, holds, is_kept))
    }

    pub async fn leave(&self, node: &str) -> Result<(), Error> {
        let client = self.relay().await?;
        let sql = "WITH gone AS (DELETE FROM karwan.node WHERE name = $1)
                   UPDATE karwan.lane SET holder = NULL, until = NULL WHERE holder = $1";
        client.execute(sql, &[&node]).await.map(drop).map_err(|cause| self.error(cause))
    }

    pub async fn save_position(&self, hold: &LaneHold, seq: Seq, release: bool) -> Result<(), Error> {
        let client = self.relay().await?;
        let bad = |cause| error::lane_error(&self.shown, cause);
        let statement = client.prepare_cached("SELECT karwan.save_position($1, $2, $3, $4, $5)").await.map_err(bad)?;
        let lane = i32::from(hold.lane);
        client.execute(&statement, &[&hold.consumer, &lane, &hold.epoch, &seq, &release]).await.map_err(bad)?;
        Ok(())
    }

    pub async fn save_positions(&self, positions: &[(LaneHold, Seq)]) -> Result<Vec<LaneHold>, Error> {
        let client = self.relay().await?;
        let consumers: Vec<&str> = positions.iter().map(|(hold, _)| hold.consumer.as_str()).collect();
        let lanes: Vec<i32> = positions.iter().map(|(hold, _)| i32::from(hold.lane)).collect();
        let epochs: Vec<i64> = positions.iter().map(|(hold, _)| hold.epoch).collect();
        let seqs: Vec<Seq> = positions.iter().map(|(_, seq)| *seq).collect();
        let statement = client.prepare_cached("SELECT karwan.save_positions($1, $2, $3, $4)").await;
        let statement = statement.map_err(|cause| self.error(cause))?;
        let lost = client.query(&statement, &[&consumers, &lanes, &epochs, &seqs]).await;
        let lost = lost.map_err(|cause| self.error(cause))?;
        // The database counts from 1.
        let place = |row: &tokio_postgres::Row| usize::try_from(row.get::<_, i32>(0) - 1).ok();
        Ok(lost
            .iter()
            .filter_map(place)
            .filter_map(|place| positions.get(place))
            .map(|(hold, _)| hold.clone())
            .collect())
    }

    pub async fn seek(&self, consumer: &str, seq: Seq) -> Result<bool, Error> {
        let client = self.relay().await?;
        // Whoever takes one meanwhile waits for the rows, and starts where they were moved to.
        let sql = "WITH lanes AS (SELECT lane, holder FROM karwan.lane WHERE consumer = $1 FOR UPDATE)
                   UPDATE karwan.lane l SET position = $2 FROM lanes
                   WHERE l.consumer = $1 AND l.lane = lanes.lane AND NOT EXISTS (SELECT FROM lanes WHERE holder IS NOT NULL)";
        let moved = client.execute(sql, &[&consumer, &seq]).await.map_err(|cause| self.error(cause))?;
        Ok(moved > 0)
    }

    pub async fn handled(&self, consumer: &str, claims: &[Claim]) -> Result<Vec<EventId>, Error> {
        let client = self.relay().await?;
        let events: Vec<Uuid> = claims.iter().map(|claim| Uuid::from_u128(claim.event.bits())).collect();
        let logged: Vec<SystemTime> = claims.iter().map(|claim| instant(claim.logged)).collect();
        // Correlated, with the leaf's own instant: one look into one leaf for each, whatever was known when it was planned.
        let sql = "SELECT c.event FROM unnest($2::uuid[], $3::timestamptz[]) AS c(event, logged)
                   WHERE (SELECT i.seq FROM karwan.inbox i
                          WHERE i.consumer = $1 AND i.event_id = c.event AND i.at = c.logged) IS NOT NULL";
        let statement = client.prepare_cached(sql).await.map_err(|cause| self.error(cause))?;
        let rows = client.query(&statement, &[&consumer, &events, &logged]).await.map_err(|cause| self.error(cause))?;
        Ok(rows.iter().map(|row| EventId::from_bits(row.get::<_, Uuid>(0).as_u128())).collect())
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
            note_attempt(&tx, &hold.consumer, event).await.map_err(bad)?;
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
        let sql = format!(
            "SELECT {EVENT}, due FROM karwan.parked WHERE consumer = $1 AND lane = $2::int ORDER BY seq LIMIT $3"
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.parked_events(&sql, &[&lane.consumer, &i32::from(lane.number), &limit]).await
    }

    pub async fn parked_heads(&self, lane: &Lane, limit: usize) -> Result<Vec<Parked>, Error> {
        let sql = format!(
            "SELECT * FROM (SELECT DISTINCT ON (tenant_id, key) {EVENT}, due FROM karwan.parked
             WHERE consumer = $1 AND lane = $2::int ORDER BY tenant_id, key, seq) AS heads ORDER BY seq LIMIT $3"
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.parked_events(&sql, &[&lane.consumer, &i32::from(lane.number), &limit]).await
    }

    pub async fn parked_head(&self, lane: &Lane, tenant: TenantBits, key: &str) -> Result<Option<Parked>, Error> {
        let sql = format!(
            "SELECT {EVENT}, due FROM karwan.parked
             WHERE consumer = $1 AND lane = $2::int AND tenant_id = $3 AND key = $4 ORDER BY seq LIMIT 1"
        );
        let (number, tenant) = (i32::from(lane.number), Uuid::from_u128(tenant));
        Ok(self.parked_events(&sql, &[&lane.consumer, &number, &tenant, &key]).await?.pop())
    }

    async fn parked_events(&self, sql: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Vec<Parked>, Error> {
        let client = self.relay().await?;
        let rows = client.query(sql, parameters).await.map_err(|cause| self.error(cause))?;
        let due = |row: &tokio_postgres::Row| row.get::<_, Option<SystemTime>>(9).map(millis);
        self.learn(&client, rows.iter().map(|row| row.get(2))).await?;
        Ok(rows.iter().map(|row| self.event(row, due(row))).collect())
    }

    pub async fn suspend(&self, hold: &LaneHold, reason: &str) -> Result<(), Error> {
        let mut client = self.relay().await?;
        let bad = |cause| error::lane_error(&self.shown, cause);
        let lane = i32::from(hold.lane);
        let tx = client.transaction().await.map_err(bad)?;
        tx.execute("SELECT karwan.check_lane($1, $2, $3)", &[&hold.consumer, &lane, &hold.epoch]).await.map_err(bad)?;
        let sql = "INSERT INTO karwan.suspension (consumer, reason) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        tx.execute(sql, &[&hold.consumer, &reason]).await.map_err(bad)?;
        tx.commit().await.map_err(bad)
    }

    pub async fn suspensions(&self) -> Result<Vec<Suspension>, Error> {
        let client = self.relay().await?;
        let sql = "SELECT consumer, reason, at FROM karwan.suspension ORDER BY consumer";
        let rows = client.query(sql, &[]).await.map_err(|cause| self.error(cause))?;
        let suspension =
            |row: &tokio_postgres::Row| Suspension { consumer: row.get(0), reason: row.get(1), at: millis(row.get(2)) };
        Ok(rows.iter().map(suspension).collect())
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
        note_attempt(&tx, &hold.consumer, event).await.map_err(bad)?;
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
        let sql = format!("SELECT {EVENT}, at FROM karwan.dead WHERE consumer = $1 AND seq > $2 ORDER BY seq LIMIT $3");
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = client.query(&sql, &[&consumer, &after, &limit]).await.map_err(|cause| self.error(cause))?;
        self.learn(&client, rows.iter().map(|row| row.get(2))).await?;
        Ok(rows.iter().map(|row| Dead { event: self.event(row, None), at: millis(row.get(9)) }).collect())
    }

    pub(super) fn event(&self, row: &tokio_postgres::Row, due: Option<i64>) -> Parked {
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

/// Keeps why an attempt failed, where there was one.
async fn note_attempt(tx: &Transaction<'_>, consumer: &str, event: &Parked) -> Result<(), tokio_postgres::Error> {
    if event.attempts == 0 {
        return Ok(());
    }
    let (id, tenant) = (Uuid::from_u128(event.event.bits()), Uuid::from_u128(event.tenant));
    let attempts = event.attempts.cast_signed();
    let sql = "SELECT karwan.note_attempt($1, $2, $3, $4, $5, $6)";
    tx.execute(sql, &[&consumer, &id, &tenant, &event.key, &attempts, &event.error]).await.map(drop)
}
