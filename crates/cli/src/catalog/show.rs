//! `karwan catalog show`.

use std::process::ExitCode;

use anyhow::anyhow;
use clap::ValueEnum;
use karwan_envelope::directory::Entry;
use karwan_registry::files::{self, Topic};
use karwan_registry::{Catalogue, catalogue};
use serde_json::{Value, json};

use crate::exit::{Failure, Outcome};
use crate::output::{self, Paint};
use crate::platforms;

/// Show one event: what happened, who decides it, its fields, its schema
///
/// Examples:
///   karwan catalog show melmastoon.reservation.booking.confirmed.v1
///   karwan catalog show melmastoon.lock.credential.issued.v1 --format json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The subject, one of its aliases, or an address of its schema
    subject_or_alias: String,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// For people
    Human,
    /// The topic and its schema
    Json,
}

pub fn run(args: &Args) -> Outcome {
    let catalogues = platforms::catalogues(None)?;
    let name = args.subject_or_alias.as_str();
    for catalogue in &catalogues {
        if let Some(entry) = find(catalogue, name) {
            return print(catalogue, entry, args.format);
        }
    }
    let near = nearest(&catalogues, name);
    let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
    Err(Failure::input(anyhow!("no event is named `{name}`{hint}")))
}

fn find<'a>(catalogue: &'a Catalogue, name: &str) -> Option<&'a Entry> {
    let directory = catalogue.directory();
    directory.resolve(name).or_else(|| {
        let policy = &catalogue.platform().policy;
        directory.entries().iter().find(|entry| {
            let uri = entry.schema.to_string();
            uri == name
                || uri.split('#').next() == Some(name)
                || files::schema_file(entry) == name
                || files::schema_addresses(policy, entry).iter().any(|address| address == name)
        })
    })
}

fn print(catalogue: &Catalogue, entry: &Entry, format: Format) -> Outcome {
    let topic = files::topic(catalogue.platform(), entry);
    let schema = catalogue.schema(&entry.row.subject).expect("every entry was built with its schema");
    match format {
        Format::Json => output::json(&json!({ "topic": topic, "schema": schema.document }))?,
        Format::Human => output::data(&human(&topic, schema))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn human(topic: &Topic, schema: &catalogue::Schema) -> String {
    let paint = Paint::stdout();
    let mut text = format!("{}\n{}\n\n", paint.bold(&topic.subject), topic.summary);
    let retention = &topic.retention;
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            text.push_str(&format!("{:<16}{value}\n", name));
        }
    };
    fact("aliases", topic.aliases.join(", "));
    fact("owner", topic.owner.clone());
    if topic.producers != [topic.owner.clone()] {
        fact("producers", topic.producers.join(", "));
    }
    fact(
        "tenancy",
        serde_json::to_value(topic.tenancy).map(|it| it.as_str().unwrap_or_default().to_owned()).unwrap_or_default(),
    );
    let days = [retention.broker_days, retention.warehouse_days, retention.cold_days];
    fact(
        "retention",
        format!("{} (days on broker, warehouse, cold: {})", retention.class, days.map(|it| it.to_string()).join(", ")),
    );
    fact("merkle", if topic.merkle { "anchored" } else { "no" }.to_owned());
    fact("ordering key", topic.key.clone());
    fact("idempotency", topic.idempotency_key.clone());
    fact("schema", topic.schema_uri.to_string());
    if topic.decided_here {
        fact("payload", "decided here: no document gives one".to_owned());
    }
    text.push('\n');
    text.push_str(&fields(&schema.document, paint));
    text
}

/// The payload's top-level fields.
fn fields(schema: &Value, paint: Paint) -> String {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object();
    let rows: Vec<Vec<String>> = properties
        .into_iter()
        .flatten()
        .map(|(name, property)| {
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            let pii = property["x-pii"].as_str().map(|class| format!("[personal: {class}] ")).unwrap_or_default();
            let text = property["description"].as_str().unwrap_or_default().replace('\n', " ");
            vec![format!("{name}{mark}"), kind(schema, property), format!("{pii}{text}")]
        })
        .collect();
    output::table(&["FIELD", "TYPE", "MEANING"], &rows, paint)
}

fn kind(schema: &Value, property: &Value) -> String {
    if let Some(reference) = property["$ref"].as_str() {
        let target = schema.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null);
        let name = reference.rsplit('/').next().unwrap_or_default();
        return if target.get("enum").is_some() { kind(schema, target) } else { name.to_owned() };
    }
    if let Some(values) = property["enum"].as_array() {
        return values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|");
    }
    match property["type"].as_str() {
        Some("array") => format!("{}[]", kind(schema, &property["items"])),
        Some(kind) => property["format"].as_str().unwrap_or(kind).to_owned(),
        None => "any".to_owned(),
    }
}

/// The subject that shares the most segments with a name.
fn nearest(catalogues: &[Catalogue], name: &str) -> Option<String> {
    let wanted: Vec<&str> = name.split('.').collect();
    let shared = |subject: &str| subject.split('.').filter(|segment| wanted.contains(segment)).count();
    let entries = catalogues.iter().flat_map(|catalogue| catalogue.directory().entries());
    let subjects = entries.map(|entry| entry.row.subject.clone());
    subjects.max_by_key(|subject| shared(subject)).filter(|subject| shared(subject) > 2)
}
