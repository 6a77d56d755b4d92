//! Payloads read in place mean what trees of values mean.

use jsonschema::json::conformance;
use karwan_registry::payload::{InPlace, Payload};
use karwan_registry::schema;
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn the_validators_own_suite_of_representations_passes() {
    let text = conformance::document().to_string();
    let payload = Payload::read(&text).unwrap();
    conformance::assert_conformance::<InPlace>(&payload.root());
}

#[test]
fn members_are_found_whatever_their_spelling() {
    let payload = Payload::read(r#" { "a" : [1, {"b": 2}], "\u0074enantId": "tnt\n" } "#).unwrap();
    assert_eq!(payload.get("tenantId").unwrap().text().as_deref(), Some("tnt\n"));
    assert!(payload.get("b").is_none(), "members of members are not the document's");
}

#[test]
fn what_is_no_document_is_refused() {
    let refused =
        ["", "{", "[1,]", "{\"a\" 1}", "{\"a\":1,}", "tru", "01", "-", "\"a", "\"\\x\"", "1 2", "[1 2]", "{,}"];
    for text in refused {
        assert!(Payload::read(text).is_err(), "{text:?} was read");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(Payload::read(&deep).is_err());
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9_f64).prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        Just(json!("line\nbreak \"quoted\" \u{1F42B}")),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-d\"\\\\é]{1,2}", inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Schemas that look at every kind of value.
fn schemas() -> Vec<Value> {
    vec![
        json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "integer", "minimum": 0 } } }),
        json!({ "type": ["array", "string"], "maxItems": 2, "minLength": 2, "uniqueItems": true }),
        json!({ "additionalProperties": false, "properties": { "a": {}, "b": { "enum": [null, 1, "x", [1]] } } }),
        json!({ "propertyNames": { "pattern": "^[a-d]+$" }, "maxProperties": 2, "items": { "type": "number" } }),
        json!({ "anyOf": [{ "const": 1.0 }, { "type": "boolean" }, { "contains": { "type": "null" } }] }),
    ]
}

proptest! {
    #[test]
    fn both_validators_agree_on_every_document(document in document()) {
        let text = document.to_string();
        let payload = Payload::read(&text).expect("serde_json wrote it");
        for schema in schemas() {
            let tree = schema::validator(&schema).expect("the schemas here compile");
            let in_place = schema::in_place_validator(&schema).expect("the schemas here compile");
            let expected: Vec<String> = tree.iter_errors(&document).map(|error| error.to_string()).collect();
            let mut actual: Vec<String> = in_place.iter_errors(payload.root()).map(|error| error.to_string()).collect();
            prop_assert_eq!(in_place.is_valid(payload.root()), expected.is_empty());
            // A document's own order is not that of a sorted tree.
            let mut expected = expected;
            expected.sort();
            actual.sort();
            prop_assert_eq!(actual, expected);
        }
    }

    #[test]
    fn arbitrary_text_is_read_exactly_when_serde_json_reads_it(text in "[\\[\\]{},:\"\\\\u0-9a-e. \\-+truefalsn]{0,24}") {
        prop_assert_eq!(Payload::read(&text).is_ok(), serde_json::from_str::<Value>(&text).is_ok());
    }
}
