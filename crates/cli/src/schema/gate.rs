//! `karwan schema gate`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use karwan_envelope::time::{Clock as _, SystemClock};
use karwan_registry::contract::{self, Contract};
use karwan_registry::evolution::{self, GateReport, SubjectChange};
use karwan_registry::files::{SCHEMAS, Tree};
use serde_json::Value;

use super::render::{self, Section};
use super::{Format, Ticket};
use crate::exit::{Failure, Outcome};
use crate::{input, output, platforms, tree};

/// Compare whole catalogues: exit 0 additive, 1 breaking, 2 needs audit
///
/// The base is the catalogue or bundle of the last release. A new version beside a
/// kept one is additive; it needs a dual-publish entry in the description of the
/// change. A widened enum needs a line in CHANGELOG.events.md. Integration events,
/// and platforms that forbid narrowing, cannot be let through by an audit.
///
/// Examples:
///   karwan schema gate --base release-bundle.json
///   karwan schema gate --base ../main/catalog --catalog catalog --format github
///   karwan schema gate --base ../main/catalog --audit audit.json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The catalogue or bundle to compare with
    #[arg(long, value_name = "DIR_OR_BUNDLE")]
    base: PathBuf,
    /// The catalogue that replaces it; the compiled-in one if absent
    #[arg(long, value_name = "DIR")]
    catalog: Option<PathBuf>,
    /// The description of the change, searched for dual-publish entries
    #[arg(long, value_name = "FILE")]
    description: Option<PathBuf>,
    /// What `karwan schema audit --out` wrote; may be given again
    #[arg(long, value_name = "FILE")]
    audit: Vec<PathBuf>,
    /// The changelog of events
    #[arg(long, value_name = "FILE", default_value = "CHANGELOG.events.md")]
    changelog: PathBuf,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Let the change pass, recorded under this incident ticket
    #[arg(long, value_name = "ID")]
    override_ticket: Option<Ticket>,
}

pub fn run(args: &Args) -> Outcome {
    let base = contract(&tree::read_dir_or_bundle(&args.base)?, &args.base)?;
    let (files, name) = match &args.catalog {
        Some(folder) => (tree::read(folder)?, folder.as_path()),
        None => (platforms::tree(&platforms::catalogues(None)?), Path::new("the compiled-in catalogue")),
    };
    let new = contract(&files, name)?;
    let mut report = evolution::gate(&base.schemas, &new.schemas)
        .map_err(|error| super::diff::unjudged(&error, &args.base, name))?;
    report.compare_rows(&base.rows, &new.rows);
    // A subject is judged by the stricter of its two declarations, or the gate could be opened by editing a row.
    report.harden(&base.strict.union(&new.strict).cloned().collect());
    for path in &args.audit {
        let audit = super::audit::read(path)?;
        for reason in report.settle(&audit, (&base.schemas, &new.schemas), SystemClock.now()) {
            output::note(&format!("{} does not count: {reason}", path.display()));
        }
    }
    report.require_changelog(&text_or_nothing(&args.changelog)?);
    match &args.description {
        Some(path) => report.require_dual_publish(&String::from_utf8_lossy(&input::read(path)?)),
        None if bumped(&report) => {
            output::note("a version was added: give --description FILE to check its dual-publish entry");
        }
        None => {}
    }
    let folder = args.catalog.as_deref().unwrap_or(Path::new("catalog"));
    let sections: Vec<Section<'_>> = report
        .subjects
        .iter()
        .map(|subject| Section {
            file: schema_file(&files, folder, &subject.subject),
            subject: Some(&subject.subject),
            findings: &subject.findings,
        })
        .collect();
    render::report(&sections, report.verdict(), args.format, args.override_ticket.as_ref())
}

fn bumped(report: &GateReport) -> bool {
    report.subjects.iter().any(|subject| subject.change == SubjectChange::VersionAdded)
}

/// What a catalogue promises.
pub fn contract(files: &Tree, path: &Path) -> Result<Contract, Failure> {
    let contract = contract::contract(files).with_context(|| format!("{} is not a catalogue", path.display()));
    contract.map_err(Failure::input)
}

/// The file that an annotation about a subject belongs to; the list of topics where its schema is gone.
fn schema_file(files: &Tree, folder: &Path, subject: &str) -> String {
    let declares = |path: &&String| {
        let schema = path.contains(&format!("/{SCHEMAS}/")).then(|| serde_json::from_slice::<Value>(&files[*path]));
        schema.is_some_and(|schema| schema.is_ok_and(|schema| schema["x-subject"] == subject))
    };
    let file = files.keys().find(declares).map_or("", String::as_str);
    folder.join(file).display().to_string()
}

fn text_or_nothing(path: &Path) -> Result<String, Failure> {
    if !path.exists() {
        return Ok(String::new());
    }
    Ok(String::from_utf8_lossy(&input::read(path)?).into_owned())
}
