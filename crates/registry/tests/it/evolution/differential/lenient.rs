//! What a consumer of the old schema counts on: types, required fields, declared fields, and that there are as many
//! fields and items as promised, the items distinct where promised. It ignores fields, enum values and variants it does
//! not know, and takes any value of the right type.

use serde_json::{Map, Value, json};

/// Keywords whose loosening is additive, and those that the gate never calls additive when they differ.
const DROPPED: [&str; 20] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "maxItems",
    "maxContains",
    "maxProperties",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
];

/// The old schema as its tolerant reader sees it.
pub fn lenient(schema: &Value) -> Value {
    let Value::Object(fields) = schema else { return json!(true) };
    let mut kept = Map::new();
    for (keyword, value) in fields {
        match (keyword.as_str(), value) {
            (dropped, _) if DROPPED.contains(&dropped) => {}
            ("const", value) => kept.extend(typed(std::slice::from_ref(value))),
            ("enum", Value::Array(values)) => kept.extend(typed(values)),
            ("anyOf" | "oneOf", Value::Array(branches)) => kept.extend(types_of(branches)),
            ("additionalProperties" | "items" | "additionalItems", Value::Bool(false)) => {}
            ("items", Value::Array(items)) | ("prefixItems" | "allOf", Value::Array(items)) => {
                kept.insert(keyword.clone(), items.iter().map(lenient).collect());
            }
            ("additionalProperties" | "items" | "additionalItems" | "contains", value) => {
                kept.insert(keyword.clone(), lenient(value));
            }
            ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(schemas)) => {
                let schemas: Map<String, Value> =
                    schemas.iter().map(|(name, schema)| (name.clone(), lenient(schema))).collect();
                kept.insert(keyword.clone(), Value::Object(schemas));
            }
            (_, value) => {
                kept.insert(keyword.clone(), value.clone());
            }
        }
    }
    Value::Object(kept)
}

/// The types of enumerated values, as a keyword of its own beside a `type` that may be there.
fn typed(values: &[Value]) -> Map<String, Value> {
    let types: Vec<Value> = values.iter().map(|value| json!({"type": type_of(value)})).collect();
    if types.is_empty() { Map::new() } else { Map::from_iter([("anyOf".to_owned(), json!(types))]) }
}

/// A union is known by the types of its branches; a branch without one leaves it open.
fn types_of(branches: &[Value]) -> Map<String, Value> {
    let types: Option<Vec<Value>> = branches
        .iter()
        .map(|branch| match (branch.get("type"), branch.get("const"), branch.get("enum")) {
            (Some(kind), _, _) => Some(json!({"type": kind})),
            (None, Some(value), _) => Some(json!({"type": type_of(value)})),
            (None, None, Some(Value::Array(values))) => Some(Value::Object(typed(values))),
            _ => None,
        })
        .collect();
    types.map_or_else(Map::new, |types| Map::from_iter([("anyOf".to_owned(), json!(types))]))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.as_f64().is_some_and(|number| number.fract() == 0.0) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
