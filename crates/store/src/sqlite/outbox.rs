//! What relays have not published, and what the library is.

use rusqlite::{Connection, params};

use crate::environment::Environment;
use crate::log::Seq;
use crate::outbox::{Topic, TopicReport};
use crate::sqlite::error::Fault;

/// Every topic of the store.
pub(super) fn topics(connection: &Connection) -> Result<Vec<Topic>, Fault> {
    let mut statement = connection.prepare_cached("SELECT id, name FROM subject ORDER BY name")?;
    let rows =
        statement.query_map([], |row| Ok(Topic { id: row.get(0)?, name: row.get(1)?, producers: Vec::new() }))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// What of these topics a relay has not published, by topic.
pub(super) fn unpublished(
    connection: &Connection,
    relay: &str,
    position: Seq,
    topics: &[i64],
    now: i64,
) -> Result<Vec<TopicReport>, Fault> {
    let mut statement = connection.prepare_cached(include_str!("unpublished.sql"))?;
    let topics = serde_json::to_string(topics).expect("numbers are JSON");
    let rows = statement.query_map(params![relay, position, topics, now], |row| {
        Ok(TopicReport {
            topic: row.get(0)?,
            waiting: row.get(1)?,
            parked: row.get(2)?,
            quarantined: row.get(3)?,
            oldest_ms: row.get(4)?,
            attempts: row.get(5)?,
            error: row.get(6)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The library, and what a commit waits for: a setting of the connection that writes.
pub(super) fn environment(connection: &Connection) -> Result<Environment, Fault> {
    let number: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    let value = ["off", "normal", "full", "extra"].get(usize::try_from(number).unwrap_or(usize::MAX));
    let (server, value) = (format!("SQLite {}", rusqlite::version()), value.copied().unwrap_or("unknown").to_owned());
    Ok(Environment { server, setting: "synchronous", value })
}
