//! Random changes of a schema: some break it, some only say it otherwise.

use serde_json::{Value, json};

use super::dice::Dice;
use super::schemas::{NAMES, fragment, scalar, schema, tagged};

/// Changes one subschema, chosen at random.
pub fn mutate(root: &mut Value, dice: &mut Dice) {
    let mut places = Vec::new();
    collect(root, String::new(), &mut places);
    // Definitions are often unused; a change there is worth little.
    let mut place = dice.pick(&places);
    if place.starts_with("/$defs") {
        place = dice.pick(&places);
    }
    let place = place.clone();
    let target = root.pointer_mut(&place).expect("the place was just collected");
    if dice.one_in(5) { reword(target, dice) } else { change(target, dice) }
}

/// The pointers of all subschemas.
fn collect(schema: &Value, at: String, places: &mut Vec<String>) {
    places.push(at.clone());
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        match (keyword.as_str(), value) {
            ("properties" | "$defs" | "patternProperties", Value::Object(fields)) => {
                for (name, field) in fields {
                    collect(field, format!("{at}/{keyword}/{name}"), places);
                }
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    collect(item, format!("{at}/{keyword}/{index}"), places);
                }
            }
            ("items" | "additionalProperties" | "contains" | "not" | "if", value) => {
                collect(value, format!("{at}/{keyword}"), places);
            }
            _ => {}
        }
    }
}

fn change(target: &mut Value, dice: &mut Dice) {
    let Value::Object(fields) = target else {
        *target = scalar(dice);
        return;
    };
    let keywords: Vec<String> = fields.keys().filter(|keyword| *keyword != "$defs").cloned().collect();
    // What promises a number of things is rare among the words, and is lifted more often for it.
    let promises = ["minProperties", "minItems", "contains", "uniqueItems"];
    if let Some(promise) = promises.iter().find(|promise| fields.contains_key(**promise))
        && dice.one_in(3)
    {
        fields.remove(*promise);
        return;
    }
    match dice.below(8) {
        0 if !keywords.is_empty() => {
            fields.remove(dice.pick(&keywords));
        }
        1 => {
            let said = fragment(dice);
            fields.extend(said.as_object().expect("a fragment is an object").clone());
        }
        2 => *target = keeping_definitions(target, schema(dice, 1)),
        3 => *target = keeping_definitions(target, json!({"anyOf": [without_definitions(target), scalar(dice)]})),
        4 => {
            fields.insert(
                "additionalProperties".to_owned(),
                dice.pick(&[json!(false), json!(true), json!({"type": "string"})]).clone(),
            );
        }
        _ => change_keyword(target, dice),
    }
}

/// Changes the value of one keyword by a little.
fn change_keyword(target: &mut Value, dice: &mut Dice) {
    let fields = target.as_object_mut().expect("the caller looked");
    let keywords: Vec<String> = fields.keys().cloned().collect();
    if keywords.is_empty() {
        return;
    }
    let keyword = dice.pick(&keywords).clone();
    let up = dice.one_in(2);
    match (keyword.as_str(), fields.get_mut(&keyword).expect("the keyword was just listed")) {
        ("multipleOf", value) => *value = json!(1 + dice.below(4)),
        (_, Value::Number(number)) => {
            let number = number.as_i64().unwrap_or(1) + if up { 1 } else { -1 };
            fields.insert(keyword, json!(number.max(0)));
        }
        ("properties", Value::Object(properties)) => {
            let name = *dice.pick(&NAMES);
            match properties.remove(name) {
                Some(kept) if dice.one_in(3) => {
                    properties.insert("renamed".to_owned(), kept);
                }
                Some(_) => {}
                None => {
                    properties.insert(name.to_owned(), schema(dice, 1));
                }
            }
        }
        ("required", Value::Array(names)) => {
            let name = json!(dice.pick(&NAMES));
            match names.iter().position(|known| *known == name) {
                Some(index) => drop(names.remove(index)),
                None => names.push(name),
            }
        }
        ("const", value) if up => {
            let value = value.take();
            fields.remove(&keyword);
            fields.insert("enum".to_owned(), json!([value, "zz"]));
        }
        ("enum", Value::Array(values)) if up || values.len() < 2 => {
            let value = dice.pick(&[json!("zz"), json!(7), json!(false)]).clone();
            if !values.contains(&value) {
                values.push(value);
            }
        }
        ("enum", Value::Array(values)) => drop(values.pop()),
        ("anyOf" | "oneOf", Value::Array(branches)) if up => branches.push(tagged(dice, "d", 0)),
        ("anyOf" | "oneOf" | "prefixItems", Value::Array(branches)) if branches.len() > 1 => drop(branches.remove(0)),
        ("prefixItems", Value::Array(positions)) => positions.push(scalar(dice)),
        ("if", value) => *value = json!({"properties": {*dice.pick(&NAMES): true}}),
        ("type", value) => *value = json!(dice.pick(&["string", "integer", "number", "object", "array", "null"])),
        (_, Value::Bool(flag)) => *flag = !*flag,
        _ => {}
    }
}

