//! One spelling for equal JSON values, and the size check every input passes first.

use serde_json::Value;

use super::error::{Error, Fault, Side};
use super::limits::{JSON_DEPTH_MAX, JSON_NODES_MAX, QUOTED_CHARS_MAX};
use super::number::Num;

/// Refuses a document that recursion could not walk. Itself free of recursion.
pub(super) fn measure(side: Side, root: &Value) -> Result<(), Error> {
    let mut pending = vec![(root, 0_usize)];
    let mut nodes = 0_usize;
    while let Some((value, depth)) = pending.pop() {
        nodes += 1;
        if depth > JSON_DEPTH_MAX {
            return Err(Error::new(side, "", Fault::TooDeep { limit: JSON_DEPTH_MAX }));
        }
        if nodes > JSON_NODES_MAX {
            return Err(Error::new(side, "", Fault::TooLarge { what: "JSON values", limit: JSON_NODES_MAX }));
        }
        match value {
            Value::Array(items) => pending.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => pending.extend(fields.values().map(|field| (field, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Ok(())
}

/// The text that equal values share: keys sorted, `1.0` written `1`.
pub(super) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => text.push_str(&value.to_string()),
        Value::Number(number) => text.push_str(&Num::of(number).to_string()),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_canonical(item, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(name, _)| name.as_str());
            text.push('{');
            for (index, (name, field)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write_canonical(field, text);
            }
            text.push('}');
        }
    }
}

/// A value as a finding quotes it, cut at the bound.
pub(super) fn quoted(text: &str) -> String {
    if text.chars().count() <= QUOTED_CHARS_MAX {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(QUOTED_CHARS_MAX).collect();
    cut.push('…');
    cut
}

/// The JSON type's name, for errors.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// One JSON pointer token.
pub(super) fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}
