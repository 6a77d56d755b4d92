//! C-04: an alias is another spelling of one fact; kept inside its profile, canonical everywhere else.

use expect_test::expect;
use karwan_envelope::profile::Profile;
use karwan_envelope::wire;
use serde_json::json;

use crate::goldens::{self, edited, print, read};
use crate::shop::{self, CLOUD, COUNTER, LEDGER, TILL};

/// The name that a document says and the canonical one that it is read as.
fn check(profile: &Profile, text: &str, canonical: &str) {
    let envelope = read(profile, text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(envelope.subject.as_str(), canonical);
    let printed = goldens::value(&print(profile, &envelope));
    assert_eq!(printed, goldens::value(text));
}

fn spelled(subject: &str, url: &str) -> String {
    edited(&TILL, |it| {
        it["subject"] = json!(subject);
        it["type"] = json!(subject);
        it["schemaUrl"] = json!(format!("https://schemas.shop.example/{url}"));
    })
}

#[test]
fn a_profile_prints_back_the_alias_that_it_read() {
    for profile in [&COUNTER, &LEDGER] {
        let text = edited(profile, |it| it["eventType"] = json!("till.order.placed"));
        check(profile, &text, "shop.order.placed.v1");
    }
    check(&CLOUD, &edited(&CLOUD, |it| it["type"] = json!("depot.box.sent.v1")), "depot.parcel.sent.v1");
}

#[test]
fn a_profile_that_prefers_aliases_prints_back_the_canonical_name_and_any_other_alias() {
    check(&TILL, &spelled("till.parcel.sent.v1", "parcel.sent.v1.json"), "depot.parcel.sent.v1");
    check(&TILL, &spelled("depot.parcel.sent.v1", "depot.parcel.sent.v1.json"), "depot.parcel.sent.v1");
    check(&TILL, &spelled("depot.box.sent.v1", "depot.box.sent.v1.json"), "depot.parcel.sent.v1");
    check(
        &TILL,
        &spelled("shop.catalogue.published.v1", "shop.catalogue.published.v1.json"),
        "shop.catalogue.published.v1",
    );
}

#[test]
fn both_published_addresses_of_a_schema_are_kept() {
    check(&TILL, &spelled("till.order.placed.v1", "order.placed.v1.json"), "shop.order.placed.v1");
    check(&TILL, &spelled("till.order.placed.v1", "till.order.placed.v1.json"), "shop.order.placed.v1");
    let error = read(&TILL, &spelled("till.order.placed.v1", "shop.order.placed.v1.json")).unwrap_err();
    expect!["/schemaUrl: the schema of till.order.placed.v1 is at https://schemas.shop.example/order.placed.v1.json (envelope-schema-mismatch)"]
        .assert_eq(&error.to_string());
}

#[test]
fn an_alias_becomes_canonical_in_another_profile_and_preferred_where_one_is() {
    let name = |from: &Profile, to: &Profile, text: &str| {
        let converted = wire::convert(from, to, &shop::directory(), text.as_bytes()).unwrap();
        let document = goldens::value(&converted.text);
        ["eventType", "type"].iter().find_map(|field| document[*field].as_str().map(str::to_owned)).unwrap()
    };
    let aliased = edited(&COUNTER, |it| it["eventType"] = json!("depot.box.sent"));
    assert_eq!(name(&COUNTER, &COUNTER, &aliased), "depot.box.sent");
    assert_eq!(name(&COUNTER, &LEDGER, &aliased), "depot.parcel.sent");
    assert_eq!(name(&COUNTER, &CLOUD, &aliased), "depot.parcel.sent.v1");
    assert_eq!(name(&COUNTER, &TILL, &aliased), "till.parcel.sent.v1");
    assert_eq!(
        name(&TILL, &COUNTER, &spelled("till.order.placed.v1", "till.order.placed.v1.json")),
        "shop.order.placed"
    );
}

#[test]
fn a_name_that_nobody_registered_is_refused() {
    let error = read(&COUNTER, &edited(&COUNTER, |it| it["eventType"] = json!("till.box.sent"))).unwrap_err();
    expect!["/eventType: `till.box.sent.v1` is not in the catalogue (envelope-subject-unknown)"]
        .assert_eq(&error.to_string());
}

#[test]
fn every_spelling_finds_its_entry() {
    let directory = shop::directory();
    for entry in directory.entries() {
        for name in std::iter::once(&entry.row.subject).chain(&entry.row.aliases) {
            assert_eq!(directory.resolve(name).unwrap().row, entry.row);
        }
    }
    assert!(directory.resolve("shop.order.placed").is_none());
}
