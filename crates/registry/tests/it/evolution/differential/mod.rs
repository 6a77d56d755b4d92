//! The gate against a validator: random schemas, random changes, random instances.
//!
//! A verdict of additive or identical is a claim about every instance; here it meets many of them. Instances are made to
//! fit, bent out of shape, and kept when the validator admits them, so that they lie near the edges.

mod dice;
mod exhaustive;
mod instances;
mod lenient;
mod mutations;
mod schemas;

use std::cell::RefCell;

use karwan_registry::evolution::{Verdict, compare};
use proptest::test_runner::{Config, TestRng, TestRunner};
use serde_json::Value;

use dice::Dice;

/// At least; `PROPTEST_CASES` may ask for more.
const CASES: u32 = 1_000;
const INSTANCES_PER_CASE: usize = 40;

/// What the verdict claims and an instance refutes.
fn refuted(
    old: &Value,
    new: &Value,
    verdict: Verdict,
    old_instances: &[Value],
    new_instances: &[Value],
) -> Option<String> {
    let validates = |schema: &Value, instance: &Value| {
        jsonschema::validator_for(schema).unwrap_or_else(|error| panic!("{error} in {schema}")).is_valid(instance)
    };
    let claims_replay = verdict <= Verdict::Additive;
    if claims_replay && let Some(lost) = old_instances.iter().find(|instance| !validates(new, instance)) {
        return Some(format!("{verdict:?}, but the old event {lost} is refused by the new schema"));
    }
    if verdict == Verdict::Identical
        && let Some(gained) = new_instances.iter().find(|instance| !validates(old, instance))
    {
        return Some(format!("{verdict:?}, but the new event {gained} is refused by the old schema"));
    }
    let tolerant = lenient::lenient(old);
    if claims_replay && let Some(strange) = new_instances.iter().find(|instance| !validates(&tolerant, instance)) {
        return Some(format!(
            "{verdict:?}, but the new event {strange} is not understood by an old consumer: {tolerant}"
        ));
    }
    None
}

#[derive(Default, Debug)]
struct Tally {
    identical: usize,
    additive: usize,
    audit: usize,
    breaking: usize,
    instances: usize,
}

fn case(seed: u64, tally: &RefCell<Tally>) -> Result<(), String> {
    let mut dice = Dice::new(seed);
    let old = schemas::document(&mut dice);
    let mut new = old.clone();
    for _ in 0..1 + dice.below(3) {
        mutations::mutate(&mut new, &mut dice);
    }
    let Ok(report) = compare(&old, &new) else { return Ok(()) };
    let old_instances = instances::of(&old, &mut dice, INSTANCES_PER_CASE);
    let new_instances = instances::of(&new, &mut dice, INSTANCES_PER_CASE);
    let mut tally = tally.borrow_mut();
    match report.verdict() {
        Verdict::Identical => tally.identical += 1,
        Verdict::Additive => tally.additive += 1,
        Verdict::NeedsAudit => tally.audit += 1,
        Verdict::Breaking => tally.breaking += 1,
    }
    if report.verdict() <= Verdict::Additive {
        tally.instances += old_instances.len() + new_instances.len();
    }
    match refuted(&old, &new, report.verdict(), &old_instances, &new_instances) {
        None => Ok(()),
        Some(why) => Err(format!("seed={seed}\n{why}\nold {old}\nnew {new}\nfindings {:#?}", report.findings)),
    }
}

#[test]
fn no_additive_verdict_is_refuted_by_an_instance() {
    let asked = Config::default();
    let config = Config { cases: asked.cases.max(CASES), failure_persistence: None, ..asked };
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let tally = RefCell::new(Tally::default());
    let outcome = runner
        .run(&proptest::num::u64::ANY, |seed| case(seed, &tally).map_err(proptest::test_runner::TestCaseError::fail));
    let tally = tally.into_inner();
    assert!(outcome.is_ok(), "{}", outcome.expect_err("checked"));
    // A run that never meets an additive verdict, or has no instances, would prove nothing.
    assert!(tally.identical >= 50 && tally.additive >= 50, "{tally:?}");
    assert!(tally.audit >= 30 && tally.breaking >= 200, "{tally:?}");
    assert!(tally.instances >= 5_000, "{tally:?}");
}

