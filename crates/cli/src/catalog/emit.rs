//! `karwan catalog emit`.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::exit::Outcome;
use crate::{output, platforms, tree};

/// Write the catalogue as files: JSON Schemas, topics.json, policy.json, samples
///
/// Only files that differ are written; schemas and samples that no longer belong
/// are removed, other files are left alone.
///
/// Example: karwan catalog emit --out catalog
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The folder to write to
    #[arg(long, default_value = "catalog")]
    out: PathBuf,
}

pub fn run(args: &Args) -> Outcome {
    let files = platforms::tree(&platforms::catalogues(None)?);
    let written = tree::write(&args.out, &files)?;
    output::note(&format!(
        "{}: {} files, {} written, {} removed",
        args.out.display(),
        files.len(),
        written.changed,
        written.removed
    ));
    Ok(ExitCode::SUCCESS)
}
