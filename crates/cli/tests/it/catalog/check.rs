use std::path::Path;

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::karwan::{Answer, call, karwan, root};

/// An event that no sample carries, so that one violation is one finding.
const CANCELLED: &str = "melmastoon.reservation.booking.cancelled.v1";
const CANCELLED_SCHEMA: &str = "catalog/melmastoon/event-schemas/reservation/booking/cancelled/v1.json";

fn judge(folder: &Folder) -> Answer {
    karwan(&["catalog".into(), "check".into(), "--catalog".into(), folder.at("catalog")])
}

/// Plants one violation in a copy and expects one finding of that gate, with its place, its words and a remedy.
#[track_caller]
fn check(plant: impl FnOnce(&Folder), gate: &str, place: &str, words: &str) {
    let folder = Folder::with_catalogue();
    plant(&folder);
    let answer = judge(&folder).exits(1);
    let finding = format!("{gate}: {place}: ");
    let lines: Vec<&str> = answer.stdout.lines().collect();
    let found = lines.iter().position(|line| line.starts_with(&finding) && line.contains(words));
    let found = found.unwrap_or_else(|| panic!("no `{finding}… {words}` in:\n{}", answer.stdout));
    let remedy = lines[found + 1];
    assert!(remedy.starts_with("    ") && remedy.ends_with(&format!("(docs/errors/{gate}.md)")), "{remedy}");
    assert_eq!(lines.len(), 2, "one violation, one finding:\n{}", answer.stdout);
    assert_eq!(answer.stderr, "1 finding\n");
}

fn row(subject: &'static str, field: &'static str, value: Value) -> impl FnOnce(&Folder) {
    move |folder| folder.edit_topic("melmastoon", subject, |row| row[field] = value)
}

#[test]
fn an_untouched_copy_is_in_order() {
    let answer = judge(&Folder::with_catalogue()).exits(0);
    assert_eq!(answer.stdout, "");
    assert!(answer.stderr.ends_with(" files in order\n"), "{}", answer.stderr);
}

#[test]
fn the_compiled_in_catalogue_and_the_committed_one_are_in_order() {
    let answer = karwan(&["catalog", "check"]).exits(0);
    assert_eq!(answer.stdout, "");
}

#[test]
fn without_a_committed_catalogue_that_part_is_said_to_be_unchecked() {
    let answer = call(&["catalog", "check"]).within(Folder::new().path()).run().exits(0);
    answer.says("no folder ./catalog here: whether committed files are stale was not checked");
}

#[test]
fn a_committed_file_that_the_types_do_not_give_is_stale() {
    let folder = Folder::with_catalogue();
    folder.edit("catalog/learning/policy.json", |policy| policy["narrowingForbidden"] = json!(false));
    folder.remove("catalog/panorama/topics.json");
    folder.write("catalog/panorama/event-schemas/more/v1.json", "{}");
    folder.write("catalog/openapi.json", "{}");
    let answer = call(&["catalog", "check"]).within(folder.path()).run().exits(1);
    for finding in [
        "catalog-stale: catalog/learning/policy.json: not what the types give",
        "catalog-stale: catalog/panorama/topics.json: not committed",
        "catalog-stale: catalog/panorama/event-schemas/more/v1.json: no type gives this file",
    ] {
        assert!(answer.stdout.contains(finding), "{finding}: {}", answer.stdout);
    }
    assert_eq!(answer.stderr, "3 findings\n");
}

#[test]
fn a_schema_whose_content_is_not_what_the_row_says_is_found() {
    let place = "melmastoon/event-schemas/reservation/booking/cancelled/v1.json \
                 (melmastoon.reservation.booking.cancelled.v1)";
    let plant = |folder: &Folder| folder.edit(CANCELLED_SCHEMA, |schema| schema["title"] = json!("Confirmed"));
    check(plant, "catalog-schema-hash", place, "and the row says");
}

#[test]
fn a_row_without_a_schema_is_found() {
    let place = "melmastoon/topics.json melmastoon.reservation.booking.cancelled.v1";
    check(|folder| folder.remove(CANCELLED_SCHEMA), "catalog-row-without-schema", place, "has no schema at");
}

#[test]
fn a_schema_without_a_row_is_found() {
    let plant = |folder: &Folder| {
        folder.write("catalog/melmastoon/event-schemas/reservation/booking/forgotten/v1.json", "{}");
    };
    let place = "melmastoon/event-schemas/reservation/booking/forgotten/v1.json";
    check(plant, "catalog-schema-without-row", place, "no row names this schema");
}

#[test]
fn a_publisher_that_is_not_the_owner_is_found() {
    let producers = json!(["reservation-service", "billing-service"]);
    let place = "melmastoon/topics.json melmastoon.reservation.booking.cancelled.v1";
    let words = "published by billing-service, and only reservation-service may";
    check(row(CANCELLED, "producers", producers), "catalog-non-owner", place, words);
}

#[test]
fn an_untenanted_event_outside_the_allow_list_is_found() {
    let place = "melmastoon/topics.json melmastoon.reservation.booking.cancelled.v1";
    check(row(CANCELLED, "tenancy", json!("platform")), "catalog-untenanted", place, "not on the allow-list");
}

#[test]
fn a_cross_tenant_event_outside_the_list_is_found() {
    let place = "melmastoon/topics.json melmastoon.reservation.booking.cancelled.v1";
    check(row(CANCELLED, "tenancy", json!("crossTenant")), "catalog-cross-tenant", place, "live only under");
}

