//! Every rule has a page, and the page's example is judged as the page says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use karwan_registry::evolution::{Direction, Rule, Severity, compare, gate};
use serde_json::Value;

use super::{judged, parse, table};

/// Rules that no pair of schemas shows: they come from a report's length, from what accompanies a change, or from rows.
const WITHOUT_EXAMPLE: [Rule; 11] = [
    Rule::FindingsTruncated,
    Rule::ChangelogEntryMissing,
    Rule::DualPublishEntryMissing,
    Rule::AliasRemoved,
    Rule::AliasAdded,
    Rule::OrderingKeyChanged,
    Rule::IdempotencyKeyChanged,
    Rule::OwnerChanged,
    Rule::TenancyChanged,
    Rule::RetentionShortened,
    Rule::MerkleDropped,
];
const OF_CATALOGUES: [Rule; 4] = [Rule::SubjectAdded, Rule::SubjectRemoved, Rule::VersionAdded, Rule::VersionUnchanged];

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules")
}

fn page(rule: Rule) -> String {
    let path = directory().join(format!("{}.md", rule.id()));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The fenced JSON blocks of a page.
fn examples(page: &str) -> Vec<Value> {
    page.split("```json\n").skip(1).map(|rest| parse(rest.split("```").next().unwrap_or_default())).collect()
}

fn subjects(catalogue: &Value) -> BTreeMap<String, Value> {
    let rows = catalogue.as_object().expect("a catalogue is an object");
    rows.iter().map(|(subject, schema)| (subject.clone(), schema.clone())).collect()
}

#[test]
fn every_rule_has_a_page_that_says_its_summary_severity_and_direction() {
    for rule in Rule::all() {
        let page = page(*rule);
        let severity = match rule.severity() {
            Severity::Note => "note (additive)",
            Severity::Audit => "needs audit",
            Severity::Breaking => "breaking",
        };
        let direction = match rule.direction() {
            Direction::Replay => "replay",
            Direction::Consume => "consume",
            Direction::Both => "both",
        };
        let opening =
            format!("# {}\n\n{}\n\n* Severity: {severity}\n* Direction: {direction}", rule.id(), rule.summary());
        assert!(page.starts_with(&opening), "{}: does not open with\n{opening}", rule.id());
        for part in ["\n## Why\n\n", "\n## What to do\n\n"] {
            assert!(page.contains(part), "{}: no `{}`", rule.id(), part.trim());
        }
    }
}

#[test]
fn every_page_has_an_example_that_its_rule_reports() {
    for rule in Rule::all().iter().filter(|rule| !WITHOUT_EXAMPLE.contains(rule)) {
        let examples = examples(&page(*rule));
        let [old, new] = examples.as_slice() else { panic!("{}: not two examples", rule.id()) };
        let found: Vec<Rule> = if OF_CATALOGUES.contains(rule) {
            let report = gate(&subjects(old), &subjects(new)).expect("the example can be judged");
            report.subjects.into_iter().flat_map(|subject| subject.findings).map(|finding| finding.rule).collect()
        } else {
            let report = compare(old, new).expect("the example can be judged");
            report.findings.into_iter().map(|finding| finding.rule).collect()
        };
        assert!(found.contains(rule), "{}: the example shows {found:?}", rule.id());
    }
}

#[test]
fn every_rule_is_in_the_index_and_every_page_is_a_rule() {
    let index = std::fs::read_to_string(directory().join("README.md")).expect("the index exists");
    let ids: BTreeSet<&str> = Rule::all().iter().map(|rule| rule.id()).collect();
    assert_eq!(ids.len(), Rule::all().len(), "two rules share a name");
    for rule in Rule::all() {
        let row = format!("| [{id}]({id}.md) |", id = rule.id());
        assert!(index.contains(&row), "{} is not in the index", rule.id());
    }
    for entry in std::fs::read_dir(directory()).expect("the directory exists") {
        let name = entry.expect("an entry can be read").file_name().into_string().expect("names are text");
        let id = name.strip_suffix(".md").expect("only pages");
        assert!(id == "README" || ids.contains(id), "{name} is the page of no rule");
    }
}

/// Each rule that a pair of schemas can show is shown by the table; unions too wide are shown by the hostile tests.
#[test]
fn every_rule_is_met_in_the_table() {
    let mut met: BTreeSet<Rule> = BTreeSet::from([Rule::UnionUndecided]);
    met.extend(WITHOUT_EXAMPLE);
    met.extend(OF_CATALOGUES);
    for (_, old, new, _) in table::rows() {
        met.extend(judged(old, new).findings.into_iter().map(|finding| finding.rule));
    }
    let missing: Vec<&str> = Rule::all().iter().filter(|rule| !met.contains(rule)).map(|rule| rule.id()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The finding itself says rule, place, change and remedy.
#[test]
fn a_finding_says_where_what_and_what_to_do() {
    let report = judged(
        r#"{"properties": {"stay": {"properties": {"nights": {"type": "integer", "maximum": 30}}}}}"#,
        r#"{"properties": {"stay": {"properties": {"nights": {"type": "integer", "maximum": 20}}}}}"#,
    );
    let [finding] = report.findings.as_slice() else { panic!("{report:?}") };
    assert_eq!(finding.rule.id(), "range-tightened");
    assert_eq!(finding.pointer, "/properties/stay/properties/nights/maximum");
    assert_eq!(finding.change, "`stay.nights`: maximum 30 → 20");
    assert_eq!(
        finding.remedy,
        "audit at least the last 30 days of events against the new schema, or keep the old form"
    );
}
