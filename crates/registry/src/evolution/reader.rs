//! Reads keyword values, refusing those of the wrong form.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::canonical::canonical;
use super::error::{Error, Fault, Side};
use super::kind::{Kind, Kinds};
use super::number::{Bound, Num};
use super::spot::{Count, Values};

/// One schema object with its place, so that every refusal can name it.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a, 'p> {
    pub(super) fields: &'a Map<String, Value>,
    pub(super) side: Side,
    pub(super) pointer: &'p str,
}

impl<'a> Reader<'a, '_> {
    pub(super) fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.fields.get(keyword)
    }

    pub(super) fn malformed(&self, keyword: &str, expected: &'static str) -> Error {
        let pointer = format!("{}/{}", self.pointer, super::canonical::escape(keyword));
        Error::new(self.side, pointer, Fault::MalformedKeyword { keyword: keyword.to_owned(), expected })
    }

    pub(super) fn text(&self, keyword: &str) -> Result<Option<&'a str>, Error> {
        self.get(keyword).map(|value| value.as_str().ok_or_else(|| self.malformed(keyword, "a string"))).transpose()
    }

    pub(super) fn flag(&self, keyword: &str) -> Result<bool, Error> {
        self.get(keyword).map_or(Ok(false), |value| value.as_bool().ok_or_else(|| self.malformed(keyword, "a boolean")))
    }

    pub(super) fn number(&self, keyword: &str) -> Result<Option<Num>, Error> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(Num::of(number))),
            Some(_) => Err(self.malformed(keyword, "a number")),
        }
    }

    /// The tighter of the inclusive and the exclusive bound of one end.
    pub(super) fn bound(&self, inclusive: &str, exclusive: &str, lower: bool) -> Result<Option<Bound>, Error> {
        let inclusive = self.number(inclusive)?.map(|value| Bound { value, exclusive: false });
        let exclusive = self.number(exclusive)?.map(|value| Bound { value, exclusive: true });
        Ok(match (inclusive, exclusive) {
            (Some(left), Some(right)) => Some(if left.admits(right, lower) { right } else { left }),
            (left, right) => left.or(right),
        })
    }

    pub(super) fn multiple_of(&self) -> Result<Option<Num>, Error> {
        let multiple = self.number("multipleOf")?;
        match multiple {
            Some(value) if !value.is_positive() => Err(self.malformed("multipleOf", "a number above zero")),
            multiple => Ok(multiple),
        }
    }

    fn natural(&self, keyword: &str) -> Result<Option<u64>, Error> {
        match self.number(keyword)? {
            None => Ok(None),
            Some(Num::Int(value)) if value >= 0 => Ok(Some(u64::try_from(value).unwrap_or(u64::MAX))),
            Some(Num::Int(_) | Num::Float(_)) => Err(self.malformed(keyword, "a whole number, zero or more")),
        }
    }

    pub(super) fn count(&self, min: &str, max: &str) -> Result<Count, Error> {
        Ok(Count { min: self.natural(min)?.unwrap_or(0), max: self.natural(max)? })
    }

    pub(super) fn object(&self, keyword: &str) -> Result<Option<&'a Map<String, Value>>, Error> {
        self.get(keyword).map(|value| value.as_object().ok_or_else(|| self.malformed(keyword, "an object"))).transpose()
    }

    pub(super) fn array(&self, keyword: &str) -> Result<Option<&'a Vec<Value>>, Error> {
        self.get(keyword).map(|value| value.as_array().ok_or_else(|| self.malformed(keyword, "an array"))).transpose()
    }

    pub(super) fn names(&self, keyword: &str, value: &'a Value) -> Result<BTreeSet<&'a str>, Error> {
        let expected = "an array of field names";
        let items = value.as_array().ok_or_else(|| self.malformed(keyword, expected))?;
        items.iter().map(|item| item.as_str().ok_or_else(|| self.malformed(keyword, expected))).collect()
    }

    /// The allowed types, and whether numbers must be integers.
    pub(super) fn kinds(&self) -> Result<(Kinds, bool), Error> {
        let listed = match self.get("type") {
            None => return Ok((Kinds::ALL, false)),
            Some(Value::String(_)) => std::slice::from_ref(&self.fields["type"]),
            Some(Value::Array(names)) if !names.is_empty() => names.as_slice(),
            Some(_) => return Err(self.malformed("type", "a type name or a list of them")),
        };
        let (mut kinds, mut integer, mut number) = (Kinds::NONE, false, false);
        for name in listed {
            let kind = match name.as_str() {
                Some("null") => Kind::Null,
                Some("boolean") => Kind::Boolean,
                Some("number") => {
                    number = true;
                    Kind::Number
                }
                Some("integer") => {
                    integer = true;
                    Kind::Number
                }
                Some("string") => Kind::String,
                Some("array") => Kind::Array,
                Some("object") => Kind::Object,
                Some(_) | None => return Err(self.malformed("type", "one of the seven type names")),
            };
            kinds = kinds.with(kind);
        }
        Ok((kinds, integer && !number))
    }

    /// `enum` and `const` as one set.
    pub(super) fn values(&self) -> Result<Option<Values<'a>>, Error> {
        let listed = self.array("enum")?.map(|items| items.iter().map(keyed).collect::<Values<'a>>());
        let constant = self.get("const").map(keyed);
        Ok(match (listed, constant) {
            (None, None) => None,
            (Some(values), None) => Some(values),
            (None, Some(value)) => Some(Values::from([value])),
            (Some(values), Some((key, value))) if values.contains_key(&key) => Some(Values::from([(key, value)])),
            (Some(_), Some(_)) => Some(Values::new()),
        })
    }
}

fn keyed(value: &Value) -> (String, &Value) {
    (canonical(value), value)
}
