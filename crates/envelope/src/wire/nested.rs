//! The nested form: routing facts in `metadata`, everything else at the top.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Codec, Decoded, EncodeError, Named, id_schema, tenant_schema};
use crate::cause::{Actor, ActorKind, Cause, Producer, Residency};
use crate::directory::SchemaUri;
use crate::envelope::{Carried, Envelope, IDEMPOTENCY_KEY_BYTES_MAX, METADATA_BYTES_MAX};
use crate::ids::{CorrelationId, EventId, Form, OutboxId};
use crate::profile::Profile;
use crate::reader::Reader;
use crate::row::AiProvenance;
use crate::time::Timestamp;
use crate::violation::{Rule, Violations};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    event_id: String,
    event_type: &'a str,
    event_version: u32,
    schema_uri: &'a SchemaUri,
    tenant_id: &'a str,
    correlation_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    causation_id: Option<String>,
    actor_id: ActorField<'a>,
    occurred_at: Timestamp,
    produced_by: ProducerField<'a>,
    idempotency_key: &'a str,
    payload: &'a RawValue,
    metadata: Metadata<'a>,
}

#[derive(Serialize)]
struct ActorField<'a> {
    #[serde(rename = "type")]
    kind: ActorKind,
    id: &'a str,
}

#[derive(Serialize)]
struct ProducerField<'a> {
    service: &'a str,
    instance: &'a str,
    commit: &'a str,
    region: &'a str,
}

/// The names that mean something in metadata; free-form metadata cannot take them.
const NAMED: &[&str] =
    &["retentionClass", "dataResidency", "fromOfflineReplay", "aiProvenance", "orderingKey", "outboxId"];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    retention_class: &'a str,
    data_residency: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_offline_replay: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ai_provenance: Option<&'a AiProvenance>,
    ordering_key: String,
    outbox_id: String,
    #[serde(flatten)]
    extra: &'a serde_json::Map<String, Value>,
}

/// More than the named fields without provenance can need: two labels, an ordering key and a ULID.
const NAMED_BYTES_MAX: usize = 1024;

impl Metadata<'_> {
    /// The serialised size, or a safe overestimate of it where the named fields are all there is.
    fn bytes(&self) -> usize {
        if self.extra.is_empty() && self.ai_provenance.is_none() && self.ordering_key.len() < NAMED_BYTES_MAX / 8 {
            return NAMED_BYTES_MAX;
        }
        serde_json::to_string(self).expect("strings and plain values serialise").len()
    }
}

pub(super) fn encode(codec: Codec<'_>, envelope: &Envelope) -> Result<String, EncodeError> {
    let profile = codec.profile;
    let tenant = codec.tenant(envelope.tenant)?;
    let spelling = codec.spelling(envelope);
    let residency = envelope.residency.unwrap_or(profile.residency).region();
    // A row without an id of its own is found by its event's.
    let outbox = envelope.outbox.map_or(envelope.id.bits(), OutboxId::bits);
    let metadata = Metadata {
        retention_class: profile.label_for(&envelope.retention),
        data_residency: residency,
        from_offline_replay: envelope.offline_replay,
        ai_provenance: envelope.ai_provenance.as_ref(),
        ordering_key: envelope.ordering_key(&tenant),
        outbox_id: Form::Ulid.print(outbox).map_err(codec.id_error("outbox id"))?,
        extra: &free(&envelope.carried.extra),
    };
    let actual = metadata.bytes();
    if actual > METADATA_BYTES_MAX {
        return Err(EncodeError::MetadataTooLarge { actual, max: METADATA_BYTES_MAX });
    }
    let causation = envelope.cause.causation.map(|id| codec.event_id(id.bits(), "causation id")).transpose()?;
    let document = Document {
        event_id: codec.event_id(envelope.id.bits(), "event id")?,
        event_type: spelling.event_type(),
        event_version: spelling.version(),
        schema_uri: &envelope.schema,
        tenant_id: &tenant,
        correlation_id: envelope.cause.correlation.to_string(),
        causation_id: causation,
        actor_id: ActorField { kind: envelope.actor.kind, id: &envelope.actor.id },
        occurred_at: envelope.occurred_at,
        produced_by: ProducerField {
            service: &envelope.producer.service,
            instance: &envelope.producer.instance,
            commit: &envelope.producer.commit,
            region: envelope.producer.region.as_deref().unwrap_or(residency),
        },
        idempotency_key: &envelope.idempotency_key,
        payload: &envelope.payload,
        metadata,
    };
    let mut text = Vec::with_capacity(envelope.payload.get().len() + FRAME_BYTES);
    serde_json::to_writer(&mut text, &document).expect("strings and plain values serialise");
    Ok(String::from_utf8(text).expect("serde_json writes UTF-8"))
}

