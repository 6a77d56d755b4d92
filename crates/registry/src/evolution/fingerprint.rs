//! A text that two schemas share only when they say the same, word for word, annotations aside.
//!
//! Used where the gate compares by text: constructs it does not decide, and unions too wide to multiply out.

use std::collections::HashMap;

use serde_json::Value;

use super::canonical::canonical;
use super::error::Error;
use super::normal::Forms;
use super::spot::{Conj, SpotId};

/// Keywords that assert nothing.
pub(super) const ANNOTATIONS: [&str; 16] = [
    "title",
    "description",
    "examples",
    "$comment",
    "default",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$schema",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$vocabulary",
    "$defs",
    "definitions",
    "contentSchema",
];

/// Keywords whose values hold subschemas; the walk follows those instead of quoting them.
pub(super) const APPLICATORS: [&str; 24] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "dependentSchemas",
    "dependencies",
    "items",
    "additionalItems",
    "prefixItems",
    "contains",
    "unevaluatedProperties",
    "unevaluatedItems",
    "required",
    "enum",
    "const",
];

impl Forms<'_> {
    /// Numbers the spots reachable from `conj` in the order of the walk and writes each one's words once.
    pub(super) fn fingerprint(&mut self, conj: &Conj) -> Result<String, Error> {
        let mut numbers: HashMap<SpotId, usize> = HashMap::new();
        let mut order: Vec<SpotId> = Vec::new();
        let mut number = |id: SpotId, order: &mut Vec<SpotId>| {
            let next = numbers.len();
            *numbers.entry(id).or_insert_with(|| {
                order.push(id);
                next
            })
        };
        let mut text = String::new();
        for id in conj {
            // The same words may mean another thing in another dialect.
            let draft = self.arena.spot(*id).draft;
            text.push_str(&format!("{draft:?}&{}", number(*id, &mut order)));
        }
        let mut walked = 0;
        while let Some(id) = order.get(walked).copied() {
            walked += 1;
            self.spend(1, Some(&id))?;
            let spot = self.arena.spot(id);
            text.push_str(&words(spot.source));
            // A constant of the gate's own has no words.
            let own = spot.keywords.values.iter().flatten().filter(|_| !spot.source.is_object());
            own.for_each(|(key, _)| text.push_str(key));
            for (edge, target) in self.edges(id) {
                text.push_str(&format!("{edge}->{};", number(target, &mut order)));
            }
        }
        Ok(text)
    }

    /// The subschemas of a spot, each with a name that is the same in both dialects' spelling of one thing.
    pub(super) fn edges(&self, id: SpotId) -> Vec<(String, SpotId)> {
        let keywords = &self.arena.spot(id).keywords;
        let mut edges: Vec<(String, SpotId)> = Vec::new();
        let lists = [("allOf", &keywords.all_of), ("anyOf", &keywords.any_of), ("oneOf", &keywords.one_of)];
        for (name, list) in lists {
            edges.extend(list.iter().map(|target| (name.to_owned(), *target)));
        }
        let singles = [
            ("$ref", keywords.reference),
            ("not", keywords.not),
            ("unevaluatedProperties", keywords.unevaluated_properties),
            ("unevaluatedItems", keywords.unevaluated_items),
        ];
        edges.extend(singles.into_iter().filter_map(|(name, target)| Some((name.to_owned(), target?))));
        if let Some(conditional) = keywords.conditional {
            edges.push(("if".to_owned(), conditional.test));
            edges.extend(conditional.then.map(|target| ("then".to_owned(), target)));
            edges.extend(conditional.otherwise.map(|target| ("else".to_owned(), target)));
        }
        edges.extend(keywords.dependent_schemas.iter().map(|(name, target)| (format!("dependent {name:?}"), *target)));
        for layer in keywords.object.iter().flat_map(|object| &object.layers) {
            edges.extend(layer.properties.iter().map(|(name, target)| (format!("field {name:?}"), *target)));
            edges.extend(layer.patterns.iter().map(|(name, target)| (format!("pattern {name:?}"), *target)));
            edges.extend(layer.additional.map(|target| ("additional".to_owned(), target)));
        }
        if let Some(array) = &keywords.array {
            for layer in &array.layers {
                edges.extend(layer.prefix.iter().map(|target| ("position".to_owned(), *target)));
                edges.extend(layer.rest.map(|target| ("items".to_owned(), target)));
            }
            edges.extend(array.contains.map(|contains| ("contains".to_owned(), contains.schema)));
        }
        edges.extend(keywords.object.iter().filter_map(|object| Some(("names".to_owned(), object.names?))));
        edges
    }
}

/// What a schema object asserts besides its subschemas.
fn words(source: &Value) -> String {
    let Some(fields) = source.as_object() else { return canonical(source) };
    let mut words: Vec<String> = Vec::new();
    for (keyword, value) in fields {
        let keyword = keyword.as_str();
        if ANNOTATIONS.contains(&keyword) || keyword.starts_with("x-") {
            continue;
        }
        let sorted = match (keyword, value) {
            ("required" | "enum", Value::Array(items)) => {
                let mut items: Vec<String> = items.iter().map(canonical).collect();
                items.sort();
                items.join(",")
            }
            ("const", value) => canonical(value),
            // The list form of draft 07 has no subschema to follow.
            ("dependencies", Value::Object(fields)) => {
                let lists = fields.iter().filter(|(_, value)| value.is_array());
                lists.map(|(name, value)| format!("{name:?}:{}", canonical(value))).collect()
            }
            (keyword, _) if APPLICATORS.contains(&keyword) => continue,
            (_, value) => canonical(value),
        };
        words.push(format!("{keyword}={sorted}"));
    }
    words.sort();
    format!("{{{}}}", words.join(";"))
}
