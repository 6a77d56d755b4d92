//! Content hashes: what counts, and what does not.

use karwan_registry::hash::hash;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::{collection, sample};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// SHA-256 over text that a person wrote canonically.
fn check(document: &str, canonical: &str) {
    let document: Value = serde_json::from_str(document).expect("JSON");
    let digest: String = Sha256::digest(canonical).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hash(&document).expect("a hash").to_string(), digest);
}

#[test]
fn a_hash_is_sha256_over_canonical_json() {
    check("{}", "{}");
    check(r#"{ "b" : [ 1.0, -0.0, 1e2 ],  "a" : "é\u20ac\n" }"#, "{\"a\":\"é€\\n\",\"b\":[1,0,100]}");
    check(r#"{"\u20ac": 1, "\r": 2, "1": 3, "ö": 4}"#, "{\"\\r\":2,\"1\":3,\"ö\":4,\"€\":1}");
    // RFC 8785 sorts by UTF-16: a surrogate pair goes before U+FB33.
    check("{\"\u{fb33}\": 1, \"\u{1f600}\": 2}", "{\"\u{1f600}\":2,\"\u{fb33}\":1}");
}

#[test]
fn an_empty_object_has_the_hash_that_everybody_knows() {
    let known = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    assert_eq!(hash(&json!({})).expect("a hash").to_string(), known);
}

fn check_rounded(document: Value, expected: &str) {
    assert_eq!(hash(&document).expect_err("it would be rounded").to_string(), expected);
}

#[test]
fn a_number_that_canonical_json_would_round_is_refused() {
    check_rounded(
        json!({"properties": {"a/b": [{"maximum": 9_007_199_254_740_992_u64}]}}),
        "/properties/a~1b/0/maximum: the number 9007199254740992 is rounded by canonical JSON; write it as a string",
    );
    check_rounded(
        json!([-9_007_199_254_740_992_i64]),
        "/0: the number -9007199254740992 is rounded by canonical JSON; write it as a string",
    );
    assert!(hash(&json!([9_007_199_254_740_991_u64, -9_007_199_254_740_991_i64])).is_ok());
}

fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-cé\"\\\\\n]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let name = sample::select(vec!["a", "b", "type", "é", "\u{1f600}"]);
        prop_oneof![
            collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            collection::btree_map(name, inner, 0..4)
                .prop_map(|fields| fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect()),
        ]
    })
}

/// The same document with its keys the other way round.
fn reversed(document: &Value) -> String {
    match document {
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().rev().map(|(name, field)| format!("{} : {}", json!(name), reversed(field))).collect();
            format!("{{\n\t{}\n}}", fields.join(" ,\r\n"))
        }
        Value::Array(items) => format!("[ {} ]", items.iter().map(reversed).collect::<Vec<_>>().join(" , ")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => document.to_string(),
    }
}

proptest! {
    #[test]
    fn key_order_and_white_space_do_not_count(document in documents()) {
        let other: Value = serde_json::from_str(&reversed(&document)).expect("JSON");
        assert_eq!(hash(&document), hash(&other));
    }

    #[test]
    fn two_documents_that_differ_have_different_hashes(one in documents(), two in documents()) {
        assert_eq!(one == two, hash(&one) == hash(&two));
    }
}