/// What an envelope usually needs around its payload; only a first guess for the buffer.
const FRAME_BYTES: usize = 1024;

pub(super) fn decode(codec: Codec<'_>, mut reader: Reader<'_>) -> Result<Decoded, Violations> {
    let profile = codec.profile;
    let id = reader.parsed("eventId", |text| profile.event_id.parse(text));
    let event_type: Option<String> = reader.required("eventType");
    let version: Option<u32> = reader.required("eventVersion");
    let named = match (event_type, version) {
        (Some(name), Some(version)) => codec.subject(&mut reader, "eventType", &name, version),
        _ => None,
    };
    let schema: Option<SchemaUri> = reader.required("schemaUri");
    let tenant = reader.parsed("tenantId", |text| codec.read_tenant(text));
    let correlation = reader.parsed("correlationId", |text| Form::Ulid.parse(text));
    let causation = reader.parsed_optional("causationId", |text| profile.event_id.parse(text));
    let actor = actor(&mut reader);
    let occurred_at: Option<Timestamp> = reader.required("occurredAt");
    let producer = producer(&mut reader);
    let idempotency_key = super::idempotency_key(&mut reader, "idempotencyKey");
    let payload: Option<Box<RawValue>> = reader.required("payload");
    let tenant_text = tenant.and_then(|tenant| codec.tenant(tenant).ok());
    let metadata = metadata(codec, &mut reader, tenant_text.as_deref(), named.as_ref());

    let violations = reader.close();
    let (Some(id), Some(named), Some(schema), Some(tenant), Some(correlation), Some(actor), Some(occurred_at)) =
        (id, named, schema, tenant, correlation, actor, occurred_at)
    else {
        return Err(Violations(violations));
    };
    let (Some(producer), Some(idempotency_key), Some(payload), Some(metadata)) =
        (producer, idempotency_key, payload, metadata)
    else {
        return Err(Violations(violations));
    };
    if !violations.is_empty() {
        return Err(Violations(violations));
    }
    let cause =
        Cause { causation: causation.map(EventId::from_bits), ..Cause::root(CorrelationId::from_bits(correlation)) };
    let envelope = Envelope {
        id: EventId::from_bits(id),
        subject: named.entry.parts.subject.clone(),
        schema,
        tenant,
        key: metadata.key,
        idempotency_key,
        cause,
        actor,
        producer,
        occurred_at,
        payload,
        retention: metadata.retention,
        residency: Some(metadata.residency),
        offline_replay: metadata.offline_replay,
        ai_provenance: metadata.ai_provenance,
        outbox: Some(OutboxId::from_bits(metadata.outbox)),
        carried: Carried { spelling: named.spelling, extra: metadata.extra, ..Carried::default() },
    };
    Ok(Decoded { envelope, derived: Vec::new() })
}

