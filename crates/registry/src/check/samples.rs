//! The samples: payloads by the schema of their subject, envelopes by their profile and the catalogue's rules.

use karwan_envelope::directory::{Directory, Entry};
use karwan_envelope::json::{self, Limits};
use karwan_envelope::profile::Profile;
use karwan_envelope::row::{Row, Template};
use karwan_envelope::subject::{Parts, Subject};
use karwan_envelope::wire;

use super::place::{Finding, Gate};
use super::platform::Files;
use crate::catalogue::PAYLOAD_VIOLATIONS_MAX;
use crate::files::{SAMPLES, Topic};
use crate::payload::Payload;
use crate::rules;

const REMEDY: &str = "mend the sample or the schema: what the documentation shows must be valid";

pub(super) fn check(files: &Files<'_>, profiles: &[Profile], findings: &mut Vec<Finding>) {
    let directory = directory(files);
    for path in files.policy.samples.iter().filter(|path| !files.samples.contains_key(*path)) {
        let message = "the policy names this sample, and it is not there";
        findings.push(Finding::new(Gate::Sample, files.place(&format!("{SAMPLES}/{path}"), ""), message, REMEDY));
    }
    for (path, bytes) in &files.samples {
        let messages = if let Some(subject) = path.strip_prefix("payloads/").and_then(|it| it.strip_suffix(".json")) {
            payload(files, &directory, subject, bytes)
        } else if let Some((profile, _)) = path.strip_prefix("envelopes/").and_then(|it| it.split_once('/')) {
            match profiles.iter().find(|known| known.name == profile) {
                Some(profile) => envelope(files, &directory, profile, bytes),
                None => vec![format!("`{profile}` is no profile")],
            }
        } else if path.ends_with(".json") {
            vec!["samples are payloads/<subject>.json or envelopes/<profile>/<name>.json".to_owned()]
        } else {
            Vec::new()
        };
        let place = files.place(&format!("{SAMPLES}/{path}"), "");
        findings.extend(messages.into_iter().map(|message| Finding::new(Gate::Sample, &place, message, REMEDY)));
    }
}

fn payload(files: &Files<'_>, directory: &Directory, subject: &str, bytes: &[u8]) -> Vec<String> {
    let Some(entry) = directory.resolve(subject) else { return vec![format!("no row is named `{subject}`")] };
    match json::check(bytes, Limits::ENVELOPE) {
        Ok(text) => payload_errors(files, entry, text),
        Err(error) => vec![error.to_string()],
    }
}

fn payload_errors(files: &Files<'_>, entry: &Entry, text: &str) -> Vec<String> {
    let Some(schema) = files.schemas.get(&crate::files::schema_file(entry)) else { return Vec::new() };
    let Ok(validator) = crate::schema::in_place_validator(schema) else { return Vec::new() };
    match Payload::read(text) {
        Ok(payload) => {
            let errors = validator.iter_errors(payload.root()).take(PAYLOAD_VIOLATIONS_MAX);
            errors.map(|error| format!("/payload{}: {error}", error.instance_path())).collect()
        }
        Err(error) => vec![error.to_string()],
    }
}

fn envelope(files: &Files<'_>, directory: &Directory, profile: &Profile, bytes: &[u8]) -> Vec<String> {
    let decoded = match wire::decode(profile, directory, bytes) {
        Ok(decoded) => decoded,
        Err(violations) => return violations.0.iter().map(ToString::to_string).collect(),
    };
    let envelope = decoded.envelope;
    let entry = directory.resolve(envelope.subject.as_str()).expect("decoding resolved the subject here");
    let broken = Payload::read(envelope.payload.get())
        .map(|payload| rules::judge(&[profile.tenant_id], entry, &envelope, &payload))
        .unwrap_or_default();
    let mut messages: Vec<String> = broken.iter().map(ToString::to_string).collect();
    if envelope.schema != entry.schema {
        messages.push(format!("/schemaUri: {} is not the current schema, {}", envelope.schema, entry.schema));
    }
    messages.extend(payload_errors(files, entry, envelope.payload.get()));
    messages
}

/// The rows as codecs see them. A row whose name has no shape was reported by the gates before.
fn directory(files: &Files<'_>) -> Directory {
    let local = |topic: &Topic| files.topics.local_only.iter().any(|other| other.subject == topic.subject);
    Directory::new(files.rows().filter_map(|topic| entry(topic, local(topic))).collect())
}

fn entry(topic: &Topic, local_only: bool) -> Option<Entry> {
    let subject: Subject = topic.subject.parse().ok()?;
    let path = topic.schema_uri.path.clone();
    let mut parts = path.split('/').map(str::to_owned);
    let parts =
        Parts { subject, service: parts.next()?, aggregate: parts.next()?, verb: parts.next()?, partition: None };
    let topic = topic.clone();
    let key = topic.key.strip_prefix("{tenantId}:").unwrap_or_default().to_owned();
    let row = Row {
        subject: topic.subject,
        aliases: topic.aliases,
        owner: topic.owner,
        producers: topic.producers,
        summary: topic.summary,
        retention: topic.retention.class.clone(),
        merkle: topic.merkle,
        tenancy: topic.tenancy,
        scope: topic.scope,
        local_only,
        key: Template(key),
        idempotency_key: Template(topic.idempotency_key),
        ai_provenance: topic.ai_provenance,
        decided_here: topic.decided_here,
    };
    Some(Entry { row, parts, schema: topic.schema_uri, retention: topic.retention })
}
