//! Whatever one seed decides, the rules hold; and without one of them they do not.

use karwan_testkit::simulation::{Plan, Report, Rule, run};

/// Seeds that go wrong without a rule, by the rule. Where the engine has learnt to call the store in another order, they may
/// be others: `cargo xtask slow sim --seeds 300 --seed 1 --without RULE` names one.
const WITHOUT_CLAIM: u64 = 22;
const WITHOUT_VERSION: u64 = 2;
const WITHOUT_EPOCH: u64 = 21;

fn play(seed: u64, without: Option<Rule>) -> Report {
    run(&Plan { seed, without, tell: false })
}

#[track_caller]
fn is_well(seed: u64) {
    let report = play(seed, None);
    assert!(report.violations.is_empty(), "seed={seed}: {:#?}", report.violations);
}

/// Red without the rule, where this is said of it, and green with it.
#[track_caller]
fn goes_wrong_without(rule: Rule, seed: u64, what: &str) {
    let report = play(seed, Some(rule));
    assert!(
        report.violations.iter().any(|violation| violation.contains(what)),
        "seed={seed} without {rule:?} does not say `{what}`: {:#?}",
        report.violations
    );
    is_well(seed);
}

#[test]
fn the_same_seed_gives_the_same_run_to_the_last_call() {
    let [one, two, other] = [7, 7, 8].map(|seed| play(seed, None));
    assert_eq!((one.trace, &one.counts), (two.trace, &two.counts));
    assert_ne!(one.trace, other.trace);
}

#[test]
fn without_the_claim_a_named_seed_handles_an_event_twice() {
    goes_wrong_without(Rule::Claim, WITHOUT_CLAIM, "the journal of count");
}

#[test]
fn without_the_version_check_a_named_seed_loses_an_update() {
    goes_wrong_without(Rule::Version, WITHOUT_VERSION, "the total");
}

#[test]
fn without_the_epoch_check_a_named_seed_loses_events() {
    goes_wrong_without(Rule::Epoch, WITHOUT_EPOCH, "the journal of");
}

#[test]
fn a_sample_of_seeds_is_well() {
    (100..112).for_each(is_well);
}

#[test]
fn another_sample_of_seeds_is_well() {
    (112..124).for_each(is_well);
}

/// Faults that never happen prove nothing.
#[test]
fn crashes_stops_pauses_lost_calls_and_full_queues_happen_in_few_seeds() {
    let reports: Vec<Report> = (200..206).map(|seed| play(seed, None)).collect();
    let faults = ["calls", "receives", "crashes", "crashes at a receive", "stops", "pauses", "failed calls"];
    // And so do bounds that are never reached.
    let bounds = ["sweeps", "a page of tenants that are read apart", "every queue is full"];
    for what in faults.into_iter().chain(bounds) {
        let sum: u64 = reports.iter().filter_map(|report| report.counts.get(what)).sum();
        assert!(sum > 0, "no {what}");
    }
}
