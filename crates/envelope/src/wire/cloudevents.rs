//! CloudEvents 1.0, structured JSON: the form that carries every fact, most of them as extension attributes.
//!
//! Extension names follow the specification (lower-case letters and digits, at most 20 of them), and their values are
//! strings or booleans; `traceparent` and `partitionkey` are its documented extensions.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Codec, Decoded, EncodeError, SOURCE_PREFIX, id_schema, tenant_schema};
use crate::cause::{Actor, Cause, Producer, Residency, Traceparent};
use crate::directory::SchemaUri;
use crate::envelope::{Carried, Envelope};
use crate::ids::{EventId, Form, OutboxId};
use crate::profile::{Profile, Retention};
use crate::reader::Reader;
use crate::row::AiProvenance;
use crate::subject::Subject;
use crate::time::Timestamp;
use crate::violation::{Rule, Violations};

const ATTRIBUTE_CHARS_MAX: usize = 20;
/// The names that mean something here; free-form metadata cannot take them.
const ATTRIBUTES: &[&str] = &[
    "specversion",
    "id",
    "source",
    "type",
    "subject",
    "time",
    "datacontenttype",
    "dataschema",
    "tenantid",
    "partitionkey",
    "traceparent",
    "causationid",
    "businesskey",
    "idempotencykey",
    "actortype",
    "actorid",
    "producerinstance",
    "producercommit",
    "producerregion",
    "retention",
    "dataresidency",
    "offlinereplay",
    "aiprovenance",
    "outboxid",
    "ingestedat",
    "dbwritets",
    "availableat",
    "data",
];

#[derive(Serialize)]
struct Document<'a> {
    specversion: &'a str,
    id: String,
    source: String,
    r#type: &'a Subject,
    subject: &'a str,
    time: Timestamp,
    datacontenttype: &'a str,
    dataschema: &'a SchemaUri,
    tenantid: &'a str,
    partitionkey: String,
    traceparent: Traceparent,
    #[serde(skip_serializing_if = "Option::is_none")]
    causationid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    businesskey: Option<&'a str>,
    idempotencykey: &'a str,
    actortype: crate::cause::ActorKind,
    actorid: &'a str,
    producerinstance: &'a str,
    producercommit: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    producerregion: Option<&'a str>,
    retention: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    dataresidency: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offlinereplay: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aiprovenance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outboxid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ingestedat: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dbwritets: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    availableat: Option<Timestamp>,
    #[serde(flatten)]
    extra: Option<serde_json::Map<String, Value>>,
    data: &'a RawValue,
}

pub(super) fn encode(codec: Codec<'_>, envelope: &Envelope) -> Result<String, EncodeError> {
    let spelling = codec.spelling(envelope);
    let tenant = codec.tenant(envelope.tenant)?;
    let causation = envelope.cause.causation.map(|id| codec.event_id(id.bits(), "causation id")).transpose()?;
    let outbox = envelope.outbox.map(|id| Form::Ulid.print(id.bits())).transpose();
    let carried = &envelope.carried;
    // Only attributes that the specification allows; what does not fit is reported as lost by a conversion.
    let extra = carried.extra.iter().filter(|(name, value)| is_extension(name, value));
    let document = Document {
        specversion: "1.0",
        id: codec.event_id(envelope.id.bits(), "event id")?,
        source: format!("{SOURCE_PREFIX}{}", envelope.producer.service),
        r#type: &spelling,
        subject: &envelope.key,
        time: envelope.occurred_at,
        datacontenttype: "application/json",
        dataschema: &envelope.schema,
        tenantid: &tenant,
        partitionkey: envelope.ordering_key(&tenant),
        traceparent: codec.traceparent(&envelope.cause)?,
        causationid: causation,
        businesskey: envelope.cause.business.as_deref(),
        idempotencykey: &envelope.idempotency_key,
        actortype: envelope.actor.kind,
        actorid: &envelope.actor.id,
        producerinstance: &envelope.producer.instance,
        producercommit: &envelope.producer.commit,
        producerregion: envelope.producer.region.as_deref(),
        retention: print_retention(&envelope.retention),
        dataresidency: envelope.residency.map(Residency::short),
        offlinereplay: envelope.offline_replay,
        aiprovenance: envelope
            .ai_provenance
            .as_ref()
            .map(|provenance| serde_json::to_string(provenance).expect("strings and plain values serialise")),
        outboxid: outbox.map_err(codec.id_error("outbox id"))?,
        ingestedat: carried.ingested_at,
        dbwritets: carried.db_write_at,
        availableat: carried.available_at,
        extra: Some(extra.map(|(name, value)| (name.clone(), value.clone())).collect()),
        data: &envelope.payload,
    };
    Ok(serde_json::to_string(&document).expect("strings and plain values serialise"))
}