/// Says a subschema, chosen at random, in other words.
pub fn reword_somewhere(root: &mut Value, dice: &mut Dice) {
    let mut places = Vec::new();
    collect(root, String::new(), &mut places);
    // What `unevaluated*` refuses hangs on the words of what stands beside it.
    let place = dice.pick(&places).clone();
    let target = root.pointer_mut(&place).expect("the place was just collected");
    reword(target, dice);
}

/// Says the same in other words.
fn reword(target: &mut Value, dice: &mut Dice) {
    let body = without_definitions(target);
    match dice.below(9) {
        5 => *target = keeping_definitions(target, json!({"not": {"not": body}})),
        6 => *target = keeping_definitions(target, json!({"if": true, "then": body})),
        7 => *target = keeping_definitions(target, json!({"anyOf": [body.clone(), body]})),
        8 => reword_object(target),
        0 => *target = keeping_definitions(target, json!({"allOf": [body]})),
        1 => *target = keeping_definitions(target, json!({"anyOf": [body]})),
        2 => *target = keeping_definitions(target, json!({"oneOf": [body, false]})),
        3 => {
            if let Value::Object(fields) = target {
                fields.insert("title".to_owned(), json!("T"));
                if let Some(Value::String(kind)) = fields.get("type").cloned() {
                    fields.insert("type".to_owned(), json!([kind]));
                }
                if let Some(value) = fields.remove("const") {
                    fields.insert("enum".to_owned(), json!([value]));
                }
            }
        }
        _ => {
            if let Some(values) = target.get("enum").and_then(Value::as_array).cloned() {
                let constants: Vec<Value> = values.into_iter().map(|value| json!({"const": value})).collect();
                *target = keeping_definitions(target, json!({"oneOf": constants}));
            }
        }
    }
}

/// Closes a closed model, or maps a map, by another keyword.
fn reword_object(target: &mut Value) {
    let Value::Object(fields) = target else { return };
    let plain =
        ["unevaluatedProperties", "patternProperties", "propertyNames"].iter().all(|word| !fields.contains_key(*word));
    let names: Vec<String> = fields
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|fields| fields.keys().cloned())
        .collect();
    match fields.get("additionalProperties").cloned() {
        Some(Value::Bool(false)) if plain => {
            fields.remove("additionalProperties");
            fields.insert("propertyNames".to_owned(), json!({"enum": names}));
        }
        Some(rest @ Value::Object(_)) if plain && names.is_empty() => {
            fields.remove("additionalProperties");
            fields.insert("patternProperties".to_owned(), json!({"": rest}));
        }
        _ => {}
    }
}

fn without_definitions(schema: &Value) -> Value {
    let mut body = schema.clone();
    if let Value::Object(fields) = &mut body {
        fields.remove("$defs");
    }
    body
}

fn keeping_definitions(old: &Value, mut new: Value) -> Value {
    if let (Some(definitions), Value::Object(fields)) = (old.get("$defs"), &mut new) {
        fields.insert("$defs".to_owned(), definitions.clone());
    } else if old.get("$defs").is_some() {
        return json!({"allOf": [new], "$defs": old["$defs"]});
    }
    new
}