/// Free-form metadata without the names that are taken: a key stands once.
fn free(extra: &serde_json::Map<String, Value>) -> Cow<'_, serde_json::Map<String, Value>> {
    if NAMED.iter().all(|name| !extra.contains_key(*name)) {
        return Cow::Borrowed(extra);
    }
    let free = extra.iter().filter(|(name, _)| !NAMED.contains(&name.as_str()));
    Cow::Owned(free.map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn actor(reader: &mut Reader<'_>) -> Option<Actor> {
    let mut nested = reader.object("actorId")?;
    let (kind, id) = (nested.required("type"), nested.text("id"));
    reader.absorb(nested);
    Some(Actor { kind: kind?, id: id? })
}

fn producer(reader: &mut Reader<'_>) -> Option<Producer> {
    let mut nested = reader.object("producedBy")?;
    let (service, instance) = (nested.text("service"), nested.text("instance"));
    let (commit, region) = (nested.text("commit"), nested.text("region"));
    reader.absorb(nested);
    Some(Producer { service: service?, instance: instance?, commit: commit?, region: Some(region?) })
}

struct ReadMetadata {
    retention: crate::profile::Retention,
    residency: Residency,
    offline_replay: Option<bool>,
    ai_provenance: Option<AiProvenance>,
    key: String,
    outbox: u128,
    extra: serde_json::Map<String, Value>,
}

fn metadata(
    codec: Codec<'_>,
    reader: &mut Reader<'_>,
    tenant: Option<&str>,
    named: Option<&Named<'_>>,
) -> Option<ReadMetadata> {
    let mut nested = reader.object("metadata")?;
    let retention = super::retention(codec, &mut nested, "retentionClass", named);
    let residency = nested.parsed("dataResidency", |text| super::residency(text, Residency::region));
    let offline_replay = nested.optional("fromOfflineReplay");
    let ai_provenance: Option<AiProvenance> = nested.optional("aiProvenance");
    if let Some(fault) = ai_provenance.as_ref().and_then(AiProvenance::fault) {
        nested.wrong(Rule::FieldInvalid, "aiProvenance", fault);
    }
    let key = super::ordering_key(&mut nested, "orderingKey", tenant);
    let outbox = nested.parsed("outboxId", |text| Form::Ulid.parse(text));
    let extra: serde_json::Map<String, Value> = nested
        .rest()
        .into_iter()
        .filter_map(|(name, raw)| Some((name, serde_json::from_str(raw.get()).ok()?)))
        .collect();
    reader.absorb(nested);
    let read = ReadMetadata {
        retention: retention?,
        residency: residency?,
        offline_replay,
        ai_provenance,
        key: key?,
        outbox: outbox?,
        extra,
    };
    let bytes = compact_bytes(codec, &read, tenant.unwrap_or_default());
    if bytes > METADATA_BYTES_MAX {
        let message = format!("{bytes} bytes serialised, and at most {METADATA_BYTES_MAX} are allowed");
        reader.wrong(Rule::MetadataTooLarge, "metadata", message);
    }
    Some(read)
}

/// The size that is bounded is that of the compact form; white space does not count.
fn compact_bytes(codec: Codec<'_>, read: &ReadMetadata, tenant: &str) -> usize {
    let metadata = Metadata {
        retention_class: codec.profile.label_for(&read.retention),
        data_residency: read.residency.region(),
        from_offline_replay: read.offline_replay,
        ai_provenance: read.ai_provenance.as_ref(),
        ordering_key: format!("{tenant}:{}", read.key),
        outbox_id: Form::Ulid.print(read.outbox).expect("every 128 bits are a ULID"),
        extra: &read.extra,
    };
    metadata.bytes()
}

pub(super) fn schema(profile: &Profile) -> Value {
    let labels: Vec<&str> = profile.retention.iter().map(|class| class.label).collect();
    let said = json!({ "type": "string", "minLength": 1 });
    let text = |max: u32| json!({ "type": "string", "minLength": 1, "maxLength": max });
    let provenance = schemars::schema_for!(AiProvenance);
    let mut provenance = provenance.to_value();
    provenance.as_object_mut().expect("a struct's schema is an object").remove("$schema");
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "EventEnvelope",
        "type": "object",
        "additionalProperties": false,
        "required": ["eventId", "eventType", "eventVersion", "schemaUri", "tenantId", "correlationId", "actorId",
            "occurredAt", "producedBy", "idempotencyKey", "payload", "metadata"],
        "properties": {
            "eventId": id_schema(profile.event_id),
            "eventType": text(200),
            "eventVersion": { "type": "integer", "minimum": 1, "maximum": u32::MAX },
            "schemaUri": { "type": "string", "pattern": "^schemas://[a-z0-9_./]+#sha256-[0-9a-f]{64}$" },
            "tenantId": tenant_schema(profile.tenant_id),
            "correlationId": id_schema(Form::Ulid),
            "causationId": id_schema(profile.event_id),
            "actorId": {
                "type": "object",
                "additionalProperties": false,
                "required": ["type", "id"],
                "properties": { "type": { "enum": ["user", "system", "service", "api_key"] }, "id": said },
            },
            "occurredAt": { "type": "string", "format": "date-time" },
            "producedBy": {
                "type": "object",
                "additionalProperties": false,
                "required": ["service", "instance", "commit", "region"],
                "properties": {
                    "service": said, "instance": said, "commit": said, "region": said,
                },
            },
            "idempotencyKey": text(IDEMPOTENCY_KEY_BYTES_MAX as u32),
            "payload": true,
            "metadata": {
                "type": "object",
                "description": "Free-form beyond the named fields; at most 4096 bytes serialised.",
                "required": ["retentionClass", "dataResidency", "orderingKey", "outboxId"],
                "properties": {
                    "retentionClass": { "enum": labels },
                    "dataResidency": { "enum": Residency::ALL.map(Residency::region) },
                    "fromOfflineReplay": { "type": "boolean" },
                    "aiProvenance": provenance,
                    "orderingKey": text(260),
                    "outboxId": id_schema(Form::Ulid),
                },
            },
        },
    })
}
