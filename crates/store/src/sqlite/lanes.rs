//! An operator's connection to a file, beside the process that has it open.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use karwan_envelope::ids::EventId;
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};

use crate::error::Error;
use crate::lanes::{Chunk, Declared, Done, Found, HOLD_MS, Held, Move, OPERATOR, Which, replayed, without};
use crate::log::{LogRow, Seq};
use crate::operator::{Verb, Who};
use crate::sqlite::error::{Fault, said};
use crate::sqlite::{consumer, file, log};

/// See the module.
pub(crate) struct Lanes {
    path: PathBuf,
    connection: Connection,
}

impl Lanes {
    pub fn open(path: &Path) -> Result<Self, Error> {
        let path = file::absolute(path)?;
        file::must_exist(&path)?;
        let connection = file::writer(&path)?;
        file::admitted(&path, &connection)?;
        Ok(Self { path, connection })
    }

    /// One transaction; whoever writes meanwhile waits.
    pub(super) fn write<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, Error> {
        let path = &self.path;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = transaction.map_err(|error| said(path, error))?;
        let answer = work(&transaction).map_err(|fault| fault.error(path))?;
        transaction.commit().map_err(|error| said(path, error))?;
        Ok(answer)
    }

    pub fn find(&mut self, consumer: &str) -> Result<Found, Error> {
        self.write(|connection| found(connection, consumer))
    }

    pub fn consumers(&mut self) -> Result<Vec<String>, Error> {
        self.write(|connection| {
            let mut statement = connection.prepare("SELECT consumer FROM lane_count ORDER BY consumer")?;
            Ok(statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
        })
    }

    pub fn declared(&mut self) -> Result<Vec<Declared>, Error> {
        self.write(declared)
    }

    pub fn move_lanes(
        &mut self,
        (consumer, who, now): (&str, &Who, i64),
        decide: impl FnOnce(&Found) -> Result<Move, Error>,
    ) -> Result<(Found, Held), Error> {
        self.write(|connection| {
            let found = found(connection, consumer)?;
            let Move { to, hold, verb, detail, undoes } = decide(&found)?;
            let action = record(connection, who, (verb, consumer, &detail), now)?;
            if let Some(undoes) = undoes {
                connection.execute("UPDATE action SET undone_by = ? WHERE id = ?", [action, undoes])?;
            }
            // One that was forgotten is known again.
            let sql = "INSERT INTO lane_count (consumer, lanes) VALUES (?, ?) ON CONFLICT DO NOTHING";
            connection.execute(sql, params![consumer, to.len() as i64])?;
            let sql = "INSERT INTO lane (consumer, lane, position, epoch, holder, lease_from, lease_until)
                       VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6) ON CONFLICT (consumer, lane) DO UPDATE
                       SET position = excluded.position, epoch = lane.epoch + 1, holder = excluded.holder,
                           lease_from = excluded.lease_from, lease_until = excluded.lease_until
                       RETURNING epoch";
            let mut statement = connection.prepare_cached(sql)?;
            let mut epochs = Vec::with_capacity(to.len());
            for (lane, position) in to.iter().enumerate() {
                let values = params![consumer, lane as i64, position, hold, now, now + HOLD_MS];
                epochs.push(statement.query_row(values, |row| row.get(0))?);
            }
            let name = hold.unwrap_or_default();
            let fed = found.declared.stream.is_some();
            Ok((found, Held { action, consumer: consumer.to_owned(), name, epochs, fed }))
        })
    }

    pub fn chunk(&mut self, held: &Held, chunk: &Chunk<'_>, now: i64) -> Result<Vec<EventId>, Error> {
        self.write(|connection| {
            check(connection, held)?;
            let sql = "UPDATE lane SET lease_from = ?3, lease_until = ?4 WHERE consumer = ?1 AND holder = ?2";
            connection.execute(sql, params![held.consumer, held.name, now, now + HOLD_MS])?;
            match chunk {
                Chunk::Clear(rows) => send_again(connection, held, (rows, false), now),
                Chunk::Park(rows) => send_again(connection, held, (rows, true), now),
                Chunk::Unpark { action } => unpark(connection, &held.consumer, *action),
            }
        })
    }

