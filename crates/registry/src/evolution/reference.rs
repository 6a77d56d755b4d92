//! Resolves `$ref` within one document, by JSON pointer or anchor.

use serde_json::Value;

use super::canonical::escape;
use super::error::Fault;
use super::spot::Draft;

/// Where a reference leads.
pub(super) struct Target<'a> {
    pub(super) pointer: String,
    pub(super) value: &'a Value,
    pub(super) depth: usize,
}

pub(super) fn resolve<'a>(root: &'a Value, draft: Draft, reference: &str) -> Result<Target<'a>, Fault> {
    let unresolved = || Fault::UnresolvedReference { reference: reference.to_owned() };
    let fragment = fragment_of(root, reference)?;
    let fragment = percent_decoded(fragment).ok_or_else(unresolved)?;
    if fragment.is_empty() {
        return Ok(Target { pointer: String::new(), value: root, depth: 0 });
    }
    let Some(path) = fragment.strip_prefix('/') else {
        return anchored(root, draft, &fragment).ok_or_else(unresolved);
    };
    let (mut value, mut pointer, mut depth) = (root, String::new(), 0);
    for token in path.split('/') {
        let token = token.replace("~1", "/").replace("~0", "~");
        value = step(value, &token).ok_or_else(unresolved)?;
        if rebases(value, draft) {
            return Err(Fault::NestedIdentifier);
        }
        pointer = format!("{pointer}/{}", escape(&token));
        depth += 1;
    }
    // Two tokens are about one schema step (`properties/name`); the exact count matters only to the depth bound.
    Ok(Target { pointer, value, depth: depth / 2 })
}

/// The part after `#`, when the rest names this document.
fn fragment_of<'r>(root: &Value, reference: &'r str) -> Result<&'r str, Fault> {
    let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let own = root.get("$id").and_then(Value::as_str).map(|id| id.trim_end_matches('#'));
    if document.is_empty() || own == Some(document) {
        Ok(fragment)
    } else {
        Err(Fault::RemoteReference { reference: reference.to_owned() })
    }
}

fn step<'a>(value: &'a Value, token: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => fields.get(token),
        Value::Array(items) if token == "0" || !token.starts_with('0') => items.get(token.parse::<usize>().ok()?),
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn rebases(value: &Value, draft: Draft) -> bool {
    value.get("$id").and_then(Value::as_str).is_some_and(|id| !(draft == Draft::Seven && id.starts_with('#')))
}

/// Finds the one object that carries the anchor; an anchor given twice is no anchor.
fn anchored<'a>(root: &'a Value, draft: Draft, name: &str) -> Option<Target<'a>> {
    let mut pending = vec![(root, String::new(), 0)];
    let mut found = None;
    while let Some((value, pointer, depth)) = pending.pop() {
        match value {
            Value::Object(fields) => {
                for (key, field) in fields {
                    pending.push((field, format!("{pointer}/{}", escape(key)), depth + 1));
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    pending.push((item, format!("{pointer}/{index}"), depth + 1));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => continue,
        }
        let carries = match draft {
            Draft::Seven => {
                value.get("$id").and_then(Value::as_str).is_some_and(|id| id.strip_prefix('#') == Some(name))
            }
            Draft::TwentyTwenty => ["$anchor", "$dynamicAnchor"]
                .iter()
                .any(|keyword| value.get(keyword).and_then(Value::as_str) == Some(name)),
        };
        if carries && found.replace(Target { pointer, value, depth: depth / 2 }).is_some() {
            return None;
        }
    }
    found
}

fn percent_decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        if bytes[index] == b'%' {
            let digits = text.get(index + 1..index + 3)?;
            decoded.push(u8::from_str_radix(digits, 16).ok()?);
            index += 3;
        } else {
            decoded.push(bytes[index]);
            index += 1;
        }
    }
    String::from_utf8(decoded).ok()
}
