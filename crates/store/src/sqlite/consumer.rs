//! Lanes and their leases, the inbox, parked events and dead letters.
//!
//! Invariant: every write of a lane passes [`check_lane`] first, so that a process that lost the lane and does not know
//! it yet changes nothing. Leases are measured by the store's clock, which is passed in.

use karwan_envelope::ids::EventId;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::consumer::{Beat, Dead, Lane, LaneTaken, Node, Parked, Suspension};
use crate::error::Error;
use crate::log::Seq;
use crate::simulation::{Rule, is_left_out};
use crate::sqlite::error::Fault;
use crate::sqlite::log;
use crate::write_set::{Claim, LaneHold, TenantBits, slot};

/// How far the store's clock may go back before a lease that seems to begin in the future no longer counts. Without it a
/// clock that was set back an hour would keep a dead process's lanes for an hour.
const CLOCK_BACK_MS: i64 = 1_000;

/// Failed attempts that are kept of one event.
const ATTEMPTS_KEPT: i64 = 50;

/// Refuses a hold that is not the lane's present one.
pub(super) fn check_lane(connection: &Connection, hold: &LaneHold) -> Result<(), Fault> {
    let lost = || Error::LaneLost { consumer: hold.consumer.clone(), lane: hold.lane };
    if is_held(connection, hold)? { Ok(()) } else { Err(lost().into()) }
}

fn is_held(connection: &Connection, hold: &LaneHold) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM lane WHERE consumer = ? AND lane = ? AND epoch = ? AND holder IS NOT NULL";
    let held = connection.prepare_cached(sql)?.exists(params![hold.consumer, hold.lane, hold.epoch])?;
    Ok(held || is_left_out(Rule::Epoch))
}

/// Lanes that could be taken.
pub(super) fn free_lanes(connection: &Connection, consumer: &str, lanes: u16, now: i64) -> Result<Vec<u16>, Fault> {
    let mut statement = connection.prepare_cached(include_str!("held_lanes.sql"))?;
    let held = statement.query_map(params![consumer, now, now + CLOCK_BACK_MS, lanes], |row| row.get::<_, u16>(0))?;
    let held: Vec<u16> = held.collect::<rusqlite::Result<_>>()?;
    Ok((0..lanes).filter(|number| !held.contains(number)).collect())
}

