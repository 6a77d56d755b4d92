//! `karwan catalog check`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use karwan_envelope::time::{Clock, SystemClock};
use karwan_registry::check::{self, Finding, Gate};
use karwan_registry::files::Tree;

use crate::exit::Outcome;
use crate::{output, platforms, tree};

/// Run the policy gates: exit 0, or 1 with every finding
///
/// Without --catalog the compiled-in catalogue is judged, and ./catalog must be
/// what it emits. With --catalog that folder is judged alone.
///
/// Examples:
///   karwan catalog check
///   karwan catalog check --catalog path/to/copy
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Judge this folder alone
    #[arg(long, value_name = "DIR")]
    catalog: Option<PathBuf>,
}

/// Where the emitted catalogue is committed.
const COMMITTED: &str = "catalog";

pub fn run(args: &Args) -> Outcome {
    let mut findings = Vec::new();
    let files = match &args.catalog {
        Some(folder) => tree::read(folder)?,
        None => {
            let emitted = platforms::tree(&platforms::catalogues(None)?);
            if Path::new(COMMITTED).is_dir() {
                findings.extend(stale(&emitted, &tree::read(Path::new(COMMITTED))?));
            } else {
                output::note(&format!(
                    "no folder ./{COMMITTED} here: whether committed files are stale was not checked"
                ));
            }
            emitted
        }
    };
    findings.extend(check::check(&files, &platforms::profiles()).into_iter().map(|finding| placed(finding, args)));
    for finding in &findings {
        output::data(&finding.to_string())?;
    }
    for reminder in check::overdue_reviews(&files, SystemClock.now().date()) {
        output::note(&format!("reminder: {reminder}"));
    }
    match findings.len() {
        0 => output::note(&format!("{} files in order", files.len())),
        1 => output::note("1 finding"),
        count => output::note(&format!("{count} findings")),
    }
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A finding about the whole catalogue is one about the folder.
fn placed(finding: Finding, args: &Args) -> Finding {
    let folder = args.catalog.as_deref().unwrap_or(Path::new(COMMITTED));
    let place = if finding.place.is_empty() { folder.display().to_string() } else { finding.place };
    Finding { place, ..finding }
}

fn stale(emitted: &Tree, committed: &Tree) -> Vec<Finding> {
    let finding = |path: &str, message: &str| Finding {
        gate: Gate::Stale,
        place: format!("{COMMITTED}/{path}"),
        message: message.to_owned(),
        remedy: "run `karwan catalog emit` and commit what it wrote".to_owned(),
    };
    let missing = emitted.iter().filter_map(|(path, bytes)| match committed.get(path) {
        None => Some(finding(path, "not committed")),
        Some(present) if present != bytes => Some(finding(path, "not what the types give")),
        Some(_) => None,
    });
    let extra = committed.keys().filter(|path| tree::owned(path) && !emitted.contains_key(*path));
    missing.chain(extra.map(|path| finding(path, "no type gives this file"))).collect()
}
