//! `karwan envelope validate`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use karwan_envelope::directory::{Directory, Entry, SchemaUri};
use karwan_envelope::json::{self, Limits};
use karwan_envelope::profile::{Profile, Wire};
use karwan_envelope::subject::Subject;
use karwan_envelope::violation::{Rule, Violation, Violations};
use karwan_envelope::wire;
use karwan_registry::Catalogue;
use karwan_registry::payload::Payload;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::mend::mend;
use super::place::placed;
use crate::exit::{Failure, Outcome};
use crate::platforms::{self, ProfileName};
use crate::{input, output, tree};

/// Validate an envelope: exit 0, or 1 with every violation
///
/// The profile's form, the catalogue's rules and the payload's schema are checked. The schema is the one that the
/// envelope names by its content hash; older ones come from the bundles of earlier releases. Ordering and idempotency
/// keys are not derived again: a template that changed must not refuse the events before it.
///
/// Examples:
///   karwan envelope validate event.json
///   karwan envelope validate old-event.json --bundle release-bundle.json
///   cat event.json | karwan envelope validate - --profile lock-ce
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The envelope, or - for standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Its profile; guessed from its fields if absent
    #[arg(long)]
    profile: Option<ProfileName>,
    /// An earlier release's bundle or catalogue, for envelopes that name its schemas; may be given again
    #[arg(long, value_name = "DIR_OR_BUNDLE")]
    bundle: Vec<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    let bytes = input::read(&args.file)?;
    let mut catalogues = platforms::catalogues(None)?;
    for path in &args.bundle {
        let release = tree::read_dir_or_bundle(path)?;
        for catalogue in &mut catalogues {
            let learned = catalogue.learn_release(&release);
            learned.with_context(|| format!("cannot learn from {}", path.display())).map_err(Failure::input)?;
        }
    }
    let (profile, how) = args.profile.map_or_else(|| (guess(&bytes), " (guessed)"), |profile| (profile, ""));
    let profile = profile.profile();
    match validate(&catalogues, &profile, &bytes) {
        Ok(subject) => {
            output::note(&format!("valid: {subject}, profile {}{how}", profile.name));
            Ok(ExitCode::SUCCESS)
        }
        Err(Violations(violations)) => {
            let plural = if violations.len() == 1 { "" } else { "s" };
            let summary = format!("{} violation{plural}, profile {}{how}", violations.len(), profile.name);
            for violation in violations {
                output::data(&placed(&profile, violation).to_string())?;
            }
            output::note(&summary);
            Ok(ExitCode::FAILURE)
        }
    }
}

fn validate(catalogues: &[Catalogue], profile: &Profile, bytes: &[u8]) -> Result<String, Violations> {
    let directory = platforms::directory(catalogues);
    let envelope = match wire::decode(profile, &directory, bytes) {
        Ok(decoded) => decoded.envelope,
        Err(Violations(mut violations)) => {
            violations.extend(further(catalogues, &directory, profile, bytes, &violations));
            return Err(Violations(violations));
        }
    };
    let subject = envelope.subject.as_str();
    owner(catalogues, subject).expect("decoding resolved the subject in one of them").validate(&envelope)?;
    Ok(subject.to_owned())
}

fn owner<'a>(catalogues: &'a [Catalogue], subject: &str) -> Option<&'a Catalogue> {
    catalogues.iter().find(|catalogue| catalogue.directory().resolve(subject).is_some())
}

/// What else is wrong with an envelope that is itself broken: who mends the one wants to know of the other.
fn further(
    catalogues: &[Catalogue],
    directory: &Directory,
    profile: &Profile,
    bytes: &[u8],
    broken: &[Violation],
) -> Vec<Violation> {
    // What is no strict JSON has no rest to speak of.
    let Ok(text) = json::check(bytes, Limits::ENVELOPE) else { return Vec::new() };
    let Ok(fields) = serde_json::from_str::<Fields<'_>>(text) else { return Vec::new() };
    let names = subjects(profile, &fields);
    let Some(entry) = names.iter().find_map(|name| directory.resolve(name)) else { return Vec::new() };
    let Some(catalogue) = owner(catalogues, &entry.row.subject) else { return Vec::new() };
    let document = serde_json::from_str(text).unwrap_or_default();
    match mend(profile, directory, entry, &document, broken) {
        Some(mended) => {
            let violations = catalogue.validate(&mended.envelope).err().map(|violations| violations.0);
            let of_mended = |violation: &Violation| mended.covers(&placed(profile, violation.clone()));
            violations.into_iter().flatten().filter(|violation| !of_mended(violation)).collect()
        }
        None => payload_violations(catalogue, entry, profile, &fields),
    }
}

/// What is wrong with the payload alone.
fn payload_violations(catalogue: &Catalogue, entry: &Entry, profile: &Profile, fields: &Fields<'_>) -> Vec<Violation> {
    let (payload, uri) = match profile.wire {
        Wire::Nested | Wire::Flat => ("payload", "schemaUri"),
        Wire::TableRow => ("payload", ""),
        Wire::SpecData => ("data", ""),
        Wire::CloudEvents => ("data", "dataschema"),
    };
    let Some(Ok(payload)) = fields.get(payload).map(|raw| Payload::read(raw.get())) else { return Vec::new() };
    let uri: Option<SchemaUri> = string(fields, uri).and_then(|uri| uri.parse().ok());
    let named = uri.and_then(|uri| catalogue.schema_by_hash(&uri.hash));
    let violations = named.or_else(|| catalogue.schema(&entry.row.subject)).map(|schema| schema.violations(&payload));
    violations.unwrap_or_default().into_iter().filter(|violation| violation.rule == Rule::Payload).collect()
}

/// A document's fields at the top, not yet read.
type Fields<'a> = BTreeMap<String, &'a RawValue>;

fn string(fields: &Fields<'_>, name: &str) -> Option<String> {
    serde_json::from_str(fields.get(name)?.get()).ok()
}

/// The spellings that a document may mean as its subject.
fn subjects(profile: &Profile, fields: &Fields<'_>) -> Vec<String> {
    let text = |field: &str| string(fields, field);
    match profile.wire {
        Wire::SpecData => ["subject", "type"].into_iter().filter_map(text).collect(),
        Wire::CloudEvents => text("type").into_iter().collect(),
        Wire::Nested | Wire::Flat | Wire::TableRow => {
            let version = fields.get("eventVersion").and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(1);
            let Some(name) = text("eventType") else { return Vec::new() };
            let versioned = Subject::of(&name, version, true).ok().map(|subject| subject.as_str().to_owned());
            [versioned, Some(name)].into_iter().flatten().collect()
        }
    }
}

/// The profile whose tell-tale field a document has at its top; only a convenience.
fn guess(bytes: &[u8]) -> ProfileName {
    let fields: BTreeMap<String, IgnoredAny> = serde_json::from_slice(bytes).unwrap_or_default();
    let has = |field: &str| fields.contains_key(field);
    if has("specversion") {
        ProfileName::Cloudevents
    } else if has("specVersion") {
        ProfileName::LockCe
    } else if has("partitionKey") {
        ProfileName::Learning
    } else if has("createdAt") && !has("eventVersion") {
        ProfileName::Panorama
    } else {
        ProfileName::Melmastoon
    }
}
