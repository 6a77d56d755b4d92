//! Lanes and their leases, the inbox, parked events and dead letters.
//!
//! Invariant: every write of a lane passes [`check_lane`] first, so that a process that lost the lane and does not know
//! it yet changes nothing. Leases are measured by the store's clock, which is passed in.

use karwan_envelope::ids::EventId;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::consumer::{Dead, Lane, LaneTaken, Parked};
use crate::error::Error;
use crate::log::Seq;
use crate::sqlite::error::Fault;
use crate::sqlite::log;
use crate::write_set::{Claim, LaneHold};

/// How far the store's clock may go back before a lease that seems to begin in the future no longer counts. Without it a
/// clock that was set back an hour would keep a dead process's lanes for an hour.
const CLOCK_BACK_MS: i64 = 1_000;

/// Refuses a hold that is not the lane's present one.
pub(super) fn check_lane(connection: &Connection, hold: &LaneHold) -> Result<(), Fault> {
    let sql = "SELECT 1 FROM lane WHERE consumer = ? AND lane = ? AND epoch = ? AND holder IS NOT NULL";
    let held = connection.prepare_cached(sql)?.exists(params![hold.consumer, hold.lane, hold.epoch])?;
    if held { Ok(()) } else { Err(Error::LaneLost { consumer: hold.consumer.clone(), lane: hold.lane }.into()) }
}

/// Takes a lane that nobody holds, or whose lease has run out; its epoch goes up.
pub(super) fn take_lane(
    connection: &Connection,
    lane: &Lane,
    node: &str,
    lease_ms: i64,
    now: i64,
) -> Result<Option<LaneTaken>, Fault> {
    let sql = include_str!("take_lane.sql");
    let values = params![lane.consumer, lane.number, node, now, now + lease_ms, now + CLOCK_BACK_MS];
    let mut statement = connection.prepare_cached(sql)?;
    let taken = statement.query_row(values, |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((epoch, position)) = taken else { return Ok(None) };
    Ok(Some(LaneTaken { epoch, position, seen: log::highest(connection)? }))
}

/// Prolongs the leases of a node and says that it lives; answers the live nodes, in order.
pub(super) fn beat(connection: &Connection, node: &str, lease_ms: i64, now: i64) -> Result<Vec<String>, Fault> {
    let sql = "INSERT INTO node (name, lease_from, lease_until) VALUES (?, ?, ?) ON CONFLICT (name)
               DO UPDATE SET lease_from = excluded.lease_from, lease_until = excluded.lease_until";
    connection.prepare_cached(sql)?.execute(params![node, now, now + lease_ms])?;
    // A lease that has run out is not revived: its lane is anybody's.
    let sql = "UPDATE lane SET lease_from = ?1, lease_until = ?2
               WHERE holder = ?3 AND lease_until > ?1";
    connection.prepare_cached(sql)?.execute(params![now, now + lease_ms, node])?;
    connection.execute("DELETE FROM node WHERE lease_until <= ?1 OR lease_from > ?2", [now, now + CLOCK_BACK_MS])?;
    let mut statement = connection.prepare_cached("SELECT name FROM node ORDER BY name")?;
    let nodes = statement.query_map([], |row| row.get(0))?;
    Ok(nodes.collect::<rusqlite::Result<_>>()?)
}

/// Saves a lane's position; `release` gives the lane up.
pub(super) fn save_position(connection: &Connection, hold: &LaneHold, seq: Seq, release: bool) -> Result<(), Fault> {
    check_lane(connection, hold)?;
    let sql = "UPDATE lane SET position = max(position, ?3), holder = iif(?4, NULL, holder) WHERE consumer = ?1 AND lane = ?2";
    connection.prepare_cached(sql)?.execute(params![hold.consumer, hold.lane, seq, release])?;
    Ok(())
}

/// Claims one event: it was neither handled nor given up, and is parked exactly if the claim says so.
pub(super) fn claim(connection: &Connection, consumer: &str, claim: &Claim) -> Result<(), Fault> {
    let refused = || Error::Claimed { consumer: consumer.to_owned(), event: claim.event };
    let event = claim.event.bits().to_be_bytes();
    let unparked = unpark(connection, consumer, claim.event)?;
    if unparked != claim.parked {
        return Err(refused().into());
    }
    let sql = "INSERT INTO inbox (consumer, event, tenant, seq, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
    let values = params![consumer, event, claim.tenant.to_be_bytes(), claim.seq, claim.logged];
    let claimed = connection.prepare_cached(sql)?.execute(values)?;
    if claimed == 1 { Ok(()) } else { Err(refused().into()) }
}

fn unpark(connection: &Connection, consumer: &str, event: EventId) -> rusqlite::Result<bool> {
    let sql = "DELETE FROM parked WHERE consumer = ? AND event = ?";
    Ok(connection.prepare_cached(sql)?.execute(params![consumer, event.bits().to_be_bytes()])? > 0)
}

/// Which of these events a consumer has handled or given up.
pub(super) fn handled(connection: &Connection, consumer: &str, events: &[u128]) -> Result<Vec<u128>, Fault> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM inbox WHERE consumer = ? AND event = ?")?;
    let mut found = Vec::new();
    for event in events {
        if statement.exists(params![consumer, event.to_be_bytes()])? {
            found.push(*event);
        }
    }
    Ok(found)
}

/// Parks events. One that was handled meanwhile cannot be parked.
pub(super) fn park(connection: &Connection, hold: &LaneHold, events: &[Parked]) -> Result<(), Fault> {
    check_lane(connection, hold)?;
    let sql = include_str!("park.sql");
    for parked in events {
        let event = parked.event.bits();
        if !handled(connection, &hold.consumer, &[event])?.is_empty() {
            return Err(Error::Claimed { consumer: hold.consumer.clone(), event: parked.event }.into());
        }
        connection.prepare_cached(sql)?.execute(params![
            hold.consumer,
            event.to_be_bytes(),
            hold.lane,
            parked.seq,
            parked.logged,
            parked.tenant.to_be_bytes(),
            parked.subject,
            parked.key,
            parked.due,
            parked.attempts,
            parked.error,
            parked.envelope
        ])?;
    }
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

/// Gives an event up: it leaves the parked ones, if it was there, and is claimed.
pub(super) fn bury(connection: &Connection, hold: &LaneHold, dead: &Dead, now: i64) -> Result<(), Fault> {
    check_lane(connection, hold)?;
    let Parked { seq, logged, tenant, event, .. } = dead.event;
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
    let rows = statement.query_map(params![consumer, after, limit as i64], |row| {
        Ok(Dead { event: parked_row(row)?, at: row.get(10)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
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
