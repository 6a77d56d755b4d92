//! The nested form: routing facts in `metadata`, everything else at the top.

use serde_json::{Value, json};

use super::{Codec, Decoded, EncodeError, Named, id_schema, tenant_schema};
use crate::cause::{Actor, Cause, Producer, Residency};
use crate::directory::SchemaUri;
use crate::envelope::{Carried, Envelope, IDEMPOTENCY_KEY_BYTES_MAX, METADATA_BYTES_MAX};
use crate::ids::{CorrelationId, EventId, Form, OutboxId, Spelled, ulid_text};
use crate::printer::Printer;
use crate::profile::Profile;
use crate::reader::Reader;
use crate::row::AiProvenance;
use crate::time::Timestamp;
use crate::violation::{Rule, Violations};

/// The names that mean something in metadata; free-form metadata cannot take them.
const NAMED: &[&str] =
    &["retentionClass", "dataResidency", "fromOfflineReplay", "aiProvenance", "orderingKey", "outboxId"];

struct Metadata<'a> {
    retention_class: &'a str,
    data_residency: &'a str,
    from_offline_replay: Option<bool>,
    ai_provenance: Option<&'a AiProvenance>,
    tenant: &'a Spelled,
    key: &'a str,
    outbox: u128,
    extra: &'a serde_json::Map<String, Value>,
}

impl Metadata<'_> {
    /// Appends the object; answers its size.
    fn print(&self, printer: &mut Printer) -> usize {
        let start = printer.len();
        printer.raw("{").key("retentionClass").string(&[self.retention_class]);
        printer.key("dataResidency").string(&[self.data_residency]);
        if let Some(replayed) = self.from_offline_replay {
            printer.key("fromOfflineReplay").raw(if replayed { "true" } else { "false" });
        }
        if let Some(provenance) = self.ai_provenance {
            printer.key("aiProvenance").value(provenance);
        }
        let [prefix, mark, digits] = self.tenant.parts();
        printer.key("orderingKey").string(&[prefix, mark, digits, ":", self.key]);
        printer.key("outboxId").string(&[ulid_text(self.outbox).as_str()]);
        // A key stands once: free-form metadata cannot take the names that mean something.
        for (name, value) in self.extra.iter().filter(|(name, _)| !NAMED.contains(&name.as_str())) {
            printer.free_key(name).value(value);
        }
        printer.raw("}").len() - start
    }
}

pub(super) fn encode(codec: Codec<'_>, envelope: &Envelope) -> Result<String, EncodeError> {
    let profile = codec.profile;
    let (tenant, spelling) = (codec.spell_tenant(envelope.tenant)?, codec.spelling(envelope));
    let residency = envelope.residency.unwrap_or(profile.residency).region();
    let Producer { service, instance, commit, region } = &envelope.producer;

    let mut printer = Printer::new(envelope.payload.get().len() + FRAME_BYTES);
    let id = codec.spell_event_id(envelope.id.bits(), "event id")?;
    printer.raw("{").key("eventId").string(&id.parts());
    printer.key("eventType").string(&[spelling.event_type()]);
    printer.key("eventVersion").number(spelling.version());
    envelope.schema.print(printer.key("schemaUri"));
    printer.key("tenantId").string(&tenant.parts());
    printer.key("correlationId").string(&[ulid_text(envelope.cause.correlation.bits()).as_str()]);
    if let Some(causation) = envelope.cause.causation {
        printer.key("causationId").string(&codec.spell_event_id(causation.bits(), "causation id")?.parts());
    }
    printer.key("actorId").raw("{").key("type").string(&[envelope.actor.kind.name()]);
    printer.key("id").string(&[&envelope.actor.id]).raw("}");
    printer.key("occurredAt").string(&[envelope.occurred_at.text().as_str()]);
    printer.key("producedBy").raw("{").key("service").string(&[service]);
    printer.key("instance").string(&[instance]).key("commit").string(&[commit]);
    printer.key("region").string(&[region.as_deref().unwrap_or(residency)]).raw("}");
    printer.key("idempotencyKey").string(&[&envelope.idempotency_key]);
    printer.key("payload").raw(envelope.payload.get());
    let metadata = Metadata {
        retention_class: profile.label_for(&envelope.retention),
        data_residency: residency,
        from_offline_replay: envelope.offline_replay,
        ai_provenance: envelope.ai_provenance.as_ref(),
        tenant: &tenant,
        key: &envelope.key,
        // A row without an id of its own is found by its event's.
        outbox: envelope.outbox.map_or(envelope.id.bits(), OutboxId::bits),
        extra: &envelope.carried.extra,
    };
    let actual = metadata.print(printer.key("metadata"));
    if actual > METADATA_BYTES_MAX {
        return Err(EncodeError::MetadataTooLarge { actual, max: METADATA_BYTES_MAX });
    }
    printer.raw("}");
    Ok(printer.finish())
}

