//! Deadlines and effects: setting them, finding what is due, and what becomes of them.

use karwan_envelope::cause::Cause;
use rusqlite::{Connection, Row, params};

use crate::consumer::Share;
use crate::deadline::Deadline;
use crate::effect::{DeadEffect, Effect, EffectRef, Outcome};
use crate::error::Error;
use crate::sqlite::consumer::check_lane;
use crate::sqlite::error::Fault;
use crate::stored::cause_of;
use crate::write_set::{DeadlineWrite, EffectWrite, LaneHold, slot};

/// Sets, moves or cancels a deadline.
pub(super) fn write_deadline(connection: &Connection, deadline: &DeadlineWrite) -> rusqlite::Result<()> {
    let DeadlineWrite { kind, id, due, body, .. } = deadline;
    let tenant = deadline.tenant.to_be_bytes();
    match due {
        Some(due) => {
            let sql = "INSERT INTO deadline (tenant, kind, id, slot, due, try_at, body, token, cause)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7, ?8)
                       ON CONFLICT (tenant, kind, id)
                       DO UPDATE
                       SET due = excluded.due, try_at = excluded.try_at, attempts = 0, error = NULL,
                           body = excluded.body, token = excluded.token, cause = excluded.cause";
            let (slot, token) = (slot(deadline.tenant, id), deadline.token.to_be_bytes());
            connection.prepare_cached(sql)?.execute(params![
                tenant,
                kind,
                id,
                slot,
                due,
                body,
                token,
                deadline.cause
            ])?;
        }
        None => {
            let sql = "DELETE FROM deadline WHERE tenant = ? AND kind = ? AND id = ?";
            connection.prepare_cached(sql)?.execute(params![tenant, kind, id])?;
        }
    }
    Ok(())
}

/// An id that exists is left alone: neither a replay nor a repeated command calls twice.
pub(super) fn write_effect(connection: &Connection, effect: &EffectWrite, now: i64) -> rusqlite::Result<()> {
    let EffectWrite { kind, key, body, .. } = effect;
    let (tenant, id) = (effect.tenant.to_be_bytes(), effect.id.to_be_bytes());
    let sql = "INSERT INTO effect (tenant, id, kind, key, slot, body, cause, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
               ON CONFLICT DO NOTHING";
    let slot = slot(effect.tenant, key);
    connection.prepare_cached(sql)?.execute(params![tenant, id, kind, key, slot, body, effect.cause, now])?;
    Ok(())
}

/// Takes a deadline away that is still what was read.
pub(super) fn fire(connection: &Connection, deadline: &Deadline) -> Result<(), Fault> {
    let Deadline { kind, id, .. } = deadline;
    let sql = "DELETE FROM deadline WHERE tenant = ? AND kind = ? AND id = ? AND token = ?";
    let values = params![deadline.tenant.to_be_bytes(), kind, id, deadline.token.to_be_bytes()];
    let taken = connection.prepare_cached(sql)?.execute(values)?;
    if taken == 1 { Ok(()) } else { Err(Error::Gone { what: format!("the deadline {kind} {id}") }.into()) }
}

/// An answered effect is done.
pub(super) fn settle(connection: &Connection, effect: EffectRef) -> Result<(), Fault> {
    let sql = "UPDATE effect SET state = 'done' WHERE tenant = ? AND id = ? AND state = 'answered'";
    let values = params![effect.tenant.to_be_bytes(), effect.id.to_be_bytes()];
    let done = connection.prepare_cached(sql)?.execute(values)?;
    if done == 1 { Ok(()) } else { Err(gone(effect)) }
}

