//! `karwan schema audit`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use karwan_envelope::json::{self, Limits};
use karwan_envelope::time::{Clock as _, SystemClock, Timestamp};
use karwan_registry::contract::Contract;
use karwan_registry::evolution::audit::{Audit, SubjectAudit};
use karwan_registry::evolution::{self, GateReport, Verdict};
use karwan_registry::files::pretty;
use karwan_store::Address;
use karwan_store::log::{Filter, LogRow, Seq};
use serde_json::{Value, json};

use super::diff;
use super::gate;
use super::named;
use super::render;
use super::tally::Tally;
use crate::exit::{Failure, Outcome};
use crate::log::Reader;
use crate::output::{self, Paint};
use crate::progress::Progress;
use crate::settings::{Flags, Settings};
use crate::{input, platforms, runtime, tree};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const COMPILED_IN: &str = "the compiled-in catalogue";

/// Ask past events whether a narrowed schema is allowed: exit 0 yes, 1 no, 2 events cannot say
///
/// OLD and NEW are catalogues, bundles, or two schemas of one subject. Without NEW, the
/// compiled-in catalogue is meant; without OLD, too, what it replaces are the schemas that the
/// events of these days name. Events of the last days are held against the new schema, where
/// the gate found that it admits less. The log is read as `karwan log tail` reads it; nothing
/// is written, and what is in an event is never printed.
///
/// Examples:
///   karwan schema audit --store postgres://node@localhost/app --days 30
///   karwan schema audit --store postgres://node@localhost/app --days 30 release-bundle.json catalog
///   karwan schema audit --store sqlite:karwan.db old.json new.json --subject shop.order.placed.v1
///   karwan schema audit --store sqlite:karwan.db old new --out audit.json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// The catalogue, bundle or schema as it was; else the schemas that the store's events name
    old: Option<PathBuf>,
    /// The catalogue, bundle or schema as it will be; else the compiled-in catalogue
    new: Option<PathBuf>,
    /// How many days back; the gate wants 30
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
    /// Whose schemas the two files are, where they do not say it themselves (x-subject)
    #[arg(long)]
    subject: Option<String>,
    /// Write the result for `karwan schema gate --audit`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Human,
    /// For programs; stable
    Json,
}

/// Schemas by subject, as gates compare them.
pub type Schemas = BTreeMap<String, Value>;

pub fn run(args: &Args) -> Outcome {
    let address = Settings::load(&args.flags)?.store()?;
    runtime::block_on(async {
        let now = SystemClock.now();
        let since = now.plus_ms(-i64::from(args.days) * DAY_MS);
        let ((old, new, mut report), at_least) = match &args.old {
            Some(old) => (judged(args, old)?, Verdict::Identical),
            None => by_events(args, &address, since).await?,
        };
        let answered = report.subjects.iter().filter(|it| it.findings.iter().any(evolution::Finding::events_answer));
        let asked: Vec<String> = answered.map(|subject| subject.subject.clone()).collect();
        let tallies = asked.iter().map(|subject| Tally::new(subject, &old[subject], &new[subject]));
        let mut tallies: Vec<Tally> = tallies.collect::<Result<_, _>>().map_err(Failure::input)?;
        let mut count = |row: &LogRow| {
            if let Some(tally) = tallies.iter_mut().find(|tally| tally.is_about(&row.subject)) {
                tally.count(row);
            }
        };
        let covered = asked.is_empty() || look(&address, since, &mut count).await?;
        let subjects: Vec<SubjectAudit> = tallies.into_iter().map(Tally::found).collect();
        let audit = Audit { audit: 1, audited_at: now, days: args.days, covered, subjects };
        for reason in report.settle(&audit, (&old, &new), now) {
            output::note(&format!("not settled: {reason}"));
        }
        if let Some(out) = &args.out {
            let document = serde_json::to_value(&audit).map_err(anyhow::Error::from)?;
            tree::replace(out, &pretty(&document)).with_context(|| format!("cannot write {}", out.display()))?;
        }
        let verdict = report.verdict().max(at_least);
        match args.format {
            Format::Human => output::data(&human(&audit, &report, verdict))?,
            Format::Json => {
                output::json(&json!({ "verdict": verdict, "audit": audit, "subjects": report.subjects }))?;
            }
        }
        Ok(verdict.exit_code().into())
    })
}

/// An audit from a file.
pub fn read(path: &Path) -> Result<Audit, Failure> {
    let bytes = input::read(path)?;
    let unreadable = || format!("{} is no audit that `karwan schema audit --out` wrote", path.display());
    let text = json::check(&bytes, Limits::SCHEMA).with_context(unreadable).map_err(Failure::input)?;
    serde_json::from_str(text).with_context(unreadable).map_err(Failure::input)
}

