//! The events of one subject, counted against a new schema.

use std::collections::BTreeMap;

use anyhow::{Context, anyhow};
use karwan_envelope::directory::Hash;
use karwan_envelope::violation::Violation;
use karwan_registry::catalogue::Schema;
use karwan_registry::evolution::audit::{Example, ReleaseAudit, SubjectAudit};
use karwan_registry::hash::hash;
use karwan_registry::payload::Payload;
use karwan_registry::schema;
use karwan_store::log::LogRow;
use karwan_store::stored;
use serde_json::Value;

/// Events that are named; the others are counted.
const EXAMPLES_MAX: usize = 10;
/// Places of one event that are named.
const VIOLATIONS_MAX: usize = 3;
/// Releases that are told apart; more is a forger's work, and the rest is counted as one that names no schema.
const RELEASES_MAX: usize = 100;

/// A running count. Bounded, however many events there are.
pub struct Tally {
    subject: String,
    hashes: (Hash, Hash),
    schema: Schema,
    events: u64,
    refused: u64,
    releases: BTreeMap<Option<Hash>, (u64, u64)>,
    examples: Vec<Example>,
}

impl Tally {
    /// Nothing counted yet.
    pub fn new(subject: &str, old: &Value, new: &Value) -> anyhow::Result<Self> {
        let hash = |schema| hash(schema).with_context(|| format!("a schema of {subject} has no content hash"));
        let broken = |error: String| anyhow!("the new schema of {subject} does not compile: {error}");
        drop(schema::in_place_validator(new).map_err(|error| broken(error.to_string()))?);
        Ok(Self {
            subject: subject.to_owned(),
            hashes: (hash(old)?, hash(new)?),
            schema: Schema::new(subject.to_owned(), new.clone()),
            events: 0,
            refused: 0,
            releases: BTreeMap::new(),
            examples: Vec::new(),
        })
    }

    /// Whether it counts events of this subject.
    pub fn is_about(&self, subject: &str) -> bool {
        self.subject == subject
    }

    /// Holds one event against the new schema.
    pub fn count(&mut self, row: &LogRow) {
        let contents = stored::contents(&row.envelope);
        let schema = contents.as_ref().and_then(|contents| contents.schema.as_ref()).map(|uri| uri.hash);
        let known = self.releases.len() < RELEASES_MAX || self.releases.contains_key(&schema);
        let violations = match contents.as_ref().map(|contents| Payload::read(contents.payload)) {
            // Without the values: they may be personal.
            Some(Ok(payload)) => {
                let violations = self.schema.violations(&payload);
                let place = |it: &Violation| format!("{}: {}", it.pointer, it.message);
                violations.iter().take(VIOLATIONS_MAX).map(place).collect()
            }
            Some(Err(_)) | None => vec!["it cannot be read".to_owned()],
        };
        let refused = u64::from(!violations.is_empty());
        self.events += 1;
        self.refused += refused;
        let release = self.releases.entry(schema.filter(|_| known)).or_default();
        release.0 += 1;
        release.1 += refused;
        if refused > 0 && self.examples.len() < EXAMPLES_MAX {
            self.examples.push(Example { event: row.event.to_string(), seq: row.seq, violations });
        }
    }

    /// What was found.
    pub fn found(self) -> SubjectAudit {
        let release = |(schema, (events, refused))| ReleaseAudit { schema, events, refused };
        SubjectAudit {
            subject: self.subject,
            old: self.hashes.0,
            new: self.hashes.1,
            events: self.events,
            refused: self.refused,
            releases: self.releases.into_iter().map(release).collect(),
            examples: self.examples,
        }
    }
}
