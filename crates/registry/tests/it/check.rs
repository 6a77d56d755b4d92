//! The policy gates: violations planted in a copy of the shop's files, one by one.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use karwan_envelope::wire;
use karwan_registry::check::{Gate, check as findings};
use karwan_registry::files::{self, Tree};
use karwan_registry::hash::hash;
use karwan_registry::platform::Platform;
use karwan_registry::{Catalogue, Event, events};
use serde_json::{Value, json};

use crate::shop::{BasketPlaced, COUNTER, PROFILES, SHOP, basket, catalogue, produced, shop_events};

const TOPICS: &str = "shop/topics.json";
const POLICY: &str = "shop/policy.json";
const PAID: &str = "shop.payment.invoice.paid.v1";
const PAID_FILE: &str = "shop/event-schemas/payment/invoice/paid/v1.json";
const PLACED: &str = BasketPlaced::SUBJECT;

fn read(tree: &Tree, path: &str) -> Value {
    serde_json::from_slice(&tree[path]).expect("emitted JSON")
}

fn edit(tree: &mut Tree, path: &str, change: impl FnOnce(&mut Value)) {
    let mut document = read(tree, path);
    change(&mut document);
    tree.insert(path.to_owned(), files::pretty(&document));
}

/// Changes a row, among the topics or local.
fn row(tree: &mut Tree, subject: &str, change: impl FnOnce(&mut Value)) {
    edit(tree, TOPICS, |topics| {
        let mut lists: Vec<&mut Value> = Vec::new();
        for list in topics.as_object_mut().expect("an object").values_mut().filter_map(Value::as_array_mut) {
            lists.extend(list.iter_mut());
        }
        change(lists.into_iter().find(|row| row["subject"] == subject).expect("a row"));
    });
}

/// Changes the schema of `PAID` and its hash with it, so that nothing else is wrong.
fn schema(tree: &mut Tree, change: impl FnOnce(&mut Value)) {
    edit(tree, PAID_FILE, change);
    let digest = hash(&read(tree, PAID_FILE)).map(|digest| digest.to_string()).unwrap_or_else(|_| "0".repeat(64));
    row(tree, PAID, |row| row["schemaUri"] = format!("schemas://payment/invoice/paid/v1#sha256-{digest}").into());
}

fn sample(tree: &mut Tree, path: &str, text: impl Into<Vec<u8>>) {
    tree.insert(format!("shop/samples/{path}"), text.into());
}

fn envelope_sample(tree: &mut Tree, change: impl FnOnce(&mut Value)) {
    let envelope = produced(&basket()).expect("valid");
    let text = wire::encode(&COUNTER, catalogue().directory(), &envelope).expect("printable");
    let mut document = serde_json::from_str(&text).expect("JSON");
    change(&mut document);
    sample(tree, "envelopes/counter/basket.json", document.to_string());
}

struct Planted {
    name: &'static str,
    gate: Gate,
    plant: fn(&mut Tree),
}

const fn planted(gate: Gate, name: &'static str, plant: fn(&mut Tree)) -> Planted {
    Planted { name, gate, plant }
}

