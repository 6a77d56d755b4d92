//! Small schemas against every instance of a small world.
//!
//! Random instances seldom lie on the one spot in which two almost equal schemas differ. Here each schema is known by
//! all that it admits of the world, and those that differ in little are put to the gate.

use std::collections::BTreeMap;

use karwan_registry::evolution::{Verdict, compare};
use proptest::test_runner::Config;
use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::mutations;

const NAMES: [&str; 3] = ["a", "b", "zz"];
/// Instances that a pair to be tried may differ in.
const DIFFERENCES_MAX: usize = 3;
/// Schemas of one round, each with a neighbour, and pairs of it that are tried.
const SCHEMAS: usize = 100;
const PAIRS_MAX: usize = 400;

/// Scalars, short lists of some, and objects of up to three fields.
fn world() -> Vec<Value> {
    let scalars = json!([null, true, false, -1, 0, 0.5, 1, 2, 3, 6, "", "a", "b", "ab", "abc"]);
    let mut world = scalars.as_array().cloned().expect("a list");
    let parts = [json!(0), json!(1), json!("a"), json!(null), json!({"a": 0})];
    world.extend([
        json!([]),
        json!([0, 1, 2]),
        json!([0, 0, "a"]),
        json!({"a": {"a": {"a": 1}}}),
        json!({"a": {"b": 1}}),
    ]);
    for one in &parts {
        world.push(json!([one]));
        world.extend(parts.iter().map(|other| json!([one, other])));
    }
    let values: Vec<Option<&Value>> = [None].into_iter().chain(parts.iter().map(Some)).collect();
    for index in 0..values.len().pow(3) {
        let chosen = [values[index % 6], values[index / 6 % 6], values[index / 36]];
        let fields = NAMES.into_iter().zip(chosen).filter_map(|(name, value)| Some((name.to_owned(), value?.clone())));
        world.push(Value::Object(fields.collect()));
    }
    world
}

fn document(dice: &mut Dice) -> Value {
    let depth = dice.below(4);
    let mut document = schema(dice, depth);
    if let Value::Object(fields) = &mut document {
        let node =
            json!({"properties": {"a": {"$ref": "#/$defs/R"}, "b": schema(dice, 0)}, "required": [*dice.pick(&NAMES)]});
        fields.insert("$defs".to_owned(), json!({"R": {"anyOf": [node, schema(dice, 0)]}}));
    }
    document
}

fn schema(dice: &mut Dice, depth: usize) -> Value {
    if dice.one_in(12) {
        return json!(dice.one_in(2));
    }
    let mut fields = Map::new();
    if dice.one_in(2) {
        fields.insert(
            "type".to_owned(),
            json!(dice.pick(&["object", "object", "object", "string", "integer", "number", "array"])),
        );
    }
    for _ in 0..1 + dice.below(3) {
        let said = if depth == 0 || dice.one_in(3) { plain(dice) } else { nested(dice, depth - 1) };
        fields.extend(said.as_object().cloned().unwrap_or_default());
    }
    Value::Object(fields)
}

fn plain(dice: &mut Dice) -> Value {
    let name = *dice.pick(&NAMES);
    let small = dice.below(3);
    match dice.below(23) {
        0 | 1 => json!({"required": [name]}),
        2 => json!({"required": ["a", "b"]}),
        3 => json!({"enum": [small, "a", *dice.pick(&["b", "ab"])]}),
        4 => json!({"const": dice.pick(&[json!("a"), json!(0), json!(null), json!({"a": 0}), json!([0])])}),
        5 => json!({"minimum": small}),
        6 => json!({"exclusiveMaximum": small}),
        20 => json!({"maximum": small}),
        21 => json!({"exclusiveMinimum": small}),
        7 => json!({"multipleOf": dice.pick(&[json!(1), json!(2), json!(3), json!(6), json!(0.5)])}),
        8 => json!({"minLength": small}),
        9 => json!({"maxLength": small}),
        10 => json!({"pattern": dice.pick(&["^a", "^[a]", "b", "^[ab]$", "^a?b?$"])}),
        11 => json!({"minProperties": 1 + small}),
        12 => json!({"maxProperties": small}),
        13 => json!({"minItems": small}),
        14 => json!({"maxItems": small}),
        15 => json!({"uniqueItems": true}),
        16 => json!({"additionalProperties": false}),
        17 => json!({"dependentRequired": {name: [*dice.pick(&NAMES)]}}),
        18 => {
            json!({"propertyNames": dice.pick(&[json!({"pattern": "^[ab]$"}), json!({"maxLength": 1}), json!({"enum": ["a", "zz"]})])})
        }
        19 => json!({"properties": {name: false}}),
        _ => json!({"type": dice.pick(&["object", "string", "integer"])}),
    }
}