    pub fn release(&mut self, held: &Held, detail: &str) -> Result<(), Error> {
        self.write(|connection| {
            check(connection, held)?;
            let sql = "UPDATE lane SET holder = NULL, epoch = epoch + 1 WHERE consumer = ? AND holder = ?";
            connection.execute(sql, params![held.consumer, held.name])?;
            connection.execute("UPDATE action SET detail = ?2 WHERE id = ?1", params![held.action, detail])?;
            Ok(())
        })
    }

    pub fn action(&mut self, which: &Which<'_>) -> Result<Option<Done>, Error> {
        let columns = "SELECT id, verb, consumer, detail, undone_by FROM action";
        self.write(|connection| {
            let done = match which {
                Which::Number(id) => connection.query_row(&format!("{columns} WHERE id = ?"), [id], done_row),
                Which::LastOf(consumer, verbs) => {
                    let verbs: Vec<String> = verbs.iter().map(|verb| format!("'{}'", verb.name())).collect();
                    let sql = format!(
                        "{columns} WHERE consumer = ? AND verb IN ({}) AND undone_by IS NULL ORDER BY id DESC LIMIT 1",
                        verbs.join(", ")
                    );
                    connection.query_row(&sql, [consumer], done_row)
                }
            };
            Ok(done.optional()?)
        })
    }

    pub fn forget(&mut self, (consumer, who, now): (&str, &Who, i64)) -> Result<(Found, i64), Error> {
        self.write(|connection| {
            let found = found(connection, consumer)?;
            let sql = "SELECT holder FROM lane WHERE consumer = ? AND holder IS NOT NULL AND lease_until > ? LIMIT 1";
            let holder = connection.query_row(sql, params![consumer, now], |row| row.get(0)).optional()?;
            if let Some(node) = holder {
                return Err(Error::ConsumerRuns { consumer: consumer.to_owned(), node }.into());
            }
            let detail = crate::operator::was_text(&found.lanes);
            let action = record(connection, who, (Verb::Forget, consumer, &detail), now)?;
            for table in ["lane", "lane_count", "suspension", "declared"] {
                connection.execute(&format!("DELETE FROM {table} WHERE consumer = ?"), [consumer])?;
            }
            Ok((found, action))
        })
    }
}

impl Lanes {
    pub fn forget_subject(
        &mut self,
        (consumer, who, now): (&str, &Who, i64),
        subject: &str,
    ) -> Result<Option<i64>, Error> {
        self.write(|connection| {
            let mut subjects = subjects_of(connection, consumer)?;
            if !subjects.iter().any(|it| it == subject) {
                return Ok(None);
            }
            let living = consumer::living(connection, now)?;
            if let Some(node) = living.into_iter().find(|node| node.handles(consumer, subject)) {
                return Err(Error::ConsumerRuns { consumer: consumer.to_owned(), node: node.name }.into());
            }
            subjects.retain(|it| it != subject);
            let sql = "UPDATE declared SET subjects = ?2 WHERE consumer = ?1";
            connection.execute(sql, params![consumer, subjects.join("\n")])?;
            record(connection, who, (Verb::ForgetSubject, consumer, &without(subject)), now).map(Some)
        })
    }
}

const DECLARED: &str = "SELECT consumer, forward_only, rebuildable, subjects, at, stream FROM declared";

/// What consumers have said of themselves, by name.
pub(super) fn declared(connection: &Connection) -> Result<Vec<Declared>, Fault> {
    let mut statement = connection.prepare(&format!("{DECLARED} ORDER BY consumer"))?;
    Ok(statement.query_map([], declared_row)?.collect::<rusqlite::Result<_>>()?)
}

