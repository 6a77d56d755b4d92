//! The base on SQLite: plain tables in a file of their own, one connection, as durable as the store's.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::{A_BATCH, ITEMS};
use crate::bench::sample;
use crate::bench::scratch::ScratchFile;
use crate::bench::sustained::Sustained;
use crate::exit::Failure;

const TABLES: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE inbox (consumer TEXT, event BLOB, PRIMARY KEY (consumer, event)) WITHOUT ROWID;
    CREATE TABLE tally (tenant BLOB, id TEXT, version INTEGER, body TEXT, PRIMARY KEY (tenant, id)) WITHOUT ROWID;
    CREATE TABLE intent (tenant BLOB, subject INTEGER, idem TEXT, hash BLOB, event BLOB, PRIMARY KEY (tenant, subject, idem)) WITHOUT ROWID;
    CREATE TABLE events (seq INTEGER PRIMARY KEY AUTOINCREMENT, tenant BLOB, subject INTEGER, key TEXT, slot INTEGER, event BLOB,
        at INTEGER, envelope TEXT);
    CREATE INDEX events_tenant ON events (tenant, seq)";

/// Beside which file.
pub struct Bare(PathBuf);

impl Bare {
    pub fn make(beside: &Path) -> Self {
        Self(beside.to_owned())
    }

    /// Consumes without rules; answers events a second.
    pub fn consume(&self, events: u64) -> Result<f64, Failure> {
        Ok(self.run(events).context("the base cannot be measured")?)
    }

    fn run(&self, events: u64) -> rusqlite::Result<f64> {
        let file = ScratchFile::beside(&self.0);
        let connection = rusqlite::Connection::open(&file.0)?;
        connection.execute_batch(TABLES)?;
        let envelope = "e".repeat(1000);
        let sustained = Sustained::of(events);
        let mut serial = 0_u64;
        while serial < events {
            connection.execute_batch("BEGIN IMMEDIATE")?;
            for serial in serial..serial + A_BATCH as u64 {
                let event = (u128::from(serial) << 64).to_be_bytes();
                let tenant = u128::from(serial / 250 % 32).to_be_bytes();
                let key = format!("item-{}", serial % ITEMS);
                let mut claim = connection.prepare_cached("INSERT INTO inbox VALUES (?, ?) ON CONFLICT DO NOTHING")?;
                claim.execute((sample::CONSUMER, event))?;
                let mut get =
                    connection.prepare_cached("SELECT version, body FROM tally WHERE tenant = ? AND id = ?")?;
                let found = get.query_row((tenant, &key), |row| row.get::<_, i64>(0));
                let version = found.unwrap_or_default();
                let put = "INSERT INTO tally VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version, body = excluded.body";
                connection.prepare_cached(put)?.execute((
                    tenant,
                    &key,
                    version + 1,
                    "{\"item\":\"item\",\"times\":1}",
                ))?;
                let intend = "INSERT INTO intent VALUES (?, 1, ?, ?, ?)";
                connection.prepare_cached(intend)?.execute((tenant, format!("{key}:{serial}"), event, event))?;
                let emit =
                    "INSERT INTO events (tenant, subject, key, slot, event, at, envelope) VALUES (?, 1, ?, 1, ?, 0, ?)";
                connection.prepare_cached(emit)?.execute((tenant, &key, event, &envelope))?;
            }
            connection.execute_batch("COMMIT")?;
            serial += A_BATCH as u64;
            sustained.note(A_BATCH as u64);
        }
        Ok(sustained.rate())
    }
}
