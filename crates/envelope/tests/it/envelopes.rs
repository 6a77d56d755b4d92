//! Arbitrary envelopes, as far as a profile can carry them.

use karwan_envelope::Envelope;
use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer, Residency, Span, Tenant};
use karwan_envelope::directory::Entry;
use karwan_envelope::envelope::Carried;
use karwan_envelope::ids::{CorrelationId, EventId, OutboxId, TenantId};
use karwan_envelope::profile::{Profile, Wire};
use karwan_envelope::row::AiProvenance;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value};

use crate::ids::v7;
use crate::time::timestamps;
use crate::{json_hostile, shop};

/// A text of any characters, control characters too, that says something.
fn texts() -> BoxedStrategy<String> {
    prop_oneof![vec(any::<char>(), 1..40).prop_map(String::from_iter), "[a-z0-9:_/~\"\\\\-]{1,40}"].boxed()
}

prop_compose! {
    fn provenances()(
        names in vec(texts(), 6), local: bool, confidence in option::of(0.0..=1.0), decision_id in option::of(texts()),
        reviewed_by in option::of(texts()), generated_at in timestamps(),
    ) -> AiProvenance {
        let [model_id, model_version, prompt_id, prompt_version, trace_id, input_hash] =
            names.try_into().expect("six were made");
        AiProvenance {
            model_id, model_version, prompt_id, prompt_version, trace_id, local, input_hash, confidence, decision_id,
            reviewed_by, generated_at,
        }
    }
}

prop_compose! {
    fn causes()(
        correlation in 1..=u128::MAX, causation in option::of(any::<u128>()), business in option::of(texts()),
        span in option::of((1..=u64::MAX, any::<u8>())),
    ) -> Cause {
        let span = span.map(|(id, flags)| Span { id, flags });
        let correlation = CorrelationId::from_bits(correlation);
        Cause { correlation, causation: causation.map(|bits| EventId::from_bits(v7(bits))), business, span }
    }
}

prop_compose! {
    fn producers()(service in texts(), instance in texts(), commit in texts(), region in option::of(texts())) -> Producer {
        Producer { service, instance, commit, region }
    }
}

prop_compose! {
    fn carried()(
        ingested_at in option::of(timestamps()), db_write_at in option::of(timestamps()),
        available_at in option::of(timestamps()),
        free in btree_map("[a-zA-Z~/ é]{0,8}", json_hostile::values(), 0..4),
        attributes in btree_map("x[a-z0-9]{0,19}", prop_oneof![
            any::<bool>().prop_map(Value::from), any::<i32>().prop_map(Value::from), texts().prop_map(Value::from),
        ], 0..4),
    ) -> (Carried, Map<String, Value>) {
        let extra: Map<String, Value> = free.into_iter().collect();
        let carried = Carried { ingested_at, db_write_at, available_at, extra, ..Carried::default() };
        (carried, attributes.into_iter().collect())
    }
}

prop_compose! {
    /// What all forms carry, and everything that one of them carries.
    fn anything(profile: &'static Profile)(
        ids in (any::<u128>(), 1..=u128::MAX),
        subject in 0..shop::directory().entries().len(), alias in option::of(any::<prop::sample::Index>()),
        own in any::<bool>(), order in texts(), more in json_hostile::values(), key in texts(), idempotency_key in texts(),
        cause in causes(), kind in select(vec![ActorKind::User, ActorKind::System, ActorKind::Service, ActorKind::ApiKey]),
        actor in texts(), producer in producers(), occurred_at in timestamps(),
        residency in option::of(select(Residency::ALL.to_vec())), offline_replay in option::of(any::<bool>()),
        ai_provenance in option::of(provenances()), outbox in option::of(any::<u128>()),
        class in select(profile.retention.to_vec()), carried in carried(),
    ) -> (Entry, Envelope) {
        let directory = shop::directory();
        let entry = directory.entries()[subject].clone();
        let (mut carried, attributes) = carried;
        if profile.wire == Wire::CloudEvents {
            carried.extra = attributes;
        }
        carried.spelling = alias.filter(|_| !entry.row.aliases.is_empty())
            .map(|alias| alias.get(&entry.row.aliases).parse().expect("an alias is a name"));
        let payload = serde_json::json!({ "orderId": order, "more": more }).to_string();
        let envelope = Envelope {
            id: EventId::from_bits(v7(ids.0)),
            subject: entry.parts.subject.clone(),
            schema: entry.schema.clone(),
            tenant: if own { Tenant::Platform } else { Tenant::One(TenantId::from_bits(ids.1)) },
            key, idempotency_key, cause,
            actor: Actor { kind, id: actor },
            producer, occurred_at,
            payload: serde_json::value::RawValue::from_string(payload).expect("serde printed it"),
            // The label of the catalogue's class means that class; every other label its own.
            retention: if profile.label_for(&entry.retention) == class.label {
                entry.retention.clone()
            } else {
                class.retention()
            },
            residency, offline_replay, ai_provenance,
            outbox: outbox.map(OutboxId::from_bits),
            carried,
        };
        (entry, envelope)
    }
}

