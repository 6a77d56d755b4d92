//! Envelopes as people may see them: indented, number by number as they are stored, personal values masked.
//!
//! A value is personal where the schema that the envelope names marks it (`x-pii`), itself or by a type that it refers to.
//! A payload whose schema nobody knows is masked whole: what is not known to be harmless is not shown.

use std::fmt::Write as _;
use std::sync::Arc;

use karwan_envelope::directory::SchemaUri;
use karwan_registry::Catalogue;
use karwan_store::{Error, Observer};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Deeper levels are not shown; no payload of ours has them.
const DEPTH_MAX: usize = 64;
/// Schema nodes that may speak of one value; a schema that refers to itself ends here.
const NODES_MAX: usize = 64;

/// What is known of the personal values in a payload.
pub enum Sight {
    /// Somebody asked to see everything.
    All,
    /// The payload's schema.
    Schema(Value),
    /// Nobody knows the schema.
    Blind,
}

impl Sight {
    /// Looks for the schema that an envelope names: in the compiled-in catalogues, then in the store.
    pub async fn of(
        store: &Observer,
        catalogues: &[Arc<Catalogue>],
        subject: &str,
        envelope: &str,
    ) -> Result<Self, Error> {
        if let Some(uri) = schema_uri(envelope) {
            let known = catalogues.iter().find_map(|catalogue| catalogue.schema_by_hash(&uri.hash));
            if let Some(schema) = known {
                return Ok(Self::Schema(schema.document.clone()));
            }
            let stored = store.schema(&uri.hash.to_string()).await?;
            return Ok(stored.and_then(|text| serde_json::from_str(&text).ok()).map_or(Self::Blind, Self::Schema));
        }
        let known = catalogues.iter().find_map(|catalogue| catalogue.schema(subject));
        Ok(known.map_or(Self::Blind, |schema| Self::Schema(schema.document.clone())))
    }
}

/// The schema that an envelope names, in whichever form it is written.
fn schema_uri(envelope: &str) -> Option<SchemaUri> {
    let Entries(fields) = serde_json::from_str(envelope).ok()?;
    let named = fields.iter().find(|(name, _)| name == "schemaUri" || name == "dataschema")?;
    serde_json::from_str::<String>(named.1.get()).ok()?.parse().ok()
}

/// An envelope for people; none where it is no JSON object.
pub fn envelope(text: &str, sight: &Sight) -> Option<String> {
    let Entries(fields) = serde_json::from_str(text).ok()?;
    let mut out = String::new();
    let page = Page { root: None, blind: false };
    page.members(&mut out, &fields, 0, |out, name, value| match (name, sight) {
        ("payload" | "data", Sight::Schema(root)) => {
            Page { root: Some(root), blind: false }.value(out, value, &[root], 1);
        }
        ("payload" | "data", Sight::Blind) => Page { root: None, blind: true }.value(out, value, &[], 1),
        _ => page.value(out, value, &[], 1),
    });
    Some(out)
}

/// Any JSON that no schema speaks of, such as the body of a call.
pub fn body(text: &str, sight: &Sight) -> Option<String> {
    let value: &RawValue = serde_json::from_str(text).ok()?;
    let mut out = String::new();
    Page { root: None, blind: !matches!(sight, Sight::All) }.value(&mut out, value, &[], 0);
    Some(out)
}

/// An object's members in their order, not yet read.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de> serde::Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Entries(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// How one payload is printed.
struct Page<'s> {
    root: Option<&'s Value>,
    /// Every value is masked; names are not.
    blind: bool,
}

impl<'s> Page<'s> {
    fn value(&self, out: &mut String, value: &RawValue, nodes: &[&'s Value], depth: usize) {
        let nodes = self.applying(nodes);
        if let Some(class) = nodes.iter().find_map(|node| node["x-pii"].as_str()) {
            return push(out, &format!("\"‹personal: {class}›\""));
        }
        let text = value.get();
        match text.as_bytes().first() {
            Some(b'{' | b'[') if depth >= DEPTH_MAX => push(out, "\"‹too deep to show›\""),
            Some(b'{') => {
                let Entries(members) = serde_json::from_str(text).unwrap_or(Entries(Vec::new()));
                self.members(out, &members, depth, |out, name, value| {
                    self.value(out, value, &below(&nodes, name), depth + 1);
                });
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
                self.items(out, &items, &items_of(&nodes), depth);
            }
            _ if self.blind => push(out, "\"‹hidden›\""),
            _ => push(out, &printable(text)),
        }
    }

    fn members(
        &self,
        out: &mut String,
        members: &[(String, &RawValue)],
        depth: usize,
        each: impl Fn(&mut String, &str, &RawValue),
    ) {
        push(out, "{");
        for (place, (name, value)) in members.iter().enumerate() {
            line(out, place, depth);
            push(out, &printable(&Value::from(name.as_str()).to_string()));
            push(out, ": ");
            each(out, name, value);
        }
        close(out, members.is_empty(), depth, "}");
    }

    fn items(&self, out: &mut String, items: &[&RawValue], nodes: &[&'s Value], depth: usize) {
        push(out, "[");
        for (place, value) in items.iter().enumerate() {
            line(out, place, depth);
            self.value(out, value, nodes, depth + 1);
        }
        close(out, items.is_empty(), depth, "]");
    }

    /// The nodes themselves, what they refer to, and every branch that may apply: a mask too many is better than one too few.
    fn applying(&self, nodes: &[&'s Value]) -> Vec<&'s Value> {
        let mut all: Vec<&'s Value> = nodes.to_vec();
        let mut next = 0;
        while next < all.len() && all.len() < NODES_MAX {
            let node = all[next];
            let target = node["$ref"].as_str().and_then(|it| self.root?.pointer(it.trim_start_matches('#')));
            let branches = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|name| node[name].as_array()).flatten();
            let conditions = ["then", "else"].into_iter().filter_map(|name| node.get(name));
            all.extend(target.into_iter().chain(branches).chain(conditions));
            next += 1;
        }
        all
    }
}

/// What the nodes say of a member.
fn below<'s>(nodes: &[&'s Value], name: &str) -> Vec<&'s Value> {
    let of = |node: &'s Value| {
        let named = node["properties"].get(name);
        let patterns = node["patternProperties"].as_object().into_iter().flat_map(|patterns| patterns.values());
        let others = node.get("additionalProperties").filter(|_| named.is_none());
        named.into_iter().chain(patterns).chain(others)
    };
    nodes.iter().flat_map(|node| of(node)).collect()
}

