//! Hostile documents into every codec: never a panic, and whatever is taken is printed back as it was.

use karwan_envelope::profile::Profile;
use karwan_envelope::wire;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use crate::goldens::{self, full};
use crate::json_hostile;
use crate::shop::{self, PROFILES};

/// A value that is nearly right somewhere in an envelope.
pub fn odd_values() -> BoxedStrategy<Value> {
    let odd = [
        json!(""),
        json!(null),
        json!(0),
        json!(1),
        json!(2),
        json!(-1),
        json!(1.0),
        json!(0.5),
        json!(4_294_967_295_u32),
        json!(4_294_967_296_u64),
        json!(true),
        json!(false),
        json!([]),
        json!({}),
        json!("platform"),
        json!("1.0"),
        json!("\u{0}"),
        json!("a\nb"),
        json!("é"),
        json!("x".repeat(201)),
        json!("x".repeat(301)),
        json!("x".repeat(5000)),
        json!("shop.order.placed"),
        json!("shop.order.placed.v1"),
        json!("till.order.placed.v1"),
        json!("depot.box.sent"),
        json!("shop.visit.counted"),
        json!("depot.box.sent.v1"),
        json!("shop.order.placed.v2"),
        json!("2026-05-01T14:00:00+04:30"),
        json!("2026-05-01T14:00:00.000000001Z"),
        json!("2026-02-29T14:00:00Z"),
        json!("01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        json!("00000000000000000000000000"),
        json!("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"),
        json!("tnt_01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        json!("evt_00000000000000000000000000"),
        json!("00000000-0000-0000-0000-000000000000"),
        json!("9b2f1c1e-5a3d-4f70-8c11-2a6b7d9e0f12"),
        json!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff"),
        json!("user"),
        json!("service"),
        json!("service_account"),
        json!("me"),
        json!("us-central1"),
        json!("brief"),
        json!("monthly"),
        json!("brief/1/2/3"),
        json!("/services/"),
        json!("/services/x y"),
        json!("application/json"),
    ];
    prop_oneof![3 => select(odd.to_vec()), 1 => json_hostile::values()].boxed()
}

/// Every place in a document.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    let fields: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(values) => values.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (name, value) in fields {
        places(value, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
    }
}

/// What happens to a document.
#[derive(Debug, Clone)]
pub enum Edit {
    Replace(Index, Value),
    Remove(Index),
    Add(Index, String, Value),
}

pub fn edits() -> BoxedStrategy<Vec<Edit>> {
    let edit = prop_oneof![
        4 => (any::<Index>(), odd_values()).prop_map(|(place, value)| Edit::Replace(place, value)),
        1 => any::<Index>().prop_map(Edit::Remove),
        1 => (any::<Index>(), "[a-z~/]{1,21}|eventId|data", odd_values()).prop_map(|(place, name, it)| Edit::Add(place, name, it)),
    ];
    prop::collection::vec(edit, 1..4).boxed()
}

/// A golden document after some edits.
pub fn mutated(profile: &Profile, edits: Vec<Edit>) -> Value {
    let mut document = goldens::value(full(profile));
    for edit in edits {
        let mut found = Vec::new();
        places(&document, "", &mut found);
        match edit {
            Edit::Replace(place, value) => {
                *document.pointer_mut(&found[place.index(found.len())]).expect("it was found") = value
            }
            Edit::Remove(place) => {
                let (parent, name) = found[place.index(found.len())].rsplit_once('/').unwrap_or(("", ""));
                if let Some(Value::Object(fields)) = document.pointer_mut(parent) {
                    fields.remove(name);
                }
            }
            Edit::Add(place, name, value) => {
                if let Some(Value::Object(fields)) = document.pointer_mut(&found[place.index(found.len())]) {
                    fields.insert(name, value);
                }
            }
        }
    }
    document
}

/// A document whose numbers are all doubles: 1 and 1.0 are one number.
fn by_value(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(values) => values.iter().map(by_value).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), by_value(value))).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        for profile in PROFILES {
            prop_assert!(wire::decode(profile, &shop::directory(), &bytes).is_err());
        }
    }

    #[test]
    fn arbitrary_json_never_panics(value in json_hostile::values()) {
        for profile in PROFILES {
            let violations = goldens::read(profile, &value.to_string()).unwrap_err();
            prop_assert!(!violations.0.is_empty());
        }
    }

    #[test]
    fn a_document_with_a_changed_byte_never_panics(which in 0..10_usize, place: Index, byte: u8) {
        let (profile, text) = goldens::ALL[which];
        let mut bytes = text.as_bytes().to_vec();
        *place.get_mut(&mut bytes) = byte;
        if let Err(violations) = wire::decode(profile, &shop::directory(), &bytes) {
            prop_assert!(!violations.0.is_empty());
        }
    }

    #[test]
    fn an_edited_document_is_refused_or_printed_back_as_it_was(which in 0..5_usize, edits in edits()) {
        let profile = PROFILES[which];
        let document = mutated(profile, edits);
        match goldens::read(profile, &document.to_string()) {
            Ok(envelope) => {
                let printed = goldens::value(&goldens::print(profile, &envelope));
                prop_assert_eq!(by_value(&printed), by_value(&document));
            }
            Err(violations) => prop_assert!(!violations.0.is_empty()),
        }
    }

    #[test]
    fn an_edited_document_is_converted_or_refused_and_what_is_printed_is_read(
        from in 0..5_usize, to in 0..5_usize, edits in edits(),
    ) {
        let (from, to) = (PROFILES[from], PROFILES[to]);
        let document = mutated(from, edits).to_string();
        if goldens::read(from, &document).is_err() {
            return Ok(());
        }
        if let Err(error) = wire::convert(from, to, &shop::directory(), document.as_bytes()) {
            // A refusal is the printer's: a document that it printed and cannot read would be ours to answer for.
            prop_assert!(matches!(error, wire::ConvertError::Print { .. }), "{from:?} {error:?}");
        }
    }
}

#[test]
fn a_document_cut_anywhere_is_refused_by_every_codec() {
    for (profile, text) in goldens::ALL {
        for end in 0..text.trim_end().len() {
            let violations = wire::decode(profile, &shop::directory(), &text.as_bytes()[..end]).unwrap_err();
            assert_eq!(violations.0[0].rule.id(), "json-truncated");
        }
    }
}

#[test]
fn deep_and_large_documents_are_refused_by_every_codec() {
    let deep = format!("{{\"payload\":{}", "[".repeat(10_000));
    let large = format!("{{\"payload\":\"{}\"}}", "x".repeat(50 << 20));
    for profile in PROFILES {
        let rule = |text: &str| wire::decode(profile, &shop::directory(), text.as_bytes()).unwrap_err().0[0].rule.id();
        assert_eq!(rule(&deep), "json-too-deep");
        assert_eq!(rule(&large), "json-too-large");
    }
}
