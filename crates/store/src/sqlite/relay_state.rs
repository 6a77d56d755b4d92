//! What a relay keeps of its stream, and what holders of lanes ask for besides.

use karwan_envelope::ids::EventId;
use rusqlite::{OptionalExtension as _, params};

use super::Sqlite;
use super::consumer::{check_lane, dead_row, save_position, unpark};
use crate::consumer::{Dead, Lane};
use crate::error::Error;
use crate::log::Seq;
use crate::relay_state::{BEFORE, Life, RETRIED_MS_MIN, RelayState, StreamPlace};
use crate::retention::REMEMBERED_MS;
use crate::write_set::{LaneHold, TenantBits, slot};

impl Sqlite {
    pub async fn revisions(&self) -> Result<Vec<(String, i64)>, Error> {
        let read = |connection: &rusqlite::Connection| {
            let mut statement = connection.prepare_cached("SELECT consumer, number FROM revision ORDER BY consumer")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        };
        self.read(read).await
    }

    pub async fn paused_keys(&self, lane: &Lane) -> Result<Vec<(TenantBits, String)>, Error> {
        let lane = lane.clone();
        let read = move |connection: &rusqlite::Connection| {
            let sql = "SELECT tenant, key FROM paused_key WHERE consumer = ? ORDER BY tenant, key";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement
                .query_map([&lane.consumer], |row| Ok((u128::from_be_bytes(row.get(0)?), row.get::<_, String>(1)?)))?;
            let keys: Vec<(TenantBits, String)> = rows.collect::<rusqlite::Result<_>>()?;
            Ok(keys.into_iter().filter(|(tenant, key)| slot(*tenant, key) % lane.of.max(1) == lane.number).collect())
        };
        self.read(read).await
    }

    pub async fn save_relay(&self, hold: &LaneHold, state: RelayState) -> Result<(), Error> {
        let hold = hold.clone();
        let write = move |connection: &rusqlite::Connection, _| {
            save_position(connection, &hold, state.seq, false)?;
            let sql = "INSERT INTO relay VALUES (?, ?, ?) ON CONFLICT (consumer)
                       DO UPDATE SET stream_seq = excluded.stream_seq, stream_created = excluded.stream_created";
            let values = params![hold.consumer, state.stream_seq, state.stream_created];
            connection.prepare_cached(sql)?.execute(values)?;
            Ok(())
        };
        self.write(write).await
    }

    pub async fn relay_state(&self, consumer: &str) -> Result<Option<RelayState>, Error> {
        let consumer = consumer.to_owned();
        let read = move |connection: &rusqlite::Connection| {
            let sql = "SELECT l.position, r.stream_seq, r.stream_created
                       FROM relay r JOIN lane l ON l.consumer = r.consumer AND l.lane = 0 WHERE r.consumer = ?";
            let state = connection.prepare_cached(sql)?.query_row([&consumer], |row| {
                Ok(RelayState { seq: row.get(0)?, stream_seq: row.get(1)?, stream_created: row.get(2)? })
            });
            Ok(state.optional()?)
        };
        self.read(read).await
    }

    pub async fn rewind(&self, hold: &LaneHold, seq: Seq) -> Result<(), Error> {
        let hold = hold.clone();
        let write = move |connection: &rusqlite::Connection, _| {
            check_lane(connection, &hold)?;
            let sql = "UPDATE lane SET position = min(position, ?3) WHERE consumer = ?1 AND lane = ?2";
            connection.prepare_cached(sql)?.execute(params![hold.consumer, hold.lane, seq])?;
            Ok(())
        };
        self.write(write).await
    }

