//! The catalogue as files: what other languages read, what the gates judge, and what a release publishes.
//!
//! A tree is paths and contents; reading and writing it is the command line's business.

use std::collections::BTreeMap;

use karwan_envelope::directory::{Entry, SchemaUri};
use karwan_envelope::profile::Retention;
use karwan_envelope::row::{AiRule, Scope, Tenancy};
use karwan_envelope::wire;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::catalogue::Catalogue;
use crate::platform::{EnvelopeSchema, Platform, Policy};

/// Paths below the catalogue's root, with their contents.
pub type Tree = BTreeMap<String, Vec<u8>>;

/// The list of topics of a platform.
pub const TOPICS: &str = "topics.json";
/// The policy of a platform.
pub const POLICY: &str = "policy.json";
/// Where payload schemas live.
pub const SCHEMAS: &str = "event-schemas";
/// Where samples live.
pub const SAMPLES: &str = "samples";

/// `topics.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Topics {
    /// The platform.
    pub platform: String,
    /// One topic a subject.
    pub topics: Vec<Topic>,
    /// Events that never leave their device, and have no topic.
    pub local_only: Vec<Topic>,
}

/// One topic: the catalogue's row, and what follows from it. What a gate reports as missing may be absent here.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Topic {
    /// The canonical subject; also the topic's name.
    pub subject: String,
    /// Other spellings.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The version in the subject.
    pub version: u32,
    /// What happened.
    #[serde(default)]
    pub summary: String,
    /// The service that decides it.
    #[serde(default)]
    pub owner: String,
    /// The services that may publish it.
    #[serde(default)]
    pub producers: Vec<String>,
    /// Whose event it is.
    pub tenancy: Tenancy,
    /// How far its contract reaches.
    pub scope: Scope,
    /// The ordering key.
    #[serde(default)]
    pub key: String,
    /// The business intent.
    #[serde(default)]
    pub idempotency_key: String,
    /// How long it is kept.
    pub retention: Retention,
    /// Whether it is anchored in the Merkle tree.
    pub merkle: bool,
    /// Whether an AI takes part.
    pub ai_provenance: AiRule,
    /// Whether its payload was designed here.
    pub decided_here: bool,
    /// Its dead-letter topic.
    pub dead_letters: String,
    /// Its schema's address, with the content hash.
    pub schema_uri: SchemaUri,
    /// Its schema's file, below the platform's catalogue.
    pub schema_file: String,
    /// Other addresses of its schema.
    #[serde(default)]
    pub schema_addresses: Vec<String>,
}

/// `policy.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyFile {
    /// The platform.
    pub platform: String,
    /// The first segment of its subjects.
    pub prefix: Option<String>,
    /// Whether its subjects end in a version.
    pub versioned: bool,
    /// Whether its subjects name an aggregate between service and verb.
    pub aggregated: bool,
    /// Services by their token in subjects.
    pub services: BTreeMap<String, String>,
    /// Subjects outside the grammar, with the reason.
    pub exceptions: BTreeMap<String, ExceptionFile>,
    /// Subjects whose owner is not the service of their token.
    pub owners: BTreeMap<String, String>,
    /// Retention classes.
    pub retention: Vec<Retention>,
    /// Events of no tenant.
    pub platform_events: PlatformEvents,
    /// Where cross-tenant subjects may live.
    pub cross_tenant_prefixes: Vec<String>,
    /// The cross-tenant read paths: subject to consumers.
    pub cross_tenant_reads: BTreeMap<String, Vec<String>>,
    /// Subjects whose envelopes must carry AI provenance, by prefix.
    pub ai_prefixes: Vec<String>,
    /// Subjects whose payloads must carry AI provenance.
    pub ai_payloads: Vec<String>,
    /// Subjects with more publishers than the owner.
    pub shared: Vec<String>,
    /// Whether no audit can allow a narrowed range or pattern.
    pub narrowing_forbidden: bool,
    /// Samples that must be there, below `samples/`.
    pub samples: Vec<String>,
    /// Fields that look like secrets and are none: subject to pointers.
    pub not_secret: BTreeMap<String, Vec<String>>,
}

/// A subject outside the grammar.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExceptionFile {
    /// Its service's token.
    pub service: String,
    /// What counts as its aggregate.
    pub aggregate: String,
    /// What counts as its verb.
    pub verb: String,
    /// Why it is allowed.
    pub why: String,
}

/// Events of no tenant, and when that list was last looked at.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlatformEvents {
    /// The day of the last review; the list is reviewed every quarter.
    pub reviewed_on: String,
    /// The subjects.
    pub subjects: Vec<String>,
}

/// A platform's catalogue as files, below a folder of its name.
pub fn emit(catalogue: &Catalogue) -> Tree {
    let platform = catalogue.platform();
    let mut tree = Tree::new();
    let mut put = |path: String, document: &Value| {
        tree.insert(format!("{}/{path}", platform.name), pretty(document));
    };
    for entry in catalogue.directory().entries() {
        let schema = catalogue.schema(&entry.row.subject).expect("every entry was built with its schema");
        put(schema_file(entry), &schema.document);
    }
    let (local, public) = catalogue.directory().entries().iter().partition::<Vec<_>, _>(|entry| entry.row.local_only);
    let topics = |entries: Vec<&Entry>| {
        let mut topics: Vec<Topic> = entries.into_iter().map(|entry| topic(platform, entry)).collect();
        topics.sort_by(|a, b| a.subject.cmp(&b.subject));
        topics
    };
    let topics = Topics { platform: platform.name.to_owned(), topics: topics(public), local_only: topics(local) };
    put(TOPICS.to_owned(), &to_value(&topics));
    put(POLICY.to_owned(), &to_value(&policy(platform)));
    for published in platform.envelope_schemas {
        put(published.file.to_owned(), &envelope_schema(published));
    }
    for sample in (platform.samples)() {
        tree.insert(format!("{}/{SAMPLES}/{}", platform.name, sample.path), sample.text.as_bytes().to_vec());
    }
    tree
}

