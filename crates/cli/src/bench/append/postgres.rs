//! The measurements on Postgres.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use karwan_envelope::time::{Clock as _, SystemClock};
use karwan_store::{Options, Store};

use super::Args;
use super::bare::{self, Rows};
use super::figures::{Figures, Line, Round};
use super::load::{self, Load, Serials};
use super::pgbench::Pgbench;
use crate::bench::scratch::Scratch;
use crate::exit::Failure;
use crate::platforms::Name;
use crate::progress::Progress;

/// Facts of a batched unit.
const A_UNIT: u32 = 250;
/// Connections of the batched lines.
const CONNECTIONS: [usize; 3] = [1, 4, 16];
/// Callers a connection in those: while one waits for the database, another builds its unit.
const CALLERS_A_CONNECTION: usize = 2;
/// And of the line with one event a transaction, and how much fewer of them it takes.
const SINGLE_CONNECTIONS: usize = 16;
const SINGLE_SHARE: u32 = 10;
/// Connections of a round.
const ROUND_CONNECTIONS: usize = 4;
/// Backends report what they did to the statistics when they end, soon after their connection was closed.
const STATISTICS_WAIT: Duration = Duration::from_millis(500);

/// What the server does by itself from time to time. Not the log: it has nothing to clean up.
const VACUUM: &str = "VACUUM karwan.intent, karwan.unit, karwan.doc_guard";

/// Measures in a scratch database, and drops it whatever happens.
pub async fn measure(args: &Args, url: &str, progress: &Progress) -> Result<Figures, Failure> {
    let scratch = Scratch::make(url, &Name::Melmastoon.catalogue()?, &[]).await?;
    let measured = tokio::select! {
        measured = within(args, &scratch, progress) => measured,
        _ = tokio::signal::ctrl_c() => Err(Failure::from(anyhow!("interrupted; the scratch database is dropped"))),
    };
    let removed = scratch.remove().await;
    measured.and_then(|figures| removed.map(|()| figures))
}

async fn within(args: &Args, scratch: &Scratch, progress: &Progress) -> Result<Figures, Failure> {
    let serials = Serials::default();
    let client = karwan_store::bare::connect(&scratch.owner).await?;
    client.batch_execute(bare::TABLE).await.map_err(anyhow::Error::from)?;
    let version: String = client.query_one("SELECT version()", &[]).await.map_err(anyhow::Error::from)?.get(0);
    // Bytes to compare with, and warm caches for both sides.
    let store = Store::open(&scratch.node, load::options(1)?).await?;
    load::append(&store, Load { callers: 1, events: A_UNIT, a_unit: A_UNIT }, &serials, progress).await?;
    let rows = Arc::new(Rows::of(&store, A_UNIT).await?);
    drop(store);
    let mut figures = Figures {
        store: version.split(" on ").next().unwrap_or_default().to_owned(),
        event_bytes: rows.event_bytes(),
        pairs: args.pairs,
        lines: Vec::new(),
        rounds: Vec::new(),
    };
    if let Some(rounds) = args.rounds {
        figures.rounds = run_rounds(args, rounds, scratch, &serials, progress).await?;
        return Ok(figures);
    }
    for connections in CONNECTIONS {
        figures.lines.push(batched(args, connections, scratch, (&serials, &rows), progress).await?);
    }
    let pgbench = Pgbench::find(&client, scratch, &rows).await?;
    figures.lines.push(single(args, scratch, &serials, pgbench, progress).await?);
    Ok(figures)
}

async fn batched(
    args: &Args,
    connections: usize,
    scratch: &Scratch,
    (serials, rows): (&Serials, &Arc<Rows>),
    progress: &Progress,
) -> Result<Line, Failure> {
    let callers = connections * CALLERS_A_CONNECTION;
    let load = Load { callers, events: args.events, a_unit: A_UNIT };
    let store = Store::open(&scratch.node, load::options(connections)?).await?;
    progress.tell(&format!("batched, {connections} connections"), 0, u64::from(args.events) * u64::from(args.pairs));
    let mut pairs = Vec::new();
    for _ in 0..args.pairs {
        let rate = load::append(&store, load, serials, progress).await?;
        let base = bare::insert(&scratch.node, rows, connections, args.events).await?;
        pairs.push((rate, Some(base)));
    }
    let line = Line::of("append, batched", connections, args.events, &pairs);
    Ok(Line { base_name: "plain INSERT", aim: "at least 0.35, aim 0.5", ..line })
}

async fn single(
    args: &Args,
    scratch: &Scratch,
    serials: &Serials,
    pgbench: Result<Pgbench, String>,
    progress: &Progress,
) -> Result<Line, Failure> {
    let callers = SINGLE_CONNECTIONS;
    let events = (args.events / SINGLE_SHARE).max(callers as u32);
    let load = Load { callers, events, a_unit: 1 };
    let store = Store::open(&scratch.node, load::options(callers)?).await?;
    progress.tell("one event a transaction", 0, u64::from(events) * u64::from(args.pairs));
    let mut pairs = Vec::new();
    for _ in 0..args.pairs {
        let rate = load::append(&store, load, serials, progress).await?;
        let base = match &pgbench {
            Ok(pgbench) => Some(pgbench.run(callers, events).await?),
            Err(_) => None,
        };
        pairs.push((rate, base));
    }
    let line = Line::of("append, one event a transaction", callers, events, &pairs);
    Ok(Line { base_name: "pgbench, same statement", aim: "at least 0.7", skipped: pgbench.err(), ..line })
}

async fn run_rounds(
    args: &Args,
    rounds: u32,
    scratch: &Scratch,
    serials: &Serials,
    progress: &Progress,
) -> Result<Vec<Round>, Failure> {
    let load = Load { callers: ROUND_CONNECTIONS, events: args.events, a_unit: A_UNIT };
    progress.tell("rounds", 0, u64::from(args.events) * u64::from(rounds));
    let mut done = Vec::new();
    let owner = karwan_store::bare::connect(&scratch.owner).await?;
    for _ in 0..rounds {
        let options = Options { maintenance: Some(scratch.owner.clone()), ..load::options(ROUND_CONNECTIONS)? };
        let store = Store::open(&scratch.node, options).await?;
        let rate = load::append(&store, load, serials, progress).await?;
        // As if a month had passed: intents and unit ids are forgotten, and the server cleans up behind them by itself.
        store.prune(SystemClock.now().unix_ms()).await?;
        drop(store);
        owner.batch_execute(VACUUM).await.map_err(anyhow::Error::from)?;
        tokio::time::sleep(STATISTICS_WAIT).await;
        let tables = Store::observe(&scratch.owner).await?.sizes().await?;
        done.push(Round { rate, tables });
    }
    Ok(done)
}
