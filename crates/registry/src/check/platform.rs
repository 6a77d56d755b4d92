//! One platform's folder: its files read, its topics and schemas put side by side.

use std::collections::{BTreeMap, BTreeSet};

use karwan_envelope::json::{self, Limits};
use karwan_envelope::profile::Profile;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::place::{Finding, Gate};
use super::{samples, topics};
use crate::files::{POLICY, PolicyFile, SAMPLES, SCHEMAS, TOPICS, Topic, Topics, Tree, is_envelope_schema};

/// A platform's files, read.
pub(super) struct Files<'a> {
    /// The folder.
    pub name: &'a str,
    pub policy: PolicyFile,
    pub topics: Topics,
    /// Schemas that could be read, by path below the folder.
    pub schemas: BTreeMap<String, Value>,
    /// Samples, by path below `samples/`.
    pub samples: BTreeMap<String, &'a [u8]>,
}

impl Files<'_> {
    /// All rows, with or without a topic.
    pub fn rows(&self) -> impl Iterator<Item = &Topic> {
        self.topics.topics.iter().chain(&self.topics.local_only)
    }

    /// A place in a file of this platform.
    pub fn place(&self, file: &str, at: &str) -> String {
        if at.is_empty() { format!("{}/{file}", self.name) } else { format!("{}/{file} {at}", self.name) }
    }
}

pub(super) fn check(tree: &Tree, name: &str, profiles: &[Profile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let policy: Option<PolicyFile> = read(tree, name, POLICY, &mut findings);
    let topics: Option<Topics> = read(tree, name, TOPICS, &mut findings);
    let prefix = format!("{name}/");
    let mut schemas = BTreeMap::new();
    let mut sample_files = BTreeMap::new();
    for (path, bytes) in tree {
        let Some(path) = path.strip_prefix(&prefix) else { continue };
        if path.starts_with(SCHEMAS) && path.ends_with(".json") {
            if let Some(schema) = read(tree, name, path, &mut findings) {
                schemas.insert(path.to_owned(), schema);
            }
        } else if let Some(sample) = path.strip_prefix(&format!("{SAMPLES}/")) {
            sample_files.insert(sample.to_owned(), bytes.as_slice());
        }
    }
    let (Some(policy), Some(topics)) = (policy, topics) else { return findings };
    let files = Files { name, policy, topics, schemas, samples: sample_files };
    pair(&files, tree, &mut findings);
    topics::check(&files, &mut findings);
    samples::check(&files, profiles, &mut findings);
    findings
}

fn read<T: DeserializeOwned>(tree: &Tree, platform: &str, file: &str, findings: &mut Vec<Finding>) -> Option<T> {
    let place = format!("{platform}/{file}");
    let Some(bytes) = tree.get(&place) else {
        findings.push(Finding::new(Gate::Unreadable, place, "there is no such file", "run `karwan catalog emit`"));
        return None;
    };
    let parsed = json::check(bytes, Limits::SCHEMA)
        .map_err(|error| error.to_string())
        .and_then(|text| serde_json::from_str(text).map_err(|error| error.to_string()));
    parsed
        .map_err(|error| findings.push(Finding::new(Gate::Unreadable, place, error, "run `karwan catalog emit`")))
        .ok()
}

/// Every row has its schema, every schema its row, and the content is what the URI says.
fn pair(files: &Files<'_>, tree: &Tree, findings: &mut Vec<Finding>) {
    let mut claimed = BTreeSet::new();
    for topic in files.rows() {
        claimed.insert(topic.schema_file.as_str());
        let path = format!("{}/{}", files.name, topic.schema_file);
        let at = format!("{} ({})", path, topic.subject);
        let Some(schema) = files.schemas.get(&topic.schema_file) else {
            if !tree.contains_key(&path) {
                let message = format!("{} has no schema at {}", topic.subject, topic.schema_file);
                let remedy = "every row of the catalogue has a JSON Schema; emit it, or remove the row";
                findings.push(Finding::new(
                    Gate::RowWithoutSchema,
                    files.place(TOPICS, &topic.subject),
                    message,
                    remedy,
                ));
            }
            continue;
        };
        check_schema(topic, schema, &at, findings);
    }
    for path in files.schemas.keys().filter(|path| !claimed.contains(path.as_str()) && !is_envelope_schema(path)) {
        let remedy = "add the row, or remove the file: what nobody may publish needs no schema";
        findings.push(Finding::new(Gate::SchemaWithoutRow, files.place(path, ""), "no row names this schema", remedy));
    }
}

fn check_schema(topic: &Topic, schema: &Value, at: &str, findings: &mut Vec<Finding>) {
    match crate::hash::hash(schema) {
        Ok(hash) if hash == topic.schema_uri.hash => {}
        Ok(hash) => {
            let message = format!("its content hash is {hash}, and the row says {}", topic.schema_uri.hash);
            let remedy = "emit the catalogue anew: the committed files are stale";
            findings.push(Finding::new(Gate::SchemaHash, at, message, remedy));
        }
        Err(error) => findings.push(Finding::new(Gate::SchemaInvalid, at, error.to_string(), "bound it by 2^53 − 1")),
    }
    if let Err(error) = crate::schema::validator(schema) {
        findings.push(Finding::new(Gate::SchemaInvalid, at, error.to_string(), "mend the schema"));
    }
    let expected = format!("{SCHEMAS}/{}.json", topic.schema_uri.path);
    if topic.schema_file != expected {
        let message = format!("the schema of {} belongs at {expected}", topic.subject);
        findings.push(Finding::new(Gate::SchemaHash, at, message, "emit the catalogue anew"));
    }
}
