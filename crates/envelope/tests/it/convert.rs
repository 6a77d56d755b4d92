//! Conversions between profiles say exactly what was lost and what was made up.

use expect_test::{Expect, expect};
use karwan_envelope::profile::Profile;
use karwan_envelope::wire::{self, ConvertError};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::envelopes;
use crate::goldens::{self, edited, full, read};
use crate::shop::{self, BOARD, CLOUD, COUNTER, LEDGER, PROFILES, TILL};

/// What a conversion of a golden document to every other profile reports.
fn check(from: &Profile, text: &str, expected: Expect) {
    let mut report = String::new();
    for to in PROFILES.into_iter().filter(|to| to.name != from.name) {
        report += &match wire::convert(from, to, &shop::directory(), text.as_bytes()) {
            Ok(converted) => {
                format!("{}\n  lost: {}\n  derived: {}\n", to.name, facts(&converted.lost), facts(&converted.derived))
            }
            Err(error) => format!("{}\n  {}\n", to.name, chain(&error)),
        };
    }
    expected.assert_eq(&report);
}

fn facts(facts: &[&str]) -> String {
    if facts.is_empty() { "nothing".to_owned() } else { facts.join(" ") }
}

fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn converted(from: &Profile, to: &Profile, text: &str) -> Value {
    let converted =
        wire::convert(from, to, &shop::directory(), text.as_bytes()).unwrap_or_else(|it| panic!("{}", chain(&it)));
    goldens::value(&converted.text)
}

