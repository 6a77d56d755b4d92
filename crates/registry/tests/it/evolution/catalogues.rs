//! Whole catalogues: subjects come, go, change, and gain versions.

use std::collections::BTreeMap;

use karwan_registry::evolution::{Report, SubjectChange, Verdict, gate};
use serde_json::Value;

use super::{parse, summary};

fn catalogue(rows: &[(&str, &str)]) -> BTreeMap<String, Value> {
    rows.iter().map(|(subject, schema)| ((*subject).to_owned(), parse(schema))).collect()
}

/// The verdict, then a line for each changed subject.
pub fn check(base: &[(&str, &str)], new: &[(&str, &str)], expected: &str) {
    let report = gate(&catalogue(base), &catalogue(new)).expect("both catalogues can be judged");
    let verdict = match report.verdict() {
        Verdict::Identical => "identical",
        Verdict::Additive => "additive",
        Verdict::NeedsAudit => "audit",
        Verdict::Breaking => "breaking",
    };
    let mut lines = vec![verdict.to_owned()];
    for subject in report.subjects {
        lines.push(format!("{} {}", subject.subject, summary(&Report { findings: subject.findings })));
    }
    assert_eq!(lines.join("\n"), expected);
}

const TEXT: &str = r#"{"type": "string"}"#;
const COUNT: &str = r#"{"type": "integer"}"#;

#[test]
fn equal_catalogues_are_identical() {
    check(&[("a.b.c.v1", TEXT)], &[("a.b.c.v1", TEXT)], "identical");
}

#[test]
fn a_reworded_schema_is_not_listed() {
    check(&[("a.b.c.v1", TEXT)], &[("a.b.c.v1", r#"{"title": "T", "type": ["string"]}"#)], "identical");
}

#[test]
fn a_changed_schema_is_compared_within_its_version() {
    check(&[("a.b.c.v1", TEXT)], &[("a.b.c.v1", COUNT)], "breaking\na.b.c.v1 breaking: type-changed");
}

#[test]
fn a_new_version_beside_the_old_is_additive_whatever_it_says() {
    check(
        &[("a.b.c.v1", TEXT)],
        &[("a.b.c.v1", TEXT), ("a.b.c.v2", COUNT)],
        "additive\na.b.c.v2 additive: (version-added)",
    );
}

#[test]
fn a_new_version_with_the_old_schema_is_noted() {
    check(
        &[("a.b.c.v1", TEXT)],
        &[("a.b.c.v1", TEXT), ("a.b.c.v2", r#"{"type": ["string"]}"#)],
        "additive\na.b.c.v2 additive: (version-added) (version-unchanged)",
    );
}

#[test]
fn a_new_version_in_place_of_the_old_is_breaking() {
    check(
        &[("a.b.c.v1", TEXT)],
        &[("a.b.c.v2", COUNT)],
        "breaking\na.b.c.v1 breaking: subject-removed\na.b.c.v2 additive: (version-added)",
    );
}

#[test]
fn a_bump_does_not_excuse_a_change_of_the_old_version() {
    check(
        &[("a.b.c.v1", TEXT)],
        &[("a.b.c.v1", COUNT), ("a.b.c.v2", COUNT)],
        "breaking\na.b.c.v1 breaking: type-changed\na.b.c.v2 additive: (version-added) (version-unchanged)",
    );
}

#[test]
fn a_subject_without_a_suffix_is_version_one() {
    check(
        &[("reservation.approved", TEXT)],
        &[("reservation.approved", TEXT), ("reservation.approved.v2", COUNT)],
        "additive\nreservation.approved.v2 additive: (version-added)",
    );
}

#[test]
fn versions_are_numbers_not_text() {
    check(&[("a.v9", TEXT)], &[("a.v9", TEXT), ("a.v10", COUNT)], "additive\na.v10 additive: (version-added)");
}

#[test]
fn the_remedy_of_a_retired_version_names_both_conditions() {
    let base = catalogue(&[("a.b.c.v1", TEXT), ("a.b.c.v2", TEXT)]);
    let report = gate(&base, &catalogue(&[("a.b.c.v2", TEXT)])).expect("both can be judged");
    let [removed] = report.subjects.as_slice() else { panic!("{report:?}") };
    assert_eq!(removed.change, SubjectChange::Removed);
    let remedy = &removed.findings[0].remedy;
    for condition in ["`a.b.c.v2`", "two weeks", "no consumer", "zero deliveries for 7 consecutive days"] {
        assert!(remedy.contains(condition), "{remedy}");
    }
}

#[test]
fn an_added_schema_must_be_one_that_can_be_judged() {
    let error = gate(&catalogue(&[]), &catalogue(&[("a.b.c.v1", r##"{"$ref": "#/$defs/X"}"##)]))
        .expect_err("it refers nowhere");
    assert_eq!(
        error.to_string(),
        "a.b.c.v1: new schema at `/$ref`: `$ref` to `#/$defs/X` leads nowhere in this document"
    );
}

#[test]
fn a_changed_schema_that_cannot_be_judged_names_its_subject() {
    let error =
        gate(&catalogue(&[("a.v1", TEXT)]), &catalogue(&[("a.v1", r#"{"type": 5}"#)])).expect_err("5 is no type");
    assert_eq!(error.to_string(), "a.v1: new schema at `/type`: `type` must be a type name or a list of them");
}

#[test]
fn findings_serialise_in_camel_case_with_the_rules_id() {
    let report = gate(&catalogue(&[("a.v1", TEXT)]), &catalogue(&[("a.v1", COUNT)])).expect("both can be judged");
    let json = serde_json::to_value(&report).expect("a report is plain data");
    let finding = &json["subjects"][0]["findings"][0];
    assert_eq!(json["subjects"][0]["change"], "changed");
    assert_eq!(finding["rule"], "type-changed");
    assert_eq!(finding["severity"], "breaking");
    assert_eq!(finding["direction"], "both");
    assert_eq!(finding["pointer"], "/type");
    assert_eq!(finding["change"], "the payload: type string → integer");
}

#[test]
fn verdicts_order_from_harmless_to_breaking_and_have_exit_codes() {
    let verdicts = [Verdict::Identical, Verdict::Additive, Verdict::NeedsAudit, Verdict::Breaking];
    assert!(verdicts.is_sorted());
    assert_eq!(verdicts.map(Verdict::exit_code), [0, 0, 2, 1]);
}