fn envelope_schema(published: &EnvelopeSchema) -> Value {
    let mut schema = wire::schema(&published.profile);
    schema["$id"] = published.id.into();
    for field in published.redacted {
        if let Some(properties) = schema.pointer_mut("/properties/metadata/properties").and_then(Value::as_object_mut) {
            properties.insert((*field).to_owned(), Value::Bool(false));
        }
    }
    schema
}

/// The file of an entry's schema, below its platform's catalogue.
pub fn schema_file(entry: &Entry) -> String {
    format!("{SCHEMAS}/{}.json", entry.parts.schema_path())
}

/// Envelope schemas are versioned apart from any service and have no row. A payload's schema lies deeper, so that an
/// aggregate may have one of these names.
pub(crate) fn is_envelope_schema(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    parts.len() < PAYLOAD_SCHEMA_PARTS
        && parts.iter().any(|part| matches!(*part, "envelope" | "event_envelope" | "webhooks"))
}

/// `event-schemas/<service>/<aggregate>/<verb>/v<n>.json`.
const PAYLOAD_SCHEMA_PARTS: usize = 5;

/// Indented JSON with a newline at the end, as it is committed.
pub fn pretty(document: &Value) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(document).expect("values of JSON serialise");
    text.push(b'\n');
    text
}

fn to_value(document: &impl Serialize) -> Value {
    serde_json::to_value(document).expect("plain structs serialise")
}

/// An entry as a topic.
pub fn topic(platform: &Platform, entry: &Entry) -> Topic {
    let row = entry.row.clone();
    Topic {
        version: entry.parts.subject.version(),
        key: format!("{{tenantId}}:{}", row.key.0),
        idempotency_key: row.idempotency_key.0,
        retention: entry.retention.clone(),
        dead_letters: format!("{}.dlq", row.subject),
        schema_uri: entry.schema.clone(),
        schema_file: schema_file(entry),
        schema_addresses: schema_addresses(&platform.policy, entry),
        subject: row.subject,
        aliases: row.aliases,
        summary: row.summary,
        owner: row.owner,
        producers: row.producers,
        tenancy: row.tenancy,
        scope: row.scope,
        merkle: row.merkle,
        ai_provenance: row.ai_provenance,
        decided_here: row.decided_here,
    }
}

/// The other addresses that documents give for a schema; the registry answers to each.
pub fn schema_addresses(policy: &Policy, entry: &Entry) -> Vec<String> {
    let subject = &entry.row.subject;
    let version = entry.parts.subject.version();
    let mut addresses = vec![format!("{SCHEMAS}/{subject}/v{version}.json")];
    for spelling in std::iter::once(subject).chain(&entry.row.aliases) {
        for address in policy.schema_addresses {
            if let Some(short) = spelling.strip_prefix(address.prefix) {
                addresses.push(format!("{}{short}.json", address.base));
                addresses.push(format!("{}{spelling}.json", address.base));
            }
        }
    }
    addresses
}

fn policy(platform: &Platform) -> PolicyFile {
    let Platform { grammar, policy, .. } = platform;
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let mut not_secret: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (subject, pointer) in policy.not_secret {
        not_secret.entry((*subject).to_owned()).or_default().push((*pointer).to_owned());
    }
    let exceptions = grammar.exceptions.iter().map(|exception| {
        let (service, aggregate) = (exception.service.to_owned(), exception.aggregate.to_owned());
        let (verb, why) = (exception.verb.to_owned(), exception.why.to_owned());
        (exception.subject.to_owned(), ExceptionFile { service, aggregate, verb, why })
    });
    PolicyFile {
        platform: platform.name.to_owned(),
        prefix: grammar.prefix.map(str::to_owned),
        versioned: grammar.versioned,
        aggregated: grammar.aggregated,
        services: grammar.services.iter().map(|it| (it.token.to_owned(), it.name.to_owned())).collect(),
        exceptions: exceptions.collect(),
        owners: policy.owners.iter().map(|(subject, owner)| ((*subject).to_owned(), (*owner).to_owned())).collect(),
        retention: platform.retention.iter().map(|class| class.retention()).collect(),
        platform_events: PlatformEvents {
            reviewed_on: policy.platform_events_reviewed.to_owned(),
            subjects: owned(policy.platform_events),
        },
        cross_tenant_prefixes: owned(policy.cross_tenant_prefixes),
        cross_tenant_reads: policy
            .cross_tenant_reads
            .iter()
            .map(|read| (read.subject.to_owned(), owned(read.consumers)))
            .collect(),
        ai_prefixes: owned(policy.ai_prefixes),
        ai_payloads: owned(policy.ai_payloads),
        shared: owned(policy.shared),
        narrowing_forbidden: policy.narrowing_forbidden,
        samples: (platform.samples)().into_iter().map(|sample| sample.path).collect(),
        not_secret,
    }
}