/// Takes a lane that nobody holds, or whose lease has run out; its epoch goes up.
pub(super) fn take_lane(
    connection: &Connection,
    lane: &Lane,
    node: &str,
    lease_ms: i64,
    now: i64,
) -> Result<Option<LaneTaken>, Fault> {
    agree_on_lanes(connection, lane, now)?;
    let sql = include_str!("take_lane.sql");
    let values = params![lane.consumer, lane.number, node, now, now + lease_ms, now + CLOCK_BACK_MS];
    let mut statement = connection.prepare_cached(sql)?;
    let taken = statement.query_row(values, |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((epoch, position)) = taken else { return Ok(None) };
    Ok(Some(LaneTaken { epoch, position, seen: log::highest(connection)? }))
}

/// Makes sure that the consumer is parted into as many lanes as the taker believes.
fn agree_on_lanes(connection: &Connection, lane: &Lane, now: i64) -> Result<(), Fault> {
    let Lane { consumer, of: wanted, .. } = lane;
    let sql = "INSERT INTO lane_count (consumer, lanes) VALUES (?, ?) ON CONFLICT DO NOTHING";
    connection.prepare_cached(sql)?.execute(params![consumer, wanted])?;
    let mut sql = connection.prepare_cached("SELECT lanes FROM lane_count WHERE consumer = ?")?;
    let stored: u16 = sql.query_row([consumer], |row| row.get(0))?;
    if stored == *wanted {
        return Ok(());
    }
    let sql = "SELECT 1 FROM lane WHERE consumer = ? AND holder IS NOT NULL AND lease_until > ? AND lease_from <= ?";
    if connection.prepare_cached(sql)?.exists(params![consumer, now, now + CLOCK_BACK_MS])? {
        return Err(Error::LanesDiffer { consumer: consumer.clone(), stored, wanted: *wanted }.into());
    }
    // A lane that was never taken has everything before it.
    let sql = "SELECT iif(count(*) < ?2, 0, coalesce(min(position), 0)), coalesce(max(epoch), 0) FROM lane WHERE consumer = ?1";
    let (position, epoch): (Seq, i64) =
        connection.query_row(sql, params![consumer, stored], |row| Ok((row.get(0)?, row.get(1)?)))?;
    connection.execute("DELETE FROM lane WHERE consumer = ?", [consumer])?;
    let sql = "INSERT INTO lane (consumer, lane, position, epoch, holder, lease_from, lease_until)
               VALUES (?, ?, ?, ?, NULL, 0, 0)";
    let mut insert = connection.prepare_cached(sql)?;
    for number in 0..*wanted {
        insert.execute(params![consumer, number, position, epoch])?;
    }
    let mut parked = connection.prepare_cached("SELECT event, tenant, key FROM parked WHERE consumer = ?")?;
    let parked = parked.query_map([consumer], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let parked: Vec<([u8; 16], [u8; 16], String)> = parked.collect::<rusqlite::Result<_>>()?;
    let mut moved = connection.prepare_cached("UPDATE parked SET lane = ?3 WHERE consumer = ?1 AND event = ?2")?;
    for (event, tenant, key) in parked {
        moved.execute(params![consumer, event, slot(u128::from_be_bytes(tenant), &key) % wanted])?;
    }
    connection.execute("UPDATE lane_count SET lanes = ?2 WHERE consumer = ?1", params![consumer, wanted])?;
    Ok(())
}

/// Says that a node lives, and prolongs the leases that it knows of; answers who lives, and which it lost.
pub(super) fn beat(
    connection: &Connection,
    node: &Node,
    holds: &[LaneHold],
    lease_ms: i64,
    now: i64,
) -> Result<Beat, Fault> {
    let sql = "INSERT INTO node (name, lease_from, lease_until, runs) VALUES (?, ?, ?, ?) ON CONFLICT (name)
               DO UPDATE SET lease_from = excluded.lease_from, lease_until = excluded.lease_until, runs = excluded.runs";
    connection.prepare_cached(sql)?.execute(params![node.name, now, now + lease_ms, node.runs_text()])?;
    // A lease that has run out is not revived: its lane is anybody's.
    let sql = "UPDATE lane SET lease_from = ?1, lease_until = ?2
               WHERE holder = ?3 AND lease_until > ?1 AND consumer = ?4 AND lane = ?5 AND epoch = ?6";
    let mut prolong = connection.prepare_cached(sql)?;
    let mut kept = Vec::new();
    for hold in holds {
        if prolong.execute(params![now, now + lease_ms, node.name, hold.consumer, hold.lane, hold.epoch])? == 1 {
            kept.push(hold);
        }
    }
    connection.execute("DELETE FROM node WHERE lease_until <= ?1 OR lease_from > ?2", [now, now + CLOCK_BACK_MS])?;
    Ok(Beat::new(living(connection, now)?, holds, |hold| kept.contains(&hold)))
}

/// Who lives.
pub(super) fn living(connection: &Connection, now: i64) -> Result<Vec<Node>, Fault> {
    let sql = "SELECT name, runs FROM node WHERE lease_until > ? AND lease_from <= ? ORDER BY name";
    let mut statement = connection.prepare_cached(sql)?;
    let living = statement
        .query_map([now, now + CLOCK_BACK_MS], |row| Ok(Node::stored(row.get(0)?, &row.get::<_, String>(1)?)))?;
    Ok(living.collect::<rusqlite::Result<_>>()?)
}

/// Forgets a node, and frees the lanes that it holds.
pub(super) fn leave(connection: &Connection, node: &str) -> Result<(), Fault> {
    connection.execute("DELETE FROM node WHERE name = ?", [node])?;
    connection.execute("UPDATE lane SET holder = NULL WHERE holder = ?", [node])?;
    Ok(())
}

/// Saves the positions of lanes; answers those that are held no more.
pub(super) fn save_positions(connection: &Connection, positions: &[(LaneHold, Seq)]) -> Result<Vec<LaneHold>, Fault> {
    let sql = "UPDATE lane SET position = max(position, ?3) WHERE consumer = ?1 AND lane = ?2";
    let mut save = connection.prepare_cached(sql)?;
    let mut lost = Vec::new();
    for (hold, seq) in positions {
        if is_held(connection, hold)? {
            save.execute(params![hold.consumer, hold.lane, seq])?;
        } else {
            lost.push(hold.clone());
        }
    }
    Ok(lost)
}

/// Saves a lane's position; `release` gives the lane up.
pub(super) fn save_position(connection: &Connection, hold: &LaneHold, seq: Seq, release: bool) -> Result<(), Fault> {
    check_lane(connection, hold)?;
    let sql = "UPDATE lane SET position = max(position, ?3), holder = iif(?4, NULL, holder) WHERE consumer = ?1 AND lane = ?2";
    connection.prepare_cached(sql)?.execute(params![hold.consumer, hold.lane, seq, release])?;
    Ok(())
}

/// Moves all lanes of a consumer, where nobody holds one of them.
pub(super) fn seek(connection: &Connection, consumer: &str, seq: Seq) -> Result<bool, Fault> {
    let sql = "UPDATE lane SET position = ?2 WHERE consumer = ?1
               AND NOT EXISTS (SELECT 1 FROM lane WHERE consumer = ?1 AND holder IS NOT NULL)";
    Ok(connection.execute(sql, params![consumer, seq])? > 0)
}

/// Claims one event: it was neither handled nor given up, and is parked exactly if the claim says so.
pub(super) fn claim(connection: &Connection, consumer: &str, claim: &Claim) -> Result<(), Fault> {
    let refused = || Error::Claimed { consumer: consumer.to_owned(), event: claim.event };
    let event = claim.event.bits().to_be_bytes();
    let unparked = unpark(connection, consumer, claim.event)?;
    if is_left_out(Rule::Claim) {
        return Ok(());
    }
    if unparked != claim.parked {
        return Err(refused().into());
    }
    let sql = "INSERT INTO inbox (consumer, event, tenant, seq, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
    let values = params![consumer, event, claim.tenant.to_be_bytes(), claim.seq, claim.logged];
    let claimed = connection.prepare_cached(sql)?.execute(values)?;
    if claimed == 1 { Ok(()) } else { Err(refused().into()) }
}

pub(super) fn unpark(connection: &Connection, consumer: &str, event: EventId) -> rusqlite::Result<bool> {
    let sql = "DELETE FROM parked WHERE consumer = ? AND event = ?";
    Ok(connection.prepare_cached(sql)?.execute(params![consumer, event.bits().to_be_bytes()])? > 0)
}

/// Which of these events a consumer has handled or given up.
pub(super) fn handled(connection: &Connection, consumer: &str, events: &[EventId]) -> Result<Vec<EventId>, Fault> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM inbox WHERE consumer = ? AND event = ?")?;
    let mut found = Vec::new();
    for event in events {
        if statement.exists(params![consumer, event.bits().to_be_bytes()])? {
            found.push(*event);
        }
    }
    Ok(found)
}

/// Parks events. One that was handled meanwhile cannot be parked.
pub(super) fn park(connection: &Connection, hold: &LaneHold, events: &[Parked], now: i64) -> Result<(), Fault> {
    check_lane(connection, hold)?;
    for parked in events {
        if !handled(connection, &hold.consumer, &[parked.event])?.is_empty() {
            return Err(Error::Claimed { consumer: hold.consumer.clone(), event: parked.event }.into());
        }
        note_attempt(connection, &hold.consumer, parked, now)?;
        insert_parked(connection, (&hold.consumer, usize::from(hold.lane)), parked, now)?;
    }
    Ok(())
}

/// Keeps why an attempt failed, where it is a further one; the last [`ATTEMPTS_KEPT`] of each event.
fn note_attempt(connection: &Connection, consumer: &str, failed: &Parked, now: i64) -> Result<(), Fault> {
    let event = failed.event.bits().to_be_bytes();
    let sql = "SELECT 1 FROM parked WHERE consumer = ? AND event = ? AND attempts >= ?";
    if failed.attempts == 0 || connection.prepare_cached(sql)?.exists(params![consumer, event, failed.attempts])? {
        return Ok(());
    }
    let sql = "INSERT INTO attempt (consumer, event, number, tenant, key, at, error)
               SELECT ?1, ?2, coalesce(max(number), 0) + 1, ?3, ?4, ?5, ?6 FROM attempt WHERE consumer = ?1 AND event = ?2
               RETURNING number";
    let values = params![consumer, event, failed.tenant.to_be_bytes(), failed.key, now, failed.error];
    let number: i64 = connection.prepare_cached(sql)?.query_row(values, |row| row.get(0))?;
    let sql = "DELETE FROM attempt WHERE consumer = ? AND event = ? AND number <= ?";
    connection.prepare_cached(sql)?.execute(params![consumer, event, number - ATTEMPTS_KEPT])?;
    Ok(())
}

/// Parks one event in a lane, or moves what is parked already.
pub(super) fn insert_parked(
    connection: &Connection,
    (consumer, lane): (&str, usize),
    parked: &Parked,
    now: i64,
) -> Result<(), Fault> {
    connection.prepare_cached(include_str!("park.sql"))?.execute(params![
        consumer,
        parked.event.bits().to_be_bytes(),
        lane as i64,
        parked.seq,
        parked.logged,
        parked.tenant.to_be_bytes(),
        parked.subject,
        parked.key,
        parked.due,
        parked.attempts,
        parked.error,
        parked.envelope,
        now
    ])?;
    Ok(())
}

/// What is parked in a lane, in order.
pub(super) fn parked(connection: &Connection, lane: &Lane, limit: usize) -> Result<Vec<Parked>, Fault> {
    let sql = "SELECT seq, tenant, subject, key, event, due, attempts, error, envelope, logged FROM parked
               WHERE consumer = ? AND lane = ? ORDER BY seq LIMIT ?";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![lane.consumer, lane.number, limit as i64], parked_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The first parked event of every key of a lane, in order.
pub(super) fn parked_heads(connection: &Connection, lane: &Lane, limit: usize) -> Result<Vec<Parked>, Fault> {
    let sql = "SELECT seq, tenant, subject, key, event, due, attempts, error, envelope, logged FROM parked
               WHERE (tenant, key, seq) IN (SELECT tenant, key, min(seq) FROM parked WHERE consumer = ?1 AND lane = ?2 GROUP BY tenant, key)
               AND consumer = ?1 AND lane = ?2 ORDER BY seq LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![lane.consumer, lane.number, limit as i64], parked_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The first parked event of a key.
pub(super) fn parked_head(
    connection: &Connection,
    lane: &Lane,
    tenant: TenantBits,
    key: &str,
) -> Result<Option<Parked>, Fault> {
    let sql = "SELECT seq, tenant, subject, key, event, due, attempts, error, envelope, logged FROM parked
               WHERE consumer = ? AND lane = ? AND tenant = ? AND key = ? ORDER BY seq LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    let values = params![lane.consumer, lane.number, tenant.to_be_bytes(), key];
    Ok(statement.query_row(values, parked_row).optional()?)
}

/// Suspends a consumer; the first reason stands.
pub(super) fn suspend(connection: &Connection, hold: &LaneHold, reason: &str, now: i64) -> Result<(), Fault> {
    check_lane(connection, hold)?;
    let sql = "INSERT INTO suspension (consumer, reason, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
    connection.prepare_cached(sql)?.execute(params![hold.consumer, reason, now])?;
    Ok(())
}

/// Lets a consumer go on; whether it was suspended.
pub(super) fn resume(connection: &Connection, consumer: &str) -> Result<bool, Fault> {
    Ok(connection.execute("DELETE FROM suspension WHERE consumer = ?", [consumer])? > 0)
}

/// Consumers that are suspended, by name.
pub(super) fn suspensions(connection: &Connection) -> Result<Vec<Suspension>, Fault> {
    let mut statement = connection.prepare_cached("SELECT consumer, reason, at FROM suspension ORDER BY consumer")?;
    let rows = statement
        .query_map([], |row| Ok(Suspension { consumer: row.get(0)?, reason: row.get(1)?, at: row.get(2)? }))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Gives an event up: it leaves the parked ones, if it was there, and is claimed.
pub(super) fn bury(connection: &Connection, hold: &LaneHold, dead: &Dead, now: i64) -> Result<(), Fault> {
    check_lane(connection, hold)?;
    let Parked { seq, logged, tenant, event, .. } = dead.event;
    note_attempt(connection, &hold.consumer, &dead.event, now)?;
    // Parked or not, it is not parked any more when it is claimed.
    unpark(connection, &hold.consumer, event)?;
    claim(connection, &hold.consumer, &Claim { parked: false, ..dead.event.claim() })?;
    connection.prepare_cached(include_str!("bury.sql"))?.execute(params![
        hold.consumer,
        event.bits().to_be_bytes(),
        seq,
        logged,
        tenant.to_be_bytes(),
        dead.event.subject,
        dead.event.key,
        dead.event.due,
        dead.event.attempts,
        dead.event.error,
        dead.event.envelope,
        now
    ])?;
    Ok(())
}

/// Dead letters of a consumer, oldest first, after a number.
pub(super) fn dead(connection: &Connection, consumer: &str, after: Seq, limit: usize) -> Result<Vec<Dead>, Fault> {
    let sql = "SELECT seq, tenant, subject, key, event, due, attempts, error, envelope, logged, at FROM dead
               WHERE consumer = ? AND seq > ? ORDER BY seq LIMIT ?";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![consumer, after, limit as i64], dead_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn dead_row(row: &Row<'_>) -> rusqlite::Result<Dead> {
    Ok(Dead { event: parked_row(row)?, at: row.get(10)? })
}

fn parked_row(row: &Row<'_>) -> rusqlite::Result<Parked> {
    let (tenant, event): ([u8; 16], [u8; 16]) = (row.get(1)?, row.get(4)?);
    Ok(Parked {
        seq: row.get(0)?,
        logged: row.get(9)?,
        tenant: u128::from_be_bytes(tenant),
        subject: row.get(2)?,
        key: row.get(3)?,
        event: EventId::from_bits(u128::from_be_bytes(event)),
        due: row.get(5)?,
        attempts: row.get(6)?,
        error: row.get(7)?,
        envelope: row.get(8)?,
    })
}

/// The saved positions of a consumer's lanes.
pub(super) fn positions(connection: &Connection, consumer: &str) -> Result<Vec<Seq>, Fault> {
    let mut statement = connection.prepare_cached("SELECT position FROM lane WHERE consumer = ? ORDER BY lane")?;
    let positions = statement.query_map([consumer], |row| row.get(0))?;
    Ok(positions.collect::<rusqlite::Result<_>>()?)
}
