//! `karwan bench drain`: a process that publishes a log for a measurement, and says how fast and with how much memory.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use karwan::Engine;
use karwan::engine::{Relay, Work};
use karwan_broker::{Broker, Mode, Topology};
use karwan_store::{Address, Position};
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use crate::bench::node::STORE;
use crate::bench::sample;
use crate::bench::streams::LOAD;
use crate::exit::{Failure, Outcome};
use crate::{output, runtime};

/// Where the broker is; by the environment, as it may have a password.
const BROKER: &str = "KARWAN_BROKER";
/// How often the memory is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Publish a log for a measurement
#[derive(clap::Args)]
pub struct Args {
    /// The log's numbers at which the time is taken, in order; the last is the end
    #[arg(long, value_delimiter = ',')]
    marks: Vec<i64>,
    /// In atomic batches
    #[arg(long)]
    durable: bool,
}

/// What it saw.
#[derive(Debug, Serialize, Deserialize)]
pub struct Drained {
    /// Whether in atomic batches.
    pub durable: bool,
    /// Seconds from the first events to every mark.
    pub seconds: Vec<f64>,
    /// The most memory that was resident, in bytes; none where the system does not tell.
    pub resident_bytes_max: Option<u64>,
}

pub fn run(args: &Args) -> Outcome {
    let by_hand = || Failure::usage(anyhow!("this is run by `karwan bench growth`, not by hand"));
    let address: Address = std::env::var(STORE).ok().and_then(|url| url.parse().ok()).ok_or_else(by_hand)?;
    let url = std::env::var(BROKER).map_err(|_| by_hand())?;
    runtime::block_on(async {
        let store = sample::open(&address, 8).await?;
        let broker = Broker::connect(&url, karwan_broker::Options::default()).await?;
        let topology = Topology::of(&*sample::catalogue()?);
        let options = karwan::engine::Options::new("drain", karwan::Residency::Eu);
        let incarnation = store.relay().incarnation();
        let mode = if args.durable { Mode::Durable } else { Mode::Pipelined };
        let engine = Engine::start(&store, Work::new().relay(Relay::new(broker, topology).mode(mode)), options);
        // Starting, and asking the stream how far it is, is no part of a rate.
        engine.published(LOAD, Position { incarnation, seq: 1 }).await?;
        let start = Instant::now();
        let (mut seconds, mut resident) = (Vec::new(), resident_bytes());
        for mark in &args.marks {
            let published = engine.published(LOAD, Position { incarnation, seq: *mark });
            tokio::pin!(published);
            loop {
                tokio::select! {
                    published = &mut published => break published?,
                    () = tokio::time::sleep(LOOK) => resident = resident.max(resident_bytes()),
                }
            }
            seconds.push(start.elapsed().as_secs_f64());
        }
        engine.stop().await;
        let resident_bytes_max = resident.max(resident_bytes());
        output::json(&Drained { durable: args.durable, seconds, resident_bytes_max })?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Runs it in a process of its own.
pub async fn drain(address: &Address, url: &str, mode: Mode, marks: &[i64]) -> Result<Drained, Failure> {
    let Address::Postgres(store) = address else {
        return Err(Failure::usage(anyhow!("a SQLite file belongs to one process")));
    };
    let marks: Vec<String> = marks.iter().map(i64::to_string).collect();
    let child = Command::new(std::env::current_exe()?)
        .args(["bench", "drain", "--marks", &marks.join(",")])
        .args((mode == Mode::Durable).then_some("--durable"))
        .env(STORE, store)
        .env(BROKER, url)
        .stderr(std::process::Stdio::inherit())
        .kill_on_drop(true)
        .output();
    let answered = child.await.context("a process of its own cannot be started")?;
    Ok(serde_json::from_slice(&answered.stdout).context("a process of its own ended without an answer")?)
}

/// How much memory of this process is resident, where the system tells.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}
