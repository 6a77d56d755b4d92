//! `karwan schema hash`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use karwan_registry::hash;

use crate::exit::{Failure, Outcome};
use crate::output;

/// Print a schema's content hash: SHA-256 over its canonical JSON
///
/// Example: karwan schema hash catalog/melmastoon/event-schemas/reservation/booking/confirmed/v1.json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The schema, or - for standard input
    file: PathBuf,
}

pub fn run(args: &Args) -> Outcome {
    let document = super::diff::read(&args.file)?;
    let name = args.file.display();
    if !document.is_object() && !document.is_boolean() {
        return Err(Failure::input(anyhow!(
            "{name} is not a schema: a schema is an object or a boolean (not-a-schema)"
        )));
    }
    let hash = hash::hash(&document).with_context(|| format!("{name} has no content hash")).map_err(Failure::input)?;
    output::data(&format!("sha256-{hash}"))?;
    Ok(ExitCode::SUCCESS)
}
