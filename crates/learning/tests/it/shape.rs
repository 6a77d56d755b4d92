//! What a TypeScript type and a JSON Schema have in common, so that the two can be compared.

use std::collections::{BTreeMap, BTreeSet};

use learning::types::INTEGER_MAX;
use serde_json::Value;

use crate::typescript::{Field, Type};

#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A string of this kind.
    Text(&'static str),
    Boolean,
    /// A whole number from 0 to 2^53 − 1.
    Integer,
    Number,
    Literals(BTreeSet<String>),
    List(Box<Shape>),
    /// By name: whether it is required, and what it is.
    Object(BTreeMap<String, (bool, Shape)>),
    /// A type that the document names and leaves open.
    Shared(&'static str),
}

/// TypeScript name and schema definition of the types that are left open.
const SHARED: [(&str, &str); 7] = [
    ("AIProvenance", "AiProvenance"),
    ("I18nString", "I18nString"),
    ("Money", "Money"),
    ("Actor", "Actor"),
    ("Verb", "Verb"),
    ("Result", "StatementResult"),
    ("SafetyVerdict", "SafetyVerdict"),
];

/// Kinds of texts, each told by what only its schema has.
const TEXTS: [(&str, &str, &str); 9] = [
    ("ISODate", "format", "date-time"),
    ("Email", "format", "email"),
    ("TenantId", "pattern", "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"),
    ("id", "pattern", "^[A-Za-z0-9_-]{1,64}$"),
    ("SHA256", "pattern", "^[0-9a-f]{64}$"),
    ("JWS", "pattern", r"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+$"),
    ("ISO4217", "pattern", "^[A-Z]{3}$"),
    ("Locale", "pattern", "^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$"),
    ("RRULEString", "pattern", "^FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)(;[A-Z]+=[A-Z0-9,+-]+)*$"),
];

const SEMVER_START: &str = r"^[0-9]{1,9}\.";

/// What the document asks for.
pub fn documented(fields: &[Field]) -> Shape {
    let properties =
        fields.iter().map(|field| (field.name.clone(), (!field.optional, documented_type(&field.name, &field.of))));
    Shape::Object(properties.collect())
}

fn documented_type(name: &str, of: &Type) -> Shape {
    match of {
        Type::Literals(literals) => Shape::Literals(literals.iter().cloned().collect()),
        Type::List(entry) => Shape::List(Box::new(documented_type(name, entry))),
        Type::Object(fields) => documented(fields),
        Type::AnyOf(names) => {
            assert_eq!(names, &["Activity", "StatementRef"]);
            Shape::Shared("StatementObject")
        }
        Type::Named(named) => documented_name(name, named),
    }
}

fn documented_name(field: &str, named: &str) -> Shape {
    if let Some((_, shared)) = SHARED.iter().find(|(typescript, _)| *typescript == named) {
        return Shape::Shared(shared);
    }
    if let Some((kind, ..)) = TEXTS.iter().find(|(kind, ..)| *kind == named) {
        return Shape::Text(kind);
    }
    match named {
        "string" => Shape::Text("string"),
        "SemVer" => Shape::Text("SemVer"),
        "boolean" => Shape::Boolean,
        // Only scores and confidences are fractions; the document's other numbers count something.
        "number" if matches!(field, "score" | "scaledScore" | "confidence") => Shape::Number,
        "number" => Shape::Integer,
        id if id.ends_with("Id") => Shape::Text("id"),
        unknown => panic!("{field}: the document's type {unknown} is not known"),
    }
}

/// What a schema asks for; `root` holds the definitions.
pub fn emitted(schema: &Value, root: &Value) -> Shape {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.strip_prefix("#/$defs/").expect("references point to definitions");
        let shared = SHARED.iter().map(|(_, shared)| *shared).chain(["StatementObject"]).find(|known| *known == name);
        return shared.map_or_else(|| emitted(&root["$defs"][name], root), Shape::Shared);
    }
    if let Some(branches) = schema["oneOf"].as_array() {
        let literals = branches.iter().map(|branch| branch["const"].as_str().expect("a literal").to_owned());
        return Shape::Literals(literals.collect());
    }
    if let Some(literals) = schema["enum"].as_array() {
        return Shape::Literals(literals.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    }
    // Several types, or null beside one, are not what an interface says: an optional field is absent.
    match schema["type"].as_str().unwrap_or_else(|| panic!("no single type in {schema}")) {
        "string" => Shape::Text(text_kind(schema)),
        "boolean" => Shape::Boolean,
        "number" => Shape::Number,
        "integer" => {
            assert_eq!((&schema["minimum"], &schema["maximum"]), (&0.into(), &INTEGER_MAX.into()), "{schema}");
            Shape::Integer
        }
        "array" => Shape::List(Box::new(emitted(&schema["items"], root))),
        "object" => object(schema, root),
        unknown => panic!("{unknown} in {schema}"),
    }
}

fn object(schema: &Value, root: &Value) -> Shape {
    assert_eq!(schema["additionalProperties"], false, "{schema} is open");
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().expect("an object has properties");
    let named =
        properties.iter().map(|(name, of)| (name.clone(), (required.contains(&name.as_str()), emitted(of, root))));
    Shape::Object(named.collect())
}

fn text_kind(schema: &Value) -> &'static str {
    if schema["pattern"].as_str().is_some_and(|pattern| pattern.starts_with(SEMVER_START)) {
        return "SemVer";
    }
    TEXTS.iter().find(|(_, keyword, value)| schema[*keyword] == *value).map_or("string", |(kind, ..)| kind)
}
