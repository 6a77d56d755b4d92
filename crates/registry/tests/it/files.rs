//! The catalogue as files.

use expect_test::expect;
use karwan_registry::Event;
use karwan_registry::contract::contract;
use karwan_registry::files::{self, Topics, Tree};
use karwan_registry::hash::hash;
use serde_json::Value;

use crate::shop::{BasketPlaced, SHOP, catalogue};

fn tree() -> Tree {
    files::emit(&catalogue())
}

fn read(tree: &Tree, path: &str) -> Value {
    serde_json::from_slice(&tree[path]).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// C-28: one layout, service by service.
#[test]
fn every_file_has_its_place() {
    let paths: Vec<String> = tree().into_keys().collect();
    expect![[r#"
        shop/event-schemas/advice/hint/given/v1.json
        shop/event-schemas/advice/picture/drawn/v1.json
        shop/event-schemas/envelope/v1.json
        shop/event-schemas/order/basket/placed/v1.json
        shop/event-schemas/order/basket/placed/v2.json
        shop/event-schemas/order/books/closed/v1.json
        shop/event-schemas/payment/invoice/paid/v1.json
        shop/event-schemas/search/price/listed/v1.json
        shop/event-schemas/till/drawer/counted_local/v1.json
        shop/policy.json
        shop/samples/payloads/shop.payment.invoice.paid.v1.json
        shop/topics.json"#]]
    .assert_eq(&paths.join("\n"));
}

#[test]
fn emission_is_the_same_every_time() {
    assert_eq!(tree(), tree());
    for (path, bytes) in tree().iter().filter(|(path, _)| !path.contains("/samples/")) {
        assert_eq!(bytes.last(), Some(&b'\n'), "{path}");
        assert_eq!(*bytes, files::pretty(&read(&tree(), path)), "{path}");
    }
}

/// R-037, R-038.
#[test]
fn there_is_one_topic_a_subject_and_none_for_what_never_leaves_its_device() {
    let topics: Topics = serde_json::from_value(read(&tree(), "shop/topics.json")).expect("topics");
    let lines = topics.topics.iter().map(|topic| format!("{} → {}\n", topic.subject, topic.dead_letters));
    expect![[r#"
        shop.advice.hint.given.v1 → shop.advice.hint.given.v1.dlq
        shop.advice.picture.drawn.v1 → shop.advice.picture.drawn.v1.dlq
        shop.order.basket.placed.v1 → shop.order.basket.placed.v1.dlq
        shop.order.basket.placed.v2 → shop.order.basket.placed.v2.dlq
        shop.order.books.closed.v1 → shop.order.books.closed.v1.dlq
        shop.payment.invoice.paid.v1 → shop.payment.invoice.paid.v1.dlq
        shop.search.price.listed.v1 → shop.search.price.listed.v1.dlq
    "#]]
    .assert_eq(&lines.collect::<String>());
    let local: Vec<&str> = topics.local_only.iter().map(|topic| topic.subject.as_str()).collect();
    assert_eq!(local, ["shop.till.drawer.counted.local.v1"]);
}

#[test]
fn topics_are_read_back_as_they_were_written() {
    let written = read(&tree(), "shop/topics.json");
    let topics: Topics = serde_json::from_value(written.clone()).expect("topics");
    assert_eq!(serde_json::to_value(&topics).expect("JSON"), written);
    assert_eq!(topics.topics.len() + topics.local_only.len(), (SHOP.events)().len());
}

#[test]
fn a_topic_says_everything_about_its_event() {
    let topics = read(&tree(), "shop/topics.json");
    let topic =
        topics["topics"].as_array().and_then(|all| all.iter().find(|it| it["subject"] == BasketPlaced::SUBJECT));
    let mut topic = topic.expect("a topic").clone();
    topic["schemaUri"] = topic["schemaUri"].as_str().and_then(|uri| uri.split_once('-')).map(|(uri, _)| uri).into();
    expect![[r#"
        {
          "aiProvenance": "none",
          "aliases": [
            "till.basket.placed.v1"
          ],
          "deadLetters": "shop.order.basket.placed.v1.dlq",
          "decidedHere": true,
          "idempotencyKey": "{orderId}:placed:{rev}",
          "key": "{tenantId}:{orderId}",
          "merkle": true,
          "owner": "order-service",
          "producers": [
            "order-service"
          ],
          "retention": {
            "brokerDays": 7,
            "class": "kept",
            "coldDays": 0,
            "warehouseDays": 365
          },
          "schemaAddresses": [
            "event-schemas/shop.order.basket.placed.v1/v1.json"
          ],
          "schemaFile": "event-schemas/order/basket/placed/v1.json",
          "schemaUri": "schemas://order/basket/placed/v1#sha256",
          "scope": "domain",
          "subject": "shop.order.basket.placed.v1",
          "summary": "A customer placed an order.",
          "tenancy": "tenant",
          "version": 1
        }"#]]
    .assert_eq(&format!("{topic:#}"));
}

/// R-006, R-049.
#[test]
fn the_uri_of_a_schema_has_the_hash_of_its_file() {
    let tree = tree();
    let topics: Topics = serde_json::from_value(read(&tree, "shop/topics.json")).expect("topics");
    for topic in topics.topics.iter().chain(&topics.local_only) {
        let schema = read(&tree, &format!("shop/{}", topic.schema_file));
        assert_eq!(hash(&schema), Ok(topic.schema_uri.hash), "{}", topic.subject);
        assert_eq!(topic.schema_file, format!("event-schemas/{}.json", topic.schema_uri.path));
        assert_eq!(schema["$id"], format!("schemas://{}", topic.schema_uri.path));
        assert_eq!(schema["x-subject"], topic.subject.as_str());
    }
}

/// R-022, R-026: the envelope's own schema is among the files, and has no row.
#[test]
fn an_envelope_schema_is_published_at_its_address() {
    let schema = read(&tree(), "shop/event-schemas/envelope/v1.json");
    assert_eq!(schema["$id"], "schemas://envelope/v1.json");
    assert!(schema["required"].as_array().is_some_and(|names| names.contains(&"idempotencyKey".into())));
}

#[test]
fn a_policy_is_emitted_beside_the_topics() {
    let policy = read(&tree(), "shop/policy.json");
    assert_eq!(policy["platformEvents"]["subjects"][0], "shop.order.books.closed.v1");
    assert_eq!(policy["platformEvents"]["reviewedOn"], "2026-11-16");
    assert_eq!(policy["crossTenantReads"]["shop.search.price.listed.v1"][0], "comparison");
    assert_eq!(policy["services"]["till"], "till-service");
    assert_eq!(policy["exceptions"]["shop.till.drawer.counted.local.v1"]["verb"], "counted_local");
    assert_eq!(policy["retention"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_tree_without_its_schemas_has_no_contract() {
    let refusal = |tree: &Tree| contract(tree).expect_err("something is missing").to_string();
    expect!["topics.json cannot be read: no platform has topics here"].assert_eq(&refusal(&Tree::new()));
    let mut tree = tree();
    tree.remove("shop/event-schemas/payment/invoice/paid/v1.json");
    expect!["shop/event-schemas/payment/invoice/paid/v1.json cannot be read: there is no such file"]
        .assert_eq(&refusal(&tree));
    tree.remove("shop/policy.json");
    expect!["shop/policy.json cannot be read: there is no such file"].assert_eq(&refusal(&tree));
}

/// R-066: envelopes and webhooks are versioned by the rules of events, so the gate judges them too.
#[test]
fn an_envelope_schema_is_part_of_the_contract() {
    let before = contract(&tree()).expect("a whole tree");
    let mut changed = tree();
    let mut schema = read(&changed, "shop/event-schemas/envelope/v1.json");
    schema["required"].as_array_mut().expect("a list").push("metadata2".into());
    changed.insert("shop/event-schemas/envelope/v1.json".to_owned(), files::pretty(&schema));
    let after = contract(&changed).expect("a whole tree");
    let report = karwan_registry::evolution::gate(&before.schemas, &after.schemas).expect("schemas");
    assert_eq!(report.verdict(), karwan_registry::evolution::Verdict::Breaking);
    assert_eq!(report.subjects[0].subject, "shop/envelope.v1");
}
