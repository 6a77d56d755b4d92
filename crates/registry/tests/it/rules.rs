//! The rules of an envelope: the same when it is produced and when it is consumed.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use karwan_envelope::cause::Tenant;
use karwan_envelope::directory::SchemaUri;
use karwan_envelope::envelope::{Context, Draft};
use karwan_envelope::ids::{EventId, Form, TenantId};
use karwan_envelope::profile::{Profile, Wire};
use karwan_envelope::row::AiProvenance;
use karwan_envelope::violation::Rule;
use karwan_envelope::{Envelope, wire};
use karwan_registry::hash::hash;
use karwan_registry::{Catalogue, Event};
use serde_json::{Value, json};

use crate::shop::{
    BasketPlaced, BooksClosed, COUNTER, DrawerCounted, HintGiven, InvoicePaid, Line, PictureDrawn, TENANT, basket,
    catalogue, context, mint, produced, provenance,
};

/// The event as a careless producer would seal it, without asking the catalogue.
fn forged<E: Event>(catalogue: &Catalogue, event: &E, context: &Context, ai: Option<AiProvenance>) -> Envelope {
    let entry = catalogue.directory().resolve(E::SUBJECT).expect("a row");
    let payload = serde_json::value::to_raw_value(event).expect("JSON");
    let draft = Draft { key: event.key(), idempotency_key: event.idempotency_key(), payload, ai_provenance: ai };
    draft.seal(entry, context, &mint())
}

/// Refused when produced, and for the same reasons when a forged one is consumed.
fn check<E: Event>(event: &E, context: &Context, expected: Expect) {
    let catalogue = catalogue();
    let produced = catalogue.envelope(event, context, None, &mint()).expect_err("refused when produced");
    let consumed = catalogue.validate(&forged(&catalogue, event, context, None)).expect_err("refused when consumed");
    assert_eq!(produced, consumed);
    expected.assert_eq(&produced.to_string());
}

const OTHER: Tenant = Tenant::One(TenantId::from_bits(1 << 100));

fn invoice(tenant: Tenant) -> InvoicePaid {
    let Tenant::One(tenant_id) = tenant else { unreachable!("an invoice is a tenant's") };
    InvoicePaid { order_id: "o-1".to_owned(), tenant_id }
}

#[test]
fn only_the_owner_publishes() {
    check(
        &basket(),
        &context("till-service", TENANT),
        expect!["/producedBy/service: only order-service publishes shop.order.basket.placed.v1 (envelope-producer)"],
    );
}

#[test]
fn a_shared_event_is_published_by_those_that_its_row_names() {
    for service in ["payment-service", "till-service"] {
        let paid = catalogue().envelope(&invoice(TENANT), &context(service, TENANT), None, &mint());
        assert!(paid.is_ok(), "{service}: {paid:?}");
    }
    check(
        &invoice(TENANT),
        &context("order-service", TENANT),
        expect![
            "/producedBy/service: only payment-service, till-service publishes shop.payment.invoice.paid.v1 (envelope-producer)"
        ],
    );
}

#[test]
fn a_tenant_s_event_does_not_belong_to_the_platform() {
    check(
        &basket(),
        &context("order-service", Tenant::Platform),
        expect!["/tenantId: shop.order.basket.placed.v1 belongs to a tenant; name it (envelope-tenancy)"],
    );
}

#[test]
fn a_platform_event_belongs_to_no_tenant() {
    let closed = BooksClosed { day: "2026-11-16".to_owned(), tenant_id: None };
    check(
        &closed,
        &context("order-service", TENANT),
        expect!["/tenantId: shop.order.books.closed.v1 is the platform's own: `platform` (envelope-tenancy)"],
    );
    let own = catalogue().envelope(&closed, &context("order-service", Tenant::Platform), None, &mint());
    assert!(own.is_ok(), "{own:?}");
}

/// R-031, R-075, R-416.
#[test]
fn a_payload_names_the_tenant_of_its_envelope() {
    check(
        &invoice(OTHER),
        &context("payment-service", TENANT),
        expect!["/payload/tenantId: another tenant than the envelope's (envelope-tenant-mismatch)"],
    );
}