pub(super) fn decode(codec: Codec<'_>, mut reader: Reader<'_>) -> Result<Decoded, Violations> {
    let profile = codec.profile;
    reader.constant("specversion", "1.0");
    reader.constant("datacontenttype", "application/json");
    let id = reader.parsed("id", |text| profile.event_id.parse(text));
    let kind = reader.parsed("type", str::parse::<Subject>);
    let named = kind.and_then(|subject| codec.named(&mut reader, "type", subject));
    let schema: Option<SchemaUri> = reader.required("dataschema");
    let occurred_at: Option<Timestamp> = reader.required("time");
    let tenant = reader.parsed("tenantid", |text| codec.read_tenant(text));
    let tenant_text = tenant.and_then(|tenant| codec.tenant(tenant).ok());
    let key = super::ordering_key(&mut reader, "partitionkey", tenant_text.as_deref());
    let about: Option<String> = reader.required("subject");
    if let (Some(about), Some(key)) = (&about, &key)
        && about != key
    {
        reader.wrong(Rule::OrderingKey, "subject", format!("must be the aggregate's id, `{}`", key.escape_debug()));
    }
    let cause = cause(profile, &mut reader);
    let idempotency_key = super::idempotency_key(&mut reader, "idempotencykey");
    let actor = match (reader.required("actortype"), reader.text("actorid")) {
        (Some(kind), Some(id)) => Some(Actor { kind, id }),
        _ => None,
    };
    let producer = producer(&mut reader);
    let retention = reader.parsed("retention", read_retention);
    let residency = reader.parsed_optional("dataresidency", |text| super::residency(text, Residency::short));
    let offline_replay = reader.optional("offlinereplay");
    let ai_provenance = reader.parsed_optional("aiprovenance", provenance);
    let outbox = reader.parsed_optional("outboxid", |text| Form::Ulid.parse(text));
    let (ingested_at, db_write_at) = (reader.optional("ingestedat"), reader.optional("dbwritets"));
    let available_at = reader.optional("availableat");
    let payload = reader.verbatim("data");
    let extra = extensions(&mut reader);

    let violations = reader.close();
    let (Some(id), Some(named), Some(schema), Some(occurred_at), Some(tenant), Some(key), Some(cause)) =
        (id, named, schema, occurred_at, tenant, key, cause)
    else {
        return Err(Violations(violations));
    };
    let (Some(idempotency_key), Some(actor), Some(producer), Some(retention), Some(payload)) =
        (idempotency_key, actor, producer, retention, payload)
    else {
        return Err(Violations(violations));
    };
    if !violations.is_empty() {
        return Err(Violations(violations));
    }
    let carried = Carried { ingested_at, db_write_at, available_at, spelling: named.spelling, schema_url: None, extra };
    let envelope = Envelope {
        id: EventId::from_bits(id),
        subject: named.entry.parts.subject.clone(),
        schema,
        tenant,
        key,
        idempotency_key,
        cause,
        actor,
        producer,
        occurred_at,
        payload,
        retention,
        residency,
        offline_replay,
        ai_provenance,
        outbox: outbox.map(OutboxId::from_bits),
        carried,
    };
    Ok(Decoded { envelope, derived: Vec::new() })
}

fn cause(profile: &Profile, reader: &mut Reader<'_>) -> Option<Cause> {
    let parent: Option<Traceparent> = reader.required("traceparent");
    let causation = reader.parsed_optional("causationid", |text| profile.event_id.parse(text));
    let business = reader.text_optional("businesskey");
    let mut cause = Cause { causation: causation.map(EventId::from_bits), business, ..Cause::from(parent?) };
    if cause.traceparent() == Cause::root(cause.correlation).traceparent() {
        cause.span = None;
    }
    Some(cause)
}

fn producer(reader: &mut Reader<'_>) -> Option<Producer> {
    let service = super::service(reader);
    let (instance, commit) = (reader.text("producerinstance"), reader.text("producercommit"));
    let region = reader.text_optional("producerregion");
    Some(Producer { service: service?, instance: instance?, commit: commit?, region })
}