#[test]
fn conversions_of_the_nested_form_report_exactly() {
    check(
        &COUNTER,
        full(&COUNTER),
        expect![[r#"
            ledger
              lost: producedBy.region fromOfflineReplay aiProvenance outboxId metadata
              derived: ingestedAt
            till
              lost: producedBy.instance producedBy.commit producedBy.region dataResidency fromOfflineReplay aiProvenance outboxId metadata
              derived: nothing
            board
              lost: correlationId causationId producedBy.instance producedBy.commit producedBy.region dataResidency fromOfflineReplay aiProvenance outboxId metadata
              derived: nothing
            cloud
              lost: metadata
              derived: nothing
        "#]],
    );
}

#[test]
fn conversions_of_the_flat_form_report_exactly() {
    check(
        &LEDGER,
        full(&LEDGER),
        expect![[r#"
            counter
              lost: ingestedAt dbWriteTs
              derived: idempotencyKey producedBy.region
            till
              lost: producedBy.instance producedBy.commit dataResidency outboxId ingestedAt dbWriteTs
              derived: nothing
            board
              lost: correlationId causationId producedBy.instance producedBy.commit dataResidency outboxId ingestedAt dbWriteTs
              derived: idempotencyKey
            cloud
              lost: nothing
              derived: idempotencyKey
        "#]],
    );
}

#[test]
fn conversions_of_the_spec_and_data_form_report_exactly() {
    check(
        &TILL,
        full(&TILL),
        expect![[r#"
        counter
          lost: businessCorrelation traceSpan
          derived: schemaUri orderingKey idempotencyKey actor producedBy.instance producedBy.commit producedBy.region retentionClass dataResidency outboxId
        ledger
          lost: businessCorrelation traceSpan
          derived: schemaUri orderingKey actor producedBy.instance producedBy.commit retentionClass dataResidency ingestedAt
        board
          lost: correlationId causationId businessCorrelation traceSpan
          derived: idempotencyKey
        cloud
          lost: nothing
          derived: schemaUri orderingKey idempotencyKey actor producedBy.instance producedBy.commit retentionClass
    "#]],
    );
}

#[test]
fn conversions_of_the_table_row_form_report_exactly_and_a_foreign_id_is_refused() {
    check(
        &BOARD,
        full(&BOARD),
        expect![[r#"
        counter
          cannot be printed in the profile counter: the profile counter cannot print the event id: `9b2f1c1e-5a3d-4f70-8c11-2a6b7d9e0f12` is not of version 7, and this profile prints only UUIDv7
        ledger
          lost: idempotencyKey availableAt
          derived: schemaUri orderingKey correlationId actor producedBy.service producedBy.instance producedBy.commit retentionClass dataResidency ingestedAt
        till
          lost: idempotencyKey availableAt
          derived: correlationId producedBy.service
        cloud
          lost: nothing
          derived: schemaUri orderingKey correlationId actor producedBy.service producedBy.instance producedBy.commit retentionClass
    "#]],
    );
}

#[test]
fn conversions_of_a_cloudevent_report_exactly() {
    check(
        &CLOUD,
        full(&CLOUD),
        expect![[r#"
            counter
              lost: businessCorrelation traceSpan ingestedAt dbWriteTs availableAt
              derived: nothing
            ledger
              lost: businessCorrelation traceSpan producedBy.region fromOfflineReplay aiProvenance availableAt metadata
              derived: nothing
            till
              lost: actor producedBy.instance producedBy.commit producedBy.region dataResidency fromOfflineReplay aiProvenance outboxId ingestedAt dbWriteTs availableAt metadata
              derived: nothing
            board
              lost: correlationId causationId businessCorrelation traceSpan actor producedBy.instance producedBy.commit producedBy.region dataResidency fromOfflineReplay aiProvenance outboxId ingestedAt dbWriteTs metadata
              derived: nothing
        "#]],
    );
}

#[test]
fn a_document_with_only_the_mandatory_facts_loses_none_to_cloudevents() {
    for (profile, text) in goldens::ALL {
        let converted = wire::convert(profile, &CLOUD, &shop::directory(), text.as_bytes()).unwrap();
        let lost: Vec<&str> = converted.lost.into_iter().filter(|fact| *fact != "metadata").collect();
        assert_eq!(lost, [""; 0], "{}", profile.name);
    }
}

#[test]
fn an_aggregate_that_only_the_envelope_names_is_refused_where_the_payload_must() {
    let text = edited(&COUNTER, |it| it["payload"] = json!({}));
    check(
        &COUNTER,
        &text,
        expect![[r#"
            ledger
              lost: idempotencyKey producedBy.region fromOfflineReplay aiProvenance outboxId metadata
              derived: ingestedAt
            till
              cannot be printed in the profile till: the profile till reads the aggregate's id from the payload, as {orderId}, and it is not there
            board
              cannot be printed in the profile board: the profile board reads the aggregate's id from the payload, as {orderId}, and it is not there
            cloud
              lost: metadata
              derived: nothing
        "#]],
    );
}

#[test]
fn a_profile_converted_to_itself_is_the_same_document() {
    for (profile, text) in goldens::ALL {
        let compact = goldens::squeeze(text);
        let converted = wire::convert(profile, profile, &shop::directory(), compact.as_bytes()).unwrap();
        assert_eq!(converted.text, compact);
        assert_eq!((converted.lost, converted.derived), (vec![], vec![]));
    }
}

/// C-31.
#[test]
fn a_service_is_a_service_account_in_the_flat_form() {
    let flat = converted(&COUNTER, &LEDGER, full(&COUNTER));
    assert_eq!(flat["actor"], json!({ "type": "service_account", "id": "shop-service" }));
    let nested = converted(&LEDGER, &COUNTER, full(&LEDGER));
    assert_eq!(nested["actorId"], json!({ "type": "service", "id": "shop-service" }));
    for kind in ["user", "system", "api_key"] {
        let text = edited(&COUNTER, |it| it["actorId"]["type"] = json!(kind));
        assert_eq!(converted(&COUNTER, &LEDGER, &text)["actor"]["type"], json!(kind));
    }
}

/// C-13.
#[test]
fn a_residency_is_a_region_in_one_form_and_a_short_name_in_another() {
    for (region, short) in [("me-central1", "me"), ("asia-south1", "ap"), ("europe-west1", "eu"), ("us-central1", "us")]
    {
        let text = edited(&COUNTER, |it| it["metadata"]["dataResidency"] = json!(region));
        assert_eq!(converted(&COUNTER, &LEDGER, &text)["dataResidency"], json!(short));
        let text = edited(&LEDGER, |it| it["dataResidency"] = json!(short));
        assert_eq!(converted(&LEDGER, &COUNTER, &text)["metadata"]["dataResidency"], json!(region));
    }
}

#[test]
fn a_residency_that_nobody_gave_is_the_profiles_own() {
    assert_eq!(converted(&TILL, &LEDGER, full(&TILL))["dataResidency"], json!("eu"));
    let nested = converted(&TILL, &COUNTER, full(&TILL));
    assert_eq!(
        (&nested["metadata"]["dataResidency"], &nested["producedBy"]["region"]),
        (&json!("me-central1"), &json!("me-central1"))
    );
}

#[test]
fn a_retention_becomes_the_shortest_class_that_keeps_as_long() {
    for (class, label) in [("brief", "monthly"), ("kept", "lasting"), ("long", "lasting")] {
        let text = edited(&COUNTER, |it| it["metadata"]["retentionClass"] = json!(class));
        assert_eq!(converted(&COUNTER, &LEDGER, &text)["retentionClass"], json!(label));
    }
    // The label that this profile prints for the catalogue's class is read back as that class.
    assert_eq!(converted(&LEDGER, &COUNTER, full(&LEDGER))["metadata"]["retentionClass"], json!("kept"));
    let text = edited(&LEDGER, |it| it["retentionClass"] = json!("monthly"));
    assert_eq!(converted(&LEDGER, &COUNTER, &text)["metadata"]["retentionClass"], json!("brief"));
}

#[test]
fn a_document_that_is_not_of_its_profile_is_refused_with_all_its_violations() {
    let error = wire::convert(&COUNTER, &LEDGER, &shop::directory(), b"{}").unwrap_err();
    assert_eq!(error.to_string(), "not a valid envelope of the profile counter");
    let ConvertError::Read { cause, .. } = error else { panic!("{error:?}") };
    assert_eq!(cause.0.len(), 12);
}

proptest! {
    #[test]
    fn a_conversion_reports_every_difference_and_nothing_else(
        envelope in envelopes::carried_by(&COUNTER), which in 0..5_usize,
    ) {
        let to = PROFILES[which];
        let text = goldens::print(&COUNTER, &envelope);
        match wire::convert(&COUNTER, to, &shop::directory(), text.as_bytes()) {
            Ok(converted) => {
                let back = read(to, &converted.text).unwrap();
                let mut reported = [converted.lost, converted.derived].concat();
                reported.sort_unstable();
                let mut differing = envelope.differences(&back);
                differing.sort_unstable();
                prop_assert_eq!(reported, differing);
            }
            Err(ConvertError::Print { .. }) => prop_assert!(to.name == BOARD.name && envelope.subject.version() == 2),
            Err(error) => prop_assert!(false, "{}", chain(&error)),
        }
    }
}
