//! The contract of a whole platform, event by event.

use karwan_envelope::cause::{Actor, ActorKind, Cause, PLATFORM, Producer, Residency, Tenant};
use karwan_envelope::directory::Entry;
use karwan_envelope::envelope::{Context, Draft};
use karwan_envelope::ids::TenantId;
use karwan_envelope::mint::{Mint, SeededRandom};
use karwan_envelope::row::{AiProvenance, AiRule, Tenancy};
use karwan_envelope::time::{ManualClock, Timestamp};
use karwan_envelope::violation::Rule;
use karwan_envelope::wire;
use karwan_registry::payload::Payload;
use karwan_registry::{Catalogue, EventType, Platform};
use serde_json::Value;

use crate::instances::Instances;

/// How many documents of each schema are tried, with all optional fields and with none.
const DOCUMENTS: usize = 12;

/// Panics unless, for every event: what the schema admits, the struct reads and prints back; the struct's keys are those
/// of the row's templates; and the envelope around it survives every profile of the platform and is accepted.
pub fn check(platform: &'static Platform) {
    let catalogue = Catalogue::of(platform).expect("the platform has a catalogue");
    let events = (platform.events)();
    assert_eq!(events.len(), catalogue.directory().entries().len());
    for (event, entry) in events.iter().zip(catalogue.directory().entries()) {
        let schema = catalogue.schema(&entry.row.subject).expect("every entry has its schema");
        let mut instances = Instances::of(&schema.document);
        for round in 0..DOCUMENTS {
            let document = instances.next(round.is_multiple_of(2));
            check_struct(event, entry, &document);
            check_envelope(&catalogue, entry, &document);
        }
    }
}

fn check_struct(event: &EventType, entry: &Entry, document: &Value) {
    let subject = &entry.row.subject;
    let reread = (event.reread)(&document.to_string());
    let reread = reread.unwrap_or_else(|error| panic!("{subject}: {error} in {document}"));
    let printed: Value = serde_json::from_str(&reread.payload).expect("a struct prints JSON");
    assert_eq!(printed, *document, "{subject}");
    assert_eq!(Some(reread.key), entry.row.key.render(document), "{subject}");
    assert_eq!(Some(reread.idempotency_key), entry.row.idempotency_key.render(document), "{subject}");
}

fn check_envelope(catalogue: &Catalogue, entry: &Entry, document: &Value) {
    let row = &entry.row;
    let text = document.to_string();
    let mint = Mint::new(ManualClock::at(Timestamp::from_unix_ms(1_777_543_200_117)), SeededRandom::new(7));
    let draft = Draft {
        key: row.key.render(document).expect("the key's fields are mandatory"),
        idempotency_key: row.idempotency_key.render(document).expect("the key's fields are mandatory"),
        payload: serde_json::value::RawValue::from_string(text.clone()).expect("it is JSON"),
        ai_provenance: (row.ai_provenance == AiRule::Metadata).then(provenance),
    };
    let envelope = draft.seal(entry, &context(catalogue.platform(), entry, document, &mint), &mint);
    let accepted = catalogue.validate(&envelope);
    if row.local_only {
        let violations = accepted.expect_err("a local event is never accepted").0;
        assert!(violations.iter().all(|violation| violation.rule == Rule::LocalOnly), "{violations:?}");
        return;
    }
    assert_eq!(accepted, Ok(()), "{}: {text}", row.subject);
    for profile in catalogue.platform().profiles {
        let printed = wire::encode(profile, catalogue.directory(), &envelope).expect("its own profiles print it");
        let read = wire::decode(profile, catalogue.directory(), printed.as_bytes());
        let read =
            read.unwrap_or_else(|violations| panic!("{} in {}: {violations}", row.subject, profile.name)).envelope;
        assert_eq!(read.payload.get(), text);
        // A form without a place for the provenance cannot carry an event that needs it.
        if read.ai_provenance == envelope.ai_provenance {
            assert_eq!(catalogue.validate(&read), Ok(()), "{} in {}", row.subject, profile.name);
        }
    }
    let schema = catalogue.schema(&row.subject).expect("every entry has its schema");
    let broken = text.replacen('{', "{\"unheardOf\":1,", 1).replace("1,}", "1}");
    let payload = Payload::read(&broken).expect("it is JSON");
    assert!(!schema.violations(&payload).is_empty(), "{}: an unknown field was admitted", row.subject);
}

type TestMint = Mint<ManualClock, SeededRandom>;

fn context(platform: &Platform, entry: &Entry, document: &Value, mint: &TestMint) -> Context {
    let named = document.get("tenantId").and_then(Value::as_str).filter(|tenant| *tenant != PLATFORM);
    let parsed = named.map(|text| {
        let forms = platform.profiles.iter().map(|profile| profile.tenant_id);
        let bits = forms.into_iter().find_map(|form| form.parse(text).ok()).expect("a payload names a tenant");
        TenantId::from_bits(bits)
    });
    let tenant = match entry.row.tenancy {
        Tenancy::Platform => Tenant::Platform,
        Tenancy::Tenant | Tenancy::CrossTenant => Tenant::One(parsed.unwrap_or_else(|| TenantId::from_bits(1 << 80))),
    };
    let service = entry.row.owner.clone();
    Context {
        tenant,
        cause: Cause::root(mint.correlation()),
        actor: Actor { kind: ActorKind::Service, id: service.clone() },
        producer: Producer { service, instance: "test".to_owned(), commit: "test".to_owned(), region: None },
        residency: Residency::Me,
    }
}

fn provenance() -> AiProvenance {
    AiProvenance {
        model_id: "model".to_owned(),
        model_version: "1".to_owned(),
        prompt_id: "prompt".to_owned(),
        prompt_version: "1".to_owned(),
        trace_id: "trace".to_owned(),
        local: false,
        input_hash: "sha256-0".to_owned(),
        confidence: Some(0.5),
        decision_id: None,
        reviewed_by: None,
        generated_at: Timestamp::from_unix_ms(1_777_543_200_000),
    }
}