/// Notes what a consumer says of itself. Where it handles a subject that nobody did, its lanes are taken from whoever holds
/// them: they know nothing of it, and would pass its events by. An operator who holds them handles none.
pub(super) fn declare(connection: &Connection, declared: &Declared, now: i64) -> Result<(), Fault> {
    let sql = "INSERT INTO declared (consumer, forward_only, rebuildable, subjects, at, stream) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
               ON CONFLICT (consumer) DO UPDATE SET forward_only = ?2, rebuildable = ?3, subjects = ?4, at = ?5, stream = ?6";
    let Declared { consumer, forward_only, rebuildable, stream, subjects, .. } = declared;
    let known = subjects_of(connection, consumer)?;
    let all: BTreeSet<&String> = known.iter().chain(subjects).collect();
    let all = all.into_iter().map(String::as_str).collect::<Vec<_>>().join("\n");
    connection.prepare_cached(sql)?.execute(params![consumer, forward_only, rebuildable, all, now, stream])?;
    if subjects.iter().any(|subject| !known.contains(subject)) {
        let sql = "UPDATE lane SET epoch = epoch + 1, holder = NULL
                   WHERE consumer = ?1 AND (holder IS NULL OR substr(holder, 1, length(?2)) <> ?2)";
        connection.prepare_cached(sql)?.execute(params![consumer, OPERATOR])?;
    }
    Ok(())
}

/// What any release of a consumer has handled so far.
pub(super) fn subjects_of(connection: &Connection, consumer: &str) -> Result<Vec<String>, Fault> {
    let mut statement = connection.prepare_cached(&format!("{DECLARED} WHERE consumer = ?"))?;
    let declared = statement.query_row([consumer], declared_row).optional()?;
    Ok(declared.map(|declared| declared.subjects).unwrap_or_default())
}

fn declared_row(row: &Row<'_>) -> rusqlite::Result<Declared> {
    let subjects: String = row.get(3)?;
    Ok(Declared {
        consumer: row.get(0)?,
        forward_only: row.get(1)?,
        rebuildable: row.get(2)?,
        subjects: subjects.lines().map(str::to_owned).collect(),
        at: row.get(4)?,
        stream: row.get(5)?,
    })
}

fn done_row(row: &Row<'_>) -> rusqlite::Result<Done> {
    Ok(Done { id: row.get(0)?, verb: row.get(1)?, consumer: row.get(2)?, detail: row.get(3)?, undone_by: row.get(4)? })
}

fn found(connection: &Connection, consumer: &str) -> Result<Found, Fault> {
    let count = connection
        .query_row("SELECT lanes FROM lane_count WHERE consumer = ?", [consumer], |row| row.get::<_, u16>(0))
        .optional()?;
    // A lane that was never taken has everything before it.
    let mut lanes = vec![0; usize::from(count.unwrap_or_default())];
    let mut statement = connection.prepare_cached("SELECT lane, position FROM lane WHERE consumer = ?")?;
    let mut rows = statement.query([consumer])?;
    while let Some(row) = rows.next()? {
        if let Some(place) = lanes.get_mut(usize::from(row.get::<_, u16>(0)?)) {
            *place = row.get(1)?;
        }
    }
    let pruned = connection
        .query_row("SELECT up_to FROM pruned WHERE what = 'inbox'", [], |row| row.get::<_, Seq>(0))
        .optional()?;
    let declared = connection.query_row(&format!("{DECLARED} WHERE consumer = ?"), [consumer], declared_row);
    Ok(Found {
        lanes,
        floor: log::floor(connection)?,
        end: log::highest(connection)?,
        claims_floor: pruned,
        declared: declared.optional()?.unwrap_or_default(),
    })
}

/// Writes an action down; answers its number.
pub(super) fn record(
    connection: &Connection,
    who: &Who,
    (verb, consumer, detail): (Verb, &str, &str),
    now: i64,
) -> Result<i64, Fault> {
    let sql = "INSERT INTO action (at, actor, reason, verb, consumer, detail) VALUES (?, ?, ?, ?, ?, ?)";
    let consumer = Some(consumer).filter(|consumer| !consumer.is_empty());
    let values = params![now, who.actor, who.reason, verb.name(), consumer, detail];
    Ok(connection.prepare_cached(sql)?.insert(values)?)
}

