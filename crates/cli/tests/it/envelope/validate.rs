use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use karwan_envelope::violation::Rule;
use serde_json::{Value, json};

use crate::folder::Folder;
use crate::karwan::{Answer, call};
use crate::samples;

fn validate(document: &str, options: &[&str]) -> Answer {
    call(&[&["envelope", "validate", "-"], options].concat()).stdin(document).run()
}

/// Breaks the first sample of a profile, and expects these violations and no other.
#[track_caller]
fn check(profile: &str, name: &str, breakage: impl FnOnce(&mut Value), expected: Expect) {
    let mut samples = samples::all().into_iter();
    let sample = samples.find(|sample| sample.profile == profile && sample.name == name).expect("a sample");
    let mut document = serde_json::from_str(sample.text).expect("a sample is JSON");
    breakage(&mut document);
    let answer = validate(&document.to_string(), &["--profile", profile]).exits(1);
    expected.assert_eq(&answer.stdout);
    let count = answer.stdout.lines().count();
    let plural = if count == 1 { "" } else { "s" };
    assert_eq!(answer.stderr, format!("{count} violation{plural}, profile {profile}\n"));
}

fn without(field: &'static str) -> impl FnOnce(&mut Value) {
    move |document| drop(document.as_object_mut().expect("an object").remove(field))
}

fn with(pointer: &'static str, value: Value) -> impl FnOnce(&mut Value) {
    move |document| *document.pointer_mut(pointer).expect("the sample has it") = value
}

#[test]
fn every_sample_is_valid_and_its_profile_is_guessed() {
    for sample in samples::all() {
        let answer = validate(sample.text, &[]).exits(0);
        assert_eq!(answer.stdout, "");
        let told = answer.stderr.trim_end();
        assert!(told.starts_with("valid: "), "{told}");
        assert!(told.ends_with(&format!(", profile {} (guessed)", sample.profile)), "{}: {told}", sample.name);
        validate(sample.text, &["--profile", sample.profile]).exits(0);
    }
}

#[test]
fn a_sample_is_no_envelope_of_another_profile() {
    for sample in samples::all() {
        for profile in samples::PROFILES.into_iter().filter(|profile| *profile != sample.profile) {
            let answer = validate(sample.text, &["--profile", profile]).exits(1);
            assert!(answer.stdout.contains("mandatory, and absent (envelope-field-missing)"), "{}", answer.stdout);
        }
    }
}

/// A payload may name anything; only the fields at the top tell the profile.
#[test]
fn the_guess_does_not_look_into_the_payload() {
    let mut document: Value = serde_json::from_str(samples::of("melmastoon").text).expect("JSON");
    document["metadata"]["specversion"] = json!("1.0");
    document["metadata"]["partitionKey"] = json!("1");
    validate(&document.to_string(), &[]).exits(0).says("profile melmastoon (guessed)");
}

#[test]
fn an_envelope_is_read_from_a_file_and_from_standard_input() {
    let sample = samples::of("learning");
    call(&["envelope".into(), "validate".into(), sample.file()])
        .run()
        .exits(0)
        .says("authoring.course_draft.published.v1");
    call(&["envelope", "validate"]).stdin(sample.text).run().exits(0);
}

