//! Emission of JSON Schemas from Rust types.

use jsonschema::{PatternOptions, ValidationError, Validator};
use karwan_envelope::json::SAFE_INTEGER_MAX;
use karwan_envelope::row::Row;
use karwan_envelope::subject::Parts;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

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
    schema.to_value()
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
    jsonschema::options()
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex())
        .offline()
        .build(document)
}