/// What the nodes say of an array's items, wherever they stand.
fn items_of<'s>(nodes: &[&'s Value]) -> Vec<&'s Value> {
    let of = |node: &'s Value| {
        let tuple = node["prefixItems"].as_array().into_iter().flatten();
        node.get("items").into_iter().chain(tuple)
    };
    nodes.iter().flat_map(|node| of(node)).collect()
}

fn push(out: &mut String, text: &str) {
    out.push_str(text);
}

fn line(out: &mut String, place: usize, depth: usize) {
    let comma = if place == 0 { "" } else { "," };
    write!(out, "{comma}\n{:1$}", "", 2 * (depth + 1)).expect("a text can be written to");
}

fn close(out: &mut String, empty: bool, depth: usize, bracket: &str) {
    if !empty {
        write!(out, "\n{:1$}", "", 2 * depth).expect("a text can be written to");
    }
    push(out, bracket);
}

/// JSON escapes what steers a terminal below the space; what lies above it is escaped here.
fn printable(text: &str) -> String {
    let shown = |char: char| match char.is_control() {
        true => format!("\\u{:04x}", u32::from(char)),
        false => char.to_string(),
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Sight, body, envelope};

    fn schema() -> Sight {
        Sight::Schema(json!({
            "properties": {
                "name": { "type": "string", "x-pii": "name" },
                "guest": { "$ref": "#/$defs/Guest" },
                "rooms": { "items": { "anyOf": [{ "$ref": "#/$defs/Guest" }, { "type": "null" }] } },
                "self": { "$ref": "#" },
            },
            "additionalProperties": { "x-pii": "other" },
            "$defs": { "Guest": { "properties": { "mail": { "x-pii": "email" }, "nights": {} } } },
        }))
    }

    #[test]
    fn personal_values_are_masked_wherever_the_schema_marks_them() {
        let text = r#"{"eventType":"x","payload":{"name":"Zarina","guest":{"mail":"z@example","nights":1.10},"rooms":[{"mail":"a@b"}],"extra":"Z","self":{"name":["Z"]}}}"#;
        let shown = envelope(text, &schema()).expect("it is an object");
        for leak in ["Zarina", "z@example", "a@b", "\"Z\""] {
            assert!(!shown.contains(leak), "{leak}: {shown}");
        }
        assert!(shown.contains("‹personal: email›") && shown.contains("\"eventType\": \"x\""), "{shown}");
        assert!(shown.contains("1.10"), "numbers are printed as they are stored: {shown}");
        let all = envelope(text, &Sight::All).expect("it is an object");
        assert!(all.contains("Zarina") && all.contains("1.10"), "{all}");
    }

    #[test]
    fn what_no_schema_speaks_of_is_hidden_but_for_its_names() {
        let shown = envelope(r#"{"payload":{"mail":"z@example","list":[1,true]}}"#, &Sight::Blind).expect("an object");
        assert!(!shown.contains("z@example") && !shown.contains("true") && shown.contains("mail"), "{shown}");
        assert_eq!(body("7", &Sight::Blind).as_deref(), Some("\"‹hidden›\""));
        assert_eq!(body("7", &Sight::All).as_deref(), Some("7"));
        assert_eq!(envelope("not JSON", &Sight::All), None);
    }

    #[test]
    fn depth_ends_and_nothing_steers_a_terminal() {
        let deep = format!("{{\"payload\":{}1{}}}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(envelope(&deep, &schema()).is_some_and(|shown| shown.contains("too deep")));
        let shown = envelope("{\"a\":\"\u{9b}31m\"}", &Sight::All).expect("an object");
        assert!(!shown.contains('\u{9b}'), "{shown:?}");
    }
}