#[test]
fn every_violation_is_named_not_only_the_first() {
    let breakage = |document: &mut Value| {
        document["eventId"] = json!("5b1c9a52-7d0e-4c58-9f0b-2f6f3c1f0a11");
        document["tenantId"] = json!("tnt_1");
        document["actorId"]["type"] = json!("robot");
        document["producedBy"].as_object_mut().expect("an object").remove("commit");
        document["metadata"]["orderingKey"] = json!("elsewhere");
        document["idempotencyKey"] = json!("");
        document["colour"] = json!("red");
        document["payload"]["version"] = json!("two");
        document["payload"].as_object_mut().expect("an object").remove("folioId");
    };
    check(
        "melmastoon",
        "booking_confirmed",
        breakage,
        expect![[r#"
        /eventId: `5b1c9a52-7d0e-4c58-9f0b-2f6f3c1f0a11` is not a UUID of version 7 in lower case (envelope-field-invalid)
        /tenantId: `tnt_1` is not an id of the form tnt_<ULID> (envelope-field-invalid)
        /actorId/type: unknown variant `robot`, expected one of `user`, `system`, `service`, `api_key` (envelope-field-invalid)
        /producedBy/commit: mandatory, and absent (envelope-field-missing)
        /idempotencyKey: 1 to 300 bytes, and this has 0 (envelope-idempotency-key)
        /colour: this profile has no such field (envelope-field-unknown)
        /payload: "folioId" is a required property (envelope-payload)
        /payload/version: value is not of type "integer" (envelope-payload)
    "#]],
    );
}

#[test]
fn the_catalogue_s_rules_are_judged() {
    let sample = "booking_confirmed";
    let payload = |document: &mut Value| document["payload"]["stay"]["nights"] = json!(0);
    check(
        "melmastoon",
        sample,
        payload,
        expect![[r#"
        /payload/stay/nights: value is less than the minimum of 1 (envelope-payload)
    "#]],
    );
    check(
        "melmastoon",
        sample,
        with("/producedBy/service", json!("billing-service")),
        expect![[r#"
        /producedBy/service: only reservation-service publishes melmastoon.reservation.booking.confirmed.v1 (envelope-producer)
    "#]],
    );
    check(
        "melmastoon",
        sample,
        with("/metadata/retentionClass", json!("hot")),
        expect![[r#"
        /metadata/retentionClass: the catalogue says warm (envelope-retention)
    "#]],
    );
    let platform = |document: &mut Value| {
        document["tenantId"] = json!("platform");
        document["metadata"]["orderingKey"] = json!("platform:rsv_01HX1PBC16FVDRR0PFG3NR5454");
    };
    check(
        "melmastoon",
        sample,
        platform,
        expect![[r#"
        /tenantId: melmastoon.reservation.booking.confirmed.v1 belongs to a tenant; name it (envelope-tenancy)
    "#]],
    );
}

#[test]
fn the_schema_the_name_and_the_size_of_metadata_are_judged() {
    let sample = "booking_confirmed";
    let hash = "schemas://reservation/booking/confirmed/v1#sha256-\
                0000000000000000000000000000000000000000000000000000000000000000";
    check(
        "melmastoon",
        sample,
        with("/schemaUri", json!(hash)),
        expect![[r#"
        /schemaUri: no known schema of melmastoon.reservation.booking.confirmed.v1 has the hash sha256-0000000000000000000000000000000000000000000000000000000000000000; load the bundle that published it (envelope-schema-unknown)
    "#]],
    );
    let other = "schemas://reservation/booking/cancelled/v1#sha256-\
                 0000000000000000000000000000000000000000000000000000000000000000";
    check(
        "melmastoon",
        sample,
        with("/schemaUri", json!(other)),
        expect![[r#"
        /schemaUri: melmastoon.reservation.booking.confirmed.v1 has its schema at schemas://reservation/booking/confirmed/v1 (envelope-schema-mismatch)
    "#]],
    );
    check(
        "melmastoon",
        sample,
        with("/eventType", json!("melmastoon.reservation.booking.confirmed.v1")),
        expect![[r#"
            /eventType: `melmastoon.reservation.booking.confirmed.v1` carries a version; the version has a field of its own (envelope-event-type-versioned)
        "#]],
    );
    check(
        "melmastoon",
        sample,
        with("/eventVersion", json!(2)),
        expect![[r#"
        /eventType: `melmastoon.reservation.booking.confirmed.v2` is not in the catalogue (envelope-subject-unknown)
    "#]],
    );
    let much = |document: &mut Value| document["metadata"]["note"] = json!("x".repeat(4096));
    check(
        "melmastoon",
        sample,
        much,
        expect![[r#"
        /metadata: 4305 bytes serialised, and at most 4096 are allowed (envelope-metadata-too-large)
    "#]],
    );
}

#[test]
fn an_ai_event_says_which_ai() {
    let breakage =
        |document: &mut Value| drop(document["metadata"].as_object_mut().expect("an object").remove("aiProvenance"));
    check(
        "melmastoon",
        "completion_completed",
        breakage,
        expect![[r#"
        /metadata/aiProvenance: mandatory on melmastoon.ai_orchestrator.completion.completed.v1: it says which AI took part (envelope-ai-provenance)
    "#]],
    );
}

/// A form without a place for a fact is told so about the document itself.
#[test]
fn an_ai_event_cannot_travel_in_a_form_without_provenance() {
    let mut samples = samples::all().into_iter();
    let sample = samples.find(|sample| sample.name == "completion_completed").expect("a sample");
    let convert = ["envelope", "convert", "--from", "melmastoon", "--to", "lock-ce"];
    let converted =
        call(&convert).stdin(sample.text).run().exits(0).says("lost: lock-ce has no place for this aiProvenance");
    let answer = validate(&converted.stdout, &["--profile", "lock-ce"]).exits(1);
    assert!(
        answer.stdout.starts_with("/: mandatory on melmastoon.ai_orchestrator.completion.completed.v1"),
        "{answer:?}"
    );
}

#[test]
fn a_platform_event_belongs_to_no_tenant() {
    let breakage = |document: &mut Value| {
        document["tenantId"] = json!("tnt_01HXY69Y2PR7CS58H4W549GQJY");
        document["metadata"]["orderingKey"] = json!("tnt_01HXY69Y2PR7CS58H4W549GQJY:2026-04-30");
    };
    check(
        "melmastoon",
        "merkle_anchored",
        breakage,
        expect![[r#"
        /tenantId: melmastoon.audit.merkle.anchored.v1 is the platform's own: `platform` (envelope-tenancy)
    "#]],
    );
}

#[test]
fn an_event_that_never_leaves_its_device_is_refused() {
    let breakage = |document: &mut Value| {
        let name = "melmastoon.lock.credential.revoked.local.v1";
        document["subject"] = json!(name);
        document["type"] = json!(name);
        document["source"] = json!("/services/sync-service");
        document["schemaUrl"] = json!("https://schemas.melmastoon.ghasi.io/lock/credential.revoked.local.v1.json");
        let payloads = melmastoon::samples::payloads();
        let (_, payload) = payloads.into_iter().find(|(subject, _)| *subject == name).expect("a sample");
        document["data"] = serde_json::from_str(payload).expect("JSON");
    };
    check(
        "lock-ce",
        "sample",
        breakage,
        expect![[r#"
        /: melmastoon.lock.credential.revoked.local.v1 never leaves its device (envelope-local-only)
    "#]],
    );
}

/// Places are those of the document at hand, not of another profile's.
#[test]
fn violations_point_into_a_lock_envelope() {
    check(
        "lock-ce",
        "sample",
        with("/data/vendor", json!(7)),
        expect![[r#"
        /data/vendor: value is not valid under any of the schemas listed in the 'oneOf' keyword (envelope-payload)
    "#]],
    );
    check(
        "lock-ce",
        "sample",
        with("/source", json!("/services/billing-service")),
        expect![[r#"
        /source: only lock-integration-service publishes melmastoon.lock_integration.key_credential.issued.v1 (envelope-producer)
    "#]],
    );
    check(
        "lock-ce",
        "sample",
        with("/type", json!("melmastoon.lock.credential.revoked.v1")),
        expect![[r#"
        /type: must equal the subject, melmastoon.lock.credential.issued.v1 (envelope-version-mismatch)
    "#]],
    );
}

#[test]
fn violations_point_into_a_cloudevent() {
    check(
        "cloudevents",
        "booking_confirmed",
        with("/data/version", json!(-1)),
        expect![[r#"
        /data/version: value is less than the minimum of 0 (envelope-payload)
    "#]],
    );
    check(
        "cloudevents",
        "booking_confirmed",
        with("/source", json!("/services/theirs")),
        expect![[r#"
        /source: only reservation-service publishes melmastoon.reservation.booking.confirmed.v1 (envelope-producer)
    "#]],
    );
    check(
        "cloudevents",
        "booking_confirmed",
        with("/retention", json!("hot/7/30/0")),
        expect![[r#"
        /retention: the catalogue says warm (envelope-retention)
    "#]],
    );
    check(
        "cloudevents",
        "booking_confirmed",
        without("id"),
        expect![[r#"
        /id: mandatory, and absent (envelope-field-missing)
    "#]],
    );
}

#[test]
fn violations_point_into_a_flat_envelope_and_a_row() {
    let learning = "course_draft_published";
    check(
        "learning",
        learning,
        with("/payload/tenantId", json!("01HXY69Y2PR7CS58H4W549GQJY")),
        expect![[r#"
        /payload/tenantId: another tenant than the envelope's (envelope-tenant-mismatch)
    "#]],
    );
    check(
        "learning",
        learning,
        with("/source/service", json!("catalog-service")),
        expect![[r#"
        /source/service: only authoring-service publishes authoring.course_draft.published.v1 (envelope-producer)
    "#]],
    );
    check(
        "learning",
        learning,
        with("/retentionClass", json!("audit")),
        expect![[r#"
        /retentionClass: the catalogue says operational (envelope-retention)
    "#]],
    );
    check(
        "panorama",
        "reservation_approved",
        with("/eventType", json!("panorama.reservation.lost")),
        expect![[r#"
        /eventType: `panorama.reservation.lost` is not in the catalogue (envelope-subject-unknown)
    "#]],
    );
    check(
        "panorama",
        "reservation_approved",
        with("/payload/assetId", json!("car")),
        expect![[r#"
        /payload/assetId: value does not match "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$" (envelope-payload)
        /payload/assetId: value is not a "uuid" (envelope-payload)
    "#]],
    );
}

#[test]
fn a_message_never_repeats_what_a_payload_says() {
    let mut document: Value = serde_json::from_str(samples::of("melmastoon").text).expect("JSON");
    document["payload"]["guest"]["phone"] = json!("call me, Zarghuna");
    let answer = validate(&document.to_string(), &[]).exits(1);
    assert!(answer.stdout.contains("/payload/guest/phone"), "{}", answer.stdout);
    assert!(!answer.stdout.contains("Zarghuna") && !answer.stderr.contains("Zarghuna"), "{}", answer.stdout);
}

/// Rules that the other tests of this crate provoke; the rest would be a rule that nobody can break.
#[test]
fn every_rule_of_an_envelope_has_a_page() {
    let ids: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.id()).collect();
    assert_eq!(ids.len(), Rule::ALL.len());
    for id in ids {
        let page = crate::karwan::root().join(format!("docs/errors/{id}.md"));
        assert!(page.is_file(), "docs/errors/{id}.md");
    }
}

/// An event that an earlier release wrote is judged by that release's schema, once its bundle is at hand.
#[test]
fn an_older_event_is_valid_by_the_bundle_that_published_its_schema() {
    const SCHEMA: &str = "catalog/melmastoon/event-schemas/reservation/booking/confirmed/v1.json";
    let folder = Folder::with_catalogue();
    // The earlier release knew nothing of the party; the current schema requires it.
    let mut schema: Value = serde_json::from_slice(&folder.read(SCHEMA)).expect("a schema is JSON");
    schema["required"].as_array_mut().expect("a list").retain(|field| field != "party");
    schema["properties"].as_object_mut().expect("an object").remove("party").expect("the schema has a party");
    let file = folder.write(SCHEMA, schema.to_string());
    let hash = call(&["schema", "hash", &file]).run().exits(0).stdout.trim().to_owned();
    let uri = format!("schemas://reservation/booking/confirmed/v1#{hash}");
    let mut topics: Value = serde_json::from_slice(&folder.read("catalog/melmastoon/topics.json")).expect("JSON");
    let mut rows = topics["topics"].as_array_mut().expect("a list").iter_mut();
    let row = rows.find(|row| row["subject"] == "melmastoon.reservation.booking.confirmed.v1").expect("a row");
    row["schemaUri"] = json!(uri);
    folder.write("catalog/melmastoon/topics.json", topics.to_string());
    let bundle = folder.name("release.json");
    call(&["schema", "bundle", "--catalog", &folder.name("catalog"), "--out", &bundle]).run().exits(0);

    let sample = samples::all().into_iter().find(|sample| sample.name == "booking_confirmed").expect("a sample");
    let mut event: Value = serde_json::from_str(sample.text).expect("a sample is JSON");
    event["schemaUri"] = json!(uri);
    event["payload"].as_object_mut().expect("an object").remove("party");
    let unknown = validate(&event.to_string(), &[]).exits(1).stdout;
    assert!(unknown.contains("(envelope-schema-unknown)"), "{unknown}");
    validate(&event.to_string(), &["--bundle", &bundle]).exits(0);
    // The bundle says what was valid then; what never was stays invalid.
    event["payload"]["party"] = json!("two");
    let refused = validate(&event.to_string(), &["--bundle", &bundle]).exits(1).stdout;
    assert!(refused.contains("(envelope-payload)"), "{refused}");
}

/// One fault of form must not hide what the catalogue has to say about the rest.
#[test]
fn a_fault_of_form_hides_no_fault_of_the_catalogue() {
    check(
        "melmastoon",
        "booking_confirmed",
        |document| {
            document["occurredAt"] = json!("no");
            document["foo"] = json!(1);
            document["producedBy"]["service"] = json!("billing-service");
            document["metadata"]["retentionClass"] = json!("hot");
            document["payload"]["version"] = json!("x");
        },
        expect![[r#"
            /occurredAt: `no` is not an RFC 3339 timestamp such as 2026-05-01T14:00:00Z (envelope-field-invalid)
            /foo: this profile has no such field (envelope-field-unknown)
            /producedBy/service: only reservation-service publishes melmastoon.reservation.booking.confirmed.v1 (envelope-producer)
            /metadata/retentionClass: the catalogue says warm (envelope-retention)
            /payload/version: value is not of type "integer" (envelope-payload)
        "#]],
    );
    check(
        "melmastoon",
        "booking_confirmed",
        with("/tenantId", json!("platform")),
        expect![[r#"
        /metadata/orderingKey: `tnt_01HXY69Y2PR7CS58H4W549GQJY:rsv_01HX1PBC16FVDRR0PFG3NR5454` is not <tenantId>:<aggregateId> of this envelope, the latter 1 to 200 bytes (envelope-ordering-key)
        /tenantId: melmastoon.reservation.booking.confirmed.v1 belongs to a tenant; name it (envelope-tenancy)
    "#]],
    );
    check(
        "melmastoon",
        "completion_completed",
        |document| {
            document["metadata"].as_object_mut().expect("an object").remove("aiProvenance");
            document["correlationId"] = json!(7);
        },
        expect![[r#"
            /correlationId: invalid type: integer `7`, expected a string (envelope-field-invalid)
            /metadata/aiProvenance: mandatory on melmastoon.ai_orchestrator.completion.completed.v1: it says which AI took part (envelope-ai-provenance)
        "#]],
    );
    check(
        "lock-ce",
        "sample",
        |document| {
            document["traceId"] = json!("garbage");
            document["source"] = json!("/services/billing-service");
        },
        expect![[r#"
            /traceId: not a W3C traceparent of version 00: 00-<32 hex digits>-<16>-<2>, lower case, ids not zero (envelope-field-invalid)
            /source: only lock-integration-service publishes melmastoon.lock_integration.key_credential.issued.v1 (envelope-producer)
        "#]],
    );
}
