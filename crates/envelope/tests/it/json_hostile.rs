//! Strict JSON against hostile input: bounded, never a panic, and never more lenient than `serde_json`.

use expect_test::expect;
use karwan_envelope::json::{self, Limits};
use proptest::prelude::*;
use serde_json::Value;

use crate::goldens;

fn rule(bytes: &[u8], limits: Limits) -> Option<&'static str> {
    json::check(bytes, limits).err().map(|error| error.rule.id())
}

/// JSON of every shape, with the characters and numbers that break readers.
pub fn values() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_007_199_254_740_991..=9_007_199_254_740_991_i64).prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no infinities", |it| it.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let nested = leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6).prop_map(|fields| fields.into_iter().collect()),
        ]
    });
    nested.boxed()
}

/// Texts near JSON: its own tokens in any order.
fn token_soup() -> impl Strategy<Value = String> {
    let tokens = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"\\u0061\"",
        "\"b\"",
        "\"\\ud83d\"",
        "\"\\ud83d\\ude00\"",
        "1",
        "-",
        "0",
        "01",
        "1.5",
        "1e5",
        "1e400",
        "9007199254740993",
        "true",
        "null",
        "fals",
        " ",
        "\n",
        "\\",
        "\"",
        "\u{1}",
        "é",
    ];
    prop::collection::vec(prop::sample::select(tokens.to_vec()), 0..16).prop_map(|tokens| tokens.concat())
}

fn never_more_lenient_than_serde(bytes: &[u8]) {
    match json::check(bytes, Limits::ENVELOPE) {
        Ok(text) => {
            let value: Value = serde_json::from_str(text).expect("what passes is JSON");
            assert_eq!(json::parse(bytes, Limits::ENVELOPE), Ok(value));
        }
        Err(error) => {
            assert!(error.line >= 1 && error.column >= 1);
            assert!(!error.to_string().is_empty());
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        never_more_lenient_than_serde(&bytes);
    }

    #[test]
    fn arbitrary_tokens_never_panic_and_what_passes_is_json(text in token_soup()) {
        never_more_lenient_than_serde(text.as_bytes());
    }

    #[test]
    fn every_document_that_serde_prints_passes_and_means_the_same(value in values()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            prop_assert_eq!(json::parse(text.as_bytes(), Limits::ENVELOPE), Ok(value.clone()));
        }
    }

    #[test]
    fn one_changed_byte_never_panics(value in values(), place: prop::sample::Index, byte: u8) {
        let mut bytes = value.to_string().into_bytes();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        never_more_lenient_than_serde(&bytes);
    }

    #[test]
    fn fractions_mean_what_the_language_says(text in "-?(0|[1-9][0-9]{0,25})\\.[0-9]{1,25}([eE][+-]?[0-9]{1,3})?") {
        if let Ok(value) = json::parse(text.as_bytes(), Limits::ENVELOPE) {
            prop_assert_eq!(value.as_f64(), text.parse::<f64>().ok());
        }
    }
}

#[test]
fn a_document_cut_anywhere_is_refused_as_cut() {
    let whole = r#"{"a":["😀\ud83d\ude00\n",-12.5e+3,true,false,null,{}],"b":{"c":[[]]}}"#.as_bytes();
    for end in 0..whole.len() {
        assert_eq!(rule(&whole[..end], Limits::ENVELOPE), Some("json-truncated"), "{end}");
    }
    for (_, text) in goldens::ALL {
        for end in 0..text.trim_end().len() {
            assert_eq!(rule(&text.as_bytes()[..end], Limits::ENVELOPE), Some("json-truncated"), "{end}");
        }
    }
}

#[test]
fn ten_thousand_levels_are_refused_at_the_first_too_many() {
    for (open, levels) in [("[", 10_000), ("{\"a\":", 10_000), ("[{\"a\":", 100_000)] {
        let error = json::check(open.repeat(levels).as_bytes(), Limits::ENVELOPE).unwrap_err();
        assert_eq!(error.rule.id(), "json-too-deep");
    }
    let error = json::check("[".repeat(10_000).as_bytes(), Limits::ENVELOPE).unwrap_err();
    assert_eq!(error.column, 65);
    expect!["nested deeper than 64 levels"].assert_eq(&error.rule.to_string());
}