/// What an envelope usually needs around its payload; only a first guess for the buffer.
const FRAME_BYTES: usize = 1024;

pub(super) fn decode(codec: Codec<'_>, mut reader: Reader<'_>) -> Result<Decoded, Violations> {
    let profile = codec.profile;
    let id = reader.parsed("eventId", |text| profile.event_id.parse(text));
    let event_type = reader.any_text("eventType");
    let version: Option<u32> = reader.required("eventVersion");
    let named = match (event_type, version) {
        (Some(name), Some(version)) => codec.subject(&mut reader, "eventType", &name, version),
        _ => None,
    };
    let schema = reader.parsed("schemaUri", str::parse::<SchemaUri>);
    let tenant = reader.parsed("tenantId", |text| codec.read_tenant(text));
    let correlation = reader.parsed("correlationId", |text| Form::Ulid.parse(text));
    let causation = reader.parsed_optional("causationId", |text| profile.event_id.parse(text));
    let actor = actor(&mut reader);
    let occurred_at = reader.parsed("occurredAt", str::parse::<Timestamp>);
    let producer = producer(&mut reader);
    let idempotency_key = super::idempotency_key(&mut reader, "idempotencyKey");
    let payload = reader.verbatim("payload");
    let spelled = tenant.and_then(|tenant| codec.spell_tenant(tenant).ok());
    let metadata = metadata(codec, &mut reader, spelled.as_ref(), named.as_ref());

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
    tenant: Option<&Spelled>,
    named: Option<&Named<'_>>,
) -> Option<ReadMetadata> {
    let mut nested = reader.object("metadata")?;
    let written = nested.bytes;
    let retention = super::retention(codec, &mut nested, "retentionClass", named);
    let residency = nested.parsed("dataResidency", |text| super::residency(text, Residency::region));
    let offline_replay = nested.optional("fromOfflineReplay");
    let ai_provenance: Option<AiProvenance> = nested.optional("aiProvenance");
    if let Some(fault) = ai_provenance.as_ref().and_then(AiProvenance::fault) {
        nested.wrong(Rule::FieldInvalid, "aiProvenance", fault);
    }
    let key = super::ordering_key(&mut nested, "orderingKey", tenant.map(Spelled::to_string).as_deref());
    let outbox = nested.parsed("outboxId", |text| Form::Ulid.parse(text));
    let extra: serde_json::Map<String, Value> =
        nested.rest().into_iter().filter_map(|(name, raw)| Some((name, serde_json::from_str(raw).ok()?))).collect();
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
    // No spelling of a value is a tenth of another: what is short as it is written is short when printed.
    if written <= METADATA_BYTES_MAX / 10 {
        return Some(read);
    }
    let bytes = compact_bytes(codec, &read, tenant?);
    if bytes > METADATA_BYTES_MAX {
        let message = format!("{bytes} bytes serialised, and at most {METADATA_BYTES_MAX} are allowed");
        reader.wrong(Rule::MetadataTooLarge, "metadata", message);
    }
    Some(read)
}

/// The size that is bounded is that of the compact form; white space does not count.
fn compact_bytes(codec: Codec<'_>, read: &ReadMetadata, tenant: &Spelled) -> usize {
    let metadata = Metadata {
        retention_class: codec.profile.label_for(&read.retention),
        data_residency: read.residency.region(),
        from_offline_replay: read.offline_replay,
        ai_provenance: read.ai_provenance.as_ref(),
        tenant,
        key: &read.key,
        outbox: read.outbox,
        extra: &read.extra,
    };
    metadata.print(&mut Printer::new(METADATA_BYTES_MAX))
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
