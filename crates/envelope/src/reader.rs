//! Reads an object field by field and remembers everything that is wrong with it, not only the first thing.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::json::{self, Members};
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
    /// Fields that nobody has asked for yet, each name once. A list: objects here have few, and a look at each beats a tree.
    fields: Members<'a>,
    pub violations: Vec<Violation>,
}

impl<'a> Reader<'a> {
    /// Reads an object whose JSON was already checked; `at` is its pointer.
    pub fn new(at: &str, text: &'a str) -> Result<Self, Violations> {
        Self::of(at, text.len(), json::members(text))
    }

    /// The same where its members are known; it has none where it is no object.
    pub fn of(at: &str, bytes: usize, members: Option<Members<'a>>) -> Result<Self, Violations> {
        match members {
            Some(fields) => Ok(Self { at: at.to_owned(), bytes, fields, violations: Vec::new() }),
            None => Err(Violation::new(Rule::NotAnObject, at, "must be a JSON object").into()),
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|(known, _)| known == name)
    }

    /// Whether a field is there and not yet taken.
    pub fn has(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    /// A field as it is written, taken out.
    fn raw(&mut self, name: &'static str) -> Option<&'a str> {
        let place = self.place(name)?;
        Some(self.fields.swap_remove(place).1)
    }

    /// The same of a mandatory one.
    fn demanded(&mut self, name: &'static str) -> Option<&'a str> {
        let raw = self.raw(name);
        if raw.is_none() {
            self.wrong(Rule::FieldMissing, name, "mandatory, and absent");
        }
        raw
    }

    /// Notes something wrong at a field.
    pub fn wrong(&mut self, rule: Rule, name: &str, message: impl Into<String>) {
        let name: String = name.chars().take(NAME_CHARS_MAX).collect();
        let pointer = format!("{}/{}", self.at, name.replace('~', "~0").replace('/', "~1"));
        self.violations.push(Violation::new(rule, pointer, message));
    }

    /// A mandatory field of a serde type.
    pub fn required<T: DeserializeOwned>(&mut self, name: &'static str) -> Option<T> {
        let raw = self.demanded(name)?;
        self.value(name, raw)
    }

    /// An optional field of a serde type; an explicit null is refused like any other wrong type.
    pub fn optional<T: DeserializeOwned>(&mut self, name: &'static str) -> Option<T> {
        let raw = self.raw(name)?;
        self.value(name, raw)
    }

    fn value<T: Deserialize<'a>>(&mut self, name: &'static str, raw: &'a str) -> Option<T> {
        match serde_json::from_str(raw) {
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

    /// A text, as it stands where it has no escapes: most fields are one, and serde looks at every byte again.
    fn string(&mut self, name: &'static str, raw: &'a str) -> Option<Cow<'a, str>> {
        match json::plain(raw) {
            Some(text) => Some(Cow::Borrowed(text)),
            None => self.value(name, raw).map(Cow::Owned),
        }
    }

    fn understood<T, E: ToString>(
        &mut self,
        (name, raw): (&'static str, &'a str),
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.string(name, raw)?;
        parse(&text).map_err(|error| self.wrong(Rule::FieldInvalid, name, error.to_string())).ok()
    }

    /// A mandatory text that a function understands.
    pub fn parsed<T, E: ToString>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let raw = self.demanded(name)?;
        self.understood((name, raw), parse)
    }

    /// An optional text that a function understands.
    pub fn parsed_optional<T, E: ToString>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let raw = self.raw(name)?;
        self.understood((name, raw), parse)
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
        let raw = self.demanded(name)?;
        self.string(name, raw)
    }

    /// A mandatory value, kept as it is written.
    pub fn verbatim(&mut self, name: &'static str) -> Option<Box<RawValue>> {
        let raw = self.demanded(name)?;
        self.value(name, raw)
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
        let raw = self.demanded(name)?;
        match Reader::new(&format!("{}/{name}", self.at), raw) {
            Ok(reader) => Some(reader),
            Err(Violations(violations)) => {
                self.violations.extend(violations);
                None
            }
        }
    }

    /// What is left, as it is written: fields that nobody asked for, by their names.
    pub fn rest(&mut self) -> BTreeMap<String, &'a str> {
        std::mem::take(&mut self.fields).into_iter().map(|(name, value)| (name.into_owned(), value)).collect()
    }

    /// Takes over what was wrong with a nested object; its unknown fields are wrong too.
    pub fn absorb(&mut self, nested: Reader<'a>) {
        self.violations.extend(nested.close());
    }

    /// Ends the reading: everything wrong, unknown fields included.
    pub fn close(mut self) -> Vec<Violation> {
        if self.fields.is_empty() {
            return self.violations;
        }
        for name in self.rest().into_keys() {
            self.wrong(Rule::FieldUnknown, &name, "this profile has no such field");
        }
        self.violations
    }
}

fn not_empty(text: &str) -> Result<String, &'static str> {
    if text.is_empty() { Err("must not be empty") } else { Ok(text.to_owned()) }
}
