//! What a file drops and forgets, a chunk a transaction: other writers go in between.

use rusqlite::params;

use super::lanes::{Lanes, record};
use super::log::{self, lowest_position};
use super::report::{Prunable, prune_chunk};
use crate::error::Error;
use crate::log::Seq;
use crate::operator::{Verb, Who};
use crate::retention::What;

/// Numbers of the log that are handed to the hook at once.
const STRETCH: Seq = 100_000;

const fn prunable(what: What) -> Prunable {
    match what {
        What::Intents => Prunable::new("intent", "tenant, subject, idem", 3, "true"),
        What::Units => Prunable::new("unit", "id, tenant", 2, "true"),
        What::Claims => Prunable::new("inbox", "consumer, event", 2, "true"),
        What::Dead => Prunable::new("dead", "consumer, event", 2, "true"),
        What::Aside => Prunable::new("aside", "consumer, event", 2, "true"),
        What::Attempts => Prunable::new("attempt", "consumer, event, number", 3, "true"),
        What::Repairs => Prunable::new("repair", "action", 1, "true"),
        What::Selections => Prunable::new("selection", "id", 1, "true"),
        What::Effects => Prunable::new("effect", "seq", 1, "state = 'done'"),
        What::Actions => Prunable::new("action", "id", 1, "true"),
    }
}

impl Lanes {
    /// How far the next stretch goes that can be dropped behind a number, where one can.
    pub fn stretch(&mut self, after: Seq, old: Seq) -> Result<Option<Seq>, Error> {
        self.write(|connection| {
            let bound = old.min(log::highest(connection)?).min(lowest_position(connection)?.unwrap_or(Seq::MAX));
            Ok((bound > after).then(|| bound.min(after + STRETCH)))
        })
    }

    /// Drops rows up to a number, where nobody needs them; answers the new floor.
    pub fn drop_stretch(&mut self, up_to: Seq) -> Result<Option<Seq>, Error> {
        loop {
            let (floor, finished) = self.write(|connection| log::drop_chunk(connection, up_to))?;
            if finished {
                return Ok((floor >= up_to).then_some(floor));
            }
        }
    }

    /// How much is older than an instant.
    pub fn count(&mut self, what: What, before: i64) -> Result<u64, Error> {
        let of = prunable(what);
        self.write(|connection| {
            let sql = format!("SELECT count(*) FROM {} WHERE {} AND at < ?", of.table, of.only);
            Ok(connection.query_row(&sql, [before], |row| row.get::<_, i64>(0))?.unsigned_abs())
        })
    }

    /// Forgets what is older than an instant; answers how much.
    pub fn forget_old(&mut self, what: What, before: i64) -> Result<u64, Error> {
        let of = prunable(what);
        let (mut gone, mut after) = (0, Some(Vec::new()));
        while let Some(from) = after {
            let chunk = self.write(|connection| prune_chunk(connection, &of, &from, before))?;
            gone += chunk.0;
            after = chunk.1;
        }
        Ok(gone)
    }

    /// Notes that claims of rows up to a number may be gone.
    pub fn note_pruned(&mut self, up_to: Seq) -> Result<(), Error> {
        self.write(|connection| {
            let sql = "INSERT INTO pruned (what, up_to) VALUES ('inbox', ?1) ON CONFLICT (what)
                       DO UPDATE SET up_to = max(up_to, excluded.up_to)";
            connection.execute(sql, params![up_to])?;
            Ok(())
        })
    }

    /// Writes an action down that concerns no consumer.
    pub fn record(&mut self, who: &Who, (verb, detail): (Verb, &str), now: i64) -> Result<i64, Error> {
        self.write(|connection| record(connection, who, (verb, "", detail), now))
    }
}
