//! `karwan restore`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use karwan_store::Address;
use karwan_store::backup::restore;
use karwan_store::operator::Operator;

use crate::exit::{Failure, Outcome};
use crate::operator::{recorded, said};
use crate::progress::Progress;
use crate::settings::{Flags, Settings};
use crate::{backup, output, runtime};

/// Put a copy in the place of a store, or check one that pg_restore has put there
///
/// Either way a new incarnation of the store begins: positions of the old one are answered
/// with reset, and effects and relay are suspended until --resume, because a copy must
/// not call the outside a second time. That is recorded with who did it and why.
///
/// Examples:
///   karwan restore --store sqlite:karwan.db karwan-monday.db
///   karwan restore --store postgres://admin@localhost/app
///   karwan restore --store postgres://admin@localhost/app --resume --reason 'INC-7'
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// The copy (SQLite); for Postgres, pg_restore reads it before
    #[arg(value_name = "FILE", conflicts_with = "resume")]
    file: Option<PathBuf>,
    /// The dump was restored over the very database that it was taken from (Postgres)
    #[arg(long, conflicts_with = "resume")]
    over: bool,
    /// Only let effects and relay of a restored store run again
    #[arg(long, requires = "reason")]
    resume: bool,
    /// Who lets them run; otherwise the name of the user who runs this
    #[arg(long, value_name = "NAME", value_parser = said, requires = "resume", conflicts_with = "file")]
    actor: Option<String>,
    /// Why; it is recorded with who did what and when
    #[arg(long, value_name = "TEXT", value_parser = said, requires = "resume", conflicts_with = "file")]
    reason: Option<String>,
}

pub fn run(args: &Args) -> Outcome {
    let address = Settings::load(&args.flags)?.store()?;
    if let Some(reason) = args.reason.as_ref().filter(|_| args.resume) {
        let who = recorded(args.actor.as_deref(), reason);
        return runtime::block_on(async {
            Operator::new(&address, Vec::new()).resume_store(&who).await?;
            output::data("effects and relay run again")?;
            Ok(ExitCode::SUCCESS)
        });
    }
    let file = match (&address, &args.file) {
        (Address::Sqlite(_), None) => return Err(Failure::usage(anyhow!("which copy? name its FILE (see --help)"))),
        (Address::Sqlite(_), Some(file)) if !file.exists() => {
            return Err(Failure::from(anyhow!(
                "there is no copy at {}: name the file that `karwan backup` wrote",
                file.display()
            )));
        }
        (Address::Sqlite(_), Some(file)) => file.clone(),
        (Address::Postgres(_), None) => PathBuf::new(),
        (Address::Postgres(_), Some(file)) => {
            output::note(&format!("{} is not read: pg_restore does that, before this", file.display()));
            file.clone()
        }
    };
    runtime::block_on(async {
        let progress = Progress::new();
        let tell = |what: &str, done, total| progress.tell(what, done, total);
        let copied = restore(&address, &file, args.over, &tell).await?;
        drop(progress);
        backup::print(&copied)?;
        Ok(ExitCode::SUCCESS)
    })
}