    pub async fn dead_unfed(&self, skip: usize, limit: usize) -> Result<Vec<(String, Dead)>, Error> {
        let read = move |connection: &rusqlite::Connection| {
            let sql = "SELECT seq, tenant, subject, key, event, due, attempts, error, envelope, logged, at, consumer
                       FROM dead WHERE fed_at IS NULL ORDER BY at, seq, consumer LIMIT ?1 OFFSET ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([limit as i64, skip as i64], |row| Ok((row.get(11)?, dead_row(row)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        };
        self.read(read).await
    }

    pub async fn mark_fed(&self, letters: &[(String, EventId, i64)]) -> Result<(), Error> {
        let letters = letters.to_vec();
        let write = move |connection: &rusqlite::Connection, now| {
            let sql = "UPDATE dead SET fed_at = ?3 WHERE consumer = ?1 AND event = ?2 AND at = ?4";
            let mut statement = connection.prepare_cached(sql)?;
            for (consumer, event, died) in &letters {
                statement.execute(params![consumer, event.bits().to_be_bytes(), now, died])?;
            }
            Ok(())
        };
        self.write(write).await
    }

    pub async fn unpark(&self, hold: &LaneHold, event: EventId) -> Result<(), Error> {
        let hold = hold.clone();
        let write = move |connection: &rusqlite::Connection, _| {
            check_lane(connection, &hold)?;
            unpark(connection, &hold.consumer, event)?;
            Ok(())
        };
        self.write(write).await
    }

    pub async fn retried(&self, hold: &LaneHold, event: EventId, place: StreamPlace) -> Result<(), Error> {
        let hold = hold.clone();
        let write = move |connection: &rusqlite::Connection, now: i64| {
            check_lane(connection, &hold)?;
            let values = params![hold.consumer, event.bits().to_be_bytes(), place.seq, place.created, now];
            connection.prepare_cached(include_str!("retried.sql"))?.execute(values)?;
            unpark(connection, &hold.consumer, event)?;
            Ok(())
        };
        self.write(write).await
    }

    pub async fn park_lost(&self, hold: &LaneHold, from: Seq, end: StreamPlace) -> Result<u64, Error> {
        let hold = hold.clone();
        let write = move |connection: &rusqlite::Connection, now: i64| {
            check_lane(connection, &hold)?;
            forget_retried(connection, &hold, now)?;
            let values = params![hold.consumer, from, end.seq, end.created, now];
            let lost = connection.prepare_cached(include_str!("park_lost.sql"))?.execute(values)?;
            let sql =
                "DELETE FROM retried WHERE consumer = ?1 AND seq <= ?4 AND (stream_created <> ?3 OR stream_seq > ?2)";
            connection.prepare_cached(sql)?.execute(params![hold.consumer, end.seq, end.created, from])?;
            let sql = "UPDATE retried SET stream_seq = 0, stream_created = ?2 WHERE consumer = ?1 AND seq > ?3";
            connection.prepare_cached(sql)?.execute(params![hold.consumer, end.created, from])?;
            Ok(lost as u64)
        };
        self.write(write).await
    }

    pub async fn amended_to(&self, relay: &str) -> Result<Seq, Error> {
        let relay = relay.to_owned();
        let read = move |connection: &rusqlite::Connection| {
            let sql = "SELECT coalesce(max(seq), 0) FROM (SELECT seq FROM inbox WHERE consumer = ?1
                       UNION ALL SELECT seq FROM retried WHERE consumer = ?1)";
            Ok(connection.prepare_cached(sql)?.query_row([&relay], |row| row.get(0))?)
        };
        self.read(read).await
    }

    pub async fn published(&self, relay: &str, events: &[EventId]) -> Result<Vec<(EventId, String)>, Error> {
        let (relay, events) = (relay.to_owned(), events.to_vec());
        let read = move |connection: &rusqlite::Connection| {
            let sql = "SELECT envelope FROM retried WHERE consumer = ? AND event = ?";
            let mut statement = connection.prepare_cached(sql)?;
            let mut published = Vec::new();
            for event in events {
                let found = statement.query_row(params![relay, event.bits().to_be_bytes()], |row| row.get(0));
                published.extend(found.optional()?.map(|envelope: String| (event, envelope)));
            }
            Ok(published)
        };
        self.read(read).await
    }

    pub async fn parked_ms(&self, consumer: &str, event: EventId) -> Result<i64, Error> {
        let consumer = consumer.to_owned();
        let write = move |connection: &rusqlite::Connection, now: i64| {
            let sql = "SELECT at FROM parked WHERE consumer = ? AND event = ?";
            let values = params![consumer, event.bits().to_be_bytes()];
            let at: Option<i64> = connection.prepare_cached(sql)?.query_row(values, |row| row.get(0)).optional()?;
            Ok(at.map_or(0, |at| now - at))
        };
        self.write(write).await
    }

    pub async fn lives(&self) -> Result<Vec<Life>, Error> {
        let read = |connection: &rusqlite::Connection| {
            let mut statement =
                connection.prepare_cached("SELECT incarnation, began FROM life ORDER BY incarnation")?;
            let rows = statement.query_map([], |row| Ok(Life { incarnation: row.get(0)?, began: row.get(1)? }))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        };
        self.read(read).await
    }

    pub async fn restart_feed(&self, holds: &[LaneHold], (after, stream_created): (Seq, i64)) -> Result<(), Error> {
        let holds = holds.to_vec();
        let write = move |connection: &rusqlite::Connection, _| {
            for hold in &holds {
                check_lane(connection, hold)?;
            }
            let Some(LaneHold { consumer, .. }) = holds.first() else { return Ok(()) };
            connection.execute("UPDATE lane SET position = ?2 WHERE consumer = ?1", params![consumer, after])?;
            connection.execute("UPDATE parked SET seq = seq - ?2 WHERE consumer = ?1", params![consumer, BEFORE])?;
            let sql = "INSERT INTO relay VALUES (?, 0, ?) ON CONFLICT (consumer)
                       DO UPDATE SET stream_seq = 0, stream_created = excluded.stream_created";
            connection.execute(sql, params![consumer, stream_created])?;
            Ok(())
        };
        self.write(write).await
    }
}

/// Forgets what consumers may have forgotten: published again, it would be handled twice.
fn forget_retried(connection: &rusqlite::Connection, hold: &LaneHold, now: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM retried WHERE consumer = ? AND logged < ? AND at < ?";
    let values = params![hold.consumer, now - REMEMBERED_MS, now - RETRIED_MS_MIN];
    connection.prepare_cached(sql)?.execute(values).map(drop)
}
