//! The spec-and-data form: in the manner of CloudEvents, with names of its own, aliases as subjects and an address
//! without a hash for the schema.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Codec, Decoded, EncodeError, Named, SOURCE_PREFIX, UNKNOWN, id_schema, tenant_schema};
use crate::cause::{Actor, ActorKind, Cause, Producer, Traceparent};
use crate::envelope::{Carried, Envelope};
use crate::ids::EventId;
use crate::profile::Profile;
use crate::reader::Reader;
use crate::subject::Subject;
use crate::time::Timestamp;
use crate::violation::{Rule, Violations};

const SPEC_VERSION: &str = "1.0";
/// What the form does not carry.
const DERIVED: &[&str] = &[
    "schemaUri",
    "orderingKey",
    "idempotencyKey",
    "actor",
    "producedBy.instance",
    "producedBy.commit",
    "producedBy.region",
    "retentionClass",
    "dataResidency",
    "outboxId",
];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    spec_version: &'a str,
    id: String,
    subject: &'a Subject,
    r#type: &'a Subject,
    source: String,
    time: Timestamp,
    tenant_id: String,
    trace_id: Traceparent,
    correlation_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    causation_id: Option<String>,
    schema_url: String,
    data: &'a RawValue,
}

pub(super) fn encode(codec: Codec<'_>, envelope: &Envelope) -> Result<String, EncodeError> {
    codec.key_is_in_payload(envelope)?;
    let spelling = codec.spelling(envelope);
    let causation = envelope.cause.causation.map(|id| codec.event_id(id.bits(), "causation id")).transpose()?;
    let document = Document {
        spec_version: SPEC_VERSION,
        id: codec.event_id(envelope.id.bits(), "event id")?,
        subject: &spelling,
        r#type: &spelling,
        source: format!("{SOURCE_PREFIX}{}", envelope.producer.service),
        time: envelope.occurred_at,
        tenant_id: codec.tenant(envelope.tenant)?,
        trace_id: codec.traceparent(&envelope.cause)?,
        // The business id where there is one; else the trace group, which a reader recognises as such.
        correlation_id: envelope.cause.business.clone().unwrap_or_else(|| envelope.cause.correlation.to_string()),
        causation_id: causation,
        schema_url: envelope.carried.schema_url.clone().unwrap_or_else(|| schema_url(codec.profile, &spelling)),
        data: &envelope.payload,
    };
    Ok(serde_json::to_string(&document).expect("strings and plain values serialise"))
}

pub(super) fn decode(codec: Codec<'_>, mut reader: Reader<'_>) -> Result<Decoded, Violations> {
    let profile = codec.profile;
    reader.constant("specVersion", SPEC_VERSION);
    let id = reader.parsed("id", |text| profile.event_id.parse(text));
    let subject = reader.parsed("subject", str::parse::<Subject>);
    let kind = reader.parsed("type", str::parse::<Subject>);
    if let (Some(subject), Some(kind)) = (&subject, &kind)
        && subject != kind
    {
        reader.wrong(Rule::VersionMismatch, "type", format!("must equal the subject, {subject}"));
    }
    let named = subject.and_then(|subject| codec.named(&mut reader, "subject", subject));
    let service = super::service(&mut reader);
    let occurred_at: Option<Timestamp> = reader.required("time");
    let tenant = reader.parsed("tenantId", |text| codec.read_tenant(text));
    let trace: Option<Traceparent> = reader.required("traceId");
    let correlation = reader.text("correlationId");
    let causation = reader.parsed_optional("causationId", |text| profile.event_id.parse(text));
    let schema_url: Option<String> = reader.required("schemaUrl");
    if let (Some(url), Some(named)) = (&schema_url, &named) {
        check_schema_url(profile, &mut reader, url, named);
    }
    let payload = reader.verbatim("data");
    let key = match (&named, &payload) {
        (Some(named), Some(payload)) => codec.derive_key(&mut reader, "data", named.entry, payload),
        _ => None,
    };

    let violations = reader.close();
    let (Some(id), Some(named), Some(service), Some(occurred_at), Some(tenant), Some(trace), Some(correlation)) =
        (id, named, service, occurred_at, tenant, trace, correlation)
    else {
        return Err(Violations(violations));
    };
    let (Some(payload), Some(key)) = (payload, key) else { return Err(Violations(violations)) };
    if !violations.is_empty() {
        return Err(Violations(violations));
    }
    let mut cause = Cause { causation: causation.map(EventId::from_bits), ..Cause::from(trace) };
    cause.business = (correlation != cause.correlation.to_string()).then_some(correlation);
    if cause.traceparent() == Cause::root(cause.correlation).traceparent() {
        cause.span = None;
    }
    let idempotency_key = codec.derive_idempotency(named.entry, &payload, id);
    let derived_url = schema_url.filter(|url| *url != self::schema_url(profile, &named.written));
    let envelope = Envelope {
        id: EventId::from_bits(id),
        subject: named.entry.parts.subject.clone(),
        schema: named.entry.schema.clone(),
        tenant,
        key,
        idempotency_key,
        cause,
        actor: Actor { kind: ActorKind::Service, id: service.clone() },
        producer: Producer { service, instance: UNKNOWN.to_owned(), commit: UNKNOWN.to_owned(), region: None },
        occurred_at,
        payload,
        retention: named.entry.retention.clone(),
        residency: None,
        offline_replay: None,
        ai_provenance: None,
        outbox: None,
        carried: Carried { spelling: named.spelling, schema_url: derived_url, ..Carried::default() },
    };
    Ok(Decoded { envelope, derived: DERIVED.to_vec() })
}

/// Where this profile publishes the schema of a subject: its base, and the name behind the alias prefix.
fn schema_url(profile: &Profile, spelling: &Subject) -> String {
    let prefix = profile.alias_prefix.unwrap_or_default();
    let short = spelling.as_str().strip_prefix(prefix).unwrap_or(spelling.as_str());
    format!("{}{short}.json", profile.schema_base.unwrap_or_default())
}

/// Both published addresses name the schema: by the short name, and by the whole subject.
fn check_schema_url(profile: &Profile, reader: &mut Reader<'_>, url: &str, named: &Named<'_>) {
    let written = &named.written;
    let long = format!("{}{written}.json", profile.schema_base.unwrap_or_default());
    let short = schema_url(profile, written);
    if url != short && url != long {
        reader.wrong(Rule::SchemaMismatch, "schemaUrl", format!("the schema of {written} is at {short}"));
    }
}

pub(super) fn schema(profile: &Profile) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "EventEnvelope",
        "type": "object",
        "additionalProperties": false,
        "required": ["specVersion", "id", "subject", "type", "source", "time", "tenantId", "traceId", "correlationId",
            "schemaUrl", "data"],
        "properties": {
            "specVersion": { "const": SPEC_VERSION },
            "id": id_schema(profile.event_id),
            "subject": { "type": "string", "maxLength": 200 },
            "type": { "type": "string", "maxLength": 200 },
            "source": { "type": "string", "pattern": "^/services/", "minLength": SOURCE_PREFIX.len() + 1 },
            "time": { "type": "string", "format": "date-time" },
            "tenantId": tenant_schema(profile.tenant_id),
            "traceId": { "type": "string", "pattern": "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$" },
            "correlationId": { "type": "string", "minLength": 1 },
            "causationId": id_schema(profile.event_id),
            "schemaUrl": { "type": "string", "format": "uri" },
            "data": true,
        },
    })
}