fn nested(dice: &mut Dice, depth: usize) -> Value {
    let name = *dice.pick(&NAMES);
    let mut part = || schema(dice, depth);
    let (one, other, third) = (part(), part(), part());
    match dice.below(18) {
        0..=2 => json!({"properties": {name: one, "b": other}}),
        3 => json!({"anyOf": [one, other]}),
        4 => json!({"oneOf": [one, other]}),
        5 => json!({"allOf": [one, other]}),
        6 => json!({"not": one}),
        7 => json!({"if": one, "then": other, "else": third}),
        8 => json!({"if": one, "then": other}),
        9 => json!({"dependentSchemas": {name: one}}),
        10 => json!({"patternProperties": {*dice.pick(&["^[ab]$", "^a", "^(a)", "z"]): one}}),
        11 => json!({"additionalProperties": one}),
        12 => json!({"items": one}),
        13 => json!({"prefixItems": [one], "items": other}),
        14 => json!({"contains": one, "minContains": dice.below(3), "maxContains": 1 + dice.below(2)}),
        15 => json!({"unevaluatedProperties": dice.pick(&[json!(false), one])}),
        16 => json!({"oneOf": [one, other], "properties": {name: third}, "unevaluatedProperties": false}),
        _ => json!({"$ref": "#/$defs/R"}),
    }
}

/// Which instances a schema admits.
fn admitted(schema: &Value, world: &[Value]) -> Option<Vec<bool>> {
    let validator = jsonschema::validator_for(schema).ok()?;
    Some(world.iter().map(|instance| validator.is_valid(instance)).collect())
}

#[test]
fn no_two_schemas_that_an_instance_tells_apart_are_identical() {
    let world = world();
    let rounds = u64::from(Config::default().cases / 32);
    let (mut same, mut told_apart) = (0, 0);
    for seed in 0..rounds {
        let mut dice = Dice::new(seed);
        let mut known: Vec<(usize, Value, Vec<bool>)> = Vec::new();
        let mut drawn = Vec::new();
        for _ in 0..SCHEMAS {
            let schema = document(&mut dice);
            let mut neighbour = schema.clone();
            mutations::mutate(&mut neighbour, &mut dice);
            drawn.extend([schema, neighbour]);
        }
        for (index, schema) in drawn.into_iter().enumerate() {
            let own = admitted(&schema, &world).filter(|own| own.contains(&true) && own.contains(&false));
            known.extend(own.map(|own| (index / 2, schema, own)));
        }
        let mut near: BTreeMap<(bool, usize), (usize, usize)> = BTreeMap::new();
        for (index, (of, _, one)) in known.iter().enumerate() {
            for (other, (to, _, two)) in known.iter().enumerate().filter(|(other, _)| *other != index) {
                let differences = one.iter().zip(two).filter(|(left, right)| left != right).count();
                // Neighbours first; they differ in one word, if in many instances.
                if of == to || differences <= DIFFERENCES_MAX {
                    near.insert((of != to, dice.below(usize::MAX)), (index, other));
                }
            }
        }
        for (index, other) in near.into_values().take(PAIRS_MAX) {
            let ((_, old, before), (_, new, after)) = (&known[index], &known[other]);
            let Ok(report) = compare(old, new) else { continue };
            let lost = world.iter().zip(before.iter().zip(after)).find(|(_, (old, new))| **old && !**new);
            let gained = world.iter().zip(before.iter().zip(after)).find(|(_, (old, new))| !**old && **new);
            let wrong = match report.verdict() {
                Verdict::Identical => lost.or(gained),
                Verdict::Additive => lost,
                Verdict::NeedsAudit | Verdict::Breaking => None,
            };
            let wrong = wrong.map(|(instance, _)| instance);
            assert_eq!(wrong, None, "seed={seed} {:?}\nold {old}\nnew {new}", report.verdict());
            same += usize::from(report.verdict() == Verdict::Identical && old != new);
            told_apart += usize::from(lost.or(gained).is_some());
        }
    }
    // Without pairs that are identical in other words, and pairs that are nearly so, nothing would be shown.
    assert!(same >= 10 && told_apart >= 50, "{same} identical in other words, {told_apart} told apart");
}