/// Both sides, and what the gate says of them. Two catalogues are judged with their strict subjects.
fn judged(args: &Args, old_file: &Path) -> Result<(Schemas, Schemas, GateReport), Failure> {
    let Some(new_file) = args.new.as_deref() else {
        if !is_catalogue(old_file)? {
            let old = old_file.display();
            return Err(Failure::usage(anyhow!(
                "{old} is one schema: name the one that replaces it, too (see --help)"
            )));
        }
        let old = gate::contract(&tree::read_dir_or_bundle(old_file)?, old_file)?;
        return compared(args, (old, old_file), (compiled_in()?, Path::new(COMPILED_IN)));
    };
    if is_catalogue(old_file)? != is_catalogue(new_file)? {
        return Err(Failure::input(anyhow!("one is a catalogue and the other a schema: name two of a kind")));
    }
    if is_catalogue(old_file)? {
        let old = gate::contract(&tree::read_dir_or_bundle(old_file)?, old_file)?;
        let new = gate::contract(&tree::read_dir_or_bundle(new_file)?, new_file)?;
        return compared(args, (old, old_file), (new, new_file));
    }
    let (old, new) = (diff::read(old_file)?, diff::read(new_file)?);
    let named = new.get("x-subject").or_else(|| old.get("x-subject")).and_then(Value::as_str);
    let subject = args
        .subject
        .as_deref()
        .or(named)
        .map(str::to_owned)
        .ok_or_else(|| Failure::usage(anyhow!("whose schemas are these? name it with --subject (see --help)")))?;
    let (old, new) = (Schemas::from([(subject.clone(), old)]), Schemas::from([(subject, new)]));
    let report = evolution::gate(&old, &new).map_err(|error| diff::unjudged(&error, old_file, new_file))?;
    Ok((old, new, report))
}

/// What the gate says of two catalogues.
fn compared(
    args: &Args,
    (old, old_name): (Contract, &Path),
    (new, new_name): (Contract, &Path),
) -> Result<(Schemas, Schemas, GateReport), Failure> {
    let report = evolution::gate(&old.schemas, &new.schemas);
    let mut report = report.map_err(|error| diff::unjudged(&error, old_name, new_name))?;
    report.harden(&old.strict.union(&new.strict).cloned().collect());
    if let Some(subject) = &args.subject {
        report.subjects.retain(|report| report.subject == *subject);
    }
    Ok((old.schemas, new.schemas, report))
}

/// The compiled-in catalogue against what events name, where that is something else; and the least that must be said, because
/// events do not tell everything.
async fn by_events(
    args: &Args,
    address: &Address,
    since: Timestamp,
) -> Result<((Schemas, Schemas, GateReport), Verdict), Failure> {
    let mut new = compiled_in()?;
    let (schemas, whole) = named::others(address, since, &new.schemas).await?;
    new.schemas.retain(|subject, _| schemas.contains_key(subject));
    let old = Contract { schemas, ..Contract::default() };
    let old = (old, Path::new("the schemas that events name"));
    let least = if whole { Verdict::Identical } else { Verdict::NeedsAudit };
    Ok((compared(args, old, (new, Path::new(COMPILED_IN)))?, least))
}

fn compiled_in() -> Result<Contract, Failure> {
    gate::contract(&platforms::tree(&platforms::catalogues(None)?), Path::new(COMPILED_IN))
}

/// A folder, or a file that says that it is a bundle.
fn is_catalogue(path: &Path) -> Result<bool, Failure> {
    Ok(path.is_dir() || diff::read(path)?.get("bundle").is_some_and(Value::is_number))
}

/// Shows every event since an instant; whether those were all the events of that time.
pub async fn look(address: &Address, since: Timestamp, each: &mut impl FnMut(&LogRow)) -> Result<bool, Failure> {
    let mut reader = Reader::open(address.clone(), Filter::default()).await?;
    let end = reader.end().await?.seq;
    // The store's clock may have been set back by a little meanwhile: rows are chosen by their own time.
    let first = reader.go_to(since.plus_ms(-DAY_MS).unix_ms()).await?;
    let from = reader.position.seq;
    let covered = !reader.is_cut().await? || first.is_some_and(|row| row.at < since.unix_ms());
    let progress = Progress::new();
    let total = |seq: Seq| u64::try_from(seq - from).unwrap_or_default();
    let mut last = from;
    reader
        .read_to(end, |rows| {
            rows.iter().filter(|row| row.at >= since.unix_ms()).for_each(&mut *each);
            last = rows.last().map_or(last, |row| row.seq);
            progress.tell("auditing", total(last), total(end));
            Ok(())
        })
        .await?;
    Ok(covered && reader.position.seq >= end)
}

fn human(audit: &Audit, report: &GateReport, verdict: Verdict) -> String {
    let paint = Paint::stdout();
    let mut text = String::new();
    for subject in &report.subjects {
        text.push_str(&format!("{}\n", paint.bold(&subject.subject)));
        for finding in &subject.findings {
            text.push_str(&render::human_finding(finding, paint));
        }
        if let Some(found) = audit.subjects.iter().find(|found| found.subject == subject.subject) {
            text.push_str(&told(found, audit.days));
        }
    }
    format!("{text}verdict: {}", render::coloured(verdict, paint))
}

/// What was looked at, and what would be refused.
fn told(found: &SubjectAudit, days: u32) -> String {
    let SubjectAudit { events, refused, .. } = found;
    let mut text = format!("  {events} events of the last {days} days looked at, {refused} would be refused\n");
    if *events == 0 {
        text.push_str("  none at all: is this the store of the service that publishes it?\n");
    }
    for release in &found.releases {
        let schema = release.schema.map_or_else(|| "no schema".to_owned(), |hash| format!("sha256-{hash}"));
        let (events, refused) = (release.events, release.refused);
        text.push_str(&format!("    {events} written by {schema}, {refused} would be refused\n"));
    }
    for example in &found.examples {
        let violations = example.violations.join("; ");
        text.push_str(&format!("    event {} at {}: {violations}\n", example.event, example.seq));
    }
    text
}
