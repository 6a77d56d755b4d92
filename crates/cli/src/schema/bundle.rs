//! `karwan schema bundle`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use karwan_registry::bundle;

use crate::exit::{Failure, Outcome};
use crate::{output, platforms, tree};

/// Write the release bundle: all schemas, topics and policies in one file, under one digest
///
/// Example: karwan schema bundle --out karwan-schemas.json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Bundle this folder instead of the compiled-in catalogue
    #[arg(long, value_name = "DIR")]
    catalog: Option<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    let files = match &args.catalog {
        Some(folder) => tree::read(folder)?,
        None => platforms::tree(&platforms::catalogues(None)?),
    };
    let bundle = bundle::build(&files).map_err(Failure::input)?;
    tree::replace(&args.out, &bundle).with_context(|| format!("cannot write {}", args.out.display()))?;
    output::note(&format!("{}: {} bytes", args.out.display(), bundle.len()));
    Ok(ExitCode::SUCCESS)
}
