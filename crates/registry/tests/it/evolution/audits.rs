//! What an audit of past events settles, and what it cannot.

use std::collections::{BTreeMap, BTreeSet};

use karwan_envelope::time::Timestamp;
use karwan_registry::evolution::audit::{Audit, SubjectAudit, Unsettled};
use karwan_registry::evolution::{GateReport, Verdict, gate};
use karwan_registry::hash::hash;
use serde_json::Value;

use super::parse;

const SUBJECT: &str = "shop.order.placed.v1";
const WIDE: &str = r#"{"type": "object", "properties": {"n": {"type": "integer", "maximum": 90}}}"#;
const NARROW: &str = r#"{"type": "object", "properties": {"n": {"type": "integer", "maximum": 30}}}"#;
const DAY_MS: i64 = 86_400_000;
const NOW: Timestamp = Timestamp::from_unix_ms(1_800_000_000_000);

type Schemas = BTreeMap<String, Value>;

fn schemas(schema: &str) -> Schemas {
    Schemas::from([(SUBJECT.to_owned(), parse(schema))])
}

/// An audit of the change from wide to narrow.
fn audit(refused: u64) -> Audit {
    let found = SubjectAudit {
        subject: SUBJECT.to_owned(),
        old: hash(&parse(WIDE)).expect("it has a hash"),
        new: hash(&parse(NARROW)).expect("it has a hash"),
        events: 7,
        refused,
        releases: Vec::new(),
        examples: Vec::new(),
    };
    Audit { audit: 1, audited_at: NOW.plus_ms(-DAY_MS), days: 30, covered: true, subjects: vec![found] }
}

fn settled(old: &str, new: &str, audit: &Audit) -> (Verdict, Vec<Unsettled>, GateReport) {
    let (old, new) = (schemas(old), schemas(new));
    let mut report = gate(&old, &new).expect("both can be judged");
    let unsettled = report.settle(audit, (&old, &new), NOW);
    (report.verdict(), unsettled, report)
}

#[test]
fn a_range_that_no_event_leaves_may_be_tightened() {
    let (verdict, unsettled, report) = settled(WIDE, NARROW, &audit(0));
    assert_eq!((verdict, unsettled), (Verdict::Additive, Vec::new()));
    let remedy = &report.subjects[0].findings[0].remedy;
    assert_eq!(remedy, "audited: none of 7 events of the last 30 days would be refused");
}

#[test]
fn a_range_that_one_event_leaves_may_not() {
    let (verdict, unsettled, report) = settled(WIDE, NARROW, &audit(1));
    assert_eq!((verdict, unsettled), (Verdict::Breaking, Vec::new()));
    assert!(report.subjects[0].findings[0].remedy.contains("1 of 7 events"));
}

#[test]
fn an_audit_that_saw_too_little_settles_nothing() {
    let cases = [
        (Audit { days: 29, ..audit(0) }, Unsettled::Days(29)),
        (Audit { audit: 2, ..audit(0) }, Unsettled::Version(2)),
        (Audit { covered: false, ..audit(0) }, Unsettled::Uncovered(30)),
        (Audit { audited_at: NOW.plus_ms(-8 * DAY_MS), ..audit(0) }, Unsettled::Old(NOW.plus_ms(-8 * DAY_MS))),
        (Audit { audited_at: NOW.plus_ms(2 * DAY_MS), ..audit(0) }, Unsettled::Early(NOW.plus_ms(2 * DAY_MS))),
    ];
    for (audit, reason) in cases {
        let (verdict, unsettled, _) = settled(WIDE, NARROW, &audit);
        assert_eq!((verdict, unsettled), (Verdict::NeedsAudit, vec![reason]));
    }
}

#[test]
fn one_refused_event_is_enough_however_little_was_seen() {
    let (verdict, _, _) = settled(WIDE, NARROW, &Audit { days: 1, covered: false, ..audit(1) });
    assert_eq!(verdict, Verdict::Breaking);
}

#[test]
fn an_audit_of_another_schema_settles_nothing() {
    let (verdict, unsettled, _) = settled(WIDE, &NARROW.replace("30", "29"), &audit(0));
    assert_eq!((verdict, unsettled), (Verdict::NeedsAudit, vec![Unsettled::Schemas(SUBJECT.to_owned())]));
}

/// Events say what producers did, not what consumers count on; nor do they decide what the gate cannot read.
#[test]
fn what_events_cannot_answer_stays_as_it_was() {
    let pairs = [
        (r#"{"type": "array", "minItems": 2}"#, r#"{"type": "array", "minItems": 1}"#),
        (r#"{"not": {"const": 1}}"#, r#"{"not": {"const": 2}}"#),
    ];
    for (old, new) in pairs {
        let mut audit = audit(0);
        (audit.subjects[0].old, audit.subjects[0].new) =
            (hash(&parse(old)).expect("a hash"), hash(&parse(new)).expect("a hash"));
        let (verdict, unsettled, _) = settled(old, new, &audit);
        assert_eq!((verdict, unsettled), (Verdict::NeedsAudit, Vec::new()), "{old} {new}");
    }
}

#[test]
fn a_contract_that_admits_no_narrowing_is_not_opened_by_an_audit() {
    let (old, new) = (schemas(WIDE), schemas(NARROW));
    let mut report = gate(&old, &new).expect("both can be judged");
    report.harden(&BTreeSet::from([SUBJECT.to_owned()]));
    report.settle(&audit(0), (&old, &new), NOW);
    assert_eq!(report.verdict(), Verdict::Breaking);
}
