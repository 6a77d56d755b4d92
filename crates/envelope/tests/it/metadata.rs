//! metadata is bounded; free-form metadata takes nobody's place.

use expect_test::expect;
use karwan_envelope::Envelope;
use karwan_envelope::envelope::METADATA_BYTES_MAX;
use karwan_envelope::wire::{self, EncodeError};
use serde_json::{Value, json};

use crate::goldens::{self, edited, full, print, read};
use crate::shop::{self, CLOUD, COUNTER};

/// A document whose metadata has exactly that many bytes in compact form.
fn of_bytes(bytes: usize, filler: &str) -> String {
    edited(&COUNTER, |it| {
        it["metadata"]["filler"] = json!("");
        let missing = bytes - it["metadata"].to_string().len();
        let width = json!(filler).to_string().len() - 2;
        let text = filler.repeat(missing / width) + &"x".repeat(missing % width);
        it["metadata"]["filler"] = json!(text);
        assert_eq!(it["metadata"].to_string().len(), bytes);
    })
}

fn longer_by(envelope: &Envelope, add: usize) -> Envelope {
    let mut envelope = envelope.clone();
    let text = envelope.carried.extra["filler"].as_str().expect("it was filled").to_owned() + &"x".repeat(add);
    envelope.carried.extra.insert("filler".to_owned(), json!(text));
    envelope
}

#[test]
fn metadata_of_4096_bytes_is_taken_and_of_4097_refused_by_reader_and_printer() {
    for filler in ["x", "é", "\n", "\u{1}", "😀"] {
        let envelope = read(&COUNTER, &of_bytes(METADATA_BYTES_MAX, filler)).unwrap();
        let printed = print(&COUNTER, &envelope);
        assert_eq!(read(&COUNTER, &printed).unwrap(), envelope);
        expect!["/metadata: 4097 bytes serialised, and at most 4096 are allowed (envelope-metadata-too-large)"]
            .assert_eq(&goldens::faults(&COUNTER, &of_bytes(METADATA_BYTES_MAX + 1, filler)));
        let error = wire::encode(&COUNTER, &shop::directory(), &longer_by(&envelope, 1)).unwrap_err();
        assert_eq!(error, EncodeError::MetadataTooLarge { actual: 4097, max: 4096 });
    }
}

#[test]
fn white_space_and_escapes_do_not_count_towards_the_bound() {
    let document = of_bytes(METADATA_BYTES_MAX, "x").replacen(
        "\"metadata\":{",
        &format!("\"metadata\":{{{}", " ".repeat(9000)),
        1,
    );
    let envelope = read(&COUNTER, &document).unwrap();
    assert_eq!(envelope, read(&COUNTER, &document.replacen("xxxx", "\\u0078x\\u0078x", 1)).unwrap());
}

#[test]
fn free_form_metadata_named_like_an_attribute_does_not_replace_it() {
    let names = [
        "id",
        "data",
        "tenantid",
        "specversion",
        "subject",
        "type",
        "partitionkey",
        "traceparent",
        "retention",
        "time",
    ];
    let text = edited(&COUNTER, |it| {
        for name in names {
            it["metadata"][name] = json!("forged");
        }
        it["metadata"]["Upper"] = json!("x");
        it["metadata"]["nested"] = json!({ "a": 1 });
        it["metadata"]["half"] = json!(0.5);
        it["metadata"]["large"] = json!(1_u64 << 40);
        it["metadata"]["plain"] = json!("kept");
    });
    let converted = wire::convert(&COUNTER, &CLOUD, &shop::directory(), text.as_bytes()).unwrap();
    assert!(!converted.text.contains("forged"));
    assert_eq!(converted.lost, ["metadata"]);
    let (before, after) = (read(&COUNTER, &text).unwrap(), read(&CLOUD, &converted.text).unwrap());
    assert_eq!(before.differences(&after), ["metadata"]);
    let kept: Vec<&String> = after.carried.extra.keys().collect();
    assert_eq!(kept, ["campaign", "plain"]);
}

#[test]
fn free_form_metadata_named_like_a_fact_is_not_printed_twice() {
    let mut envelope = read(&COUNTER, full(&COUNTER)).unwrap();
    for name in ["retentionClass", "dataResidency", "fromOfflineReplay", "aiProvenance", "orderingKey", "outboxId"] {
        envelope.carried.extra.insert(name.to_owned(), json!("forged"));
    }
    assert_eq!(goldens::squeeze(full(&COUNTER)), goldens::squeeze(&print(&COUNTER, &envelope)));
}

#[test]
fn attributes_of_other_parties_pass_and_keep_their_types() {
    let text = edited(&CLOUD, |it| {
        it["vendor1"] = json!("");
        it["vendor2"] = json!(i32::MIN);
        it["abcdefghij0123456789"] = json!(false);
    });
    let printed = print(&CLOUD, &read(&CLOUD, &text).unwrap());
    assert_eq!(goldens::value(&printed), goldens::value(&text));
}

#[test]
fn attributes_that_the_specification_does_not_allow_are_refused() {
    for (name, value) in [
        ("Upper", json!("x")),
        ("with_underscore", json!("x")),
        ("é", json!("x")),
        ("", json!("x")),
        ("abcdefghij0123456789x", json!("x")),
        ("object", json!({})),
        ("list", json!([])),
        ("nothing", Value::Null),
        ("half", json!(0.5)),
        ("whole", json!(1.0)),
        ("large", json!(1_u64 << 31)),
    ] {
        let violations = read(&CLOUD, &edited(&CLOUD, |it| it[name] = value)).unwrap_err().0;
        assert_eq!(violations.len(), 1, "{name}");
        assert_eq!(
            (violations[0].rule.id(), &*violations[0].pointer),
            ("envelope-field-unknown", &*format!("/{name}"))
        );
    }
}
