//! The catalogue: a platform's event types with their schemas, and the one place where envelopes are made and judged.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, RwLock};

use karwan_envelope::Envelope;
use karwan_envelope::directory::{Directory, Entry, Hash, SchemaUri};
use karwan_envelope::envelope::{Context, Draft};
use karwan_envelope::ids::Form;
use karwan_envelope::mint::{Mint, Random};
use karwan_envelope::row::AiProvenance;
use karwan_envelope::subject::BadSubject;
use karwan_envelope::time::Clock;
use karwan_envelope::violation::{Rule, Violation, Violations};
use serde_json::Value;

use crate::contract;
use crate::files::Tree;
use crate::hash::{HashError, hash};
use crate::payload::{InPlace, Payload};
use crate::platform::Platform;
use crate::{Event, schema};

/// A platform's events, their schemas and their validators.
#[derive(Debug)]
pub struct Catalogue {
    platform: &'static Platform,
    directory: Directory,
    schemas: HashMap<Hash, Schema>,
    /// Those of other releases, learned while events were read: each is fetched and compiled once.
    learned: RwLock<HashMap<Hash, Arc<Schema>>>,
    by_subject: HashMap<String, Hash>,
    tenant_forms: Vec<Form>,
}

/// A schema with its validator, compiled when first needed.
#[derive(Debug)]
pub struct Schema {
    /// The document.
    pub document: Value,
    path: String,
    validator: OnceLock<Option<jsonschema::Validator<InPlace>>>,
}

/// Why a catalogue cannot be built from a platform's types.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A name outside the grammar.
    #[error("an event is named outside the grammar")]
    Subject(#[from] BadSubject),
    /// A retention class that the platform does not have.
    #[error("{subject}: no retention class `{class}`")]
    Retention {
        /// The event.
        subject: String,
        /// The label.
        class: String,
    },
    /// A schema without a hash.
    #[error("{subject}: its schema has no content hash")]
    Hash {
        /// The event.
        subject: String,
        /// Why.
        #[source]
        cause: HashError,
    },
}

/// Why a schema was not learned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LearnError {
    /// It has no hash.
    #[error("the schema of {path} has no content hash")]
    Hash {
        /// Its path.
        path: String,
        /// Why.
        #[source]
        cause: HashError,
    },
    /// It is not the schema that the URI names.
    #[error("the content hash of this schema is {actual}, and not that of {uri}")]
    Content {
        /// What was asked for.
        uri: SchemaUri,
        /// What it is.
        actual: Hash,
    },
    /// The tree that should hold it cannot be read.
    #[error("the bundle cannot be read")]
    Unreadable(#[from] contract::Unreadable),
}

impl Catalogue {
    /// The catalogue of a platform's compiled-in types.
    pub fn of(platform: &'static Platform) -> Result<Self, BuildError> {
        let mut catalogue = Self {
            platform,
            directory: Directory::default(),
            schemas: HashMap::new(),
            learned: RwLock::default(),
            by_subject: HashMap::new(),
            tenant_forms: platform.profiles.iter().map(|profile| profile.tenant_id).collect(),
        };
        let mut entries = Vec::new();
        for event in (platform.events)() {
            let row = (event.row)();
            let parts = platform.grammar.parse(&row.subject)?;
            let class = platform.retention.iter().find(|class| class.label == row.retention);
            let retention = class
                .ok_or_else(|| BuildError::Retention { subject: row.subject.clone(), class: row.retention.clone() })?
                .retention();
            let document = schema::identified((event.schema)(), &parts, &row);
            let digest = hash(&document).map_err(|cause| BuildError::Hash { subject: row.subject.clone(), cause })?;
            let uri = SchemaUri { path: parts.schema_path(), hash: digest };
            catalogue.by_subject.insert(row.subject.clone(), digest);
            catalogue.schemas.insert(digest, Schema::new(uri.path.clone(), document));
            entries.push(Entry { row, parts, schema: uri, retention });
        }
        catalogue.directory = Directory::new(entries);
        Ok(catalogue)
    }

