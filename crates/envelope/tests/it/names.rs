//! schema addresses carry the content's hash; rules and profiles have names that people script by.

use std::collections::HashSet;

use expect_test::expect;
use karwan_envelope::directory::{Hash, SchemaUri};
use karwan_envelope::profile::{CLOUDEVENTS, Wire};
use karwan_envelope::violation::Rule;
use karwan_envelope::wire;
use proptest::prelude::*;

use crate::goldens::{self, full};
use crate::shop::{self, CLOUD};

proptest! {
    #[test]
    fn a_schema_address_is_printed_as_it_was_read(path in "[a-z0-9_.]{1,12}(/[a-z0-9_.]{1,12}){0,5}", bytes: [u8; 32]) {
        let uri = SchemaUri { path, hash: Hash(bytes) };
        let text = uri.to_string();
        prop_assert_eq!(text.parse::<SchemaUri>(), Ok(uri.clone()));
        prop_assert_eq!(uri.hash.to_string().parse::<Hash>(), Ok(uri.hash));
        let json = serde_json::to_string(&uri).unwrap();
        prop_assert_eq!(serde_json::from_str::<SchemaUri>(&json).unwrap(), uri);
    }

    #[test]
    fn no_text_makes_the_parsers_panic(text: String, near in "schemas://[a-zA-Z0-9/#é_-]{0,30}(#sha256-[0-9a-fA-Fé]{62,66})?") {
        for text in [text, near] {
            if let Ok(uri) = text.parse::<SchemaUri>() {
                prop_assert_eq!(uri.to_string(), text.clone());
            }
            prop_assert!(text.parse::<Hash>().is_err());
        }
    }
}

#[test]
fn what_is_no_schema_address_is_refused() {
    let hash = "0f".repeat(32);
    assert!(format!("schemas://shop/order/placed/v1#sha256-{hash}").parse::<SchemaUri>().is_ok());
    for text in [
        format!("schema://shop/order/placed/v1#sha256-{hash}"),
        format!("schemas://shop/order/placed/v1#{hash}"),
        format!("schemas://shop/order/placed/v1#md5-{hash}"),
        format!("schemas://shop/order/placed/v1#sha256-{}", hash.to_uppercase()),
        format!("schemas://shop/order/placed/v1#sha256-{}", &hash[1..]),
        format!("schemas://shop/order/placed/v1#sha256-{hash}0"),
        format!("schemas://shop//placed/v1#sha256-{hash}"),
        format!("schemas:///shop/placed/v1#sha256-{hash}"),
        format!("schemas://shop/Order/placed/v1#sha256-{hash}"),
        format!("schemas://#sha256-{hash}"),
        format!("schemas://{}#sha256-{hash}", "a".repeat(301)),
        "schemas://shop/order/placed/v1".to_owned(),
        String::new(),
    ] {
        assert!(text.parse::<SchemaUri>().is_err(), "{text} was taken");
    }
    let error = "shop/order/placed/v1".parse::<SchemaUri>().unwrap_err();
    expect![
        "`shop/order/placed/v1` is not a schema URI: schemas://<service>/<aggregate>/<verb>/v<n>#sha256-<64 hex digits>"
    ]
    .assert_eq(&error.to_string());
}

#[test]
fn every_rule_has_a_name_of_its_own() {
    let names: HashSet<&str> = Rule::ALL.iter().map(|rule| rule.id()).collect();
    assert_eq!(names.len(), Rule::ALL.len());
    assert!(names.iter().all(|name| {
        name.starts_with("envelope-") && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
    }));
    assert_eq!(Rule::Json("json-syntax").id(), "json-syntax");
}

#[test]
fn the_profile_for_everybody_reads_and_prints_cloudevents_without_classes_of_its_own() {
    assert_eq!(CLOUDEVENTS.wire, Wire::CloudEvents);
    let compact = goldens::squeeze(full(&CLOUD));
    let envelope = goldens::read(&CLOUDEVENTS, &compact).unwrap();
    assert_eq!(goldens::print(&CLOUDEVENTS, &envelope), compact);
    for (profile, text) in goldens::ALL {
        let there = wire::convert(profile, &CLOUDEVENTS, &shop::directory(), text.as_bytes()).unwrap();
        let back = goldens::read(&CLOUDEVENTS, &there.text).unwrap();
        assert_eq!(back.retention, goldens::read(profile, text).unwrap().retention);
    }
}
