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
use crate::{platforms, suggest};

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
    let entries = catalogues.iter().flat_map(|catalogue| catalogue.directory().entries());
    let names = entries.flat_map(|entry| std::iter::once(&entry.row.subject).chain(&entry.row.aliases));
    let hint = match suggest::nearest(names.map(String::as_str), name) {
        Some(near) => format!("did you mean {near}?"),
        None => "`karwan catalog list --all` names them all".to_owned(),
    };
    Err(Failure::input(anyhow!("no event is named {}; {hint}", suggest::quoted(name))))
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
    fact("tenancy", super::label(topic.tenancy).to_owned());
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
    text.push_str(&fields(&schema.document, &schema.document, paint));
    for (name, definition) in schema.document["$defs"].as_object().into_iter().flatten() {
        text.push_str(&format!("\n\n{}\n{}", paint.bold(name), self::definition(&schema.document, definition, paint)));
    }
    text
}

/// A named type: its values, or its fields.
fn definition(schema: &Value, definition: &Value, paint: Paint) -> String {
    let values = values(definition);
    if !values.is_empty() {
        return values.join(" | ");
    }
    match definition["properties"].as_object() {
        Some(_) => fields(schema, definition, paint),
        None => kind(definition),
    }
}

/// The values of an enumeration, also of one whose values are described one by one.
fn values(definition: &Value) -> Vec<String> {
    let listed = definition["enum"].as_array().into_iter().flatten();
    let described = definition["oneOf"].as_array().into_iter().flatten().filter_map(|branch| branch.get("const"));
    listed.chain(described).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect()
}

/// The fields of an object.
fn fields(schema: &Value, object: &Value, paint: Paint) -> String {
    let required: Vec<&str> = object["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let rows: Vec<Vec<String>> = object["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, property)| {
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            let pii = personal(schema, property).map(|class| format!("[personal: {class}] ")).unwrap_or_default();
            let text = property["description"].as_str().unwrap_or_default().replace('\n', " ");
            vec![format!("{name}{mark}"), kind(property), format!("{pii}{text}")]
        })
        .collect();
    output::table(&["FIELD", "TYPE", "MEANING"], &rows, paint)
}

/// The class of personal data, of the field itself or of the type that it refers to.
fn personal<'a>(schema: &'a Value, property: &'a Value) -> Option<&'a str> {
    let target = property["$ref"].as_str().and_then(|it| schema.pointer(it.trim_start_matches('#')));
    property["x-pii"].as_str().or_else(|| target?.get("x-pii")?.as_str())
}

fn kind(property: &Value) -> String {
    if let Some(reference) = property["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
    }
    let values = values(property);
    if !values.is_empty() {
        return values.join("|");
    }
    if let Some(branches) = property["anyOf"].as_array() {
        return branches.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    match &property["type"] {
        Value::String(kind) if kind == "array" => format!("{}[]", self::kind(&property["items"])),
        Value::String(kind) => id_prefix(property)
            .or_else(|| property["format"].as_str().map(str::to_owned))
            .unwrap_or_else(|| kind.clone()),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}

/// `rsv_…` for a text whose pattern is that of a prefixed id.
fn id_prefix(property: &Value) -> Option<String> {
    let (prefix, rest) = property["pattern"].as_str()?.strip_prefix('^')?.split_once('_')?;
    let named = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_lowercase());
    (named && rest.starts_with("[0-7]")).then(|| format!("{prefix}_…"))
}
