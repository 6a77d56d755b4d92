//! `karwan bench node`: a process that consumes for a measurement, until its standard input ends.
//!
//! It then tells, as JSON, of every event of small tenants how long it took, and how long after another when it was handled.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use karwan::Engine;
use karwan_store::Address;
use serde::{Deserialize, Serialize};

use super::sample::{self, BatchSize};
use crate::exit::Outcome;
use crate::{output, runtime};

/// Serials of measured events begin here; those below are the flood's.
pub const MEASURED: u64 = 1 << 40;

/// Consume for a measurement
#[derive(clap::Args)]
pub struct Args {
    /// Its name among the nodes
    #[arg(long)]
    name: String,
    #[command(flatten)]
    size: BatchSize,
}

/// What it saw.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    /// Of every measured event, by serial: microseconds from before its commit to its handler.
    pub latencies_us: BTreeMap<u64, u64>,
    /// How many events of the flood it handled.
    pub flood: u64,
}

/// Notes what a consumer sees.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<Seen>>);

impl Notes {
    /// The consumer that is measured.
    pub fn consumer(&self, size: BatchSize) -> karwan::Consumer {
        let notes = self.0.clone();
        let consumer = sample::consumer(move |placed| {
            let mut seen = notes.lock().expect("nothing panics while holding it");
            let event = &placed.event;
            if event.serial < MEASURED {
                seen.flood += 1;
            } else {
                let latency = sample::now_us().saturating_sub(event.sent_us);
                // An event whose batch fell apart is handled again; the first time counts.
                seen.latencies_us.entry(event.serial).or_insert(latency);
            }
        });
        consumer.batch(size.batch)
    }

    /// How many events of the flood were handled so far.
    pub fn flood(&self) -> u64 {
        self.0.lock().expect("nothing panics while holding it").flood
    }

    /// What was noted, which is forgotten.
    pub fn take(&self) -> Seen {
        std::mem::take(&mut self.0.lock().expect("nothing panics while holding it"))
    }
}

/// The address comes by the environment: arguments are everybody's to read, and it has a password.
pub const STORE: &str = "KARWAN_STORE";

pub fn run(args: &Args) -> Outcome {
    let address: Address = std::env::var(STORE)
        .ok()
        .and_then(|url| url.parse().ok())
        .ok_or_else(|| crate::exit::Failure::usage(anyhow::anyhow!("this is run by `karwan bench`, not by hand")))?;
    runtime::block_on(async {
        let store = sample::open(&address, 8).await?;
        let notes = Notes::default();
        let options = karwan::engine::Options::new(args.name.clone(), karwan::Residency::Eu);
        let engine = Engine::start(&store, vec![notes.consumer(args.size)], options);
        let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        ended.await.map_err(anyhow::Error::from)??;
        engine.stop().await;
        output::json(&notes.take())?;
        Ok(ExitCode::SUCCESS)
    })
}
