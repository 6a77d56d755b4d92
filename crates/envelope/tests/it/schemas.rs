//! The published schema of a wire form takes what the codec takes and refuses what is plainly wrong.

use jsonschema::Validator;
use karwan_envelope::profile::Profile;
use karwan_envelope::wire;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::goldens::{self, edited};
use crate::hostile::{edits, mutated};
use crate::shop::{BOARD, CLOUD, COUNTER, LEDGER, PROFILES, TILL};
use crate::{envelopes, shop};

fn validator(profile: &Profile) -> Validator {
    jsonschema::validator_for(&wire::schema(profile)).expect("the schema of a form is a schema")
}

/// Both the schema and the codec refuse the edited golden document.
fn check_refused(profile: &Profile, edit: impl FnOnce(&mut Value)) {
    let text = edited(profile, edit);
    let document = goldens::value(&text);
    assert!(!validator(profile).is_valid(&document), "the schema of {} takes {text}", profile.name);
    assert!(goldens::read(profile, &text).is_err(), "the codec of {} takes {text}", profile.name);
}

#[test]
fn every_golden_document_matches_the_schema_of_its_form() {
    for (profile, text) in goldens::ALL {
        let document = goldens::value(text);
        let errors: Vec<String> = validator(profile).iter_errors(&document).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0], "{}", profile.name);
    }
}

#[test]
fn a_golden_document_matches_no_other_form() {
    for (profile, text) in goldens::ALL {
        let document = goldens::value(text);
        for other in PROFILES.into_iter().filter(|other| other.name != profile.name) {
            assert!(!validator(other).is_valid(&document), "{} as {}", profile.name, other.name);
        }
    }
}

#[test]
fn a_missing_mandatory_field_is_refused_by_schema_and_codec() {
    for profile in PROFILES {
        for field in wire::schema(profile)["required"].as_array().unwrap() {
            check_refused(profile, |it| drop(it.as_object_mut().unwrap().remove(field.as_str().unwrap())));
        }
    }
}

#[test]
fn an_unknown_field_is_refused_by_schema_and_codec() {
    for profile in [&COUNTER, &LEDGER, &TILL, &BOARD] {
        check_refused(profile, |it| it["surprise"] = json!(1));
    }
    check_refused(&CLOUD, |it| it["Surprise"] = json!(1));
    check_refused(&CLOUD, |it| it["surprise"] = json!({}));
}

#[test]
fn an_id_in_another_form_is_refused_by_schema_and_codec() {
    check_refused(&COUNTER, |it| it["eventId"] = json!("9b2f1c1e-5a3d-4f70-8c11-2a6b7d9e0f12"));
    check_refused(&COUNTER, |it| it["tenantId"] = json!("01ARZ3NDEKTSV4RRFFQ69G5FAV"));
    check_refused(&COUNTER, |it| it["correlationId"] = json!("81ARZ3NDEKTSV4RRFFQ69G5FAV"));
    check_refused(&LEDGER, |it| it["eventId"] = json!("01arz3ndektsv4rrffq69g5fav"));
    check_refused(&LEDGER, |it| it["causationId"] = json!("01ARZ3NDEKTSV4RRFFQ69G5FAU"));
    check_refused(&TILL, |it| it["id"] = json!("01ARZ3NDEKTSV4RRFFQ69G5FAV"));
    check_refused(&BOARD, |it| it["id"] = json!("9B2F1C1E-5A3D-4F70-8C11-2A6B7D9E0F12"));
    check_refused(&BOARD, |it| it["tenantId"] = json!("platform"));
    check_refused(&CLOUD, |it| it["outboxid"] = json!("9b2f1c1e-5a3d-4f70-8c11-2a6b7d9e0f12"));
}

#[test]
fn a_value_outside_its_list_or_range_is_refused_by_schema_and_codec() {
    check_refused(&COUNTER, |it| it["actorId"]["type"] = json!("service_account"));
    check_refused(&COUNTER, |it| it["metadata"]["retentionClass"] = json!("monthly"));
    check_refused(&COUNTER, |it| it["metadata"]["dataResidency"] = json!("me"));
    check_refused(&COUNTER, |it| it["metadata"]["aiProvenance"]["confidence"] = json!(1.5));
    check_refused(&COUNTER, |it| it["metadata"]["aiProvenance"]["modelId"] = json!(""));
    check_refused(&COUNTER, |it| it["metadata"]["aiProvenance"]["promptVersion"] = json!("é".repeat(101)));
    check_refused(&COUNTER, |it| it["metadata"]["aiProvenance"]["temperature"] = json!(1));
    for optional in ["confidence", "decisionId", "reviewedBy"] {
        check_refused(&COUNTER, |it| it["metadata"]["aiProvenance"][optional] = Value::Null);
    }
    check_refused(&COUNTER, |it| it["eventVersion"] = json!(0));
    check_refused(&COUNTER, |it| it["producedBy"]["commit"] = json!(""));
    check_refused(&LEDGER, |it| it["actor"]["type"] = json!("service"));
    check_refused(&LEDGER, |it| it["dataResidency"] = json!("me-central1"));
    check_refused(&LEDGER, |it| it["retentionClass"] = json!("kept"));
    check_refused(&TILL, |it| it["specVersion"] = json!("1"));
    check_refused(&TILL, |it| it["traceId"] = json!("4bf92f3577b34da6a3ce929d0e0e4736"));
    check_refused(&CLOUD, |it| it["offlinereplay"] = json!("true"));
    check_refused(&CLOUD, |it| it["retention"] = json!("/7/365/0"));
    check_refused(&CLOUD, |it| it["businesskey"] = json!(""));
}

proptest! {
    #[test]
    fn whatever_a_codec_takes_its_schema_takes(which in 0..5_usize, edits in edits()) {
        let profile = PROFILES[which];
        let document = mutated(profile, edits);
        if goldens::read(profile, &document.to_string()).is_ok() {
            let errors: Vec<String> = validator(profile).iter_errors(&document).map(|error| error.to_string()).collect();
            prop_assert_eq!(errors, Vec::<String>::new(), "{}", document);
        }
    }

    #[test]
    fn whatever_a_codec_prints_its_schema_takes(which in 0..5_usize, envelope in envelopes::with_every_fact(&COUNTER)) {
        let profile = PROFILES[which];
        if let Ok(text) = wire::encode(profile, &shop::directory(), &envelope) {
            let document = goldens::value(&text);
            let errors: Vec<String> = validator(profile).iter_errors(&document).map(|error| error.to_string()).collect();
            prop_assert_eq!(errors, Vec::<String>::new(), "{}", text);
        }
    }
}