    /// The platform.
    pub fn platform(&self) -> &'static Platform {
        self.platform
    }

    /// Its subjects.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// The current schema of a canonical subject.
    pub fn schema(&self, subject: &str) -> Option<&Schema> {
        self.schemas.get(self.by_subject.get(subject)?)
    }

    /// The schema with this content, current or older.
    pub fn schema_by_hash(&self, hash: &Hash) -> Option<&Schema> {
        self.schemas.get(hash)
    }

    /// Learns a schema that is not the current one: events written by it are validated by it, as their URI asks.
    pub fn learn(&mut self, uri: &SchemaUri, document: Value) -> Result<(), LearnError> {
        let actual = named_by(uri, &document)?;
        self.schemas.entry(actual).or_insert_with(|| Schema::new(uri.path.clone(), document));
        Ok(())
    }

    /// The same while the catalogue is in use; at most [`LEARNED_MAX`], beyond which what was learned is forgotten.
    pub fn learn_in_use(&self, uri: &SchemaUri, document: Value) -> Result<(), LearnError> {
        let actual = named_by(uri, &document)?;
        let mut learned = self.learned.write().expect("nothing panics while holding it");
        if learned.len() >= LEARNED_MAX {
            learned.clear();
        }
        learned.entry(actual).or_insert_with(|| Arc::new(Schema::new(uri.path.clone(), document)));
        Ok(())
    }

    /// The schema that a URI names, whether it came with the program or was learned.
    fn named(&self, uri: &SchemaUri) -> Option<Known<'_>> {
        if let Some(schema) = self.schemas.get(&uri.hash) {
            return Some(Known::Own(schema)).filter(|_| schema.path == uri.path);
        }
        let learned = self.learned.read().expect("nothing panics while holding it").get(&uri.hash).cloned();
        learned.filter(|schema| schema.path == uri.path).map(Known::Learned)
    }

    /// Learns the schemas of this platform that a release published; a release without this platform teaches nothing.
    pub fn learn_release(&mut self, release: &Tree) -> Result<(), LearnError> {
        for (uri, document) in contract::published_schemas(release, self.platform.name)? {
            self.learn(&uri, document)?;
        }
        Ok(())
    }

    /// Envelopes an event of this platform, and refuses what the catalogue does not allow.
    pub fn envelope<E: Event, C: Clock, R: Random>(
        &self,
        event: &E,
        context: &Context,
        provenance: Option<AiProvenance>,
        mint: &Mint<C, R>,
    ) -> Result<Envelope, Violations> {
        let Some(entry) = self.directory.resolve(E::SUBJECT) else {
            let message = format!("`{}` is not in the catalogue of {}", E::SUBJECT, self.platform.name);
            return Err(Violation::new(Rule::SubjectUnknown, "", message).into());
        };
        let unwritable = |error: serde_json::Error| Violation::new(Rule::Payload, "/payload", error.to_string());
        let payload = serde_json::value::to_raw_value(event).map_err(unwritable)?;
        let draft =
            Draft { key: event.key(), idempotency_key: event.idempotency_key(), payload, ai_provenance: provenance };
        let envelope = draft.seal(entry, context, mint);
        self.judge(entry, &envelope).map(|()| envelope)
    }

    /// Judges an envelope by the catalogue: the same rules when it is produced and when it is consumed.
    pub fn validate(&self, envelope: &Envelope) -> Result<(), Violations> {
        let Some(entry) = self.directory.resolve(envelope.subject.as_str()) else {
            let message = format!("`{}` is not in the catalogue of {}", envelope.subject, self.platform.name);
            return Err(Violation::new(Rule::SubjectUnknown, "", message).into());
        };
        self.judge(entry, envelope)
    }

    fn judge(&self, entry: &Entry, envelope: &Envelope) -> Result<(), Violations> {
        let payload = Payload::read(envelope.payload.get())
            .map_err(|error| Violation::new(Rule::Payload, "/payload", error.to_string()))?;
        let mut violations = crate::rules::judge(&self.tenant_forms, entry, envelope, &payload);
        self.judge_payload(entry, envelope, &payload, &mut violations);
        if violations.is_empty() { Ok(()) } else { Err(Violations(violations)) }
    }

    /// By the schema that the URI names, not by the newest one: what was valid when it was written stays valid.
    fn judge_payload(
        &self,
        entry: &Entry,
        envelope: &Envelope,
        payload: &Payload<'_>,
        violations: &mut Vec<Violation>,
    ) {
        if envelope.schema.path != entry.schema.path {
            let message = format!("{} has its schema at schemas://{}", entry.row.subject, entry.schema.path);
            violations.push(Violation::new(Rule::SchemaMismatch, "/schemaUri", message));
            return;
        }
        match self.named(&envelope.schema) {
            Some(Known::Own(schema)) => violations.extend(schema.violations(payload)),
            Some(Known::Learned(schema)) => violations.extend(schema.violations(payload)),
            None => {
                let message = format!(
                    "no known schema of {} has the hash sha256-{}; load the bundle that published it",
                    entry.row.subject, envelope.schema.hash
                );
                violations.push(Violation::new(Rule::SchemaUnknown, "/schemaUri", message));
            }
        }
    }
}

enum Known<'a> {
    Own(&'a Schema),
    Learned(Arc<Schema>),
}

/// The most schemas of other releases that are kept.
pub const LEARNED_MAX: usize = 10_000;

/// The hash of a document, which is the one that its URI names.
fn named_by(uri: &SchemaUri, document: &Value) -> Result<Hash, LearnError> {
    let actual = hash(document).map_err(|cause| LearnError::Hash { path: uri.path.clone(), cause })?;
    if actual == uri.hash { Ok(actual) } else { Err(LearnError::Content { uri: uri.clone(), actual }) }
}

/// How many violations of one payload are listed; a hostile one has no more to say.
pub const PAYLOAD_VIOLATIONS_MAX: usize = 100;

impl Schema {
    /// A schema at its path.
    pub fn new(path: String, document: Value) -> Self {
        Self { document, path, validator: OnceLock::new() }
    }

    /// Where a payload breaks the schema. Values are not repeated in messages: they may be personal.
    pub fn violations(&self, payload: &Payload<'_>) -> Vec<Violation> {
        let Some(validator) = self.validator.get_or_init(|| schema::in_place_validator(&self.document).ok()) else {
            return vec![Violation::new(Rule::Payload, "/payload", "its schema does not compile")];
        };
        if validator.is_valid(payload.root()) {
            return Vec::new();
        }
        let errors = validator.iter_errors(payload.root()).take(PAYLOAD_VIOLATIONS_MAX);
        errors
            .map(|error| {
                let pointer = format!("/payload{}", error.instance_path());
                Violation::new(Rule::Payload, pointer, error.masked().to_string())
            })
            .collect()
    }
}