/// A deadline that failed is tried again at an instant, where nobody has moved, fired or postponed it meanwhile.
pub(super) fn postpone_deadline(
    connection: &Connection,
    deadline: &Deadline,
    try_at: i64,
    why: &str,
) -> Result<(), Fault> {
    let sql = "UPDATE deadline SET try_at = ?, error = ?, attempts = attempts + 1
               WHERE tenant = ? AND kind = ? AND id = ? AND token = ? AND attempts = ?";
    let Deadline { kind, id, attempts, .. } = deadline;
    let (tenant, token) = (deadline.tenant.to_be_bytes(), deadline.token.to_be_bytes());
    connection.prepare_cached(sql)?.execute(params![try_at, why, tenant, kind, id, token, attempts])?;
    Ok(())
}

fn gone(effect: EffectRef) -> Fault {
    Error::Gone { what: format!("the effect {}", uuid::Uuid::from_u128(effect.id)) }.into()
}

/// Deadlines of a kind, in a share, that may be tried, earliest first.
pub(super) fn due_deadlines(
    connection: &Connection,
    kind: &str,
    share: Share,
    now: i64,
    limit: usize,
) -> Result<Vec<Deadline>, Fault> {
    let sql = "SELECT tenant, kind, id, due, body, token, cause, attempts FROM deadline
               WHERE kind = ? AND try_at <= ? AND slot % ? = ? ORDER BY try_at, tenant, id LIMIT ?";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_map(params![kind, now, share.lanes.max(1), share.lane, limit as i64], |row| {
        let (tenant, token): ([u8; 16], [u8; 16]) = (row.get(0)?, row.get(5)?);
        Ok(Deadline {
            tenant: u128::from_be_bytes(tenant),
            kind: row.get(1)?,
            id: row.get(2)?,
            due: row.get(3)?,
            body: row.get(4)?,
            token: u128::from_be_bytes(token),
            cause: cause(row, 6)?,
            attempts: row.get(7)?,
        })
    })?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// The first open effects of keys, where they may be tried: an equal part of each tenant, and the first of each before the
/// second of any.
pub(super) fn due_effects(
    connection: &Connection,
    kind: &str,
    share: Share,
    now: i64,
    limit: usize,
) -> Result<Vec<Effect>, Fault> {
    let mut statement = connection.prepare_cached(include_str!("effect_owners.sql"))?;
    let owners = statement.query_map([kind], |row| row.get::<_, [u8; 16]>(0))?;
    let owners: Vec<[u8; 16]> = owners.collect::<rusqlite::Result<_>>()?;
    let part = limit.div_ceil(owners.len().max(1)) as i64;
    let mut statement = connection.prepare_cached(include_str!("due_effects.sql"))?;
    let mut due: Vec<(usize, i64, Effect)> = Vec::new();
    for owner in owners {
        let values = params![kind, share.lanes.max(1), share.lane, now, part, owner];
        let found = statement.query_map(values, |row| Ok((row.get::<_, i64>(9)?, effect(row)?)))?;
        for (place, found) in found.enumerate() {
            let (seq, effect) = found?;
            due.push((place, seq, effect));
        }
    }
    due.sort_by_key(|(place, seq, _)| (*place, *seq));
    Ok(due.into_iter().take(limit).map(|(_, _, effect)| effect).collect())
}

/// Whether something of these kinds may be tried.
pub(super) fn any_due(
    connection: &Connection,
    deadlines: &[String],
    effects: &[String],
    now: i64,
) -> Result<bool, Fault> {
    let (deadlines, effects) = (serde_json::json!(deadlines).to_string(), serde_json::json!(effects).to_string());
    let mut statement = connection.prepare_cached(include_str!("any_due.sql"))?;
    Ok(statement.query_row(params![deadlines, effects, now], |row| row.get(0))?)
}