/// Provenance as a document in a text: attributes are no objects.
fn provenance(text: &str) -> Result<AiProvenance, String> {
    let provenance: AiProvenance = serde_json::from_str(text).map_err(|error| error.to_string())?;
    provenance.fault().map_or(Ok(provenance), Err)
}

/// `warm/7/365/0`: the class and its days on the broker, in the warehouse and in cold storage.
fn print_retention(retention: &Retention) -> String {
    let Retention { class, broker_days, warehouse_days, cold_days } = retention;
    format!("{class}/{broker_days}/{warehouse_days}/{cold_days}")
}

fn read_retention(text: &str) -> Result<Retention, &'static str> {
    const EXPECTED: &str = "must be <class>/<broker days>/<warehouse days>/<cold days>";
    let parts: Vec<&str> = text.split('/').collect();
    let [class, days @ ..] = &parts[..] else { return Err(EXPECTED) };
    let days: Vec<u32> = days.iter().filter_map(|days| days.parse().ok()).collect();
    let &[broker_days, warehouse_days, cold_days] = &days[..] else { return Err(EXPECTED) };
    let retention = Retention { class: (*class).to_owned(), broker_days, warehouse_days, cold_days };
    if !class.is_empty() && print_retention(&retention) == text { Ok(retention) } else { Err(EXPECTED) }
}

/// Attributes of other parties; the specification lets them pass.
fn extensions(reader: &mut Reader<'_>) -> serde_json::Map<String, Value> {
    let mut extra = serde_json::Map::new();
    for (name, raw) in reader.rest() {
        match serde_json::from_str(raw) {
            Ok(value) if is_extension(&name, &value) => {
                extra.insert(name, value);
            }
            _ => {
                let message = "an extension attribute has at most 20 lower-case letters and digits, and a string, boolean or 32-bit integer";
                reader.wrong(Rule::FieldUnknown, &name, message);
            }
        }
    }
    extra
}

fn is_extension(name: &str, value: &Value) -> bool {
    let named = (1..=ATTRIBUTE_CHARS_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && !ATTRIBUTES.contains(&name);
    let simple = match value {
        Value::String(_) | Value::Bool(_) => true,
        Value::Number(number) => number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    };
    named && simple
}

pub(super) fn schema(profile: &Profile) -> Value {
    let time = json!({ "type": "string", "format": "date-time" });
    let text = json!({ "type": "string", "minLength": 1 });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "CloudEvent",
        "type": "object",
        "required": ["specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema", "tenantid",
            "partitionkey", "traceparent", "idempotencykey", "actortype", "actorid", "producerinstance", "producercommit", "retention",
            "data"],
        "propertyNames": { "pattern": "^[a-z0-9]{1,20}$" },
        "additionalProperties": { "type": ["string", "boolean", "integer"] },
        "properties": {
            "specversion": { "const": "1.0" },
            "id": id_schema(profile.event_id),
            "source": { "type": "string", "pattern": "^/services/", "minLength": SOURCE_PREFIX.len() + 1 },
            "type": { "type": "string", "minLength": 1, "maxLength": 200 },
            "subject": text,
            "time": time,
            "datacontenttype": { "const": "application/json" },
            "dataschema": { "type": "string", "pattern": "^schemas://[a-z0-9_./]+#sha256-[0-9a-f]{64}$" },
            "tenantid": tenant_schema(profile.tenant_id),
            "partitionkey": text,
            "traceparent": { "type": "string", "pattern": "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$" },
            "causationid": id_schema(profile.event_id),
            "businesskey": text,
            "idempotencykey": text,
            "actortype": { "enum": ["user", "system", "service", "api_key"] },
            "actorid": text,
            "producerinstance": text,
            "producercommit": text,
            "producerregion": text,
            "retention": { "type": "string", "pattern": "^[^/]+/[0-9]+/[0-9]+/[0-9]+$" },
            "dataresidency": { "enum": Residency::ALL.map(Residency::short) },
            "offlinereplay": { "type": "boolean" },
            "aiprovenance": { "type": "string", "contentMediaType": "application/json" },
            "outboxid": id_schema(Form::Ulid),
            "ingestedat": time,
            "dbwritets": time,
            "availableat": time,
            "data": true,
        },
    })
}
