//! `karwan schema audit`: past events held against a narrowed schema.

use karwan_registry::hash::hash;
use serde_json::{Value, json};

use super::place::{Place, SUBJECT, TENANT, emit, file};
use crate::folder::Folder;
use crate::karwan::{Answer, call, karwan};

const SCHEMA: &str = "catalog/melmastoon/event-schemas/payment/intent/captured/v1.json";
const DAY_MS: i64 = 86_400_000;

/// The catalogue in `base`, and in `catalog` one whose sums have at most so many digits.
fn narrowed(digits: u32) -> Folder {
    let folder = Folder::with_catalogue();
    call(&["catalog", "emit", "--out", "base"]).within(folder.path()).run().exits(0);
    folder.edit(SCHEMA, |schema| shorten(schema, digits));
    folder
}

fn shorten(schema: &mut Value, digits: u32) {
    schema["$defs"]["Money"]["properties"]["amountMicro"]["maxLength"] = json!(digits);
}

fn audit(folder: &Folder, store: &str, options: &[&str]) -> Answer {
    let audit = ["schema", "audit", "--store", store, "base", "catalog"];
    call(&[&audit, options].concat()).within(folder.path()).run()
}

fn gate(folder: &Folder, options: &[&str]) -> Answer {
    let gate = ["schema", "gate", "--base", "base", "--catalog", "catalog"];
    call(&[&gate, options].concat()).within(folder.path()).run()
}

fn sql(address: &str, sql: &str) {
    let path = address.strip_prefix("sqlite:").expect("a file");
    rusqlite::Connection::open(path).and_then(|it| it.execute_batch(sql)).expect("nobody else has the file");
}

/// The sums of the events have eight digits.
#[test]
fn a_narrowing_that_no_event_breaks_passes_the_gate_with_the_audit() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let (place, (_kept, sqlite)) = (Place::new(server), file());
    for store in [place.url(), sqlite] {
        emit(&store, 1..4);
        let folder = narrowed(8);
        gate(&folder, &[]).exits(2).prints("needs audit length-tightened");
        audit(&folder, &store, &["--out", "audit.json"])
            .exits(0)
            .prints("3 events of the last 30 days looked at, 0 would be refused")
            .prints("    3 written by sha256-")
            .prints("verdict: additive");
        gate(&folder, &["--audit", "audit.json"]).exits(0).prints("audited: none of 3 events of the last 30 days");
        folder.edit(SCHEMA, |schema| shorten(schema, 7));
        gate(&folder, &["--audit", "audit.json"]).exits(2).says("other schemas than these");
    }
}

#[test]
fn a_narrowing_that_an_event_breaks_is_breaking_and_its_values_are_not_told() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let (place, (_kept, sqlite)) = (Place::new(server), file());
    for store in [place.url(), sqlite] {
        emit(&store, 1..4);
        let folder = narrowed(7);
        let answer = audit(&folder, &store, &["--out", "audit.json"]).exits(1);
        let answer =
            answer.prints("3 would be refused").prints("verdict: breaking").prints("/payload/amount/amountMicro");
        assert!(!answer.stdout.contains("12500000"), "{}", answer.stdout);
        let told = audit(&folder, &store, &["--format", "json"]).exits(1).json();
        let found = &told["audit"]["subjects"][0];
        assert_eq!((&found["subject"], &found["events"], &found["refused"]), (&json!(SUBJECT), &json!(3), &json!(3)));
        assert_eq!((&told["verdict"], &found["examples"][0]["seq"]), (&json!("breaking"), &json!(1)));
        gate(&folder, &["--audit", "audit.json"]).exits(1).prints("3 of 3 events of the last 30 days would be refused");
    }
}

#[test]
fn what_other_languages_appended_is_looked_at_too() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    place.append(TENANT, &["pay_1"]);
    audit(&narrowed(8), &place.url(), &[]).exits(1).prints("1 would be refused");
}

#[test]
fn only_events_of_the_asked_days_count_and_only_days_that_the_log_still_has() {
    let (_kept, store) = file();
    emit(&store, 1..4);
    let folder = narrowed(7);
    sql(&store, &format!("UPDATE log SET at = at - 31 * {DAY_MS} WHERE seq < 3"));
    audit(&folder, &store, &[]).exits(1).prints("1 events of the last 30 days looked at, 1 would be refused");
    audit(&folder, &store, &["--days", "32"]).exits(1).prints("3 events of the last 32 days looked at");
    let folder = narrowed(8);
    sql(&store, "DELETE FROM log WHERE seq = 1; UPDATE meta SET floor = 1");
    audit(&folder, &store, &[]).exits(0);
    sql(&store, "DELETE FROM log WHERE seq = 2; UPDATE meta SET floor = 2");
    audit(&folder, &store, &["--out", "audit.json"]).exits(2).says("did not have every event of its 30 days");
    gate(&folder, &["--audit", "audit.json"]).exits(2).says("did not have every event");
    audit(&folder, &store, &["--days", "7"]).exits(2).says("it looked 7 days back, and 30 are needed");
}

