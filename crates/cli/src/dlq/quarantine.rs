//! `karwan dlq quarantine`.

use std::path::PathBuf;

use karwan_store::operator::Deed;

use super::choice::Choice;
use super::desk::Desk;
use crate::exit::Outcome;
use crate::operator::Who;
use crate::runtime;
use crate::settings::Flags;

/// Lock letters away for forensics: into files with a manifest; their keys go on
///
/// The envelope is written byte for byte, with a manifest beside it that says what it is
/// and who locked it away. A quarantine can be undone until retention takes the letter
/// away; the files stay.
///
/// Examples:
///   karwan dlq quarantine 0190c2f0-0000-7000-8000-000000000001 --dir cold --reason DEF-12
///   karwan dlq quarantine --error 'impossible state' --dir cold --reason DEF-12 --yes
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    who: Who,
    /// The folder to write to; it is made where it is missing
    #[arg(long, value_name = "FOLDER")]
    dir: PathBuf,
    #[command(flatten)]
    flags: Flags,
}

pub fn run(args: &Args) -> Outcome {
    // It is recorded, and found again from anywhere.
    let folder = std::path::absolute(&args.dir)?;
    runtime::block_on(async {
        let desk = Desk::open(&args.flags).await?;
        args.choice.act(&desk, &args.who, &Deed::Quarantine { folder }).await
    })
}
