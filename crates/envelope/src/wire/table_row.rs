//! The table row form: what a notification table keeps of an event.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Codec, Decoded, EncodeError, UNKNOWN, id_schema};
use crate::cause::{Actor, ActorKind, Cause, Producer, Tenant};
use crate::envelope::{Carried, Envelope, IDEMPOTENCY_KEY_BYTES_MAX};
use crate::ids::{CorrelationId, EventId};
use crate::profile::Profile;
use crate::reader::Reader;
use crate::time::Timestamp;
use crate::violation::{Rule, Violations};

/// What the form does not carry.
const DERIVED: &[&str] = &[
    "schemaUri",
    "orderingKey",
    "correlationId",
    "causationId",
    "actor",
    "producedBy.service",
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
    id: String,
    tenant_id: Option<String>,
    event_type: &'a str,
    payload: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    dedup_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    available_at: Option<Timestamp>,
    created_at: Timestamp,
}

pub(super) fn encode(codec: Codec<'_>, envelope: &Envelope) -> Result<String, EncodeError> {
    let spelling = codec.spelling(envelope);
    if spelling.version() != 1 {
        return Err(EncodeError::Version { profile: codec.profile.name, subject: spelling.into_owned() });
    }
    codec.key_is_in_payload(envelope)?;
    let id = codec.event_id(envelope.id.bits(), "event id")?;
    let tenant_id = match envelope.tenant {
        Tenant::Platform => None,
        tenant @ Tenant::One(_) => Some(codec.tenant(tenant)?),
    };
    let document = Document {
        tenant_id,
        event_type: spelling.event_type(),
        payload: &envelope.payload,
        // A row without a key of its own has its event's id as idempotency key.
        dedup_key: (envelope.idempotency_key != id).then_some(&envelope.idempotency_key),
        available_at: envelope.carried.available_at,
        created_at: envelope.occurred_at,
        id,
    };
    Ok(serde_json::to_string(&document).expect("strings and plain values serialise"))
}

pub(super) fn decode(codec: Codec<'_>, mut reader: Reader<'_>) -> Result<Decoded, Violations> {
    let profile = codec.profile;
    let id = reader.parsed("id", |text| profile.event_id.parse(text));
    let tenant = match reader.required::<Option<String>>("tenantId") {
        None => None,
        Some(None) => Some(Tenant::Platform),
        Some(Some(text)) => match codec.read_one_tenant(&text) {
            Ok(tenant) => Some(tenant),
            Err(error) => {
                reader.wrong(Rule::FieldInvalid, "tenantId", error.to_string());
                None
            }
        },
    };
    let event_type = reader.any_text("eventType");
    let named = event_type.and_then(|name| codec.subject(&mut reader, "eventType", &name, 1));
    let payload = reader.verbatim("payload");
    let id_text = id.and_then(|id| profile.event_id.print(id).ok());
    let dedup_key = if reader.has("dedupKey") { super::idempotency_key(&mut reader, "dedupKey") } else { None };
    if dedup_key.is_some() && dedup_key == id_text {
        // One spelling each way: absence already says this.
        reader.wrong(Rule::IdempotencyKey, "dedupKey", "leave it out: a row without a key is known by its id");
    }
    let available_at: Option<Timestamp> = reader.optional("availableAt");
    let occurred_at: Option<Timestamp> = reader.required("createdAt");
    let key = match (&named, &payload) {
        (Some(named), Some(payload)) => codec.derive_key(&mut reader, "payload", named.entry, payload),
        _ => None,
    };

    let violations = reader.close();
    let (Some(id), Some(tenant), Some(named), Some(payload), Some(occurred_at), Some(key)) =
        (id, tenant, named, payload, occurred_at, key)
    else {
        return Err(Violations(violations));
    };
    if !violations.is_empty() {
        return Err(Violations(violations));
    }
    let service = named.entry.row.owner.clone();
    let keyed = dedup_key.is_some();
    let id = EventId::from_bits(id);
    let envelope = Envelope {
        id,
        subject: named.entry.parts.subject.clone(),
        schema: named.entry.schema.clone(),
        tenant,
        key,
        idempotency_key: dedup_key.or(id_text).unwrap_or_else(|| id.to_string()),
        cause: Cause::root(CorrelationId::from_bits(id.bits())),
        actor: Actor { kind: ActorKind::Service, id: service.clone() },
        producer: Producer { service, instance: UNKNOWN.to_owned(), commit: UNKNOWN.to_owned(), region: None },
        occurred_at,
        payload,
        retention: named.entry.retention.clone(),
        residency: None,
        offline_replay: None,
        ai_provenance: None,
        outbox: None,
        carried: Carried { available_at, spelling: named.spelling, ..Carried::default() },
    };
    let mut derived = DERIVED.to_vec();
    if !keyed {
        derived.push("idempotencyKey");
    }
    Ok(Decoded { envelope, derived })
}

pub(super) fn schema(profile: &Profile) -> Value {
    let time = json!({ "type": "string", "format": "date-time" });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "NotificationEvent",
        "type": "object",
        "additionalProperties": false,
        "required": ["id", "tenantId", "eventType", "payload", "createdAt"],
        "properties": {
            "id": id_schema(profile.event_id),
            "tenantId": { "anyOf": [id_schema(profile.tenant_id), { "type": "null" }] },
            "eventType": { "type": "string", "minLength": 1, "maxLength": 200 },
            "payload": true,
            "dedupKey": { "type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_BYTES_MAX },
            "availableAt": time,
            "createdAt": time,
        },
    })
}
