//! Random schemas: small alphabets, so that changes and instances collide often.

use serde_json::{Map, Value, json};

use super::dice::Dice;

pub const NAMES: [&str; 5] = ["a", "b", "c", "k", "x-a"];
pub const WORDS: [&str; 5] = ["a", "b", "ab", "abc", ""];

/// A document with two definitions; the second may contain itself.
pub fn document(dice: &mut Dice) -> Value {
    let mut root = schema(dice, 3);
    if let Value::Object(fields) = &mut root {
        let plain = schema(dice, 1);
        let recursive = json!({"type": "object", "properties": {"b": {"$ref": "#/$defs/R"}, "a": schema(dice, 1)}});
        fields.insert("$defs".to_owned(), json!({"D": plain, "R": recursive}));
    }
    root
}

pub fn schema(dice: &mut Dice, depth: usize) -> Value {
    if depth == 0 {
        return scalar(dice);
    }
    match dice.below(14) {
        0..=2 => scalar(dice),
        3..=6 => object(dice, depth - 1),
        7 => list(dice, depth - 1),
        8 => tuple(dice, depth - 1),
        9 => json!({"anyOf": [schema(dice, depth - 1), schema(dice, depth - 1)]}),
        10 => union_of_tagged(dice, depth - 1),
        11 => json!({"allOf": [schema(dice, depth - 1), fragment(dice)]}),
        12 => json!({"oneOf": [schema(dice, depth - 1), schema(dice, depth - 1)]}),
        _ => {
            let mut reference = if dice.one_in(3) { fragment(dice) } else { json!({}) };
            reference["$ref"] = json!(dice.pick(&["#/$defs/D", "#/$defs/R"]));
            reference
        }
    }
}

pub fn scalar(dice: &mut Dice) -> Value {
    match dice.below(10) {
        0 => json!({"type": "string"}),
        1 => json!({"type": "string", "minLength": dice.below(2), "maxLength": 1 + dice.below(3)}),
        2 => json!({"type": "string", "pattern": *dice.pick(&["^a", "b$", "^[a-c]*$"])}),
        3 => json!({"type": "integer", "minimum": dice.below(3), "maximum": 3 + dice.below(3)}),
        4 => json!({"type": *dice.pick(&["integer", "number", "boolean", "null"])}),
        5 => json!({"enum": values(dice)}),
        6 => json!({"const": dice.pick(&WORDS)}),
        7 => json!({"type": [*dice.pick(&["string", "integer"]), *dice.pick(&["null", "boolean", "number"])]}),
        8 => json!({"type": "number", "multipleOf": 1 + dice.below(3), "exclusiveMinimum": dice.below(3)}),
        _ => dice.pick(&[json!(true), json!({}), json!({"type": "string"})]).clone(),
    }
}

fn values(dice: &mut Dice) -> Vec<Value> {
    let all = [json!("a"), json!("b"), json!("ab"), json!(1), json!(2.0), json!(true), json!(null)];
    let mut chosen: Vec<Value> = all.into_iter().filter(|_| dice.one_in(2)).collect();
    if chosen.is_empty() {
        chosen.push(json!("a"));
    }
    chosen
}

/// Something that is usually said beside other things.
pub fn fragment(dice: &mut Dice) -> Value {
    match dice.below(16) {
        0 => json!({"required": [*dice.pick(&NAMES)]}),
        1 => json!({"maximum": dice.below(5)}),
        2 => json!({"maxLength": dice.below(4)}),
        3 => json!({"minProperties": 1}),
        4 => json!({"properties": {*dice.pick(&NAMES): scalar(dice)}}),
        5 => json!({"not": scalar(dice)}),
        6 => json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
        7 => json!({"dependentRequired": {"a": ["b"]}}),
        8 => json!({"propertyNames": {"enum": ["a", "b", "k", "x-a"]}}),
        9 => json!({"contains": scalar(dice), "minContains": dice.below(3), "maxContains": 2}),
        10 => json!({"properties": {"a": {}, "b": {}}, "unevaluatedProperties": scalar(dice)}),
        11 => json!({"dependentSchemas": {"a": {"required": ["k"]}}}),
        12 => json!({"patternProperties": {*dice.pick(&["^x-", "a", "^[ab]$"]): scalar(dice)}}),
        13 => json!({"if": {"properties": {*dice.pick(&NAMES): true}}, "unevaluatedProperties": false}),
        14 => json!({"if": {"prefixItems": [true]}, "unevaluatedItems": false}),
        _ => json!({"type": ["object", "array", "string", "integer"]}),
    }
}

fn object(dice: &mut Dice, depth: usize) -> Value {
    let mut fields = Map::new();
    for name in NAMES {
        if dice.one_in(2) {
            fields.insert(name.to_owned(), schema(dice, depth));
        }
    }
    let required: Vec<&str> = NAMES.into_iter().filter(|_| dice.one_in(4)).collect();
    let mut object = json!({"type": "object", "properties": fields});
    let mut say = |keyword: &str, value: Value| object[keyword] = value;
    if !required.is_empty() {
        say("required", json!(required));
    }
    match dice.below(6) {
        0..=2 => say("additionalProperties", json!(false)),
        3 => say("additionalProperties", scalar(dice)),
        4 => {
            say("unevaluatedProperties", json!(false));
            // Alone it refuses nothing, but the fields it names count as evaluated.
            if dice.one_in(2) {
                say("if", json!({"properties": {*dice.pick(&NAMES): true}}));
            }
        }
        _ => {}
    }
    if dice.one_in(6) {
        say("patternProperties", json!({"^x-": scalar(dice)}));
    }
    if dice.one_in(8) {
        say("propertyNames", json!({"maxLength": 1 + dice.below(3)}));
    }
    if dice.one_in(8) {
        say("maxProperties", json!(dice.below(4)));
    }
    if dice.one_in(6) {
        say("minProperties", json!(1 + dice.below(2)));
    }
    object
}

fn list(dice: &mut Dice, depth: usize) -> Value {
    let mut list = json!({"type": "array", "items": schema(dice, depth)});
    if dice.one_in(3) {
        list["maxItems"] = json!(dice.below(4));
    }
    if dice.one_in(4) {
        list["uniqueItems"] = json!(true);
    }
    if dice.one_in(4) {
        list["minItems"] = json!(1 + dice.below(2));
    }
    if dice.one_in(4) {
        list["contains"] = scalar(dice);
        if dice.one_in(2) {
            list["minContains"] = json!(dice.below(3));
        }
    }
    list
}

fn tuple(dice: &mut Dice, depth: usize) -> Value {
    let positions: Vec<Value> = (0..1 + dice.below(2)).map(|_| schema(dice, depth)).collect();
    let mut tuple = json!({"type": "array", "prefixItems": positions, "minItems": dice.below(3)});
    match dice.below(3) {
        0 => tuple["items"] = json!(false),
        1 => tuple["items"] = scalar(dice),
        _ => {}
    }
    tuple
}

fn union_of_tagged(dice: &mut Dice, depth: usize) -> Value {
    let branches: Vec<Value> =
        ["a", "b", "c"][..2 + dice.below(2)].iter().map(|tag| tagged(dice, tag, depth)).collect();
    json!({*dice.pick(&["oneOf", "anyOf"]): branches})
}

pub fn tagged(dice: &mut Dice, tag: &str, depth: usize) -> Value {
    let mut branch = json!({"type": "object", "properties": {"k": {"const": tag}, "a": schema(dice, depth.min(1))}, "required": ["k"]});
    if dice.one_in(2) {
        branch["additionalProperties"] = json!(false);
    }
    branch
}