/// Envelopes with exactly the facts that a profile's form carries; the others are as its reader derives them.
pub fn carried_by(profile: &'static Profile) -> BoxedStrategy<Envelope> {
    anything(profile)
        .prop_map(|(entry, mut envelope)| {
            match profile.wire {
                Wire::Nested => nested(&mut envelope),
                Wire::Flat => flat(&entry, &mut envelope),
                Wire::SpecData => spec_data(&entry, &mut envelope),
                Wire::TableRow => table_row(&entry, &mut envelope),
                Wire::CloudEvents => {}
            }
            let preferred =
                profile.alias_prefix.and_then(|prefix| entry.row.aliases.iter().find(|it| it.starts_with(prefix)));
            if envelope.carried.spelling.as_ref().map(|it| it.as_str()) == preferred.map(String::as_str) {
                envelope.carried.spelling = None;
            }
            envelope
        })
        .boxed()
}

/// Envelopes with every fact, also those that the profile has no place for.
pub fn with_every_fact(profile: &'static Profile) -> BoxedStrategy<Envelope> {
    anything(profile).prop_map(|(_, envelope)| envelope).boxed()
}

fn nested(envelope: &mut Envelope) {
    (envelope.cause.business, envelope.cause.span) = (None, None);
    envelope.producer.region.get_or_insert_with(|| "somewhere".to_owned());
    envelope.residency.get_or_insert(Residency::Us);
    envelope.outbox.get_or_insert(OutboxId::from_bits(0));
    let (extra, spelling) = (std::mem::take(&mut envelope.carried.extra), envelope.carried.spelling.take());
    let small = serde_json::to_string(&extra).expect("a map prints").len() < 1000;
    envelope.carried = Carried { extra: if small { extra } else { Map::new() }, spelling, ..Carried::default() };
}

fn flat(entry: &Entry, envelope: &mut Envelope) {
    (envelope.cause.business, envelope.cause.span) = (None, None);
    (envelope.producer.region, envelope.offline_replay, envelope.ai_provenance) = (None, None, None);
    envelope.residency.get_or_insert(Residency::Us);
    envelope.idempotency_key = derived(entry, envelope).1;
    let Carried { ingested_at, db_write_at, spelling, .. } = envelope.carried.clone();
    let db_write_at = db_write_at.filter(|_| envelope.outbox.is_some());
    envelope.outbox = envelope.outbox.filter(|_| db_write_at.is_some());
    let ingested_at = ingested_at.or(Some(envelope.occurred_at));
    envelope.carried = Carried { ingested_at, db_write_at, spelling, ..Carried::default() };
}

fn spec_data(entry: &Entry, envelope: &mut Envelope) {
    bare(entry, envelope);
    envelope.idempotency_key = derived(entry, envelope).1;
    envelope.carried = Carried { spelling: envelope.carried.spelling.take(), ..Carried::default() };
}

fn table_row(entry: &Entry, envelope: &mut Envelope) {
    envelope.producer.service = entry.row.owner.clone();
    bare(entry, envelope);
    envelope.cause = Cause::root(CorrelationId::from_bits(envelope.id.bits()));
    let Carried { available_at, spelling, .. } = envelope.carried.clone();
    envelope.carried = Carried { available_at, spelling, ..Carried::default() };
}

/// Without what only richer forms carry.
fn bare(entry: &Entry, envelope: &mut Envelope) {
    envelope.key = derived(entry, envelope).0;
    let service = envelope.producer.service.clone();
    envelope.actor = Actor { kind: ActorKind::Service, id: service.clone() };
    envelope.producer =
        Producer { service, instance: "unknown".to_owned(), commit: "unknown".to_owned(), region: None };
    envelope.retention = entry.retention.clone();
    (envelope.residency, envelope.offline_replay, envelope.ai_provenance, envelope.outbox) = (None, None, None, None);
}

/// The aggregate's id and the idempotency key by the row's templates.
fn derived(entry: &Entry, envelope: &Envelope) -> (String, String) {
    let payload: Value = serde_json::from_str(envelope.payload.get()).expect("serde printed it");
    let key = entry.row.key.render(&payload).expect("the payload has an order");
    (key, entry.row.idempotency_key.render(&payload).expect("the payload has an order"))
}