/// Dead effects of a kind, oldest first, after a number.
pub(super) fn dead_effects(
    connection: &Connection,
    kind: &str,
    after: i64,
    limit: usize,
) -> Result<Vec<DeadEffect>, Fault> {
    let sql = "SELECT tenant, id, kind, key, body, attempts, answer, error, cause, seq, at FROM effect
               WHERE kind = ? AND state = 'dead' AND seq > ? ORDER BY seq LIMIT ?";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_map(params![kind, after, limit as i64], |row| {
        Ok(DeadEffect { number: row.get(9)?, effect: effect(row)?, at: row.get(10)? })
    })?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn cause(row: &Row<'_>, column: usize) -> rusqlite::Result<Cause> {
    cause_of(&row.get::<_, String>(column)?).ok_or_else(|| {
        let text = rusqlite::types::Type::Text;
        rusqlite::Error::FromSqlConversionFailure(column, text, "no cause of a deadline or an effect".into())
    })
}

fn effect(row: &Row<'_>) -> rusqlite::Result<Effect> {
    let (tenant, id): ([u8; 16], [u8; 16]) = (row.get(0)?, row.get(1)?);
    Ok(Effect {
        of: EffectRef { tenant: u128::from_be_bytes(tenant), id: u128::from_be_bytes(id) },
        kind: row.get(2)?,
        key: row.get(3)?,
        body: row.get(4)?,
        attempts: row.get(5)?,
        answer: row.get(6)?,
        error: row.get(7)?,
        cause: cause(row, 8)?,
    })
}

/// Records what became of a call that was waiting, or, as dead, of an answer that cannot be acted on.
pub(super) fn record_effect(
    connection: &Connection,
    hold: &LaneHold,
    effect: EffectRef,
    outcome: &Outcome,
) -> Result<(), Fault> {
    check_lane(connection, hold)?;
    let (tenant, id) = (effect.tenant.to_be_bytes(), effect.id.to_be_bytes());
    let recorded = match outcome {
        Outcome::Answered(answer) => {
            let sql = "UPDATE effect SET state = 'answered', answer = ?3, attempts = 0, due = 0
                       WHERE tenant = ?1 AND id = ?2 AND state = 'waiting'";
            connection.prepare_cached(sql)?.execute(params![tenant, id, answer])?
        }
        Outcome::Held { due, error } => {
            let sql = "UPDATE effect SET due = ?3, error = ?4
                       WHERE tenant = ?1 AND id = ?2 AND state IN ('waiting', 'answered')";
            connection.prepare_cached(sql)?.execute(params![tenant, id, due, error])?
        }
        Outcome::Later { due, error } => {
            let sql = "UPDATE effect SET due = ?3, error = ?4, attempts = attempts + 1
                       WHERE tenant = ?1 AND id = ?2 AND state IN ('waiting', 'answered')";
            connection.prepare_cached(sql)?.execute(params![tenant, id, due, error])?
        }
        Outcome::Dead { error } => {
            let sql = "UPDATE effect SET state = 'dead', error = ?3, attempts = attempts + 1
                       WHERE tenant = ?1 AND id = ?2 AND state IN ('waiting', 'answered')";
            connection.prepare_cached(sql)?.execute(params![tenant, id, error])?
        }
    };
    if recorded == 1 { Ok(()) } else { Err(gone(effect)) }
}

/// Effects that are not tried before an instant. What was done or given up meanwhile stays as it is.
pub(super) fn hold_back(
    connection: &Connection,
    hold: &LaneHold,
    effects: &[EffectRef],
    due: i64,
) -> Result<(), Fault> {
    check_lane(connection, hold)?;
    let sql = "UPDATE effect SET due = ?3 WHERE tenant = ?1 AND id = ?2 AND state = 'waiting'";
    let mut statement = connection.prepare_cached(sql)?;
    for effect in effects {
        statement.execute(params![effect.tenant.to_be_bytes(), effect.id.to_be_bytes(), due])?;
    }
    Ok(())
}

/// Whether effects and relay wait for an operator.
pub(super) fn suspended(connection: &Connection) -> Result<bool, Fault> {
    Ok(connection.query_row("SELECT suspended FROM meta", [], |row| row.get(0))?)
}
