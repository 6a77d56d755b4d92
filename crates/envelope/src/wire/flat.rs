//! The flat form: all facts at the top level, `source` and `actor` as objects.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Codec, Decoded, EncodeError, id_schema, tenant_schema};
use crate::cause::{Actor, ActorKind, Cause, Producer, Residency};
use crate::directory::SchemaUri;
use crate::envelope::{Carried, Envelope, KEY_BYTES_MAX};
use crate::ids::{CorrelationId, EventId, Form, OutboxId};
use crate::profile::Profile;
use crate::reader::Reader;
use crate::time::Timestamp;
use crate::violation::{Rule, Violations};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    event_id: String,
    event_type: &'a str,
    event_version: u32,
    schema_uri: &'a SchemaUri,
    source: Source<'a>,
    occurred_at: Timestamp,
    ingested_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    causation_id: Option<String>,
    correlation_id: String,
    tenant_id: String,
    actor: ActorField<'a>,
    payload: &'a RawValue,
    partition_key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    outbox: Option<OutboxField>,
    retention_class: &'a str,
    data_residency: &'a str,
}

#[derive(Serialize)]
struct Source<'a> {
    service: &'a str,
    instance: &'a str,
    commit: &'a str,
}

#[derive(Serialize)]
struct ActorField<'a> {
    #[serde(rename = "type")]
    kind: Kind,
    id: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OutboxField {
    db_write_ts: Timestamp,
    outbox_id: String,
}

/// The kinds of actor in this form's spelling.
#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Kind {
    User,
    System,
    ApiKey,
    ServiceAccount,
}

pub(super) fn encode(codec: Codec<'_>, envelope: &Envelope) -> Result<String, EncodeError> {
    let spelling = codec.spelling(envelope);
    let causation = envelope.cause.causation.map(|id| codec.event_id(id.bits(), "causation id")).transpose()?;
    let outbox = match (envelope.outbox, envelope.carried.db_write_at) {
        (Some(id), Some(db_write_ts)) => {
            let outbox_id = Form::Ulid.print(id.bits()).map_err(codec.id_error("outbox id"))?;
            Some(OutboxField { db_write_ts, outbox_id })
        }
        _ => None,
    };
    let document = Document {
        event_id: codec.event_id(envelope.id.bits(), "event id")?,
        event_type: spelling.event_type(),
        event_version: spelling.version(),
        schema_uri: &envelope.schema,
        source: Source {
            service: &envelope.producer.service,
            instance: &envelope.producer.instance,
            commit: &envelope.producer.commit,
        },
        occurred_at: envelope.occurred_at,
        ingested_at: envelope.carried.ingested_at.unwrap_or(envelope.occurred_at),
        causation_id: causation,
        correlation_id: envelope.cause.correlation.to_string(),
        tenant_id: codec.tenant(envelope.tenant)?,
        actor: ActorField {
            kind: match envelope.actor.kind {
                ActorKind::User => Kind::User,
                ActorKind::System => Kind::System,
                ActorKind::Service => Kind::ServiceAccount,
                ActorKind::ApiKey => Kind::ApiKey,
            },
            id: &envelope.actor.id,
        },
        payload: &envelope.payload,
        partition_key: &envelope.key,
        outbox,
        retention_class: codec.profile.label_for(&envelope.retention),
        data_residency: envelope.residency.unwrap_or(codec.profile.residency).short(),
    };
    Ok(serde_json::to_string(&document).expect("strings and plain values serialise"))
}

pub(super) fn decode(codec: Codec<'_>, mut reader: Reader<'_>) -> Result<Decoded, Violations> {
    let profile = codec.profile;
    let id = reader.parsed("eventId", |text| profile.event_id.parse(text));
    let event_type = reader.any_text("eventType");
    let version: Option<u32> = reader.required("eventVersion");
    let named = match (event_type, version) {
        (Some(name), Some(version)) => codec.subject(&mut reader, "eventType", &name, version),
        _ => None,
    };
    let schema: Option<SchemaUri> = reader.required("schemaUri");
    let producer = source(&mut reader);
    let occurred_at: Option<Timestamp> = reader.required("occurredAt");
    let ingested_at: Option<Timestamp> = reader.required("ingestedAt");
    let causation = reader.parsed_optional("causationId", |text| profile.event_id.parse(text));
    let correlation = reader.parsed("correlationId", |text| Form::Ulid.parse(text));
    let tenant = reader.parsed("tenantId", |text| codec.read_tenant(text));
    let actor = actor(&mut reader);
    let payload = reader.verbatim("payload");
    let key = partition_key(&mut reader);
    let outbox = outbox(&mut reader);
    let retention = super::retention(codec, &mut reader, "retentionClass", named.as_ref());
    let residency = reader.parsed("dataResidency", |text| super::residency(text, Residency::short));

    let violations = reader.close();
    let (Some(id), Some(named), Some(schema), Some(producer), Some(occurred_at), Some(correlation), Some(tenant)) =
        (id, named, schema, producer, occurred_at, correlation, tenant)
    else {
        return Err(Violations(violations));
    };
    let (Some(actor), Some(payload), Some(key), Some(retention)) = (actor, payload, key, retention) else {
        return Err(Violations(violations));
    };
    if !violations.is_empty() {
        return Err(Violations(violations));
    }
    let idempotency_key = codec.derive_idempotency(named.entry, &payload, id);
    let cause =
        Cause { causation: causation.map(EventId::from_bits), ..Cause::root(CorrelationId::from_bits(correlation)) };
    let (outbox, db_write_at) = outbox.map_or((None, None), |(id, at)| (Some(OutboxId::from_bits(id)), Some(at)));
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
        offline_replay: None,
        ai_provenance: None,
        outbox,
        carried: Carried { ingested_at, db_write_at, spelling: named.spelling, ..Carried::default() },
    };
    Ok(Decoded { envelope, derived: vec!["idempotencyKey"] })
}

