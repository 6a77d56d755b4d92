use std::collections::BTreeSet;

use serde_json::Value;

use crate::karwan::karwan;

fn rows(args: &[&str]) -> Vec<Value> {
    let answer = karwan(&[&["catalog", "list", "--format", "json"], args].concat()).exits(0);
    answer.json().as_array().expect("a list").clone()
}

#[test]
fn every_platform_lists_all_its_events() {
    for (platform, count) in [("melmastoon", 101), ("learning", 73), ("panorama", 6)] {
        assert_eq!(rows(&["--platform", platform]).len(), count, "{platform}");
    }
    assert_eq!(rows(&[]).len(), 101 + 73 + 6);
}

#[test]
fn melmastoon_has_23_aliases_beside_its_rows() {
    let rows = rows(&["--platform", "melmastoon"]);
    let aliases: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| row["aliases"].as_array().expect("a list"))
        .map(|alias| alias.as_str().expect("a name"))
        .collect();
    assert_eq!(aliases.len(), 23);
    assert!(rows.iter().all(|row| !aliases.contains(row["subject"].as_str().expect("a name"))));
}

#[test]
fn events_that_never_leave_their_device_are_listed_on_demand() {
    let local = |rows: &[Value]| {
        let subjects = rows.iter().map(|row| row["subject"].as_str().expect("a name").to_owned());
        subjects.filter(|subject| subject.ends_with(".local.v1")).collect::<Vec<_>>()
    };
    assert_eq!(local(&rows(&["--platform", "melmastoon"])), Vec::<String>::new());
    let all = rows(&["--platform", "melmastoon", "--all"]);
    assert_eq!(all.len(), 103);
    assert_eq!(
        local(&all),
        ["melmastoon.lock.credential.issued.local.v1", "melmastoon.lock.credential.revoked.local.v1"]
    );
}

#[test]
fn json_rows_have_exactly_the_promised_fields() {
    let promised = ["aliases", "decidedHere", "merkle", "owner", "retention", "schemaUri", "subject", "tenancy"]
        .map(str::to_owned);
    for row in rows(&["--all"]) {
        let fields: BTreeSet<String> = row.as_object().expect("an object").keys().cloned().collect();
        assert_eq!(fields, BTreeSet::from(promised.clone()));
        assert!(row["merkle"].is_boolean() && row["decidedHere"].is_boolean(), "{row}");
        assert!(["tenant", "crossTenant", "platform"].map(Value::from).contains(&row["tenancy"]), "{row}");
        let uri = row["schemaUri"].as_str().expect("a text");
        let (address, hash) = uri.split_once("#sha256-").expect("an address and a hash");
        assert!(address.starts_with("schemas://") && hash.len() == 64, "{uri}");
    }
}

#[test]
fn json_goes_to_standard_output_with_nothing_beside_it() {
    let answer = karwan(&["catalog", "list", "--format", "json"]).exits(0);
    assert_eq!(answer.stderr, "");
}

#[test]
fn the_table_goes_to_standard_output_and_the_count_to_standard_error() {
    let answer = karwan(&["catalog", "list", "--platform", "panorama"]).exits(0);
    let lines: Vec<&str> = answer.stdout.lines().collect();
    assert_eq!(lines.len(), 1 + 6);
    assert!(lines[0].starts_with("SUBJECT "), "{}", lines[0]);
    assert!(lines[1].starts_with("panorama.damage.flagged "), "{}", lines[1]);
    assert_eq!(answer.stderr, "6 events\n");
}

#[test]
fn an_alias_stands_in_the_table_beside_its_subject() {
    let answer = karwan(&["catalog", "list", "--platform", "melmastoon"]).exits(0);
    let line =
        answer.stdout.lines().find(|line| line.starts_with("melmastoon.lock_integration.key_credential.issued.v1 "));
    assert!(line.is_some_and(|line| line.ends_with(" melmastoon.lock.credential.issued.v1")), "{line:?}");
}

#[test]
fn an_unknown_platform_is_bad_usage_that_names_the_known_ones() {
    karwan(&["catalog", "list", "--platform", "hotel"]).exits(64).says("melmastoon, learning, panorama");
}
