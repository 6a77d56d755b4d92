//! The flush: everything that a unit collected, checked and written in one savepoint.
//!
//! Invariant: the first rule that is broken refuses the unit, and nothing of it stays. Facts are written last, in the
//! order of their emission. There is one writer, so no lock orders anything here: a check that holds now holds until
//! the commit.

use karwan_envelope::ids::EventId;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::backend::Refusal;
use crate::error::Error;
use crate::log::Seq;
use crate::sqlite::documents::Tables;
use crate::sqlite::error::Fault;
use crate::sqlite::subjects::Subjects;
use crate::sqlite::{consumer, log, tasks};
use crate::write_set::{Fact, Flushed, UnitClaim, WriteSet, slot};

/// Writes all of it, or answers why nothing of it may stay. `now` is by the store's clock.
pub(super) fn flush(
    connection: &Connection,
    (tables, subjects): (&Tables, &Subjects),
    set: &WriteSet,
    now: i64,
) -> Result<Flushed, Fault> {
    if let Some(hold) = &set.lane {
        consumer::check_lane(connection, hold)?;
    }
    // Before the documents: a repeated unit finds them changed by its own first run, and is told that it is repeated.
    for unit in &set.units {
        claim_unit(connection, unit, now)?;
    }
    if let Some(hold) = &set.lane {
        for claim in &set.claims {
            consumer::claim(connection, &hold.consumer, claim)?;
        }
    }
    for deadline in &set.fired {
        tasks::fire(connection, deadline)?;
    }
    for effect in &set.settled {
        tasks::settle(connection, *effect)?;
    }
    for document in &set.documents {
        tables.write(connection, document)?;
    }
    for deadline in &set.deadlines {
        tasks::write_deadline(connection, deadline)?;
    }
    for effect in &set.effects {
        tasks::write_effect(connection, effect, now)?;
    }
    let number = |fact: &Fact| match subjects.number(&fact.subject) {
        Some(number) => Ok(number),
        None => subject(connection, &fact.subject),
    };
    let subjects = set.facts.iter().map(number).collect::<Result<Vec<_>, _>>()?;
    record_intents(connection, &set.facts, &subjects, now)?;
    let mut last = None;
    for (fact, subject) in set.facts.iter().zip(subjects) {
        last = Some(append(connection, fact, subject, now)?);
    }
    let seq = match last {
        Some(seq) => seq,
        None => log::highest(connection)?,
    };
    Ok(Flushed { seq })
}

fn claim_unit(connection: &Connection, unit: &UnitClaim, now: i64) -> Result<(), Fault> {
    let sql = "INSERT INTO unit (tenant, id, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
    let claimed =
        connection.prepare_cached(sql)?.execute(params![unit.tenant.to_be_bytes(), unit.id.to_be_bytes(), now])?;
    if claimed == 1 { Ok(()) } else { Err(Refusal::UnitRepeated.into()) }
}

/// Whether a unit with this id was committed.
pub(super) fn unit_committed(connection: &Connection, unit: UnitClaim) -> Result<bool, Fault> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM unit WHERE tenant = ? AND id = ?")?;
    Ok(statement.exists(params![unit.tenant.to_be_bytes(), unit.id.to_be_bytes()])?)
}

/// The number of a subject, given now where no migration has given it.
pub(super) fn subject(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    let mut known = connection.prepare_cached("SELECT id FROM subject WHERE name = ?")?;
    if let Some(id) = known.query_row([name], |row| row.get(0)).optional()? {
        return Ok(id);
    }
    connection.prepare_cached("INSERT INTO subject (name) VALUES (?)")?.insert([name])
}

/// Records the intents of all facts. Either all are new, or the unit is refused: all known with the same payloads make it
/// a repetition, everything else an error. An intent twice in one unit is new and known at once, hence mixed.
fn record_intents(connection: &Connection, facts: &[Fact], subjects: &[i64], now: i64) -> Result<(), Fault> {
    let mut repeated: Vec<(&Fact, EventId)> = Vec::new();
    for (fact, subject) in facts.iter().zip(subjects) {
        if record_intent(connection, fact, *subject, now)? {
            continue;
        }
        let (hash, event) = known_intent(connection, fact, *subject)?;
        if hash != fact.payload_hash {
            let (subject, intent) = (fact.subject.clone(), fact.intent.clone());
            return Err(Error::IntentDiffers { subject, intent, event }.into());
        }
        repeated.push((fact, event));
    }
    match repeated.first() {
        None => Ok(()),
        Some((_, event)) if repeated.len() == facts.len() => Err(Refusal::IntentRepeated(*event).into()),
        Some((fact, _)) => {
            Err(Error::IntentMixed { subject: fact.subject.clone(), intent: fact.intent.clone() }.into())
        }
    }
}

/// Records an intent; whether it is new.
fn record_intent(connection: &Connection, fact: &Fact, subject: i64, now: i64) -> rusqlite::Result<bool> {
    let sql = "INSERT INTO intent (tenant, subject, idem, payload_hash, event, at) VALUES (?, ?, ?, ?, ?, ?)
               ON CONFLICT DO NOTHING";
    let (tenant, hash) = (fact.tenant.to_be_bytes(), fact.payload_hash.to_be_bytes());
    let values = params![tenant, subject, fact.intent, hash, fact.event.bits().to_be_bytes(), now];
    Ok(connection.prepare_cached(sql)?.execute(values)? == 1)
}

fn known_intent(connection: &Connection, fact: &Fact, subject: i64) -> rusqlite::Result<(u128, EventId)> {
    let sql = "SELECT payload_hash, event FROM intent WHERE tenant = ? AND subject = ? AND idem = ?";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row(params![fact.tenant.to_be_bytes(), subject, fact.intent], |row| {
        let (hash, event): ([u8; 16], [u8; 16]) = (row.get(0)?, row.get(1)?);
        Ok((u128::from_be_bytes(hash), EventId::from_bits(u128::from_be_bytes(event))))
    })
}

fn append(connection: &Connection, fact: &Fact, subject: i64, now: i64) -> rusqlite::Result<Seq> {
    let sql = "INSERT INTO log (tenant, subject, key, slot, event, at, envelope) VALUES (?, ?, ?, ?, ?, ?, ?)";
    connection.prepare_cached(sql)?.insert(params![
        fact.tenant.to_be_bytes(),
        subject,
        fact.key,
        slot(fact.tenant, &fact.key),
        fact.event.bits().to_be_bytes(),
        now,
        fact.envelope
    ])
}
