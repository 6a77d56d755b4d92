//! `karwan backup`.

use std::path::PathBuf;
use std::process::ExitCode;

use karwan_store::backup::{Copied, backup};

use crate::exit::Outcome;
use crate::progress::Progress;
use crate::settings::{Flags, Settings};
use crate::{output, runtime};

/// Copy a store that is in use
///
/// SQLite: a consistent copy, taken beside the process that writes. Postgres: pg_dump
/// copies; this says what it must include.
///
/// Examples:
///   karwan backup --store sqlite:karwan.db --out karwan-monday.db
///   karwan backup --store postgres://admin@localhost/app --out app.dump
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// The file to write; it must not exist
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub fn run(args: &Args) -> Outcome {
    let address = Settings::load(&args.flags)?.store()?;
    runtime::block_on(async {
        let progress = Progress::new();
        let tell = |what: &str, done, total| progress.tell(what, done, total);
        let copied = backup(&address, &args.out, &tell).await?;
        drop(progress);
        print(&copied)?;
        Ok(ExitCode::SUCCESS)
    })
}

/// What was done, and what is left to do.
pub fn print(copied: &Copied) -> std::io::Result<()> {
    let done = copied.done.iter().map(|sentence| format!("{sentence}\n"));
    let to_do = copied.to_do.iter().map(|sentence| format!("to do: {sentence}\n"));
    output::data(&done.chain(to_do).collect::<String>())
}