const FILES: &[Planted] = &[
    planted(Gate::Unreadable, "policy that is missing", |tree| {
        tree.remove(POLICY);
    }),
    planted(Gate::Unreadable, "topics that are cut off", |tree| {
        tree.get_mut(TOPICS).expect("emitted").truncate(100);
    }),
    planted(Gate::Unreadable, "row with a field of another kind", |tree| {
        row(tree, PAID, |row| row["version"] = "1".into())
    }),
    planted(Gate::Unreadable, "schema with a key that stands twice", |tree| {
        tree.insert(PAID_FILE.to_owned(), br#"{"type": "object", "type": "string"}"#.to_vec());
    }),
    planted(Gate::RowWithoutSchema, "schema that is missing", |tree| {
        tree.remove(PAID_FILE);
    }),
    planted(Gate::SchemaWithoutRow, "schema of nobody", |tree| {
        tree.insert("shop/event-schemas/order/basket/lost/v1.json".to_owned(), b"{}".to_vec());
    }),
    planted(Gate::SchemaWithoutRow, "schema of an aggregate with an envelope's name", |tree| {
        tree.insert("shop/event-schemas/order/envelope/opened/v1.json".to_owned(), b"{}".to_vec());
    }),
    planted(Gate::SchemaHash, "schema that was changed", |tree| {
        edit(tree, PAID_FILE, |it| it["title"] = "Paid".into())
    }),
    planted(Gate::SchemaHash, "row with the schema of another", |tree| {
        let other = read(tree, TOPICS)["topics"]
            .as_array()
            .and_then(|rows| rows.iter().find(|row| row["subject"] == PLACED).cloned());
        let other = other.expect("a row");
        row(tree, "shop.order.basket.placed.v2", |row| {
            row["schemaUri"] = other["schemaUri"].clone();
            row["schemaFile"] = other["schemaFile"].clone();
        });
        tree.remove("shop/event-schemas/order/basket/placed/v2.json");
        row(tree, "shop.order.basket.placed.v2", |row| {
            row["key"] = "{tenantId}:{orderId}".into();
            row["idempotencyKey"] = "{orderId}".into();
        });
    }),
    planted(Gate::SchemaInvalid, "schema that does not compile", |tree| {
        schema(tree, |it| it["type"] = "nonsense".into())
    }),
    planted(Gate::SchemaInvalid, "schema with a number that JSON rounds", |tree| {
        edit(tree, PAID_FILE, |it| it["maxProperties"] = (1_u64 << 60).into());
    }),
];

const NAMES: &[Planted] = &[
    planted(Gate::Stale, "policy about a row that is gone", |tree| {
        edit(tree, POLICY, |it| it["shared"] = json!([PAID, "shop.order.basket.lost.v1"]));
    }),
    planted(Gate::Stale, "exemptions of rows that are gone", |tree| {
        edit(tree, POLICY, |it| {
            it["owners"] = json!({"shop.order.basket.lost.v1": "till-service"});
            it["notSecret"] = json!({"shop.order.basket.lost.v1": ["token"]});
        });
    }),
    planted(Gate::SubjectGrammar, "name that is not in the past tense", |tree| {
        row(tree, PAID, |row| row["subject"] = "shop.payment.invoice.pay.v1".into());
        edit(tree, POLICY, |it| it["shared"] = json!(["shop.payment.invoice.pay.v1"]));
        tree.retain(|path, _| !path.starts_with("shop/samples/"));
    }),
    planted(Gate::SubjectGrammar, "version that is not the name's", |tree| {
        row(tree, PAID, |row| row["version"] = 2.into())
    }),
    planted(Gate::SubjectDuplicate, "alias that is another row's name", |tree| {
        row(tree, PAID, |row| row["aliases"] = json!(["till.basket.placed.v1"]));
    }),
    planted(Gate::NonOwner, "owner that the name does not name", |tree| {
        row(tree, PLACED, |row| row["owner"] = "till-service".into())
    }),
    planted(Gate::NonOwner, "publisher besides the owner", |tree| {
        row(tree, PLACED, |row| row["producers"] = json!(["order-service", "till-service"]));
    }),
    planted(Gate::NonOwner, "row without a publisher", |tree| row(tree, PLACED, |row| row["producers"] = json!([]))),
    planted(Gate::Untenanted, "event of no tenant, outside the list", |tree| {
        row(tree, PAID, |row| row["tenancy"] = "platform".into())
    }),
    planted(Gate::Untenanted, "tenant's event on the list of the platform's", |tree| {
        row(tree, "shop.order.books.closed.v1", |row| row["tenancy"] = "tenant".into());
    }),
    planted(Gate::Untenanted, "list that nobody reviewed", |tree| {
        edit(tree, POLICY, |it| it["platformEvents"]["reviewedOn"] = "last spring".into());
    }),
    planted(Gate::CrossTenant, "cross-tenant event outside its prefixes", |tree| {
        row(tree, PAID, |row| row["tenancy"] = "crossTenant".into());
    }),
    planted(Gate::CrossTenant, "cross-tenant event without a read path", |tree| {
        edit(tree, POLICY, |it| it["crossTenantReads"] = json!({}))
    }),
    planted(Gate::CrossTenant, "read path of a tenant's event", |tree| {
        row(tree, "shop.search.price.listed.v1", |row| row["tenancy"] = "tenant".into());
    }),
];

const CONTENT: &[Planted] = &[
    planted(Gate::AiProvenance, "AI event whose envelope need not say so", |tree| {
        row(tree, "shop.advice.hint.given.v1", |row| row["aiProvenance"] = "none".into());
    }),
    planted(Gate::AiProvenance, "AI event whose payload need not say so", |tree| {
        row(tree, "shop.advice.picture.drawn.v1", |row| row["aiProvenance"] = "payloadOptional".into());
    }),
    planted(Gate::AiProvenance, "AI event whose schema does not ask for it", |tree| {
        row(tree, PAID, |row| row["aiProvenance"] = "payload".into())
    }),
    planted(Gate::IdempotencyKey, "row without an idempotency key", |tree| {
        row(tree, PAID, |row| {
            row.as_object_mut().map(|row| row.remove("idempotencyKey"));
        });
    }),
    planted(Gate::IdempotencyKey, "idempotency key without a field", |tree| {
        row(tree, PAID, |row| row["idempotencyKey"] = "paid".into())
    }),
    planted(Gate::IdempotencyKey, "idempotency key over a field that may be missing", |tree| {
        row(tree, PLACED, |row| row["idempotencyKey"] = "{orderId}:{note}".into());
    }),
    planted(Gate::OrderingKey, "ordering key without its tenant", |tree| {
        row(tree, PAID, |row| row["key"] = "{orderId}".into())
    }),
    planted(Gate::OrderingKey, "ordering key over a field that does not exist", |tree| {
        row(tree, PAID, |row| row["key"] = "{tenantId}:{invoiceId}".into());
    }),
    planted(Gate::RetentionClass, "retention that the platform lacks", |tree| {
        row(tree, PAID, |row| row["retention"]["coldDays"] = 1.into())
    }),
    planted(Gate::LocalOnly, "local event among the topics", |tree| {
        edit(tree, TOPICS, |topics| {
            let local = topics["localOnly"][0].take();
            topics["localOnly"] = json!([]);
            topics["topics"].as_array_mut().expect("a list").push(local);
        });
    }),
    planted(Gate::LocalOnly, "topic among the local events", |tree| {
        edit(tree, TOPICS, |topics| {
            let rows = topics["topics"].as_array_mut().expect("a list");
            let at = rows.iter().position(|row| row["subject"] == PLACED).expect("a row");
            let moved = rows.remove(at);
            topics["localOnly"].as_array_mut().expect("a list").push(moved);
        });
    }),
    planted(Gate::Secret, "field that looks like a secret, deep inside", |tree| {
        schema(tree, |it| it["$defs"]["Card"] = json!({"properties": {"accessToken": {"type": "string"}}}));
    }),
];

const SAMPLES: &[Planted] = &[
    planted(Gate::Sample, "payload that its schema refuses", |tree| {
        sample(tree, "payloads/shop.payment.invoice.paid.v1.json", r#"{"orderId": 7, "colour": "red"}"#);
    }),
    planted(Gate::Sample, "payload of nobody", |tree| sample(tree, "payloads/shop.order.basket.lost.v1.json", "{}")),
    planted(Gate::Sample, "payload that is no JSON", |tree| {
        sample(tree, "payloads/shop.payment.invoice.paid.v1.json", "{")
    }),
    planted(Gate::Sample, "document in no folder", |tree| sample(tree, "basket.json", "{}")),
    planted(Gate::Sample, "envelope of no profile", |tree| sample(tree, "envelopes/pigeon/basket.json", "{}")),
    planted(Gate::Sample, "envelope with a version in its type", |tree| {
        envelope_sample(tree, |it| it["eventType"] = PLACED.into())
    }),
    planted(Gate::Sample, "envelope by a non-owner", |tree| {
        envelope_sample(tree, |it| it["producedBy"]["service"] = "till-service".into())
    }),
    planted(Gate::Sample, "envelope with a wrong payload", |tree| {
        envelope_sample(tree, |it| it["payload"]["rev"] = (-1).into())
    }),
    planted(Gate::Sample, "envelope by another schema", |tree| {
        envelope_sample(tree, |it| {
            it["schemaUri"] = format!("schemas://order/basket/placed/v1#sha256-{}", "0".repeat(64)).into();
        });
    }),
];

/// Every finding about every copy; hashes are cut off, they say nothing to a reader.
fn check(planted: &[Planted], expected: Expect) {
    let mut lines = String::new();
    for Planted { name, gate, plant } in planted {
        let mut tree = files::emit(&catalogue());
        plant(&mut tree);
        let found = findings(&tree, PROFILES);
        assert!(found.iter().any(|finding| finding.gate == *gate), "{name}: {found:?}");
        lines.push_str(&format!("## {name}\n"));
        found.iter().for_each(|finding| lines.push_str(&format!("{}\n", without_hashes(&finding.to_string()))));
    }
    expected.assert_eq(&lines);
}

fn without_hashes(text: &str) -> String {
    let is_hash = |word: &str| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let split = text.split_inclusive(|char: char| !char.is_ascii_alphanumeric());
    let words = split.map(|word| match word.trim_end_matches(|char: char| !char.is_ascii_alphanumeric()) {
        core if is_hash(core) => word.replace(core, if core.starts_with("0000") { "<zeros>" } else { "<hash>" }),
        _ => word.to_owned(),
    });
    words.collect()
}

#[test]
fn the_untouched_files_have_no_findings() {
    assert_eq!(findings(&files::emit(&catalogue()), PROFILES), []);
}

#[test]
fn a_valid_envelope_among_the_samples_has_no_findings() {
    let mut tree = files::emit(&catalogue());
    envelope_sample(&mut tree, |_| {});
    assert_eq!(findings(&tree, PROFILES), []);
}

#[test]
fn files_and_schemas_that_were_tampered_with_are_found() {
    check(
        FILES,
        expect![[r###"
        ## policy that is missing
        catalog-unreadable: shop/policy.json: there is no such file
            run `karwan catalog emit` (docs/errors/catalog-unreadable.md)
        ## topics that are cut off
        catalog-unreadable: shop/topics.json: line 6, column 25, at /localOnly/0/deadLetters: the document ends too early; expected the end of a string (json-truncated)
            run `karwan catalog emit` (docs/errors/catalog-unreadable.md)
        ## row with a field of another kind
        catalog-unreadable: shop/topics.json: invalid type: string "1", expected u32 at line 210 column 20
            run `karwan catalog emit` (docs/errors/catalog-unreadable.md)
        ## schema with a key that stands twice
        catalog-unreadable: shop/event-schemas/payment/invoice/paid/v1.json: line 1, column 20: the key `type` stands twice in one object (json-duplicate-key)
            run `karwan catalog emit` (docs/errors/catalog-unreadable.md)
        ## schema that is missing
        catalog-row-without-schema: shop/topics.json shop.payment.invoice.paid.v1: shop.payment.invoice.paid.v1 has no schema at event-schemas/payment/invoice/paid/v1.json
            every row of the catalogue has a JSON Schema; emit it, or remove the row (docs/errors/catalog-row-without-schema.md)
        ## schema of nobody
        catalog-schema-without-row: shop/event-schemas/order/basket/lost/v1.json: no row names this schema
            add the row, or remove the file: what nobody may publish needs no schema (docs/errors/catalog-schema-without-row.md)
        ## schema of an aggregate with an envelope's name
        catalog-schema-without-row: shop/event-schemas/order/envelope/opened/v1.json: no row names this schema
            add the row, or remove the file: what nobody may publish needs no schema (docs/errors/catalog-schema-without-row.md)
        ## schema that was changed
        catalog-schema-hash: shop/event-schemas/payment/invoice/paid/v1.json (shop.payment.invoice.paid.v1): its content hash is <hash>, and the row says <hash>
            emit the catalogue anew: the committed files are stale (docs/errors/catalog-schema-hash.md)
        ## row with the schema of another
        catalog-schema-hash: shop/topics.json shop.order.basket.placed.v2: its schema is order/basket/placed/v1, and its name says order/basket/placed/v2
            emit the catalogue anew: a row has a schema of its own (docs/errors/catalog-schema-hash.md)
        ## schema that does not compile
        catalog-schema-invalid: shop/event-schemas/payment/invoice/paid/v1.json (shop.payment.invoice.paid.v1): "nonsense" is not valid under any of the schemas listed in the 'anyOf' keyword
            mend the schema (docs/errors/catalog-schema-invalid.md)
        ## schema with a number that JSON rounds
        catalog-schema-invalid: shop/event-schemas/payment/invoice/paid/v1.json (shop.payment.invoice.paid.v1): /maxProperties: the number 1152921504606846976 is rounded by canonical JSON; write it as a string
            bound it by 2^53 − 1 (docs/errors/catalog-schema-invalid.md)
    "###]],
    );
}

#[test]
fn names_owners_and_tenancy_that_break_the_policy_are_found() {
    check(
        NAMES,
        expect![[r#"
            ## policy about a row that is gone
            catalog-stale: shop/policy.json shop.order.basket.lost.v1: the policy names a subject that no row has
                remove it from the policy (docs/errors/catalog-stale.md)
            ## exemptions of rows that are gone
            catalog-stale: shop/policy.json shop.order.basket.lost.v1: the policy names a subject that no row has
                remove it from the policy (docs/errors/catalog-stale.md)
            catalog-stale: shop/policy.json shop.order.basket.lost.v1: the policy names a subject that no row has
                remove it from the policy (docs/errors/catalog-stale.md)
            ## name that is not in the past tense
            catalog-subject-grammar: shop/topics.json shop.payment.invoice.pay.v1: subject `shop.payment.invoice.pay.v1`: `pay` is not in the past tense: an event is a fact that already happened
                follow the grammar; a published name that cannot is pinned in the policy's exceptions (docs/errors/catalog-subject-grammar.md)
            catalog-sample: shop/samples/payloads/shop.payment.invoice.paid.v1.json: the policy names this sample, and it is not there
                mend the sample or the schema: what the documentation shows must be valid (docs/errors/catalog-sample.md)
            ## version that is not the name's
            catalog-subject-grammar: shop/topics.json shop.payment.invoice.paid.v1: its version is 1, and the row says 2
                follow the grammar; a published name that cannot is pinned in the policy's exceptions (docs/errors/catalog-subject-grammar.md)
            ## alias that is another row's name
            catalog-subject-duplicate: shop/topics.json shop.payment.invoice.paid.v1: `till.basket.placed.v1` is also a name of shop.order.basket.placed.v1
                one spelling names one fact (docs/errors/catalog-subject-duplicate.md)
            ## owner that the name does not name
            catalog-non-owner: shop/topics.json shop.order.basket.placed.v1: owned by `till-service`, and `order` belongs to order-service
                only the owning service decides a fact (docs/errors/catalog-non-owner.md)
            ## publisher besides the owner
            catalog-non-owner: shop/topics.json shop.order.basket.placed.v1: published by till-service, and only order-service may
                let the owner publish it, or list the subject as shared (docs/errors/catalog-non-owner.md)
            ## row without a publisher
            catalog-non-owner: shop/topics.json shop.order.basket.placed.v1: nobody may publish it
                name the owner among its producers (docs/errors/catalog-non-owner.md)
            ## event of no tenant, outside the list
            catalog-untenanted: shop/topics.json shop.payment.invoice.paid.v1: untenanted, and not on the allow-list
                give it a tenant; the list of platform events is small and reviewed every quarter (docs/errors/catalog-untenanted.md)
            ## tenant's event on the list of the platform's
            catalog-untenanted: shop/topics.json shop.order.books.closed.v1: on the list of platform events, and is a tenant's
                take it off the list, or mark the event as the platform's (docs/errors/catalog-untenanted.md)
            ## list that nobody reviewed
            catalog-untenanted: shop/policy.json platformEvents/reviewedOn: the allow-list of platform events has no review date
                review the list and write the day (docs/errors/catalog-untenanted.md)
            ## cross-tenant event outside its prefixes
            catalog-cross-tenant: shop/topics.json shop.payment.invoice.paid.v1: cross-tenant subjects live only under shop.search.
                make it a tenant's event, or register the read path (docs/errors/catalog-cross-tenant.md)
            ## cross-tenant event without a read path
            catalog-cross-tenant: shop/topics.json shop.search.price.listed.v1: cross-tenant, and not in the table of cross-tenant read paths
                make it a tenant's event, or register the read path (docs/errors/catalog-cross-tenant.md)
            ## read path of a tenant's event
            catalog-cross-tenant: shop/topics.json shop.search.price.listed.v1: has a cross-tenant read path, and is a tenant's event
                remove the path, or mark the event cross-tenant (docs/errors/catalog-cross-tenant.md)
        "#]],
    );
}

#[test]
fn provenance_keys_retention_and_secrets_that_break_the_policy_are_found() {
    check(
        CONTENT,
        expect![[r#"
        ## AI event whose envelope need not say so
        catalog-ai-provenance: shop/topics.json shop.advice.hint.given.v1: an AI event, and its envelope need not carry aiProvenance
            an event that an AI produced says which one (docs/errors/catalog-ai-provenance.md)
        ## AI event whose payload need not say so
        catalog-ai-provenance: shop/topics.json shop.advice.picture.drawn.v1: an AI event, and its payload need not carry aiProvenance
            an event that an AI produced says which one (docs/errors/catalog-ai-provenance.md)
        ## AI event whose schema does not ask for it
        catalog-ai-provenance: shop/topics.json shop.payment.invoice.paid.v1: its schema does not require aiProvenance
            an event that an AI produced says which one (docs/errors/catalog-ai-provenance.md)
        ## row without an idempotency key
        catalog-idempotency-key: shop/topics.json shop.payment.invoice.paid.v1: no idempotency key
            derive it from the business intent, as a template over mandatory payload fields (docs/errors/catalog-idempotency-key.md)
        ## idempotency key without a field
        catalog-idempotency-key: shop/topics.json shop.payment.invoice.paid.v1: `paid` names no payload field: every event would collide
            derive it from the business intent, as a template over mandatory payload fields (docs/errors/catalog-idempotency-key.md)
        ## idempotency key over a field that may be missing
        catalog-idempotency-key: shop/topics.json shop.order.basket.placed.v1: `{note}` is not a mandatory field of the payload
            derive it from the business intent, as a template over mandatory payload fields (docs/errors/catalog-idempotency-key.md)
        ## ordering key without its tenant
        catalog-ordering-key: shop/topics.json shop.payment.invoice.paid.v1: the ordering key `{orderId}` is not {tenantId}:<aggregate>
            put the tenant first and the aggregate's id after it (docs/errors/catalog-ordering-key.md)
        ## ordering key over a field that does not exist
        catalog-ordering-key: shop/topics.json shop.payment.invoice.paid.v1: `{invoiceId}` is not a mandatory field of the payload
            name the aggregate's id (docs/errors/catalog-ordering-key.md)
        ## retention that the platform lacks
        catalog-retention-class: shop/topics.json shop.payment.invoice.paid.v1: `long` with these durations is no retention class
            use a class of the platform's policy (docs/errors/catalog-retention-class.md)
        ## local event among the topics
        catalog-local-only: shop/topics.json shop.till.drawer.counted.local.v1: a local subject among the topics
            move it to localOnly: it is never published (docs/errors/catalog-local-only.md)
        ## topic among the local events
        catalog-local-only: shop/topics.json shop.order.basket.placed.v1: among the local-only events, and its name does not say so
            move it to the topics, or name it ….local: whoever reads the name must see it (docs/errors/catalog-local-only.md)
        ## field that looks like a secret, deep inside
        catalog-secret: shop/topics.json shop.payment.invoice.paid.v1: the field `accessToken` looks like a secret
            payloads never hold tokens, passwords or secrets; a name that misleads is listed in the policy (docs/errors/catalog-secret.md)
    "#]],
    );
}

#[test]
fn samples_that_are_not_valid_are_found() {
    check(
        SAMPLES,
        expect![[r###"
        ## payload that its schema refuses
        catalog-sample: shop/samples/payloads/shop.payment.invoice.paid.v1.json: /payload: "tenantId" is a required property
            mend the sample or the schema: what the documentation shows must be valid (docs/errors/catalog-sample.md)
        catalog-sample: shop/samples/payloads/shop.payment.invoice.paid.v1.json: /payload/orderId: 7 is not of type "string"
            mend the sample or the schema: what the documentation shows must be valid (docs/errors/catalog-sample.md)
        catalog-sample: shop/samples/payloads/shop.payment.invoice.paid.v1.json: /payload: Additional properties are not allowed ('colour' was unexpected)
            mend the sample or the schema: what the documentation shows must be valid (docs/errors/catalog-sample.md)
        ## payload of nobody
        catalog-sample: shop/samples/payloads/shop.order.basket.lost.v1.json: no row is named `shop.order.basket.lost.v1`
            mend the sample or the schema: what the documentation shows must be valid (docs/errors/catalog-sample.md)
        ## payload that is no JSON
        catalog-sample: shop/samples/payloads/shop.payment.invoice.paid.v1.json: line 1, column 2: the document ends too early; expected a key or `}` (json-truncated)
            mend the sample or the schema: what the documentation shows must be valid (docs/errors/catalog-sample.md)
        ## document in no folder
        catalog-sample: shop/samples/basket.json: samples are payloads/<subject>.json or envelopes/<profile>/<name>.json
            mend the sample or the schema: what the documentation shows must be valid (docs/errors/catalog-sample.md)
        ## envelope of no profile
        catalog-sample: shop/samples/envelopes/pigeon/basket.json: `pigeon` is no profile
            mend the sample or the schema: what the documentation shows must be valid (docs/errors/catalog-sample.md)
        ## envelope with a version in its type
        catalog-sample: shop/samples/envelopes/counter/basket.json: /eventType: `shop.order.basket.placed.v1` carries a version; the version has a field of its own (envelope-event-type-versioned)
            mend the sample or the schema: what the documentation shows must be valid (docs/errors/catalog-sample.md)
        ## envelope by a non-owner
        catalog-sample: shop/samples/envelopes/counter/basket.json: /producedBy/service: only order-service publishes shop.order.basket.placed.v1 (envelope-producer)
            mend the sample or the schema: what the documentation shows must be valid (docs/errors/catalog-sample.md)
        ## envelope with a wrong payload
        catalog-sample: shop/samples/envelopes/counter/basket.json: /payload/rev: -1 is less than the minimum of 0
            mend the sample or the schema: what the documentation shows must be valid (docs/errors/catalog-sample.md)
        ## envelope by another schema
        catalog-sample: shop/samples/envelopes/counter/basket.json: /schemaUri: schemas://order/basket/placed/v1#sha256-<zeros> is not the current schema, schemas://order/basket/placed/v1#sha256-<hash>
            mend the sample or the schema: what the documentation shows must be valid (docs/errors/catalog-sample.md)
    "###]],
    );
}

#[test]
fn every_gate_has_a_planted_case() {
    let planted: BTreeSet<Gate> =
        [FILES, NAMES, CONTENT, SAMPLES].iter().flat_map(|cases| cases.iter().map(|it| it.gate)).collect();
    let all: BTreeSet<Gate> = Gate::ALL.iter().copied().collect();
    assert_eq!(planted, all);
    assert_eq!(all.iter().map(|gate| gate.id()).collect::<BTreeSet<_>>().len(), Gate::ALL.len());
}

/// The gates see what the compiler does not: two structs, one name.
#[test]
fn two_structs_with_one_subject_are_found() {
    let twice = || [shop_events(), events![BasketPlaced].into()].concat();
    let platform: &'static Platform = Box::leak(Box::new(Platform { events: twice, ..SHOP }));
    let tree = files::emit(&Catalogue::of(platform).expect("each name follows the grammar"));
    let found: Vec<Gate> = findings(&tree, PROFILES).iter().map(|finding| finding.gate).collect();
    assert_eq!(found, [Gate::SubjectDuplicate, Gate::SubjectDuplicate], "its name and its alias");
}

#[test]
fn a_folder_without_topics_is_no_catalogue() {
    let tree = Tree::from([("README.md".to_owned(), Vec::new())]);
    let found: Vec<String> = findings(&tree, PROFILES).iter().map(ToString::to_string).collect();
    expect![[r#"
        catalog-unreadable: no <platform>/topics.json here: this is not a catalogue
            name the folder that `catalog emit` wrote (docs/errors/catalog-unreadable.md)"#]]
    .assert_eq(&found.join("\n"));
}

#[test]
fn a_schema_that_refers_to_itself_is_judged_without_end_of_stack() {
    for circle in [json!({"$ref": "#"}), json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}})] {
        let mut tree = files::emit(&catalogue());
        schema(&mut tree, |it| {
            *it = circle;
            it["required"] = json!(["orderId", "tenantId"]);
        });
        let _ = findings(&tree, PROFILES);
    }
}

/// Each platform's folder is judged, whatever its neighbour looks like.
#[test]
fn every_platform_of_a_catalogue_is_judged() {
    let mut tree = files::emit(&catalogue());
    let copy: Vec<_> =
        tree.iter().map(|(path, bytes)| (path.replacen("shop/", "shop-two/", 1), bytes.clone())).collect();
    tree.extend(copy);
    assert_eq!(findings(&tree, PROFILES), []);
    tree.remove("shop-two/policy.json");
    let places: Vec<String> = findings(&tree, PROFILES).into_iter().map(|finding| finding.place).collect();
    assert_eq!(places, ["shop-two/policy.json"]);
}

/// R-415: a sample that the policy names cannot vanish unnoticed, and dead letters have one name.
#[test]
fn a_missing_sample_and_a_renamed_dead_letter_topic_are_found() {
    let mut tree = files::emit(&catalogue());
    tree.remove("shop/samples/payloads/shop.payment.invoice.paid.v1.json").expect("the shop has a sample");
    let topics = String::from_utf8(tree["shop/topics.json"].clone()).unwrap();
    let renamed = topics.replace("shop.payment.invoice.paid.v1.dlq", "shop.payment.lost");
    tree.insert("shop/topics.json".to_owned(), renamed.into_bytes());
    let findings = karwan_registry::check::check(&tree, SHOP.profiles);
    let found: Vec<String> = findings.iter().map(|finding| format!("{}: {}", finding.place, finding.message)).collect();
    let expected = [
        "shop/topics.json shop.payment.invoice.paid.v1: its dead letters go to `shop.payment.lost`",
        "shop/samples/payloads/shop.payment.invoice.paid.v1.json: the policy names this sample, and it is not there",
    ];
    assert_eq!(found, expected);
}

/// R-045: the list of untenanted events is looked at every quarter; a late review is a reminder.
#[test]
fn a_review_that_is_a_quarter_old_is_called_for() {
    let tree = files::emit(&catalogue());
    let on = |day: &str| karwan_registry::check::overdue_reviews(&tree, day.parse().unwrap());
    assert_eq!(on("2027-02-16"), Vec::<String>::new());
    let expected = "shop/policy.json: the list of platform events was last reviewed on 2026-11-16; look at it again";
    assert_eq!(on("2027-02-17"), [expected]);
}