#[test]
fn two_schemas_are_audited_for_the_subject_that_they_name_or_that_is_named() {
    let (_kept, store) = file();
    emit(&store, 1..2);
    let folder = narrowed(7);
    let (old, new) = (format!("base{}", &SCHEMA["catalog".len()..]), SCHEMA);
    let files = ["schema", "audit", "--store", &store, &old, new];
    call(&files).within(folder.path()).run().exits(1).prints("1 would be refused");
    for file in [&old, new] {
        folder.edit(file, |schema| drop(schema.as_object_mut().expect("an object").remove("x-subject")));
    }
    call(&files).within(folder.path()).run().exits(64).says("--subject");
    let named = [&files[..], &["--subject", SUBJECT]].concat();
    call(&named).within(folder.path()).run().exits(1).prints("1 would be refused");
    let mixed = ["schema", "audit", "--store", &store, &old, "catalog"];
    call(&mixed).within(folder.path()).run().exits(65).says("two of a kind");
}

/// R-053, with nothing but a store and how many days.
#[test]
fn the_compiled_in_catalogue_is_audited_against_the_schemas_that_events_name() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let (place, (_kept, store)) = (Place::new(server), file());
    let audit =
        |store: &str, more: &[&str]| karwan(&[&["schema", "audit", "--store", store, "--days", "30"], more].concat());
    for store in [&place.url(), &store] {
        audit(store, &[]).exits(0).says("none of 0 events");
        emit(store, 1..4);
        let same = audit(store, &[]).exits(0).prints("verdict: identical");
        same.says("none of 3 events names another schema than the compiled-in catalogue has");
    }
    // A release before this one allowed any currency.
    let folder = Folder::with_catalogue();
    let schema = || serde_json::from_slice::<Value>(&folder.read(SCHEMA)).expect("JSON");
    let now = hash(&schema()).expect("it has one").to_string();
    folder.edit(SCHEMA, |schema| {
        drop(schema["$defs"]["Money"]["properties"]["currency"].as_object_mut().expect("it is one").remove("pattern"));
    });
    let before = hash(&schema()).expect("it has one").to_string();
    let kept = schema().to_string().replace('\'', "''");
    let kept = format!("INSERT INTO schema VALUES ('{before}', 'payment', '{kept}')");
    sql(&store, &format!("UPDATE log SET envelope = replace(envelope, '{now}', '{before}')"));
    audit(&store, &[]).exits(64).says(SUBJECT).says("which this store does not keep").says("release-bundle.json");
    sql(&store, &kept);
    let (out, base) = (folder.name("audit.json"), folder.name("catalog"));
    let found = audit(&store, &["--out", &out]).exits(0).prints("3 events of the last 30 days looked at, 0 would be");
    found.prints(&format!("3 written by sha256-{before}"));
    karwan(&["schema", "gate", "--base", &base]).exits(2).prints("needs audit pattern-tightened");
    karwan(&["schema", "gate", "--base", &base, "--audit", &out]).exits(0).prints("audited: none of 3 events");
    audit(&store, &[&base]).exits(0).prints("3 events of the last 30 days looked at");
    audit(&store, &[&folder.name(SCHEMA)]).exits(64).says("name the one that replaces it");
    sql(&store, "UPDATE log SET envelope = replace(envelope, 'AFN', 'afn') WHERE seq = 2");
    audit(&store, &[]).exits(1).prints("3 events of the last 30 days looked at, 1 would be refused");
}

#[test]
fn where_events_do_not_tell_what_was_before_they_cannot_say() {
    let (_kept, store) = file();
    emit(&store, 1..4);
    let audit = || karwan(&["schema", "audit", "--store", &store]);
    sql(&store, "UPDATE log SET envelope = replace(envelope, '#sha256-', '#none-') WHERE seq = 3");
    audit()
        .exits(2)
        .says("events name no schema, so that OLD must be given")
        .says(SUBJECT)
        .prints("verdict: needs audit");
    sql(&store, "DELETE FROM log WHERE seq = 3; DELETE FROM log WHERE seq = 1; UPDATE meta SET floor = 1");
    audit().exits(2).says("the log does not have every event of these days");
}

#[test]
fn what_is_no_audit_is_refused_by_the_gate() {
    let folder = narrowed(8);
    folder.write("audit.json", "{}");
    gate(&folder, &["--audit", "audit.json"]).exits(65).says("is no audit");
}
