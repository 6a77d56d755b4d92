use std::collections::BTreeSet;

use expect_test::expect;
use serde_json::{Value, json};

use crate::karwan::{Answer, call};
use crate::samples::{self, PROFILES, Sample, compact};

fn convert(from: &str, to: &str, document: &str) -> Answer {
    call(&["envelope", "convert", "--from", from, "--to", to]).stdin(document).run()
}

/// What a conversion said, by word: the facts it lost and the facts it made up.
fn facts(answer: &Answer, word: &str) -> BTreeSet<String> {
    let lines = answer.stderr.lines().filter(|line| line.starts_with(&format!("{word}: ")));
    lines.map(|line| line.rsplit(' ').next().expect("a word").to_owned()).collect()
}

#[test]
fn to_the_same_profile_it_is_the_identity_byte_for_byte() {
    for sample in samples::all() {
        let compact = sample.compact();
        let answer = convert(sample.profile, sample.profile, &compact).exits(0);
        assert_eq!(answer.stdout, format!("{compact}\n"), "{}", sample.name);
        assert_eq!(answer.stderr, "", "nothing is lost and nothing made up");
    }
}

/// A fact that the catalogue asks for and not every form can say: only two have a place for the provenance of AI.
const REFUSED_WHEN_LOST: [(&str, &str); 1] = [("(envelope-ai-provenance)", "aiProvenance")];

/// Each of the 20 pairs: the result is valid in the other profile but for what was named as lost or derived, and the way
/// back gives the same document unless a loss was named.
#[test]
fn between_any_two_profiles_everything_that_changes_is_named() {
    let mut converted = BTreeSet::new();
    for sample in samples::all() {
        for to in PROFILES.into_iter().filter(|to| *to != sample.profile) {
            pair(sample, to);
            converted.insert((sample.profile, to));
        }
    }
    assert_eq!(converted.len(), 20, "every ordered pair of two profiles");
}

#[track_caller]
fn pair(sample: Sample, to: &str) {
    let there = convert(sample.profile, to, &sample.compact()).exits(0);
    let valid = call(&["envelope", "validate", "-", "--profile", to]).stdin(there.stdout.clone()).run();
    let lost = facts(&there, "lost");
    let named: BTreeSet<String> = lost.union(&facts(&there, "derived")).cloned().collect();
    for refusal in valid.stdout.lines() {
        let excused = REFUSED_WHEN_LOST.iter().any(|(rule, fact)| refusal.ends_with(rule) && named.contains(*fact));
        assert!(excused, "{} to {to}: {refusal}\n{}", sample.name, there.stdout);
    }
    let back = convert(to, sample.profile, &there.stdout).exits(0);
    let same = back.stdout.trim_end() == sample.compact();
    // A field that the way back cannot fill was lost on the way there, or the documents are the same.
    assert!(same || !lost.is_empty(), "{} to {to} and back:\n{}\n{}", sample.name, sample.compact(), back.stdout);
}

#[test]
fn cloudevents_carries_every_fact_of_every_profile() {
    for sample in samples::all().into_iter().filter(|sample| sample.profile != "cloudevents") {
        let there = convert(sample.profile, "cloudevents", &sample.compact()).exits(0);
        assert_eq!(facts(&there, "lost"), BTreeSet::new(), "{}", sample.name);
        let back = convert("cloudevents", sample.profile, &there.stdout).exits(0);
        assert_eq!(back.stdout, format!("{}\n", sample.compact()), "{}", sample.name);
    }
}