/// A schema in other words is no change, or not decided.
#[test]
fn no_schema_in_other_words_is_breaking_or_additive() {
    let (mut identical, mut audit) = (0, 0);
    for seed in 0..u64::from(Config::default().cases.max(CASES)) {
        let mut dice = Dice::new(seed);
        let old = schemas::document(&mut dice);
        let mut new = old.clone();
        for _ in 0..1 + dice.below(2) {
            mutations::reword_somewhere(&mut new, &mut dice);
        }
        for (old, new) in [(&old, &new), (&new, &old)] {
            let Ok(report) = compare(old, new) else { continue };
            match report.verdict() {
                Verdict::Identical => identical += 1,
                Verdict::NeedsAudit => audit += 1,
                Verdict::Additive | Verdict::Breaking => {
                    panic!("seed={seed}\nold {old}\nnew {new}\nfindings {:#?}", report.findings)
                }
            }
        }
    }
    assert!(identical > 100 * audit, "{identical} identical, {audit} not decided");
}

/// The pairs of the table, too, are put to the validator.
#[test]
fn no_additive_row_of_the_table_is_refuted_by_an_instance() {
    let mut tried = 0;
    for (claim, old, new, _) in super::table::rows() {
        let (old, new) = (super::parse(old), super::parse(new));
        let mut dice = Dice::new(7);
        let verdict = compare(&old, &new).expect("the table's schemas can be judged").verdict();
        let old_instances = instances::of(&old, &mut dice, INSTANCES_PER_CASE);
        let new_instances = instances::of(&new, &mut dice, INSTANCES_PER_CASE);
        tried += old_instances.len();
        assert_eq!(refuted(&old, &new, verdict, &old_instances, &new_instances), None, "{claim}");
    }
    assert!(tried > 3_000, "only {tried} instances");
}

/// The checker is worth something only if a wrong verdict does not pass it.
#[test]
fn a_wrong_verdict_is_refuted() {
    let wrong = [
        // Replay: an old event without `b`.
        (
            r#"{"type": "object", "properties": {"b": {"type": "string"}}}"#,
            r#"{"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}"#,
            Verdict::Additive,
        ),
        (r#"{"enum": ["a", "b"]}"#, r#"{"enum": ["a"]}"#, Verdict::Additive),
        // Identical: a new event the old schema refuses.
        (r#"{"type": "integer", "maximum": 3}"#, r#"{"type": "integer", "maximum": 4}"#, Verdict::Identical),
        // Consume: a field that an old consumer counts on.
        (
            r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}"#,
            r#"{"type": "object", "properties": {"a": {"type": "integer"}}}"#,
            Verdict::Additive,
        ),
        (r#"{"type": "integer"}"#, r#"{"type": "number"}"#, Verdict::Additive),
        // Consume: so many fields, items or matching items, whichever they are.
        (
            r#"{"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": false, "minProperties": 1}"#,
            r#"{"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": false}"#,
            Verdict::Additive,
        ),
        (r#"{"type": "array", "minItems": 1}"#, r#"{"type": "array"}"#, Verdict::Additive),
        (r#"{"type": "array", "contains": {"type": "null"}}"#, r#"{"type": "array"}"#, Verdict::Additive),
        (
            r#"{"type": "array", "items": {"type": "boolean"}, "uniqueItems": true}"#,
            r#"{"type": "array", "items": {"type": "boolean"}}"#,
            Verdict::Additive,
        ),
    ];
    for (old, new, verdict) in wrong {
        let (old, new) = (super::parse(old), super::parse(new));
        let mut dice = Dice::new(1);
        let old_instances = instances::of(&old, &mut dice, INSTANCES_PER_CASE);
        let new_instances = instances::of(&new, &mut dice, INSTANCES_PER_CASE);
        assert!(
            refuted(&old, &new, verdict, &old_instances, &new_instances).is_some(),
            "{old} → {new} passed as {verdict:?}"
        );
        let right = compare(&old, &new).expect("both can be judged").verdict();
        assert_eq!(refuted(&old, &new, right, &old_instances, &new_instances), None);
    }
}
