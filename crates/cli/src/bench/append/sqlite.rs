//! The measurements on SQLite.

use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use karwan_envelope::time::{Clock as _, SystemClock};
use karwan_store::log::Filter;
use karwan_store::{Address, Store};

use super::Args;
use super::figures::{Figures, Line, Round};
use super::load::{self, Load, Serials};
use crate::bench::scratch::ScratchFile;
use crate::exit::Failure;
use crate::platforms::Name;
use crate::progress::Progress;

/// Callers, and which part of the events each line takes: alone, a caller waits for the disk every time.
const CALLERS: [(usize, u32); 2] = [(1, 10), (64, 2)];
const ROUND_CALLERS: usize = 64;
const CONNECTIONS: usize = 4;

/// Measures in a scratch file, and removes it whatever happens.
pub async fn measure(args: &Args, path: &Path, progress: &Progress) -> Result<Figures, Failure> {
    let scratch = ScratchFile::beside(path);
    let address = Address::Sqlite(scratch.0.clone());
    let catalogue = Name::Melmastoon.catalogue()?;
    karwan_store::migrate(&address, &[&catalogue], &[], &|_, _, _| {}).await?;
    let store = Store::open(&address, load::options(CONNECTIONS)?).await?;
    let serials = Serials::default();
    load::append(&store, Load { callers: 1, events: 1, a_unit: 1 }, &serials, progress).await?;
    let relay = store.relay();
    let page = relay.page(relay.start().await?, &Filter::default(), 1).await?;
    let bytes = page.rows.into_iter().next().map(|row| row.envelope).unwrap_or_default();
    let mut figures = Figures {
        store: format!("SQLite {}", rusqlite::version()),
        event_bytes: bytes.len(),
        pairs: args.pairs,
        lines: Vec::new(),
        rounds: Vec::new(),
    };
    if let Some(rounds) = args.rounds {
        progress.tell("rounds", 0, u64::from(args.events) * u64::from(rounds));
        for _ in 0..rounds {
            let load = Load { callers: ROUND_CALLERS, events: args.events, a_unit: 1 };
            let rate = load::append(&store, load, &serials, progress).await?;
            // As if a month had passed.
            store.prune(SystemClock.now().unix_ms()).await?;
            figures.rounds.push(Round { rate, tables: store.sizes().await? });
        }
        return Ok(figures);
    }
    for (callers, share) in CALLERS {
        let events = (args.events / share).max(callers as u32);
        progress.tell(&format!("{callers} callers"), 0, u64::from(events) * u64::from(args.pairs));
        let mut pairs = Vec::new();
        for _ in 0..args.pairs {
            let load = Load { callers, events, a_unit: 1 };
            let rate = load::append(&store, load, &serials, progress).await?;
            let base = plain(&scratch.0, &bytes, (events / callers as u32).max(1))?;
            pairs.push((rate, Some(base)));
        }
        let line = Line::of("units of one event", callers, events, &pairs);
        figures.lines.push(Line { base_name: "plain INSERT, one a commit", ..line });
    }
    Ok(figures)
}

/// One INSERT a transaction into a bare table of a file of its own, as durable as the store's.
fn plain(beside: &Path, bytes: &str, rows: u32) -> Result<f64, Failure> {
    let scratch = ScratchFile::beside(beside);
    let run = || -> rusqlite::Result<f64> {
        let connection = rusqlite::Connection::open(&scratch.0)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE bare (seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT, envelope TEXT)",
        )?;
        let mut insert = connection.prepare("INSERT INTO bare (key, envelope) VALUES (?, ?)")?;
        let start = Instant::now();
        for row in 0..rows {
            insert.execute((format!("pay_{row}"), bytes))?;
        }
        Ok(f64::from(rows) / start.elapsed().as_secs_f64())
    };
    Ok(run().context("the base cannot be measured")?)
}