/// A long pointer is printed by its ends; the error keeps all of it.
#[test]
fn the_place_of_what_is_too_deep_is_printed_in_one_line() {
    let error = json::check("{\"fields\":".repeat(10_000).as_bytes(), Limits::SCHEMA).unwrap_err();
    assert_eq!(error.pointer, "/fields".repeat(127));
    expect!["line 1, column 1271, at /fields/fields/fields/fields/fields/fiel…ields/fields/fields/fields/fields/fields: nested deeper than 127 levels (json-too-deep)"].assert_eq(&error.to_string());
}

#[test]
fn the_deepest_document_that_passes_is_parsed() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for limits in [Limits::ENVELOPE, Limits::SCHEMA] {
        let parsed = json::parse(nested(limits.depth_max).as_bytes(), limits);
        assert!(parsed.is_ok(), "{parsed:?}");
        assert_eq!(rule(nested(limits.depth_max + 1).as_bytes(), limits), Some("json-too-deep"));
    }
}

#[test]
fn fifty_megabytes_are_refused_unread() {
    let mut document = vec![b'['; 50 << 20];
    let error = json::check(&document, Limits::ENVELOPE).unwrap_err();
    expect!["line 1, column 1: 52428800 bytes, and at most 1048576 are read (json-too-large)"]
        .assert_eq(&error.to_string());
    document.fill(0xFF);
    assert_eq!(rule(&document, Limits::SCHEMA), Some("json-too-large"));
}

#[test]
fn the_longest_document_is_read_and_one_byte_more_is_not() {
    let document = |length: usize| format!("\"{}\"", "a".repeat(length - 2)).into_bytes();
    let max = Limits::ENVELOPE.bytes_max;
    assert_eq!(rule(&document(max), Limits::ENVELOPE), None);
    assert_eq!(rule(&document(max + 1), Limits::ENVELOPE), Some("json-too-large"));
}

#[test]
fn a_megabyte_of_digits_keys_or_escapes_takes_no_time() {
    let digits = format!("[{}]", "9".repeat(1_000_000));
    assert_eq!(rule(digits.as_bytes(), Limits::ENVELOPE), Some("json-number-range"));
    let fraction = format!("[0.{}]", "9".repeat(1_000_000));
    assert_eq!(rule(fraction.as_bytes(), Limits::ENVELOPE), None);
    let exponent = format!("[1e{}]", "9".repeat(1_000_000));
    assert_eq!(rule(exponent.as_bytes(), Limits::ENVELOPE), Some("json-number-range"));
    let keys: Vec<String> = (0..100_000).map(|key| format!("\"{key}\":0")).collect();
    assert_eq!(rule(format!("{{{}}}", keys.join(",")).as_bytes(), Limits::ENVELOPE), None);
    let escapes = format!("\"{}\"", "\\u0061".repeat(170_000));
    assert_eq!(rule(escapes.as_bytes(), Limits::ENVELOPE), None);
}

#[test]
fn a_message_about_a_long_number_or_key_is_short() {
    let error = json::check(format!("[{}]", "9".repeat(100_000)).as_bytes(), Limits::ENVELOPE).unwrap_err();
    assert!(error.to_string().len() < 200);
    let key = "k".repeat(100_000);
    let error = json::check(format!("{{\"{key}\":1,\"{key}\":2}}").as_bytes(), Limits::ENVELOPE).unwrap_err();
    assert!(error.to_string().len() < 200);
}

#[test]
fn the_largest_doubles_mean_one_thing() {
    for text in
        ["1.7976931348623157e308", "-1.7976931348623157e308", "179769313486231570000e288", "2.2250738585072011e-308"]
    {
        let value = json::parse(text.as_bytes(), Limits::ENVELOPE).unwrap();
        assert_eq!(value.as_f64(), text.parse().ok(), "{text}");
    }
    assert_eq!(rule(b"1.7976931348623159e308", Limits::ENVELOPE), Some("json-number-range"));
}
