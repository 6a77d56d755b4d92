use std::cell::RefCell;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use melmastoon::lock_integration::decide::issue_key;
use serde_json::{Value, json};

use super::{Node, begin, facts, until};
use crate::folder::Folder;

/// How long the maker of locks takes for each key: as long as a slow one does where all is well.
const LOCK_MS: u64 = 8_000;

/// The two figures of a line such as `confirm        p50 12 ms, p99 34 ms`.
fn figures(shown: &str, name: &str) -> (u64, u64) {
    let line = shown.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no `{name}`: {shown}"));
    let number = |after: &str| line.split(after).nth(1).and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number("p50 ").zip(number("p99 ")).unwrap_or_else(|| panic!("two figures: {line}"))
}

/// Where a confirmation waited for a key, its own or another's, some key would be before the last confirmation.
#[test]
fn every_booking_of_a_load_is_confirmed_before_the_first_slow_key_is_issued() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &[]);
    let before = node.control("status")["position"].as_str().expect("a position").to_owned();
    let shown = node.karwan(&["load", "--bookings", "20", "--tenants", "2", "--lock-ms", &LOCK_MS.to_string()]);
    let shown = shown.exits(0).prints("19 confirmed, 1 refused or declined").prints("everything holds").stdout;
    let facts = facts(&node, &before);
    let places = |what: &str| -> Vec<i64> {
        let told = facts.iter().filter(|fact| fact["subject"].as_str().is_some_and(|subject| subject.contains(what)));
        told.map(|fact| fact["seq"].as_i64().expect("a number")).collect()
    };
    let (confirmed, issued) = (places(".booking.confirmed."), places(".key_credential.issued."));
    assert_eq!(confirmed.len(), 19, "{shown}");
    // One pays in cash and gets none, one is cancelled and may have had none.
    assert!(issued.len() >= 17, "{issued:?}");
    assert!(confirmed.iter().max() < issued.iter().min(), "confirmed {confirmed:?}, issued {issued:?}");
    // What is told of it: no key lags less behind its confirmation than the maker takes.
    let (half, most) = figures(&shown, "key behind it");
    assert!(LOCK_MS <= half && half <= most, "{shown}");
    assert!(figures(&shown, "confirm  ").0 > 0, "{shown}");
    assert_eq!(node.stop(), Some(0));
}

/// What it says follows from its four loads, whatever they took; how much slower they are is the machine's affair.
#[test]
fn a_comparison_of_slow_keys_with_keys_at_once_puts_four_loads_on_the_node_in_turns() {
    const SLOW_MS: u64 = 700;
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &[]);
    let slow = SLOW_MS.to_string();
    let words = ["load", "--bookings", "6", "--tenants", "2", "--compare-lock-ms", &slow];
    let answer = node.karwan(&[&words[..], &["--json"]].concat());
    let report = answer.json();
    let runs = report["runs"].as_array().expect("loads");
    let took: Vec<u64> = runs.iter().filter_map(|run| run["lockMs"].as_u64()).collect();
    assert_eq!(took, [0, SLOW_MS, SLOW_MS, 0]);
    let figure = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("no figure: {report}"));
    for run in runs {
        assert_eq!((&run["bookings"], &run["confirmed"], &run["violations"]), (&json!(6), &json!(5), &json!([])));
        assert!(figure(&run["keyMsP50"]) >= figure(&run["lockMs"]), "{run}");
    }
    let of = |run: usize| figure(&runs[run]["confirmMsP50"]);
    let slowdown = (of(1) + of(2)) / (of(0) + of(3)) - 1.0;
    assert!((figure(&report["slowdown"]) - slowdown).abs() < 1e-6, "{slowdown}: {report}");
    let is_fast = figure(&report["slowdown"]) <= figure(&report["slowdownMax"]);
    assert_eq!((answer.code, &report["slowdownMax"]), (Some(i32::from(!is_fast)), &json!(0.1)), "{report}");
    // For people: a line each, and the verdict.
    let shown = node.karwan(&words).stdout;
    let lines: Vec<&str> = shown.lines().map(|line| line.split("  ").next().unwrap_or_default()).collect();
    assert_eq!(lines[..5], ["LOCK", "0 ms", &format!("{SLOW_MS} ms"), &format!("{SLOW_MS} ms"), "0 ms"], "{shown}");
    assert!(
        shown.contains("\nconfirmations with slow keys come ") && shown.contains("at most 10 % slower: "),
        "{shown}"
    );
    assert!(shown.ends_with("everything holds: rooms, money, keys, causes\n"), "{shown}");
    node.karwan(&["load", "--compare-lock-ms", "5", "--lock-ms", "5"]).exits(64);
    assert_eq!(node.stop(), Some(0));
}

