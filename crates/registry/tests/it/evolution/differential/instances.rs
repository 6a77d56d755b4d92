//! Instances of a schema: made to fit, bent, and kept when the validator admits them.

use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::schemas::{NAMES, WORDS};

const DEPTH_MAX: usize = 6;

/// Up to `count` instances that the schema admits.
pub fn of(schema: &Value, dice: &mut Dice, count: usize) -> Vec<Value> {
    let validator = jsonschema::validator_for(schema).unwrap_or_else(|error| panic!("{error} in {schema}"));
    let mut found = Vec::new();
    for _ in 0..count {
        let mut instance = fit(schema, schema, dice, DEPTH_MAX);
        for _ in 0..dice.below(3) {
            bend(&mut instance, dice);
        }
        if validator.is_valid(&instance) {
            found.push(instance);
        }
    }
    found
}

fn anything(dice: &mut Dice) -> Value {
    match dice.below(9) {
        0 => json!(null),
        1 => json!(dice.one_in(2)),
        2 | 3 => json!(dice.below(8)),
        4 => json!(dice.below(8) as f64 + 0.5),
        5 | 6 => json!(dice.pick(&WORDS)),
        7 => json!([dice.below(3)]),
        _ => json!({*dice.pick(&NAMES): dice.below(3)}),
    }
}

/// Follows the schema loosely; the validator has the last word.
fn fit(schema: &Value, root: &Value, dice: &mut Dice, depth: usize) -> Value {
    let Some(fields) = schema.as_object() else { return anything(dice) };
    if depth == 0 {
        return anything(dice);
    }
    if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(target.trim_start_matches('#'));
        return target.map_or(json!(null), |target| fit(target, root, dice, depth - 1));
    }
    if let Some(value) = fields.get("const") {
        return value.clone();
    }
    if let Some(Value::Array(values)) = fields.get("enum") {
        return dice.pick(values).clone();
    }
    let mut joined = None;
    for union in ["anyOf", "oneOf", "allOf"] {
        if let Some(Value::Array(branches)) = fields.get(union) {
            joined = Some(fit(dice.pick(branches), root, dice, depth - 1));
        }
    }
    let kind = match fields.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(Value::Array(kinds)) => dice.pick(kinds).as_str().unwrap_or("null"),
        _ if fields.contains_key("properties") => "object",
        _ => return joined.unwrap_or_else(|| anything(dice)),
    };
    match (kind, joined) {
        ("object", Some(Value::Object(mut base))) => {
            if let Value::Object(own) = object(fields, root, dice, depth - 1) {
                for (name, value) in own {
                    base.entry(name).or_insert(value);
                }
            }
            Value::Object(base)
        }
        (_, Some(joined)) => joined,
        ("object", None) => object(fields, root, dice, depth - 1),
        ("array", None) => array(fields, root, dice, depth - 1),
        ("string", None) => json!(dice.pick(&WORDS)),
        ("integer", None) => json!(dice.below(8)),
        ("number", None) => json!(dice.below(16) as f64 / 2.0),
        ("boolean", None) => json!(dice.one_in(2)),
        _ => json!(null),
    }
}

fn object(fields: &Map<String, Value>, root: &Value, dice: &mut Dice, depth: usize) -> Value {
    let mut object = Map::new();
    let required = fields.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let properties = fields.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, schema) in &properties {
        if required.iter().any(|wanted| wanted == name) || dice.one_in(2) {
            object.insert(name.clone(), fit(schema, root, dice, depth));
        }
    }
    for name in required.iter().filter_map(Value::as_str) {
        object.entry(name).or_insert_with(|| anything(dice));
    }
    if let Some(rest @ Value::Object(_)) = fields.get("additionalProperties") {
        let name = *dice.pick(&NAMES);
        if !properties.contains_key(name) {
            object.insert(name.to_owned(), fit(rest, root, dice, depth));
        }
    }
    Value::Object(object)
}

fn array(fields: &Map<String, Value>, root: &Value, dice: &mut Dice, depth: usize) -> Value {
    let prefix = fields.get("prefixItems").and_then(Value::as_array).cloned().unwrap_or_default();
    let anything_goes = json!(true);
    let rest = fields.get("items").unwrap_or(&anything_goes);
    let length = if prefix.is_empty() { dice.below(4) } else { prefix.len() + dice.below(2) };
    (0..length).map(|index| fit(prefix.get(index).unwrap_or(rest), root, dice, depth)).collect()
}

/// Changes an instance by a little: a field more, a field less, another value.
fn bend(instance: &mut Value, dice: &mut Dice) {
    match instance {
        Value::Object(fields) => {
            let name = *dice.pick(&NAMES);
            match dice.below(5) {
                4 => fields.clear(),
                0 => drop(fields.remove(name)),
                1 => drop(fields.insert(name.to_owned(), anything(dice))),
                2 => drop(fields.insert("zz".to_owned(), anything(dice))),
                _ => {
                    if let Some(field) = fields.get_mut(name) {
                        bend(field, dice);
                    }
                }
            }
        }
        Value::Array(items) => match dice.below(4) {
            3 => items.clear(),
            0 => drop(items.pop()),
            1 => items.push(anything(dice)),
            _ => {
                if let Some(item) = items.first_mut() {
                    bend(item, dice);
                }
            }
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => *instance = anything(dice),
    }
}