#[test]
fn what_is_lost_and_what_is_derived_is_said_on_standard_error() {
    let said = |from: &str, to: &str| convert(from, to, samples::of(from).text).exits(0).stderr;
    expect![[r#"
        lost: melmastoon has no place for this businessCorrelation
        lost: melmastoon has no place for this traceSpan
        derived: lock-ce does not carry schemaUri
        derived: lock-ce does not carry orderingKey
        derived: lock-ce does not carry idempotencyKey
        derived: lock-ce does not carry actor
        derived: lock-ce does not carry producedBy.instance
        derived: lock-ce does not carry producedBy.commit
        derived: lock-ce does not carry producedBy.region
        derived: lock-ce does not carry retentionClass
        derived: lock-ce does not carry dataResidency
        derived: lock-ce does not carry outboxId
    "#]]
    .assert_eq(&said("lock-ce", "melmastoon"));
    expect![[r#"
        lost: lock-ce has no place for this producedBy.instance
        lost: lock-ce has no place for this producedBy.commit
        lost: lock-ce has no place for this producedBy.region
        lost: lock-ce has no place for this dataResidency
        lost: lock-ce has no place for this fromOfflineReplay
        lost: lock-ce has no place for this outboxId
    "#]]
    .assert_eq(&said("melmastoon", "lock-ce"));
    expect![[r#"
        lost: learning has no place for this producedBy.region
        lost: learning has no place for this fromOfflineReplay
        lost: learning has no place for this outboxId
        derived: melmastoon does not carry ingestedAt
    "#]]
    .assert_eq(&said("melmastoon", "learning"));
    expect![[r#"
        lost: panorama has no place for this correlationId
        lost: panorama has no place for this causationId
        lost: panorama has no place for this actor
        lost: panorama has no place for this producedBy.instance
        lost: panorama has no place for this producedBy.commit
        lost: panorama has no place for this dataResidency
        lost: panorama has no place for this outboxId
        lost: panorama has no place for this ingestedAt
        lost: panorama has no place for this dbWriteTs
        derived: learning does not carry idempotencyKey
    "#]]
    .assert_eq(&said("learning", "panorama"));
    expect![[r#"
        derived: panorama does not carry schemaUri
        derived: panorama does not carry orderingKey
        derived: panorama does not carry correlationId
        derived: panorama does not carry actor
        derived: panorama does not carry producedBy.service
        derived: panorama does not carry producedBy.instance
        derived: panorama does not carry producedBy.commit
        derived: panorama does not carry retentionClass
        derived: panorama does not carry dataResidency
        derived: panorama does not carry ingestedAt
    "#]]
    .assert_eq(&said("panorama", "learning"));
}

#[test]
fn an_alias_becomes_the_canonical_name_and_back() {
    let sample = samples::of("lock-ce");
    let there = convert("lock-ce", "melmastoon", sample.text).exits(0);
    assert_eq!(there.json()["eventType"], "melmastoon.lock_integration.key_credential.issued");
    let back = convert("melmastoon", "lock-ce", &there.stdout).exits(0).json();
    assert_eq!(back["type"], "melmastoon.lock.credential.issued.v1");
    assert_eq!(back["schemaUrl"], "https://schemas.melmastoon.ghasi.io/lock/credential.issued.v1.json");
}

#[test]
fn one_id_is_printed_in_the_form_of_each_profile() {
    let sample = samples::of("melmastoon").text;
    let id = |to: &str, field: &str| convert("melmastoon", to, sample).exits(0).json()[field].clone();
    assert_eq!(id("learning", "eventId"), "01HWS5VPG6FEEB9RF3P93YPFZC");
    assert_eq!(id("lock-ce", "id"), "evt_01HWS5VPG6FEEB9RF3P93YPFZC");
    assert_eq!(id("panorama", "id"), "018f325d-da06-7b9c-b4e1-e3b247eb3fec");
    assert_eq!(id("cloudevents", "id"), "018f325d-da06-7b9c-b4e1-e3b247eb3fec");
}

#[test]
fn a_foreign_id_is_kept_but_refused_where_uuid_v7_must_be_printed() {
    let mut row: Value = serde_json::from_str(samples::of("panorama").text).expect("JSON");
    row["id"] = json!("5b1c9a52-7d0e-4c58-9f0b-2f6f3c1f0a11");
    let kept = convert("panorama", "cloudevents", &row.to_string()).exits(0).json();
    assert_eq!(kept["id"], "5b1c9a52-7d0e-4c58-9f0b-2f6f3c1f0a11");
    let refused = convert("panorama", "melmastoon", &row.to_string()).exits(65);
    assert_eq!(refused.stdout, "");
    refused
        .says("error: cannot be printed in the profile melmastoon")
        .says("the profile melmastoon cannot print the event id");
}

#[test]
fn the_payload_is_carried_byte_for_byte() {
    let sample = samples::of("panorama");
    let spaced = sample.compact().replace("\"note\":", "\"note\" : ");
    let there = convert("panorama", "learning", &spaced).exits(0);
    assert!(there.stdout.contains("\"note\" : \"Keys are at the desk.\""), "{}", there.stdout);
    assert_eq!(compact(&there.stdout), compact(&convert("panorama", "learning", &sample.compact()).exits(0).stdout));
}

#[test]
fn a_broken_envelope_is_bad_input_with_every_violation() {
    let mut document: Value = serde_json::from_str(samples::of("learning").text).expect("JSON");
    document["eventId"] = json!("1");
    document["dataResidency"] = json!("moon");
    let answer = convert("learning", "panorama", &document.to_string()).exits(65);
    assert_eq!(answer.stdout, "");
    answer.says("error: not a valid envelope of the profile learning").says("  /eventId: ").says("  /dataResidency: ");
}