fn source(reader: &mut Reader<'_>) -> Option<Producer> {
    let mut nested = reader.object("source")?;
    let (service, instance, commit) = (nested.text("service"), nested.text("instance"), nested.text("commit"));
    reader.absorb(nested);
    Some(Producer { service: service?, instance: instance?, commit: commit?, region: None })
}

fn actor(reader: &mut Reader<'_>) -> Option<Actor> {
    let mut nested = reader.object("actor")?;
    let (kind, id): (Option<Kind>, _) = (nested.required("type"), nested.text("id"));
    reader.absorb(nested);
    let kind = match kind? {
        Kind::User => ActorKind::User,
        Kind::System => ActorKind::System,
        Kind::ApiKey => ActorKind::ApiKey,
        Kind::ServiceAccount => ActorKind::Service,
    };
    Some(Actor { kind, id: id? })
}

fn partition_key(reader: &mut Reader<'_>) -> Option<String> {
    let key: String = reader.required("partitionKey")?;
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        reader.wrong(Rule::OrderingKey, "partitionKey", format!("1 to {KEY_BYTES_MAX} bytes"));
    }
    Some(key)
}

fn outbox(reader: &mut Reader<'_>) -> Option<(u128, Timestamp)> {
    if !reader.has("outbox") {
        return None;
    }
    let mut nested = reader.object("outbox")?;
    let at = nested.required("dbWriteTs");
    let id = nested.parsed("outboxId", |text| Form::Ulid.parse(text));
    reader.absorb(nested);
    Some((id?, at?))
}

pub(super) fn schema(profile: &Profile) -> Value {
    let labels: Vec<&str> = profile.retention.iter().map(|class| class.label).collect();
    let time = json!({ "type": "string", "format": "date-time" });
    let text = json!({ "type": "string", "minLength": 1 });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "EventEnvelope",
        "type": "object",
        "additionalProperties": false,
        "required": ["eventId", "eventType", "eventVersion", "schemaUri", "source", "occurredAt", "ingestedAt",
            "correlationId", "tenantId", "actor", "payload", "partitionKey", "retentionClass", "dataResidency"],
        "properties": {
            "eventId": id_schema(profile.event_id),
            "eventType": { "type": "string", "minLength": 1, "maxLength": 200 },
            "eventVersion": { "type": "integer", "minimum": 1, "maximum": u32::MAX },
            "schemaUri": { "type": "string", "pattern": "^schemas://[a-z0-9_./]+#sha256-[0-9a-f]{64}$" },
            "source": {
                "type": "object",
                "additionalProperties": false,
                "required": ["service", "instance", "commit"],
                "properties": {
                    "service": text, "instance": text, "commit": text,
                },
            },
            "occurredAt": time,
            "ingestedAt": time,
            "causationId": id_schema(profile.event_id),
            "correlationId": id_schema(Form::Ulid),
            "tenantId": tenant_schema(profile.tenant_id),
            "actor": {
                "type": "object",
                "additionalProperties": false,
                "required": ["type", "id"],
                "properties": {
                    "type": { "enum": ["user", "system", "api_key", "service_account"] }, "id": text,
                },
            },
            "payload": true,
            "partitionKey": { "type": "string", "minLength": 1, "maxLength": KEY_BYTES_MAX },
            "outbox": {
                "type": "object",
                "additionalProperties": false,
                "required": ["dbWriteTs", "outboxId"],
                "properties": { "dbWriteTs": time, "outboxId": id_schema(Form::Ulid) },
            },
            "retentionClass": { "enum": labels },
            "dataResidency": { "enum": Residency::ALL.map(Residency::short) },
        },
    })
}
