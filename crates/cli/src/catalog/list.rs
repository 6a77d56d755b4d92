//! `karwan catalog list`.

use std::process::ExitCode;

use clap::ValueEnum;
use karwan_envelope::directory::{Entry, SchemaUri};
use karwan_envelope::row::Tenancy;
use serde::Serialize;

use crate::exit::Outcome;
use crate::output::{self, Paint};
use crate::platforms::{self, Name};

/// List events: subject, owner, retention, tenancy, aliases
///
/// Examples:
///   karwan catalog list
///   karwan catalog list --platform melmastoon --format json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Only this platform
    #[arg(long)]
    platform: Option<Name>,
    /// Also events that never leave their device
    #[arg(long)]
    all: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Columns for people
    Table,
    /// An array of objects
    Json,
}

/// One event; these names are stable.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    subject: &'a str,
    aliases: &'a [String],
    owner: &'a str,
    retention: &'a str,
    merkle: bool,
    tenancy: Tenancy,
    schema_uri: &'a SchemaUri,
    decided_here: bool,
}

pub fn run(args: &Args) -> Outcome {
    let catalogues = platforms::catalogues(args.platform)?;
    let entries = catalogues.iter().flat_map(|catalogue| catalogue.directory().entries());
    let mut entries: Vec<&Entry> = entries.filter(|entry| args.all || !entry.row.local_only).collect();
    entries.sort_by(|a, b| a.row.subject.cmp(&b.row.subject));
    match args.format {
        Format::Json => output::json(&entries.into_iter().map(line).collect::<Vec<_>>())?,
        Format::Table => {
            output::data(&table(&entries))?;
            output::note(&format!("{} events", entries.len()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn line(entry: &Entry) -> Line<'_> {
    let row = &entry.row;
    Line {
        subject: &row.subject,
        aliases: &row.aliases,
        owner: &row.owner,
        retention: &row.retention,
        merkle: row.merkle,
        tenancy: row.tenancy,
        schema_uri: &entry.schema,
        decided_here: row.decided_here,
    }
}

fn table(entries: &[&Entry]) -> String {
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| {
            let row = &entry.row;
            vec![
                row.subject.clone(),
                row.owner.clone(),
                row.retention.clone(),
                super::label(row.tenancy).to_owned(),
                row.aliases.join(" "),
            ]
        })
        .collect();
    output::table(&["SUBJECT", "OWNER", "RETENTION", "TENANCY", "ALIASES"], &rows, Paint::stdout())
}