/// Nothing is as fast as a key that nobody has issued: no figure is told of it.
#[test]
fn a_load_without_keys_says_so_instead_of_no_time_at_all() {
    let folder = Folder::new();
    let services =
        "tenant,iam,property,pricing,inventory,reservation,payment,billing,search_aggregation,analytics,audit";
    let node = Node::up(&folder.at("data"), &["--services", services]);
    let shown = node.karwan(&["load", "--bookings", "3", "--tenants", "1"]).exits(0);
    shown.prints("2 confirmed").prints("key behind it  no key was issued").prints("everything holds");
    let report = node.karwan(&["load", "--bookings", "3", "--tenants", "1", "--json"]).exits(0).json();
    assert_eq!((&report["keyMsP50"], &report["keyMsP99"]), (&Value::Null, &Value::Null), "{report}");
    assert!(report["confirmMsP50"].as_f64().is_some_and(|ms| ms > 0.0), "{report}");
    assert_eq!(node.stop(), Some(0));
}

/// The last line of a vendor's books that is of a kind.
fn entry(books: &Path, kind: &str) -> Value {
    let text = fs::read_to_string(books).expect("a vendor's books");
    let entries = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    entries.rev().find(|entry| entry[kind].is_object()).expect("there is one")[kind].clone()
}

fn enter(books: &Path, entry: &Value) {
    let mut books = OpenOptions::new().append(true).open(books).expect("a vendor's books");
    writeln!(books, "{entry}").expect("it is written");
}

/// Has the maker of locks fail twice with the first key of a stay.
fn fail_twice(data: &Path, stay: &str) {
    let fault = json!({ "operation": issue_key(&stay, 1), "fault": "fail_twice" });
    enter(&data.join("sandbox").join("locks.jsonl"), &json!({ "fault": fault }));
}

/// The gateway has given back what nobody asked for, and the maker of locks has a key that is nobody's.
fn act_behind_our_back(data: &Path) {
    let (gateway, locks) = (data.join("sandbox").join("gateway.jsonl"), data.join("sandbox").join("locks.jsonl"));
    let taken = entry(&gateway, "capture");
    let refund =
        json!({ "key": "unasked", "charge": taken["charge"], "reference": "unasked", "amount": taken["amount"] });
    enter(&gateway, &json!({ "refund": refund }));
    let mut key = entry(&locks, "issue");
    (key["operation"], key["credential"]) = (json!("unasked"), json!("unasked"));
    enter(&locks, &json!({ "issue": key }));
}

/// Whoever runs a load is told which rule does not hold, and a script sees it.
#[test]
fn a_load_that_finds_a_broken_rule_names_it_and_exits_with_1() {
    let folder = Folder::new();
    let data = folder.at("data");
    let node = Node::up(&data, &[]);
    node.karwan(&["load", "--bookings", "1", "--tenants", "1"]).exits(0).prints("everything holds");
    assert_eq!(node.stop(), Some(0));
    act_behind_our_back(&data);
    let node = Node::up(&data, &[]);
    let load = ["load", "--bookings", "1", "--tenants", "1"];
    let shown = node.karwan(&load).exits(1);
    let shown = shown.prints("VIOLATED: money of ").prints("VIOLATED: a key opens for nobody").stdout;
    assert!(!shown.contains("everything holds"), "{shown}");
    let report = node.karwan(&[&load[..], &["--json"]].concat()).exits(1).json();
    assert_eq!(report["violations"].as_array().map(Vec::len), Some(2), "{report}");
    assert_eq!(node.stop(), Some(0));
}

/// Between two attempts no call is open, and every consumer is at the end: the key is under way all the same.
#[test]
fn a_key_that_waits_for_another_attempt_is_listed_and_a_load_does_not_end_before_it() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &[]);
    let begun = begin(&node, None);
    let id = begun["reservation"].as_str().expect("a reservation");
    // The maker of locks takes seconds for the key, and has not begun.
    node.kill();
    fail_twice(&folder.at("data"), id);
    let node = Node::up(&folder.at("data"), &[]);
    let waits = || {
        let rows = node.karwan(&["saga", "list", "--format", "json"]).exits(0).json();
        rows.as_array().expect("rows").iter().find(|row| row["reservation"] == id && row["saga"] == "booking").cloned()
    };
    let asked_again = |row: &Value| row["when"].as_str().is_some_and(|when| when.starts_with("asked again at"));
    let seen = RefCell::new(None);
    until("a key between two attempts", || {
        *seen.borrow_mut() = waits().filter(asked_again);
        seen.borrow().is_some()
    });
    let row = seen.into_inner().expect("it was seen");
    assert!(row["waitsFor"].as_str().is_some_and(|text| text.starts_with("the maker of locks: key ")), "{row}");
    assert_eq!((&row["state"], &row["stuck"]), (&json!("running"), &json!(false)), "{row}");
    assert_eq!(node.control("drained"), json!(false));
    node.karwan(&["load", "--bookings", "1", "--tenants", "1"]).exits(0).prints("everything holds");
    let before = begun["position"].as_str().expect("a position");
    let of_stay = |fact: &&Value| fact["correlation"] == begun["correlation"];
    let told = facts(&node, before);
    let told: Vec<&str> = told.iter().filter(of_stay).filter_map(|fact| fact["subject"].as_str()).collect();
    assert!(
        told.iter().any(|subject| subject.contains(".key_credential.issued.")),
        "the load ended before it: {told:?}"
    );
    assert!(waits().is_none());
    assert_eq!(node.stop(), Some(0));
}
