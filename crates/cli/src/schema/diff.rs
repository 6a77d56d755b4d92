//! `karwan schema diff`.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use karwan_envelope::json::{self, Limits};
use karwan_registry::evolution;
use serde_json::Value;

use super::render::{self, Section};
use super::{Format, Ticket};
use crate::exit::{Failure, Outcome};
use crate::input;

/// Compare two JSON Schemas: exit 0 additive, 1 breaking, 2 needs audit, 64 bad usage, 65 bad input
///
/// Both directions are judged: old events under the new schema, and new events at
/// a consumer that knows only the old one. Every finding names its rule, the
/// place, what changed and what to do.
///
/// Examples:
///   karwan schema diff old.json new.json
///   karwan schema diff old.json new.json --format github
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The schema as it was
    old: PathBuf,
    /// The schema as it will be
    new: PathBuf,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Let the change pass, recorded under this incident ticket
    #[arg(long, value_name = "ID")]
    override_ticket: Option<Ticket>,
}

pub fn run(args: &Args) -> Outcome {
    let (old, new) = (read(&args.old)?, read(&args.new)?);
    let report = evolution::compare(&old, &new).map_err(|error| unjudged(&error, &args.old, &args.new))?;
    let section = Section { file: args.new.display().to_string(), subject: None, findings: &report.findings };
    render::report(&[section], report.verdict(), args.format, args.override_ticket.as_ref())
}

/// A schema from a file.
pub fn read(path: &Path) -> Result<Value, Failure> {
    let bytes = input::read(path)?;
    let parsed = json::parse(&bytes, Limits::SCHEMA);
    parsed.with_context(|| format!("{} is not strict JSON", path.display())).map_err(Failure::input)
}

/// Why two inputs could not be compared: the file, the place in it and the rule.
pub fn unjudged(error: &evolution::Error, old: &Path, new: &Path) -> Failure {
    let evolution::Error { subject, side, pointer, fault } = error;
    let file = match side {
        evolution::Side::Old => old,
        evolution::Side::New => new,
    };
    let subject = subject.as_deref().map(|subject| format!(" {subject},")).unwrap_or_default();
    let pointer = if pointer.is_empty() { "/" } else { pointer };
    let cause = anyhow!("at {pointer}: {fault} ({})", fault.rule());
    Failure::input(cause.context(format!("{}:{subject} the {side} schema cannot be judged", file.display())))
}
