//! Reads an object field by field and remembers everything that is wrong with it, not only the first thing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::json::plain_length;
use crate::violation::{Rule, Violation, Violations};

/// How much of a field's name stands in a pointer.
const NAME_CHARS_MAX: usize = 100;
/// How long the message about a value becomes, whatever the value.
const MESSAGE_CHARS_MAX: usize = 300;

/// An object being taken apart.
pub(crate) struct Reader<'a> {
    at: String,
    /// How long its text is.
    pub bytes: usize,
    fields: Fields<'a>,
    pub violations: Vec<Violation>,
}

/// Fields that nobody has asked for yet, each name once. A list: objects here have few, and a look at each beats a tree.
#[derive(Default)]
struct Fields<'a>(Vec<(Name<'a>, &'a RawValue)>);

/// A text that is copied only where it has escapes.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Fields<'a> {
    fn place(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|(known, _)| known.0 == name)
    }

    /// By their names, in order.
    fn sorted(self) -> BTreeMap<String, &'a RawValue> {
        self.0.into_iter().map(|(name, value)| (name.0.into_owned(), value)).collect()
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::with_capacity(20);
                while let Some(entry) = map.next_entry()? {
                    fields.push(entry);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

impl<'a> Reader<'a> {
    /// Reads an object whose JSON was already checked; `at` is its pointer.
    pub fn new(at: &str, text: &'a str) -> Result<Self, Violations> {
        match serde_json::from_str(text) {
            Ok(fields) => Ok(Self { at: at.to_owned(), bytes: text.len(), fields, violations: Vec::new() }),
            Err(_) => Err(Violation::new(Rule::NotAnObject, at, "must be a JSON object").into()),
        }
    }

    /// The raw value of a field, taken out.
    pub fn raw(&mut self, name: &'static str) -> Option<&'a RawValue> {
        let place = self.fields.place(name)?;
        Some(self.fields.0.swap_remove(place).1)
    }

    /// Whether a field is there and not yet taken.
    pub fn has(&self, name: &str) -> bool {
        self.fields.place(name).is_some()
    }

    /// Notes something wrong at a field.
    pub fn wrong(&mut self, rule: Rule, name: &str, message: impl Into<String>) {
        let name: String = name.chars().take(NAME_CHARS_MAX).collect();
        let pointer = format!("{}/{}", self.at, name.replace('~', "~0").replace('/', "~1"));
        self.violations.push(Violation::new(rule, pointer, message));
    }

    /// A mandatory field of a serde type.
    pub fn required<T: DeserializeOwned>(&mut self, name: &'static str) -> Option<T> {
        if !self.has(name) {
            self.missing(name);
        }
        self.optional(name)
    }

    /// An optional field of a serde type; an explicit null is refused like any other wrong type.
    pub fn optional<T: DeserializeOwned>(&mut self, name: &'static str) -> Option<T> {
        self.read(name)
    }

    fn read<T: Deserialize<'a>>(&mut self, name: &'static str) -> Option<T> {
        let raw = self.raw(name)?;
        self.value(name, raw)
    }

    fn value<T: Deserialize<'a>>(&mut self, name: &'static str, raw: &'a RawValue) -> Option<T> {
        match serde_json::from_str(raw.get()) {
            Ok(value) => Some(value),
            Err(error) => {
                let message = error.to_string();
                // The position is that inside the field's own text, and would mislead; the value may be very long.
                let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
                let message: String = message.chars().take(MESSAGE_CHARS_MAX).collect();
                self.wrong(Rule::FieldInvalid, name, message);
                None
            }
        }
    }

    /// An optional text, as it stands where it has no escapes: most fields are one, and serde looks at every byte again.
    fn string(&mut self, name: &'static str) -> Option<Cow<'a, str>> {
        let raw = self.raw(name)?;
        match plain(raw.get()) {
            Some(text) => Some(Cow::Borrowed(text)),
            None => self.value(name, raw).map(|Name(text)| text),
        }
    }

    /// A mandatory text that a function understands.
    pub fn parsed<T, E: ToString>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        if !self.has(name) {
            self.missing(name);
        }
        self.parsed_optional(name, parse)
    }

    /// An optional text that a function understands.
    pub fn parsed_optional<T, E: ToString>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.string(name)?;
        parse(&text).map_err(|error| self.wrong(Rule::FieldInvalid, name, error.to_string())).ok()
    }

    /// A mandatory text that says something.
    pub fn text(&mut self, name: &'static str) -> Option<String> {
        self.parsed(name, not_empty)
    }

    /// An optional text; where it is there, it says something.
    pub fn text_optional(&mut self, name: &'static str) -> Option<String> {
        self.parsed_optional(name, not_empty)
    }

    /// A mandatory text, whatever it says.
    pub fn any_text(&mut self, name: &'static str) -> Option<Cow<'a, str>> {
        if !self.has(name) {
            self.missing(name);
        }
        self.string(name)
    }

    /// A mandatory value, kept as it is written.
    pub fn verbatim(&mut self, name: &'static str) -> Option<Box<RawValue>> {
        if !self.has(name) {
            self.missing(name);
        }
        self.raw(name).map(ToOwned::to_owned)
    }

    /// A mandatory text that has only one spelling.
    pub fn constant(&mut self, name: &'static str, expected: &'static str) {
        let text = self.any_text(name);
        if text.is_some_and(|text| text != expected) {
            self.wrong(Rule::FieldInvalid, name, format!("must be {expected}"));
        }
    }

    /// A nested object.
    pub fn object(&mut self, name: &'static str) -> Option<Reader<'a>> {
        let Some(raw) = self.raw(name) else {
            self.missing(name);
            return None;
        };
        match Reader::new(&format!("{}/{name}", self.at), raw.get()) {
            Ok(reader) => Some(reader),
            Err(Violations(violations)) => {
                self.violations.extend(violations);
                None
            }
        }
    }

    /// What is left: fields that nobody asked for.
    pub fn rest(&mut self) -> BTreeMap<String, &'a RawValue> {
        std::mem::take(&mut self.fields).sorted()
    }

    /// Takes over what was wrong with a nested object; its unknown fields are wrong too.
    pub fn absorb(&mut self, nested: Reader<'a>) {
        self.violations.extend(nested.close());
    }

    /// Ends the reading: everything wrong, unknown fields included.
    pub fn close(mut self) -> Vec<Violation> {
        if self.fields.0.is_empty() {
            return self.violations;
        }
        for name in self.rest().into_keys() {
            self.wrong(Rule::FieldUnknown, &name, "this profile has no such field");
        }
        self.violations
    }

    fn missing(&mut self, name: &'static str) {
        self.wrong(Rule::FieldMissing, name, "mandatory, and absent");
    }
}

/// The text between the quotes of a string without escapes; of JSON that was checked.
fn plain(raw: &str) -> Option<&str> {
    let text = raw.strip_prefix('"')?.strip_suffix('"')?;
    (plain_length(text.as_bytes()) == text.len()).then_some(text)
}

fn not_empty(text: &str) -> Result<String, &'static str> {
    if text.is_empty() { Err("must not be empty") } else { Ok(text.to_owned()) }
}