/// Refuses an operator whose lanes others have taken meanwhile.
fn check(connection: &Connection, held: &Held) -> Result<(), Fault> {
    let sql = "SELECT 1 FROM lane WHERE consumer = ? AND lane = ? AND epoch = ? AND holder = ?";
    let mut statement = connection.prepare_cached(sql)?;
    for (lane, epoch) in held.epochs.iter().enumerate() {
        let lane = u16::try_from(lane).unwrap_or(u16::MAX);
        if !statement.exists(params![held.consumer, lane, epoch, held.name])? {
            return Err(Error::LaneLost { consumer: held.consumer.clone(), lane }.into());
        }
    }
    Ok(())
}

/// Takes claims back, but for those of letters: given up, or taken aside by an operator.
fn clear(connection: &Connection, consumer: &str, rows: &[LogRow]) -> Result<Vec<EventId>, Fault> {
    let sql = "DELETE FROM inbox WHERE consumer = ?1 AND event = ?2
               AND NOT EXISTS (SELECT 1 FROM dead WHERE consumer = ?1 AND event = ?2)
               AND NOT EXISTS (SELECT 1 FROM aside WHERE consumer = ?1 AND event = ?2)
               AND NOT EXISTS (SELECT 1 FROM action WHERE consumer = ?1 AND event = ?2 AND verb = 'delete')";
    let mut statement = connection.prepare_cached(sql)?;
    let mut cleared = Vec::new();
    for row in rows {
        if statement.execute(params![consumer, row.event.bits().to_be_bytes()])? > 0 {
            cleared.push(row.event);
        }
    }
    Ok(cleared)
}

/// Takes claims back, and parks those events, due at once: all of them, or those whose key has something parked already,
/// which would otherwise be tried before they are read again.
fn send_again(
    connection: &Connection,
    held: &Held,
    (rows, all): (&[LogRow], bool),
    now: i64,
) -> Result<Vec<EventId>, Fault> {
    let cleared = clear(connection, &held.consumer, rows)?;
    let again: HashSet<EventId> = cleared.iter().copied().collect();
    let sql = "SELECT 1 FROM parked WHERE consumer = ? AND lane = ? AND tenant = ? AND key = ?";
    let mut waits = connection.prepare_cached(sql)?;
    for row in rows.iter().filter(|row| again.contains(&row.event)) {
        let lane = usize::from(row.slot) % held.epochs.len().max(1);
        let key = params![held.consumer, lane as i64, row.tenant.to_be_bytes(), row.key];
        if all || waits.exists(key)? {
            let event = row.clone().parked(Some(0), 0, replayed(held.action));
            consumer::insert_parked(connection, (&held.consumer, lane), &event, now)?;
        }
    }
    Ok(cleared)
}

fn unpark(connection: &Connection, consumer: &str, action: i64) -> Result<Vec<EventId>, Fault> {
    let sql =
        "DELETE FROM parked WHERE consumer = ? AND error = ? AND attempts = 0 RETURNING event, tenant, seq, logged";
    let mut statement = connection.prepare_cached(sql)?;
    let gone = statement.query_map(params![consumer, replayed(action)], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    })?;
    let gone: Vec<([u8; 16], [u8; 16], Seq, i64)> = gone.collect::<rusqlite::Result<_>>()?;
    let sql = "INSERT INTO inbox (consumer, event, tenant, seq, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
    let mut claim = connection.prepare_cached(sql)?;
    for (event, tenant, seq, logged) in &gone {
        claim.execute(params![consumer, event, tenant, seq, logged])?;
    }
    Ok(gone.into_iter().map(|(event, ..)| EventId::from_bits(u128::from_be_bytes(event))).collect())
}
