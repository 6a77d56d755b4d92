//! Emission of JSON Schemas from Rust types.

use jsonschema::json::Json;
use jsonschema::{PatternOptions, ValidationError, ValidationOptions, Validator};
use karwan_envelope::json::SAFE_INTEGER_MAX;
use karwan_envelope::row::Row;
use karwan_envelope::subject::Parts;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

use crate::payload::InPlace;

/// The dialect of every schema that is emitted.
pub const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The JSON Schema of a type, as it is committed: objects are closed, and a missing optional field is absent, not null.
///
/// Closed, because a producer must not publish what the catalogue does not describe; a consumer's struct still ignores
/// fields it does not know, so that adding one stays additive. A field that is really nullable says so with
/// `#[schemars(extend("x-nullable" = true))]`.
pub fn emit<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.meta_schema = None;
    let generator = settings.with_transform(RecursiveTransform(tighten)).into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.insert("$schema".to_owned(), DIALECT.into());
    let mut document = schema.to_value();
    let definitions = document.get("$defs").cloned().unwrap_or_default();
    merge_tagged(&mut document, &definitions);
    document
}

/// Puts the fields of a variant's struct beside its tag. schemars refers to the struct instead; both being closed, each
/// would refuse what the other has.
fn merge_tagged(schema: &mut Value, definitions: &Value) {
    match schema {
        Value::Object(object) => {
            merge_reference(object, definitions);
            spread(object);
            object.values_mut().for_each(|inner| merge_tagged(inner, definitions));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| merge_tagged(item, definitions)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn merge_reference(object: &mut Map<String, Value>, definitions: &Value) {
    let Some(name) = object.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix("#/$defs/")) else {
        return;
    };
    let variant = &definitions[name];
    let Some(Value::Object(fields)) = variant.get("properties") else { return };
    let Some(Value::Object(tag)) = object.get_mut("properties") else { return };
    tag.extend(fields.clone());
    require(object, &variant["required"]);
    object.remove("$ref");
}

/// Puts the fields of a struct into each variant of an enum that is flattened into it, for the same reason.
fn spread(object: &mut Map<String, Value>) {
    if !object.get("oneOf").is_some_and(Value::is_array) {
        return;
    }
    let Some(Value::Object(fields)) = object.remove("properties") else { return };
    let needed = object.remove("required").unwrap_or_default();
    object.remove("additionalProperties");
    for branch in object.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(branch) = branch.as_object_mut() else { continue };
        if let Some(Value::Object(variant)) = branch.get_mut("properties") {
            variant.extend(fields.clone());
            require(branch, &needed);
        }
    }
}

fn require(object: &mut Map<String, Value>, needed: &Value) {
    let required = object.entry("required").or_insert_with(|| Value::Array(Vec::new()));
    for name in needed.as_array().into_iter().flatten() {
        if let Some(required) = required.as_array_mut().filter(|required| !required.contains(name)) {
            required.push(name.clone());
        }
    }
}

fn tighten(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if object.contains_key("properties") {
        object.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().filter_map(Value::as_object_mut).for_each(strip_null);
    }
    bound_integer(object);
}

/// Rust's integer widths are no part of the contract; the bounds that they mean are, as far as JSON keeps integers.
fn bound_integer(object: &mut Map<String, Value>) {
    let safe = i64::try_from(SAFE_INTEGER_MAX).expect("2^53 − 1 is below 2^63");
    let bounds = match object.get("format").and_then(Value::as_str) {
        Some("uint8") => (0, i64::from(u8::MAX)),
        Some("uint16") => (0, i64::from(u16::MAX)),
        Some("uint32") => (0, i64::from(u32::MAX)),
        Some("uint64") => (0, safe),
        Some("int8") => (i64::from(i8::MIN), i64::from(i8::MAX)),
        Some("int16") => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
        Some("int64") => (-safe, safe),
        Some("float" | "double") => {
            object.remove("format");
            return;
        }
        _ => return,
    };
    object.remove("format");
    object.entry("minimum").or_insert(bounds.0.into());
    object.entry("maximum").or_insert(bounds.1.into());
}

/// Takes the null out of what schemars makes of an `Option`, unless the field is marked as nullable.
fn strip_null(property: &mut Map<String, Value>) {
    if property.remove("x-nullable").is_some() {
        return;
    }
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if property.get("default").is_some_and(Value::is_null) {
        property.remove("default");
    }
    if let Some(Value::Array(branches)) = property.get_mut("anyOf") {
        branches.retain(|branch| branch.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = branches.as_slice() {
            let only = only.clone();
            property.remove("anyOf");
            property.extend(only.into_iter().filter(|(key, _)| key != "description"));
        }
    }
}

/// The schema with its address and subject written into it; the content hash covers both.
pub fn identified(mut document: Value, parts: &Parts, row: &Row) -> Value {
    if let Some(schema) = document.as_object_mut() {
        schema.insert("$id".to_owned(), format!("schemas://{}", parts.schema_path()).into());
        schema.insert("x-subject".to_owned(), row.subject.clone().into());
    }
    document
}

/// Compiles a schema: formats are checked, nothing is fetched, and patterns run in linear time.
pub fn validator(document: &Value) -> Result<Validator, ValidationError<'static>> {
    compile(document)
}

/// The same for payloads that are read in place.
pub fn in_place_validator(document: &Value) -> Result<Validator<InPlace>, ValidationError<'static>> {
    compile(document)
}

fn compile<F: Json>(document: &Value) -> Result<Validator<F>, ValidationError<'static>> {
    ValidationOptions::<_, F>::default()
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex())
        .offline()
        .build(document)
}