/// R-019, R-411, R-441.
#[test]
fn an_ai_event_says_which_ai_in_its_envelope() {
    let hint = HintGiven { hint_id: "h-1".to_owned() };
    check(
        &hint,
        &context("advice-service", TENANT),
        expect![
            "/metadata/aiProvenance: mandatory on shop.advice.hint.given.v1: it says which AI took part (envelope-ai-provenance)"
        ],
    );
}

/// R-042.
#[test]
fn a_local_event_never_leaves_its_device() {
    check(
        &DrawerCounted { drawer: "d-1".to_owned() },
        &context("till-service", TENANT),
        expect!["/: shop.till.drawer.counted.local.v1 never leaves its device (envelope-local-only)"],
    );
}

#[test]
fn keys_are_neither_empty_nor_too_long() {
    let keyed = |order_id: String| BasketPlaced { order_id, ..basket() };
    check(
        &keyed(String::new()),
        &context("order-service", TENANT),
        expect![[r#"
        /metadata/orderingKey: an aggregate id has 1 to 200 bytes (envelope-ordering-key)
        /payload/orderId: value is shorter than 1 character (envelope-payload)"#]],
    );
    check(
        &keyed("o".repeat(301)),
        &context("order-service", TENANT),
        expect![[r#"
        /idempotencyKey: 1 to 300 bytes (envelope-idempotency-key)
        /metadata/orderingKey: an aggregate id has 1 to 200 bytes (envelope-ordering-key)
        /payload/orderId: value is longer than 100 characters (envelope-payload)"#]],
    );
}

#[test]
fn every_violation_is_listed_and_no_value_is_repeated() {
    let secret = "zarghuna".repeat(40);
    let lines = vec![Line { article: String::new(), count: 1, grams: Some(1 << 60) }];
    let event = BasketPlaced { email: secret.clone(), note: Some(secret.repeat(2)), lines, ..basket() };
    let refused = produced(&event).expect_err("four fields are wrong");
    assert_eq!(refused.0.len(), 4, "{refused}");
    assert!(!refused.to_string().contains("zarghuna"), "{refused}");
    expect![[r#"
        /payload/lines/0/article: value is shorter than 1 character (envelope-payload)
        /payload/lines/0/grams: value is greater than the maximum of 9007199254740991 (envelope-payload)
        /payload/email: value is longer than 254 characters (envelope-payload)
        /payload/note: value is longer than 500 characters (envelope-payload)"#]]
    .assert_eq(&refused.to_string());
}

#[test]
fn a_hostile_payload_is_not_answered_at_length() {
    let catalogue = catalogue();
    let mut envelope = produced(&basket()).expect("valid");
    let mut payload = serde_json::to_value(basket()).expect("JSON");
    payload["lines"] = vec![json!({}); 10_000].into();
    envelope.payload = serde_json::value::to_raw_value(&payload).expect("JSON");
    let refused = catalogue.validate(&envelope).expect_err("ten thousand lines that are none");
    assert!(refused.0.len() <= karwan_registry::catalogue::PAYLOAD_VIOLATIONS_MAX, "{}", refused.0.len());
}

/// A document as it was on the wire, and what reading and judging it says.
struct Wired {
    rule: Rule,
    text: String,
}

/// Changes a valid document, and reads it as a consumer would.
fn tampered<E: Event>(event: &E, profile: &Profile, tamper: fn(&mut Value)) -> Vec<Wired> {
    let catalogue = catalogue();
    let sealed = forged(&catalogue, event, &context(&E::row().owner, TENANT), Some(provenance()));
    let text = wire::encode(profile, catalogue.directory(), &sealed).expect("printable");
    let mut document = serde_json::from_str(&text).expect("JSON");
    tamper(&mut document);
    let judged = wire::decode(profile, catalogue.directory(), document.to_string().as_bytes())
        .and_then(|decoded| catalogue.validate(&decoded.envelope));
    let violations = judged.expect_err("it was tampered with").0;
    violations.into_iter().map(|violation| Wired { rule: violation.rule, text: violation.to_string() }).collect()
}

const TILL: Profile = Profile {
    name: "till",
    wire: Wire::SpecData,
    event_id: Form::Prefixed("evt"),
    alias_prefix: Some("till."),
    schema_base: Some("https://schemas.shop.example/"),
    ..COUNTER
};

type Tamper = fn(&mut Value);

const ON_THE_WIRE: &[(&str, Tamper)] = &[
    ("not an object", |it| *it = json!([1])),
    ("v4 id", |it| it["eventId"] = "5b1c9a52-7d0e-4c58-9f0b-2f6f3c1f0a11".into()),
    ("type with version", |it| it["eventType"] = "shop.order.basket.placed.v1".into()),
    ("type unknown", |it| it["eventType"] = "shop.order.basket.stolen".into()),
    ("version of another topic", |it| it["eventVersion"] = 2.into()),
    ("version that no topic has", |it| it["eventVersion"] = 9.into()),
    ("schema of another event", |it| {
        let uri = it["schemaUri"].as_str().unwrap_or_default().replace("/basket/", "/crate/");
        it["schemaUri"] = uri.into();
    }),
    ("schema that nobody knows", |it| {
        it["schemaUri"] = format!("schemas://order/basket/placed/v1#sha256-{}", "0".repeat(64)).into();
    }),
    ("money as a number", |it| it["payload"]["total"]["amountMicro"] = 12_500_000.into()),
    ("money in no currency", |it| it["payload"]["total"]["currency"] = "afghani".into()),
    ("field that the schema lacks", |it| it["payload"]["colour"] = "red".into()),
    ("optional field as null", |it| it["payload"]["note"] = Value::Null),
    ("enum value that the schema lacks", |it| it["payload"]["speed"] = "lightning".into()),
    ("payload of another kind", |it| it["payload"] = "text".into()),
    ("platform's own", |it| {
        it["tenantId"] = "platform".into();
        it["metadata"]["orderingKey"] = "platform:o-1".into();
    }),
    ("no tenant", |it| {
        it.as_object_mut().map(|it| it.remove("tenantId"));
    }),
    ("ordering key of another tenant", |it| {
        it["metadata"]["orderingKey"] = "tnt_01ARZ3NDEKTSV4RRFFQ69G5FAV:o-1".into();
    }),
    ("no idempotency key", |it| {
        it.as_object_mut().map(|it| it.remove("idempotencyKey"));
    }),
    ("empty idempotency key", |it| it["idempotencyKey"] = "".into()),
    ("another retention class", |it| it["metadata"]["retentionClass"] = "long".into()),
    ("another producer", |it| it["producedBy"]["service"] = "till-service".into()),
    ("another kind of actor", |it| it["actorId"]["type"] = "robot".into()),
    ("metadata past its bound", |it| it["metadata"]["remark"] = "x".repeat(4096).into()),
    ("unknown field", |it| it["colour"] = "red".into()),
];

/// R-003…R-020 and R-085, at the consumer's end: what was tampered with is refused, by name and place.
#[test]
fn a_tampered_envelope_is_refused_for_what_is_wrong_with_it() {
    let mut lines = String::new();
    for (name, tamper) in ON_THE_WIRE {
        for wired in tampered(&basket(), &COUNTER, *tamper) {
            lines.push_str(&format!("{name}: {}\n", wired.text));
        }
    }
    expect![[r#"
        not an object: /: must be a JSON object (envelope-not-an-object)
        v4 id: /eventId: `5b1c9a52-7d0e-4c58-9f0b-2f6f3c1f0a11` is not a UUID of version 7 in lower case (envelope-field-invalid)
        type with version: /eventType: `shop.order.basket.placed.v1` carries a version; the version has a field of its own (envelope-event-type-versioned)
        type unknown: /eventType: `shop.order.basket.stolen.v1` is not in the catalogue (envelope-subject-unknown)
        version of another topic: /schemaUri: shop.order.basket.placed.v2 has its schema at schemas://order/basket/placed/v2 (envelope-schema-mismatch)
        version that no topic has: /eventType: `shop.order.basket.placed.v9` is not in the catalogue (envelope-subject-unknown)
        schema of another event: /schemaUri: shop.order.basket.placed.v1 has its schema at schemas://order/basket/placed/v1 (envelope-schema-mismatch)
        schema that nobody knows: /schemaUri: no known schema of shop.order.basket.placed.v1 has the hash sha256-0000000000000000000000000000000000000000000000000000000000000000; load the bundle that published it (envelope-schema-unknown)
        money as a number: /payload/total/amountMicro: value is not of type "string" (envelope-payload)
        money in no currency: /payload/total/currency: value does not match "^[A-Z]{3}$" (envelope-payload)
        field that the schema lacks: /payload: Additional properties are not allowed ('colour' was unexpected) (envelope-payload)
        optional field as null: /payload/note: value is not of type "string" (envelope-payload)
        enum value that the schema lacks: /payload/speed: value is not valid under any of the schemas listed in the 'oneOf' keyword (envelope-payload)
        payload of another kind: /payload: value is not of type "object" (envelope-payload)
        platform's own: /tenantId: shop.order.basket.placed.v1 belongs to a tenant; name it (envelope-tenancy)
        no tenant: /tenantId: mandatory, and absent (envelope-field-missing)
        ordering key of another tenant: /metadata/orderingKey: `tnt_01ARZ3NDEKTSV4RRFFQ69G5FAV:o-1` is not <tenantId>:<aggregateId> of this envelope, the latter 1 to 200 bytes (envelope-ordering-key)
        no idempotency key: /idempotencyKey: mandatory, and absent (envelope-field-missing)
        empty idempotency key: /idempotencyKey: 1 to 300 bytes, and this has 0 (envelope-idempotency-key)
        another retention class: /metadata/retentionClass: the catalogue says kept (envelope-retention)
        another producer: /producedBy/service: only order-service publishes shop.order.basket.placed.v1 (envelope-producer)
        another kind of actor: /actorId/type: unknown variant `robot`, expected one of `user`, `system`, `service`, `api_key` (envelope-field-invalid)
        metadata past its bound: /metadata: 4433 bytes serialised, and at most 4096 are allowed (envelope-metadata-too-large)
        unknown field: /colour: this profile has no such field (envelope-field-unknown)
    "#]].assert_eq(&lines);
}

#[test]
fn a_forged_ai_event_without_provenance_is_refused_by_the_consumer() {
    let check = |found: Vec<Wired>, expected: Expect| {
        assert!(found.iter().any(|wired| wired.rule == Rule::AiProvenance));
        expected.assert_eq(&found.into_iter().map(|wired| wired.text + "\n").collect::<String>());
    };
    let hint = HintGiven { hint_id: "h-1".to_owned() };
    let found = tampered(&hint, &COUNTER, |it| {
        it["metadata"].as_object_mut().map(|it| it.remove("aiProvenance"));
    });
    check(
        found,
        expect![[r#"
        /metadata/aiProvenance: mandatory on shop.advice.hint.given.v1: it says which AI took part (envelope-ai-provenance)
    "#]],
    );
    let picture = PictureDrawn { picture_id: "p-1".to_owned(), ai_provenance: provenance() };
    let found = tampered(&picture, &COUNTER, |it| {
        it["payload"].as_object_mut().map(|it| it.remove("aiProvenance"));
    });
    check(
        found,
        expect![[r#"
        /payload/aiProvenance: mandatory in the payload of shop.advice.picture.drawn.v1 (envelope-ai-provenance)
        /payload: "aiProvenance" is a required property (envelope-payload)
    "#]],
    );
}

#[test]
fn every_rule_of_an_envelope_has_a_case() {
    let drawer = DrawerCounted { drawer: "d-1".to_owned() };
    let hint = HintGiven { hint_id: "h-1".to_owned() };
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut see = |found: Vec<Wired>| seen.extend(found.iter().map(|wired| wired.rule.id()));
    ON_THE_WIRE.iter().for_each(|(_, tamper)| see(tampered(&basket(), &COUNTER, *tamper)));
    see(tampered(&basket(), &TILL, |it| it["type"] = "till.basket.placed.v2".into()));
    see(tampered(&invoice(OTHER), &COUNTER, |_| {}));
    see(tampered(&drawer, &COUNTER, |_| {}));
    see(tampered(&hint, &COUNTER, |it| {
        it["metadata"].as_object_mut().map(|it| it.remove("aiProvenance"));
    }));
    let without: Vec<&str> = Rule::ALL.iter().map(|rule| rule.id()).filter(|rule| !seen.contains(rule)).collect();
    assert_eq!(without, Vec::<&str>::new());
}

/// C-02: kept as it came, and refused where a UUIDv7 must be printed.
#[test]
fn a_foreign_id_of_version_4_is_not_published_where_version_7_is_the_rule() {
    let mut envelope = produced(&basket()).expect("valid");
    envelope.id = EventId::from_bits(0x5b1c_9a52_7d0e_4c58_9f0b_2f6f_3c1f_0a11);
    let error = wire::encode(&COUNTER, catalogue().directory(), &envelope).expect_err("version 4");
    expect!["the profile counter cannot print the event id"].assert_eq(&error.to_string());
}

/// The schema of `BasketPlaced` before the customer's address was mandatory.
fn older(catalogue: &Catalogue) -> (SchemaUri, Value) {
    let mut document = catalogue.schema(BasketPlaced::SUBJECT).expect("a row").document.clone();
    document["properties"].as_object_mut().expect("an object").remove("email");
    document["required"].as_array_mut().expect("a list").retain(|name| name != "email");
    let path = "order/basket/placed/v1".to_owned();
    (SchemaUri { path, hash: hash(&document).expect("a hash") }, document)
}

/// C-25.
#[test]
fn an_event_is_judged_by_the_schema_that_it_was_written_by() {
    let mut catalogue = catalogue();
    let (uri, document) = older(&catalogue);
    let mut payload = serde_json::to_value(basket()).expect("JSON");
    payload.as_object_mut().expect("an object").remove("email");
    let mut old = produced(&basket()).expect("valid");
    old.payload = serde_json::value::to_raw_value(&payload).expect("JSON");
    let judged = catalogue.validate(&old).expect_err("by the new schema");
    expect![[r#"/payload: "email" is a required property (envelope-payload)"#]].assert_eq(&judged.to_string());
    old.schema = uri.clone();
    let judged = catalogue.validate(&old).expect_err("by a schema that nobody loaded");
    assert_eq!(judged.0[0].rule, Rule::SchemaUnknown);
    catalogue.learn(&uri, document).expect("the hash is right");
    catalogue.validate(&old).expect("valid when it was written, and still");
    // What the old schema did not have, an event of the old schema does not have.
    old.payload = serde_json::value::to_raw_value(&basket()).expect("JSON");
    assert_eq!(catalogue.validate(&old).expect_err("by the old schema").0[0].rule, Rule::Payload);
}

#[test]
fn a_schema_is_learned_for_its_own_path_only() {
    let mut catalogue = catalogue();
    let (uri, document) = older(&catalogue);
    let elsewhere = SchemaUri { path: "payment/invoice/paid/v1".to_owned(), ..uri.clone() };
    catalogue.learn(&elsewhere, document).expect("the hash is right");
    let mut old = produced(&basket()).expect("valid");
    old.schema = uri;
    assert_eq!(catalogue.validate(&old).expect_err("another event's schema").0[0].rule, Rule::SchemaUnknown);
}

#[test]
fn a_schema_with_another_hash_than_its_uri_says_is_not_learned() {
    let mut catalogue = catalogue();
    let (uri, mut document) = older(&catalogue);
    document["title"] = "tampered".into();
    let error = catalogue.learn(&uri, document).expect_err("another content");
    assert!(error.to_string().contains(&uri.hash.to_string()), "{error}");
    assert!(catalogue.schema_by_hash(&uri.hash).is_none());
}
