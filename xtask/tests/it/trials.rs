use std::collections::BTreeSet;

use xtask::trials::{TRIALS, Trial, Verdict, missing, verdict};

const WELL: &str = "seed 163: 5 kills (nats 1) and 2 stops in 4.8 s; 484 events committed
PLACE                                    EVENTS  lost  twice  out of order  never committed
what guide-service applied from the log  484     0     0      0             0
the stream WALK                          484     0     0      0             0
well: nothing is lost, applied twice or out of order
";

const RED: &str = "seed 2: 40 kills (nats 4) and 20 stops in 31.0 s; 2000 events committed
PLACE                                       EVENTS  lost  twice  out of order  never committed
the log                                     2000    0     0      0             0
what guide-service applied from the log     1998    2     0      3             0
what watch-service applied from the stream  2000    0     0      0             0
the stream WALK                             2001    0     1      0             0
  lost: step 7 of w-1 in what guide-service applied from the log
not well
";

#[test]
fn a_report_says_where_something_went_wrong() {
    assert_eq!(verdict(WELL), Some(Verdict::Well));
    let places = ["what guide-service applied from the log", "the stream WALK"].map(str::to_owned);
    assert_eq!(verdict(RED), Some(Verdict::Red(places.into())));
}

/// A run that broke off has found nothing, neither well nor ill.
#[test]
fn what_is_no_report_is_no_verdict() {
    assert_eq!(verdict(""), None);
    assert_eq!(verdict("error: nats does not come back"), None);
}

#[test]
fn every_place_of_a_rule_must_be_seen_red() {
    let trial = Trial { rule: "park", places: &["what guide-service", "the stream"] };
    let red = |places: &[&str]| places.iter().map(|place| (*place).to_owned()).collect::<BTreeSet<String>>();
    assert_eq!(missing(&trial, &red(&[])), ["what guide-service", "the stream"]);
    assert_eq!(missing(&trial, &red(&["the stream GUIDE"])), ["what guide-service"]);
    assert_eq!(missing(&trial, &red(&["what guide-service applied from the log", "the stream WALK"])), [""; 0]);
}

/// A rule that nobody tries is a rule that may be gone.
#[test]
fn every_rule_that_chaos_can_leave_out_is_tried() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/cli/src/chaos/trial.rs");
    let text = std::fs::read_to_string(file).expect("chaos has its rules there");
    let rules = text.split_once("pub enum Rule {").and_then(|(_, rest)| rest.split_once('}')).expect("a list").0;
    let rules = rules.lines().map(str::trim).filter_map(|line| line.strip_suffix(','));
    let rules: Vec<String> = rules.map(str::to_lowercase).collect();
    assert_eq!(rules, TRIALS.iter().map(|trial| trial.rule).collect::<Vec<_>>());
    assert!(TRIALS.iter().all(|trial| !trial.places.is_empty()));
}