#[test]
fn an_ai_event_that_need_not_say_which_ai_is_found() {
    let subject = "melmastoon.ai_orchestrator.completion.completed.v1";
    let place = "melmastoon/topics.json melmastoon.ai_orchestrator.completion.completed.v1";
    check(row(subject, "aiProvenance", json!("none")), "catalog-ai-provenance", place, "need not carry aiProvenance");
}

#[test]
fn a_row_without_an_idempotency_key_is_found() {
    let place = "melmastoon/topics.json melmastoon.reservation.booking.cancelled.v1";
    check(row(CANCELLED, "idempotencyKey", json!("")), "catalog-idempotency-key", place, "no idempotency key");
}

#[test]
fn an_ordering_key_without_the_tenant_is_found() {
    let place = "melmastoon/topics.json melmastoon.reservation.booking.cancelled.v1";
    check(row(CANCELLED, "key", json!("{reservationId}")), "catalog-ordering-key", place, "is not {tenantId}:");
}

#[test]
fn a_broken_payload_sample_is_found() {
    let file = "samples/payloads/melmastoon.lock_integration.device.online.v1.json";
    let plant = |folder: &Folder| folder.edit(&format!("catalog/melmastoon/{file}"), |it| it["since"] = json!("soon"));
    check(plant, "catalog-sample", &format!("melmastoon/{file}"), "/since");
}

#[test]
fn a_broken_envelope_sample_is_found_in_every_platform() {
    for (file, field) in [
        ("melmastoon/samples/envelopes/lock-ce/sample.json", "correlationId"),
        ("melmastoon/samples/envelopes/cloudevents/booking_confirmed.json", "tenantid"),
        ("learning/samples/envelopes/learning/course_draft_published.json", "dataResidency"),
        ("panorama/samples/envelopes/panorama/reservation_approved.json", "createdAt"),
    ] {
        let plant = |folder: &Folder| {
            folder.edit(&format!("catalog/{file}"), |envelope| {
                envelope.as_object_mut().expect("an object").remove(field);
            });
        };
        check(plant, "catalog-sample", file, &format!("/{field}: mandatory, and absent"));
    }
}

/// The field is added to the schema and the row's hash is renewed, as a careless author's emit would do.
#[test]
fn a_field_that_looks_like_a_secret_is_found() {
    let plant = |folder: &Folder| {
        folder.edit(CANCELLED_SCHEMA, |schema| {
            schema["properties"]["accessToken"] = json!({ "type": "string", "maxLength": 100 });
        });
        let hash = karwan(&["schema".into(), "hash".into(), folder.at(CANCELLED_SCHEMA)]).exits(0).stdout;
        folder.edit_topic("melmastoon", CANCELLED, |row| {
            let uri = row["schemaUri"].as_str().expect("a text").split('#').next().expect("an address").to_owned();
            row["schemaUri"] = json!(format!("{uri}#{}", hash.trim()));
        });
    };
    let place = "melmastoon/topics.json melmastoon.reservation.booking.cancelled.v1";
    check(plant, "catalog-secret", place, "the field `accessToken` looks like a secret");
}

#[test]
fn a_name_outside_the_grammar_is_found() {
    let folder = Folder::with_catalogue();
    folder.edit_topic("melmastoon", CANCELLED, |row| row["subject"] = json!("melmastoon.reservation.confirm"));
    judge(&folder).exits(1).prints("catalog-subject-grammar: melmastoon/topics.json melmastoon.reservation.confirm: ");
}

#[test]
fn every_violation_is_reported_not_only_the_first() {
    let folder = Folder::with_catalogue();
    folder.edit_topic("melmastoon", CANCELLED, |row| {
        row["idempotencyKey"] = json!("");
        row["tenancy"] = json!("platform");
        row["retention"]["class"] = json!("eternal");
    });
    folder.write("catalog/panorama/policy.json", "{");
    let answer = judge(&folder).exits(1);
    for gate in
        ["catalog-idempotency-key", "catalog-untenanted", "catalog-retention-class", "catalog-unreadable: panorama/"]
    {
        assert!(answer.stdout.contains(gate), "{gate}: {}", answer.stdout);
    }
}

/// The folder is judged alone: the compiled-in catalogue must not lend it what it lacks.
#[test]
fn a_copy_is_judged_by_its_own_policy() {
    let folder = Folder::with_catalogue();
    folder.edit("catalog/melmastoon/policy.json", |policy| policy["platformEvents"]["subjects"] = json!([]));
    judge(&folder).exits(1).prints("catalog-untenanted: melmastoon/topics.json melmastoon.audit.merkle.anchored.v1");
}

#[test]
fn a_folder_that_is_no_catalogue_is_named_as_such() {
    let folder = Folder::new();
    folder.write("readme.txt", "");
    let answer = karwan(&["catalog".into(), "check".into(), "--catalog".into(), folder.path().to_owned()]).exits(1);
    let place = folder.path().display();
    answer.prints(&format!("catalog-unreadable: {place}: no <platform>/topics.json here: this is not a catalogue"));
}

#[test]
fn every_gate_has_its_page() {
    for gate in karwan_registry::check::Gate::ALL {
        let page = format!("docs/errors/{}.md", gate.id());
        assert!(Path::new(&root()).join(&page).is_file(), "{page}");
    }
}
