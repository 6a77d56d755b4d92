//! `karwan bench append`.
//!
//! Every line has a base that is measured in the same run, in alternating pairs; the ratio is the median of the pairs'.

mod bare;
mod figures;
mod load;
mod pgbench;
mod postgres;
mod sqlite;

use std::process::ExitCode;

use karwan_store::Address;

use crate::exit::Outcome;
use crate::progress::Progress;
use crate::settings::{Flags, Settings};
use crate::{output, runtime};

/// Measure appending against a plain INSERT of the same bytes
///
/// Postgres: a scratch database beside the given one, with a throw-away login; both are
/// dropped at the end, the roles karwan_* stay. The login needs CREATEDB and CREATEROLE.
/// SQLite: a scratch file beside the given one. A populated store is never touched.
///
/// Examples:
///   karwan bench append --store postgres://admin@localhost/postgres
///   karwan bench append --store sqlite:karwan.db --json
///   karwan bench append --store postgres://admin@localhost/postgres --rounds 10 --events 100000
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// How many events a measurement; slow lines take a part of them
    #[arg(long, default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(16..=10_000_000))]
    events: u32,
    /// How many pairs of measurement and base
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pairs: u32,
    /// Instead: so many rounds of events, each as if a month later, with the size of every table
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
}

pub fn run(args: &Args) -> Outcome {
    let address = Settings::load(&args.flags)?.store()?;
    runtime::block_on(async {
        let progress = Progress::new();
        let figures = match &address {
            Address::Postgres(url) => postgres::measure(args, url, &progress).await?,
            Address::Sqlite(path) => sqlite::measure(args, path, &progress).await?,
        };
        drop(progress);
        if args.json {
            output::json(&figures)?
        } else {
            output::data(&figures.to_string())?
        }
        Ok(ExitCode::SUCCESS)
    })
}
