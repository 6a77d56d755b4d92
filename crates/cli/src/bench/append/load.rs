//! Units of work through the store, by several callers at once.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::Context as _;
use karwan_envelope::mint::{Mint, OsRandom};
use karwan_envelope::time::SystemClock;
use karwan_store::{Error, Facts, Options, Store};

use crate::bench::event;
use crate::exit::Failure;
use crate::platforms::Name;
use crate::progress::Progress;

/// Events that nobody has appended yet: every serial is used once in a store.
#[derive(Default)]
pub struct Serials(AtomicU64);

/// How a measurement appends.
#[derive(Clone, Copy)]
pub struct Load {
    /// How many at once.
    pub callers: usize,
    /// How many events in all.
    pub events: u32,
    /// How many of them a unit.
    pub a_unit: u32,
}

/// A store of the measured platform, with so many connections.
pub fn options(connections_max: usize) -> Result<Options, Failure> {
    let catalogue = Arc::new(Name::Melmastoon.catalogue()?);
    Ok(Options { connections_max, ..Options::new(catalogue, Vec::new()) })
}

/// Appends; answers events a second.
pub async fn append(store: &Store, load: Load, serials: &Serials, progress: &Progress) -> Result<f64, Failure> {
    let first = serials.0.fetch_add(load.events.into(), Ordering::Relaxed);
    let end = first + u64::from(load.events);
    let next = Arc::new(AtomicU64::new(first));
    let start = Instant::now();
    let callers: Vec<_> = (0..load.callers)
        .map(|caller| {
            let (store, next, a_unit) = (store.clone(), next.clone(), u64::from(load.a_unit));
            let progress = progress.clone();
            tokio::spawn(async move {
                loop {
                    let from = next.fetch_add(a_unit, Ordering::Relaxed);
                    if from >= end {
                        return Ok::<(), Failure>(());
                    }
                    let unit = from..(from + a_unit).min(end);
                    progress.advance(unit.end - unit.start);
                    commit(&store, caller as u32, unit).await?;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.context("a caller broke off")??;
    }
    Ok(f64::from(load.events) / start.elapsed().as_secs_f64())
}

async fn commit(store: &Store, tenant: u32, serials: Range<u64>) -> Result<(), Failure> {
    let context = event::context(tenant, Mint::new(SystemClock, OsRandom).correlation());
    let done = store.unit(&context, |tx| {
        tx.emit(serials.clone().map(event::captured).collect::<Facts>());
        std::future::ready(Ok::<(), Error>(()))
    });
    done.await?;
    Ok(())
}
