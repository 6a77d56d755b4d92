//! The envelope around a payload that comes by `karwan.append`, as pieces of text with named places between them.
//!
//! A sample envelope with recognisable values is printed by the one printer that there is, and cut where those values
//! stand. So the database needs no printer of its own, and every profile works.

use karwan_envelope::Envelope;
use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer, Tenant};
use karwan_envelope::directory::Entry;
use karwan_envelope::envelope::Carried;
use karwan_envelope::ids::{CorrelationId, EventId, Form, OutboxId, TenantId};
use karwan_envelope::profile::Wire;
use karwan_envelope::row::{AiProvenance, AiRule, Tenancy};
use karwan_envelope::time::Timestamp;
use karwan_envelope::wire;
use karwan_registry::Catalogue;
use serde_json::value::RawValue;

use crate::stored::profile;

/// Version 7, and no value that stands anywhere by chance.
const EVENT: u128 = 0x0190_c2f0_a1b2_7c3d_8e4f_5a6b_7c8d_9e01;
const CAUSATION: u128 = 0x0190_c2f0_a1b2_7c3d_8e4f_5a6b_7c8d_9e02;
const CORRELATION: u128 = 0x0190_c2f0_a1b2_7c3d_8e4f_5a6b_7c8d_9e03;
const TENANT: u128 = 0x0190_c2f0_a1b2_7c3d_8e4f_5a6b_7c8d_9e04;
const OCCURRED_MS: i64 = 1_234_567_890_123;

/// The kinds of actor by the names that `karwan.append` takes.
pub(super) const ACTORS: [(&str, ActorKind); 4] = [
    ("user", ActorKind::User),
    ("system", ActorKind::System),
    ("service", ActorKind::Service),
    ("api_key", ActorKind::ApiKey),
];

/// The pieces for one subject: text, name, text, … Empty where the form cannot print such an event.
pub(super) fn pieces(catalogue: &Catalogue, entry: &Entry, actor: ActorKind, caused: bool) -> Vec<String> {
    let envelope = sample(catalogue, entry, actor, caused);
    let Ok(printed) = wire::encode(profile(catalogue), catalogue.directory(), &envelope) else { return Vec::new() };
    cut(&printed, &places(&envelope))
}

/// What each recognisable text stands for, longest first, so that the payload is not cut where it names the key.
fn places(sample: &Envelope) -> Vec<(String, &'static str)> {
    let uuid = |bits| Form::Uuid.print(bits).expect("any bits are a UUID");
    let ulid = |bits| Form::Ulid.print(bits).expect("any bits are a ULID");
    let mut places = vec![
        (uuid(EVENT), "event"),
        (ulid(EVENT), "event:ulid"),
        (uuid(TENANT), "tenant"),
        (ulid(TENANT), "tenant:ulid"),
        (uuid(CAUSATION), "causation"),
        (ulid(CAUSATION), "causation:ulid"),
        (uuid(CORRELATION), "correlation"),
        (ulid(CORRELATION), "correlation:ulid"),
        (format!("{CORRELATION:032x}"), "correlation:hex"),
        (format!("{:016x}", CORRELATION as u64 | 1), "span"),
        (sample.actor.id.to_string(), "actor"),
        (sample.producer.service.to_string(), "service"),
        (sample.producer.instance.to_string(), "instance"),
        (sample.key.clone(), "key"),
        (sample.idempotency_key.clone(), "intent"),
        (sample.occurred_at.to_string(), "occurred"),
        (sample.payload.get().to_owned(), "payload"),
    ];
    if let Some(provenance) = &sample.ai_provenance {
        places.push((serde_json::to_string(provenance).expect("it is JSON"), "provenance"));
    }
    places.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    places
}

fn cut(printed: &str, places: &[(String, &'static str)]) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut rest = printed;
    while let Some(first) = rest.chars().next() {
        match places.iter().find(|(text, _)| rest.starts_with(text)) {
            Some((text, name)) => {
                pieces.push((*name).to_owned());
                pieces.push(String::new());
                rest = &rest[text.len()..];
            }
            None => {
                pieces.last_mut().expect("there is always one").push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    pieces
}

fn sample(catalogue: &Catalogue, entry: &Entry, actor: ActorKind, caused: bool) -> Envelope {
    // A form that reads the key from the payload finds it there.
    let fields = entry.row.key.fields().enumerate();
    let payload: serde_json::Map<String, serde_json::Value> =
        fields.map(|(place, field)| (field.to_owned(), format!("@field-{place}@").into())).collect();
    let payload = serde_json::Value::Object(payload);
    let rendered = entry.row.key.render(&payload).filter(|_| profile(catalogue).wire == Wire::TableRow);
    let platform = entry.row.tenancy == Tenancy::Platform;
    Envelope {
        id: EventId::from_bits(EVENT),
        subject: entry.parts.subject.clone(),
        schema: entry.schema.clone(),
        tenant: if platform { Tenant::Platform } else { Tenant::One(TenantId::from_bits(TENANT)) },
        key: rendered.unwrap_or_else(|| "@key@".to_owned()),
        idempotency_key: "@intent@".to_owned(),
        cause: Cause {
            causation: caused.then_some(EventId::from_bits(CAUSATION)),
            ..Cause::root(CorrelationId::from_bits(CORRELATION))
        },
        actor: Actor { kind: actor, id: "@actor@".into() },
        producer: Producer {
            service: "@service@".into(),
            instance: "@instance@".into(),
            commit: "karwan.append".into(),
            region: None,
        },
        occurred_at: Timestamp::from_unix_ms(OCCURRED_MS),
        payload: RawValue::from_string(payload.to_string()).expect("it is JSON"),
        retention: entry.retention.clone(),
        residency: Some(profile(catalogue).residency),
        offline_replay: None,
        ai_provenance: (entry.row.ai_provenance == AiRule::Metadata).then(provenance),
        outbox: Some(OutboxId::from_bits(EVENT)),
        carried: Carried::default(),
    }
}

fn provenance() -> AiProvenance {
    let text = || "@provenance@".to_owned();
    AiProvenance {
        model_id: text(),
        model_version: text(),
        prompt_id: text(),
        prompt_version: text(),
        trace_id: text(),
        local: false,
        input_hash: text(),
        confidence: None,
        decision_id: None,
        reviewed_by: None,
        generated_at: Timestamp::from_unix_ms(OCCURRED_MS - 1),
    }
}

/// The forms in which a payload may name its tenant, as `karwan.append` compares them.
pub(super) fn tenant_forms(catalogue: &Catalogue) -> Vec<String> {
    let forms = catalogue.platform().profiles.iter().map(|profile| match profile.tenant_id {
        Form::Uuid | Form::UuidV7 => "uuid".to_owned(),
        Form::Ulid => "ulid".to_owned(),
        Form::Prefixed(prefix) => prefix.to_owned(),
    });
    forms.collect()
}
