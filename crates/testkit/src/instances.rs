//! Documents that a schema admits: the least one, and as many full ones as are asked for.
//!
//! Covers what our own schemas use (closed objects, lists, maps, references, tagged unions, enums, patterns, formats,
//! ranges); another construct is a panic that names it, so that a test cannot pass by skipping.

use proptest::strategy::{Strategy, ValueTree};
use proptest::string::string_regex;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

/// How many texts of a pattern are drawn for one that fits the bounds on its length.
const TRIES_MAX: usize = 1000;

/// Documents of one schema, the same ones every time.
pub struct Instances<'s> {
    root: &'s Value,
    runner: TestRunner,
    /// Counts up, so that every enum value and every union branch has its turn.
    turn: usize,
}

impl<'s> Instances<'s> {
    /// Documents of this schema.
    pub fn of(schema: &'s Value) -> Self {
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        Self { root: schema, runner: TestRunner::new_with_rng(Config::default(), rng), turn: 0 }
    }

    /// A document with all optional fields, or with none.
    pub fn next(&mut self, optional: bool) -> Value {
        self.turn += 1;
        self.value(self.root, optional)
    }

    fn value(&mut self, schema: &Value, optional: bool) -> Value {
        if let Some(reference) = schema["$ref"].as_str() {
            let target = self.root.pointer(reference.trim_start_matches('#')).expect("our references are local");
            return self.value(target, optional);
        }
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        for union in ["enum", "oneOf", "anyOf"] {
            if let Some(choices) = schema[union].as_array() {
                let choice = &choices[self.turn % choices.len()];
                return if union == "enum" { choice.clone() } else { self.merged(schema, choice, optional) };
            }
        }
        match schema["type"].as_str() {
            Some("object") => self.object(schema, optional),
            Some("array") => {
                let least = schema["minItems"].as_u64().unwrap_or(0);
                let count = if optional { least.max(1) } else { least };
                (0..count).map(|_| self.value(&schema["items"], optional)).collect()
            }
            Some("string") => self.text(schema).into(),
            Some("boolean") => self.turn.is_multiple_of(2).into(),
            Some("integer") => self.integer(schema),
            Some("number") => schema["minimum"].as_f64().map_or(json!(0.5), |least| json!(least.max(0.5))),
            None if schema["type"].is_array() => {
                let kinds = schema["type"].as_array().expect("it is an array");
                let kind = &kinds[self.turn % kinds.len()];
                if kind == "null" { Value::Null } else { self.merged(schema, &json!({ "type": kind }), optional) }
            }
            other => panic!("no document is made of {other:?} in {schema}"),
        }
    }

    /// A branch of a union with what stands beside the union.
    fn merged(&mut self, schema: &Value, branch: &Value, optional: bool) -> Value {
        let mut whole = schema.as_object().expect("a schema").clone();
        whole.retain(|keyword, _| {
            !["oneOf", "anyOf", "type"].contains(&keyword.as_str()) || branch.get("type").is_none()
        });
        whole.remove("oneOf");
        whole.remove("anyOf");
        whole.extend(branch.as_object().expect("a branch").clone());
        self.value(&Value::Object(whole), optional)
    }

    fn object(&mut self, schema: &Value, optional: bool) -> Value {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut object = Map::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let too_few = (object.len() as u64) < schema["minProperties"].as_u64().unwrap_or(0);
            if optional || too_few || required.contains(&name.as_str()) {
                object.insert(name.clone(), self.value(property, optional));
            }
        }
        if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
            let name = schema["propertyNames"]["pattern"].as_str().map_or("en".to_owned(), |it| self.matching(it));
            object.insert(name, self.value(values, optional));
        }
        if let Some((pattern, values)) = schema["patternProperties"].as_object().and_then(|it| it.iter().next()) {
            let name = self.matching(pattern);
            object.insert(name, self.value(values, optional));
        }
        Value::Object(object)
    }

    fn text(&mut self, schema: &Value) -> String {
        if let Some(pattern) = schema["pattern"].as_str().filter(|_| schema.get("format").is_none()) {
            let bounds = schema["minLength"].as_u64().unwrap_or(0)..=schema["maxLength"].as_u64().unwrap_or(u64::MAX);
            let mut texts = (0..TRIES_MAX).map(|_| self.matching(pattern));
            let text = texts.find(|text| bounds.contains(&(text.chars().count() as u64)));
            return text.unwrap_or_else(|| panic!("no text of {pattern} fits {bounds:?}"));
        }
        match schema["format"].as_str() {
            Some("date-time") => format!("2026-05-01T14:00:{:02}.117Z", self.turn % 60),
            Some("date") => format!("2026-05-{:02}", self.turn % 28 + 1),
            Some("uuid") => format!("0190c2f0-0000-7000-8000-{:012x}", self.turn),
            Some("uri") => "https://example.org/a".to_owned(),
            Some("email") => "someone@example.org".to_owned(),
            Some(other) => panic!("no text of format {other} is made"),
            None => {
                let least = schema["minLength"].as_u64().unwrap_or(0).max(1);
                "ش".repeat(least as usize)
            }
        }
    }

    fn matching(&mut self, pattern: &str) -> String {
        // What counts as white space differs between dialects of expressions; printable ASCII counts in none.
        let inside = pattern.trim_start_matches('^').trim_end_matches('$').replace("\\S", "[!-~]");
        let texts = string_regex(&inside).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        texts.new_tree(&mut self.runner).expect("a text exists").current()
    }

    /// The bounds in turn.
    fn integer(&self, schema: &Value) -> Value {
        let (least, most) = (schema["minimum"].as_i64().unwrap_or(0), schema["maximum"].as_i64().unwrap_or(1000));
        let step = schema["multipleOf"].as_i64().unwrap_or(1);
        let integer = [least, most, i64::midpoint(least, most)][self.turn % 3];
        (integer / step * step).into()
    }
}
