//! What a catalogue promises: its schemas by subject, as gates compare them and validators learn them.

use std::collections::{BTreeMap, BTreeSet};

use karwan_envelope::directory::SchemaUri;
use karwan_envelope::json::{self, Limits};
use karwan_envelope::row::Scope;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::files::{POLICY, PolicyFile, SCHEMAS, TOPICS, Topic, Topics, Tree, is_envelope_schema};

/// A catalogue's schemas by subject, and the subjects that the gate judges most strictly.
#[derive(Debug, Default)]
pub struct Contract {
    /// Subject to schema; envelopes are among them, under names with a slash.
    pub schemas: BTreeMap<String, Value>,
    /// Subject to row.
    pub rows: BTreeMap<String, Topic>,
    /// Integration events, and all events of platforms that forbid narrowing.
    pub strict: BTreeSet<String>,
}

/// Why a tree has no contract to compare.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} cannot be read: {cause}")]
pub struct Unreadable {
    path: String,
    cause: String,
}

/// What a catalogue promises, for the gate.
pub fn contract(tree: &Tree) -> Result<Contract, Unreadable> {
    let mut contract = Contract::default();
    for path in tree.keys().filter(|path| path.split_once('/').is_some_and(|(_, file)| file == TOPICS)) {
        let topics: Topics = read(tree, path)?;
        let folder = path.trim_end_matches(TOPICS);
        let policy: PolicyFile = read(tree, &format!("{folder}{POLICY}"))?;
        for envelope in envelope_schemas(tree, folder) {
            contract.schemas.insert(envelope_name(folder, envelope), read(tree, envelope)?);
        }
        for topic in topics.topics.iter().chain(&topics.local_only) {
            let schema = read(tree, &format!("{folder}{}", topic.schema_file))?;
            contract.schemas.insert(topic.subject.clone(), schema);
            if policy.narrowing_forbidden || topic.scope == Scope::Integration {
                contract.strict.insert(topic.subject.clone());
            }
            contract.rows.insert(topic.subject.clone(), topic.clone());
        }
    }
    if contract.schemas.is_empty() {
        return Err(Unreadable { path: TOPICS.to_owned(), cause: "no platform has topics here".to_owned() });
    }
    Ok(contract)
}

/// The schema files of a platform's envelopes.
fn envelope_schemas<'t>(tree: &'t Tree, folder: &'t str) -> impl Iterator<Item = &'t String> {
    let of_envelope = move |path: &str| {
        let path = path.strip_prefix(folder).filter(|path| path.starts_with(SCHEMAS) && path.ends_with(".json"));
        path.is_some_and(is_envelope_schema)
    };
    tree.keys().filter(move |path| of_envelope(path))
}

/// `shop/event-schemas/webhooks/v1.json` → `shop/webhooks.v1`: an envelope is versioned as subjects are.
fn envelope_name(folder: &str, path: &str) -> String {
    let name = path[folder.len() + SCHEMAS.len() + 1..].trim_end_matches(".json");
    match name.rsplit_once('/') {
        Some((name, version)) => format!("{folder}{name}.{version}"),
        None => format!("{folder}{name}"),
    }
}

/// The schemas that a tree publishes for a platform, by address; none where it does not have the platform.
pub fn published_schemas(tree: &Tree, platform: &str) -> Result<Vec<(SchemaUri, Value)>, Unreadable> {
    let topics = format!("{platform}/{TOPICS}");
    if !tree.contains_key(&topics) {
        return Ok(Vec::new());
    }
    let topics: Topics = read(tree, &topics)?;
    let rows = topics.topics.into_iter().chain(topics.local_only);
    rows.map(|topic| Ok((topic.schema_uri, read(tree, &format!("{platform}/{}", topic.schema_file))?))).collect()
}

fn read<T: DeserializeOwned>(tree: &Tree, path: &str) -> Result<T, Unreadable> {
    let unreadable = |cause: String| Unreadable { path: path.to_owned(), cause };
    let bytes = tree.get(path).ok_or_else(|| unreadable("there is no such file".to_owned()))?;
    let text = json::check(bytes, Limits::SCHEMA).map_err(|error| unreadable(error.to_string()))?;
    serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))
}
