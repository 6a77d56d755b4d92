//! Bad envelopes: every violation is reported with its place and its rule, not only the first.

use expect_test::expect;
use karwan_envelope::profile::Profile;
use karwan_envelope::violation::Rule;
use serde_json::{Value, json};

use crate::goldens::{self, check, edited};
use crate::shop::{self, BOARD, CLOUD, COUNTER, LEDGER, TILL};

#[test]
fn six_faults_of_the_nested_form_give_six_violations() {
    check(
        &COUNTER,
        |it| {
            it["eventId"] = json!("9b2f1c1e-5a3d-4f70-8c11-2a6b7d9e0f12");
            it["eventType"] = json!("shop.order.placed.v1");
            it["actorId"]["type"] = json!("robot");
            it["occurredAt"] = json!("yesterday");
            it["metadata"]["retentionClass"] = json!("always");
            it.as_object_mut().unwrap().remove("idempotencyKey");
        },
        expect![[r#"
            /eventId: `9b2f1c1e-5a3d-4f70-8c11-2a6b7d9e0f12` is not a UUID of version 7 in lower case (envelope-field-invalid)
            /eventType: `shop.order.placed.v1` carries a version; the version has a field of its own (envelope-event-type-versioned)
            /actorId/type: unknown variant `robot`, expected one of `user`, `system`, `service`, `api_key` (envelope-field-invalid)
            /occurredAt: `yesterday` is not an RFC 3339 timestamp such as 2026-05-01T14:00:00Z (envelope-field-invalid)
            /idempotencyKey: mandatory, and absent (envelope-field-missing)
            /metadata/retentionClass: one of brief, kept, long (envelope-field-invalid)"#]],
    );
}

#[test]
fn six_faults_of_the_flat_form_give_six_violations() {
    check(
        &LEDGER,
        |it| {
            it["eventVersion"] = json!(0);
            it["source"]["service"] = json!("");
            it["actor"]["type"] = json!("service");
            it["partitionKey"] = json!("");
            it["outbox"]["outboxId"] = json!(7);
            it["dataResidency"] = json!("me-central1");
        },
        expect![[r#"
            /eventVersion: versions are counted from 1 (envelope-field-invalid)
            /source/service: must not be empty (envelope-field-invalid)
            /actor/type: unknown variant `service`, expected one of `user`, `system`, `api_key`, `service_account` (envelope-field-invalid)
            /partitionKey: 1 to 200 bytes (envelope-ordering-key)
            /outbox/outboxId: invalid type: integer `7`, expected a string (envelope-field-invalid)
            /dataResidency: one of me, ap, eu, us (envelope-field-invalid)"#]],
    );
}

#[test]
fn six_faults_of_the_spec_and_data_form_give_six_violations() {
    check(
        &TILL,
        |it| {
            it["specVersion"] = json!("1.1");
            it["type"] = json!("shop.order.placed.v1");
            it["source"] = json!("shop-service");
            it["traceId"] = json!("00-00000000000000000000000000000000-00f067aa0ba902b7-01");
            it["schemaUrl"] = json!("https://elsewhere.example/order.placed.v1.json");
            it["data"] = json!({ "order": 1 });
        },
        expect![[r#"
            /specVersion: must be 1.0 (envelope-field-invalid)
            /type: must equal the subject, till.order.placed.v1 (envelope-version-mismatch)
            /source: must be /services/<service> (envelope-field-invalid)
            /traceId: not a W3C traceparent of version 00: 00-<32 hex digits>-<16>-<2>, lower case, ids not zero (envelope-field-invalid)
            /schemaUrl: the schema of till.order.placed.v1 is at https://schemas.shop.example/order.placed.v1.json (envelope-schema-mismatch)
            /data: the aggregate's id needs {orderId}, which the payload lacks (envelope-ordering-key)"#]],
    );
}

#[test]
fn six_faults_of_the_table_row_form_give_six_violations() {
    check(
        &BOARD,
        |it| {
            it["id"] = json!("9B2F1C1E-5A3D-4F70-8C11-2A6B7D9E0F12");
            it["tenantId"] = json!("platform");
            it["eventType"] = json!("shop.visit.imagined");
            it["dedupKey"] = json!("");
            it["availableAt"] = Value::Null;
            it["status"] = json!("PENDING");
        },
        expect![[r#"
            /id: `9B2F1C1E-5A3D-4F70-8C11-2A6B7D9E0F12` is not a UUID in lower case (envelope-field-invalid)
            /tenantId: `platform` is not a UUID in lower case (envelope-field-invalid)
            /eventType: `shop.visit.imagined` is not in the catalogue (envelope-subject-unknown)
            /dedupKey: 1 to 300 bytes, and this has 0 (envelope-idempotency-key)
            /availableAt: invalid type: null, expected a string (envelope-field-invalid)
            /status: this profile has no such field (envelope-field-unknown)"#]],
    );
}

#[test]
fn six_faults_of_a_cloudevent_give_six_violations() {
    check(
        &CLOUD,
        |it| {
            it["specversion"] = json!("0.3");
            it["datacontenttype"] = json!("text/plain");
            it["subject"] = json!("o-78");
            it["retention"] = json!("kept/7/365");
            it["aiprovenance"] = json!("{}");
            it["Campaign"] = json!("spring");
        },
        expect![[r#"
            /specversion: must be 1.0 (envelope-field-invalid)
            /datacontenttype: must be application/json (envelope-field-invalid)
            /subject: must be the aggregate's id, `o-77` (envelope-ordering-key)
            /retention: must be <class>/<broker days>/<warehouse days>/<cold days> (envelope-field-invalid)
            /aiprovenance: missing field `modelId` at line 1 column 2 (envelope-field-invalid)
            /Campaign: an extension attribute has at most 20 lower-case letters and digits, and a string, boolean or 32-bit integer (envelope-field-unknown)"#]],
    );
}

#[test]
fn an_empty_object_misses_every_mandatory_field() {
    for profile in shop::PROFILES {
        let violations = goldens::read(profile, "{}").unwrap_err().0;
        let required = karwan_envelope::wire::schema(profile)["required"].as_array().unwrap().len();
        assert_eq!(violations.len(), required, "{}: {violations:?}", profile.name);
        assert!(violations.iter().all(|it| it.rule == Rule::FieldMissing));
    }
}

#[test]
fn each_missing_field_is_named_alone() {
    for profile in shop::PROFILES {
        for field in karwan_envelope::wire::schema(profile)["required"].as_array().unwrap() {
            let field = field.as_str().unwrap();
            let text = edited(profile, |it| drop(it.as_object_mut().unwrap().remove(field)));
            expect_one(profile, &text, &format!("/{field}: mandatory, and absent (envelope-field-missing)"));
        }
    }
}

fn expect_one(profile: &Profile, text: &str, expected: &str) {
    assert_eq!(goldens::faults(profile, text), expected, "{}", profile.name);
}

#[test]
fn an_explicit_null_is_refused_wherever_a_value_is_optional_or_not() {
    for profile in shop::PROFILES {
        let fields: Vec<String> = goldens::value(goldens::full(profile)).as_object().unwrap().keys().cloned().collect();
        for field in fields {
            // Any JSON is a payload as far as the envelope goes; a row of nobody's is the platform's.
            if ["payload", "data"].contains(&&*field) || (profile.name == "board" && field == "tenantId") {
                continue;
            }
            let faults = goldens::faults(profile, &edited(profile, |it| it[&field] = Value::Null));
            assert!(faults.starts_with(&format!("/{field}: ")), "{}: {faults}", profile.name);
        }
    }
}

#[test]
fn unknown_fields_are_refused_and_their_pointers_escaped() {
    for profile in [&COUNTER, &LEDGER, &TILL, &BOARD] {
        check_unknown(profile, "", "eventid", "/eventid");
        check_unknown(profile, "", "a/b~c", "/a~1b~0c");
        check_unknown(profile, "", "", "/");
    }
    check_unknown(&COUNTER, "/actorId", "name", "/actorId/name");
    check_unknown(&COUNTER, "/producedBy", "zone", "/producedBy/zone");
    check_unknown(&LEDGER, "/source", "region", "/source/region");
    check_unknown(&LEDGER, "/actor", "name", "/actor/name");
    check_unknown(&LEDGER, "/outbox", "shard", "/outbox/shard");
}

fn check_unknown(profile: &Profile, parent: &str, name: &str, pointer: &str) {
    let text = edited(profile, |it| it.pointer_mut(parent).expect("a place in the golden document")[name] = json!(1));
    expect_one(profile, &text, &format!("{pointer}: this profile has no such field (envelope-field-unknown)"));
}

#[test]
fn a_document_that_is_no_object_is_refused() {
    for text in ["null", "[]", "1", "\"{}\""] {
        for profile in shop::PROFILES {
            expect_one(profile, text, "/: must be a JSON object (envelope-not-an-object)");
        }
    }
    check(
        &COUNTER,
        |it| it["actorId"] = json!("usr-5"),
        expect!["/actorId: must be a JSON object (envelope-not-an-object)"],
    );
    check(
        &COUNTER,
        |it| it["metadata"] = json!([]),
        expect!["/metadata: must be a JSON object (envelope-not-an-object)"],
    );
}

#[test]
fn bad_json_inside_an_envelope_is_named_with_its_place() {
    let text = goldens::full(&COUNTER).replacen("\"quantity\": 2", "\"quantity\": 9007199254740993", 1);
    expect!["/payload/lines/0/quantity: line 26, column 21: the number 9007199254740993 is not kept exactly by every reader; write it as a string (json-number-range)"]
        .assert_eq(&goldens::faults(&COUNTER, &text));
    let text = goldens::full(&COUNTER).replacen("\"eventType\"", "\"eventId\"", 1);
    expect!["/: line 3, column 3: the key `eventId` stands twice in one object (json-duplicate-key)"]
        .assert_eq(&goldens::faults(&COUNTER, &text));
}

#[test]
fn a_strangers_text_cannot_break_a_report_into_lines() {
    let faults = goldens::faults(&COUNTER, &edited(&COUNTER, |it| it["a\n\u{1b}[31m"] = json!("é")));
    expect![[r#"/a\n\u{1b}[31m: this profile has no such field (envelope-field-unknown)"#]].assert_eq(&faults);
    let faults = goldens::faults(&COUNTER, &edited(&COUNTER, |it| it["eventId"] = json!("x\r\ny")));
    expect![[r#"/eventId: `x\r\ny` is not a UUID of version 7 in lower case (envelope-field-invalid)"#]]
        .assert_eq(&faults);
}

#[test]
fn a_very_long_wrong_value_gives_a_short_message() {
    let long = "x".repeat(500_000);
    let numbered = |text: &str| edited(&COUNTER, |it| it["eventVersion"] = json!(text));
    for text in [
        edited(&COUNTER, |it| it["eventId"] = json!(long)),
        edited(&COUNTER, |it| it["actorId"]["type"] = json!(long)),
        edited(&COUNTER, |it| it["metadata"]["orderingKey"] = json!(long)),
        edited(&COUNTER, |it| it["eventType"] = json!(long)),
        edited(&COUNTER, |it| it[&long] = json!(1)),
        edited(&TILL, |it| it["schemaUrl"] = json!(long)),
        edited(&CLOUD, |it| it["partitionkey"] = json!(long)),
        numbered(&long),
    ] {
        let profile = shop::PROFILES.into_iter().find(|it| text.contains("specVersion") == (it.name == "till"));
        let profile = if text.contains("specversion") { &CLOUD } else { profile.unwrap() };
        let faults = goldens::faults(profile, &text);
        assert!(faults.len() < 1000 && faults.contains("(envelope-"), "{} bytes", faults.len());
    }
    // A value that looks like the end of a message does not cut the message.
    let faults = goldens::faults(&COUNTER, &numbered("one at line two"));
    expect![[r#"/eventVersion: invalid type: string "one at line two", expected u32 (envelope-field-invalid)"#]]
        .assert_eq(&faults);
}
