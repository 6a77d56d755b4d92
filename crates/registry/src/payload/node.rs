//! What the validator sees of a payload.

use std::borrow::Cow;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, JsonNumber, Node, NodeIdentity, Object};
use serde_json::Value;

use super::{Kind, Payload, Slot};

/// The representation of payloads that are read in place.
#[derive(Debug, Clone, Copy)]
pub struct InPlace;

impl Json for InPlace {
    type Node<'a> = PayloadNode<'a>;
    type PreparedKey = String;
    type StringBuffer = ();

    // A lookup walks the members, so one pass over all of them is soon cheaper.
    const KEYS_PER_LOOKUP: usize = 8;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(PayloadNode<'_>) -> T) -> T {
        f(PayloadNode::Text(string))
    }
}

/// One value of a payload, or a text that stands for one.
#[derive(Debug, Clone, Copy)]
pub enum PayloadNode<'a> {
    /// A value of a document.
    Slot {
        /// The document.
        payload: &'a Payload<'a>,
        /// Its slot.
        at: u32,
    },
    /// A property name that is validated as a string.
    Text(&'a str),
}

/// The members of an object, or the items of an array.
#[derive(Debug, Clone, Copy)]
pub struct Children<'a> {
    payload: &'a Payload<'a>,
    at: u32,
    end: u32,
    count: u32,
}

impl<'a> PayloadNode<'a> {
    /// A member of an object.
    pub fn member(&self, name: &str) -> Option<PayloadNode<'a>> {
        self.as_object()?.named(name)
    }

    /// The text of a string.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        self.as_string()
    }

    fn slot(&self) -> Option<(&'a Payload<'a>, Slot)> {
        match self {
            PayloadNode::Slot { payload, at } => Some((payload, payload.slots[*at as usize])),
            PayloadNode::Text(_) => None,
        }
    }

    fn children(&self, kind: Kind) -> Option<Children<'a>> {
        let PayloadNode::Slot { payload, at } = *self else { return None };
        let slot = payload.slots[at as usize];
        (slot.kind == kind).then_some(Children { payload, at: at + 1, end: slot.next, count: slot.count })
    }
}

impl<'a> Payload<'a> {
    fn slice(&self, slot: Slot) -> &'a str {
        &self.text[slot.start as usize..slot.end as usize]
    }

    fn string(&self, slot: Slot) -> Option<Cow<'a, str>> {
        match slot.kind {
            Kind::Plain => Some(Cow::Borrowed(self.slice(slot))),
            Kind::Escaped => {
                let quoted = &self.text[slot.start as usize - 1..=slot.end as usize];
                serde_json::from_str(quoted).ok().map(Cow::Owned)
            }
            Kind::Null | Kind::True | Kind::False | Kind::Number | Kind::Array | Kind::Object => None,
        }
    }
}

impl<'a> Node<'a, InPlace> for PayloadNode<'a> {
    type Object = Children<'a>;
    type Array = Children<'a>;
    type Number = Number<'a>;

    fn as_object(&self) -> Option<Children<'a>> {
        self.children(Kind::Object)
    }

    fn as_array(&self) -> Option<Children<'a>> {
        self.children(Kind::Array)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        match self {
            PayloadNode::Text(text) => Some(Cow::Borrowed(text)),
            PayloadNode::Slot { .. } => self.slot().and_then(|(payload, slot)| payload.string(slot)),
        }
    }

    fn as_number(&self) -> Option<Number<'a>> {
        let (payload, slot) = self.slot()?;
        (slot.kind == Kind::Number).then(|| Number(payload.slice(slot)))
    }

    fn as_boolean(&self) -> Option<bool> {
        match self.slot()?.1.kind {
            Kind::True => Some(true),
            Kind::False => Some(false),
            Kind::Null | Kind::Number | Kind::Plain | Kind::Escaped | Kind::Array | Kind::Object => None,
        }
    }

    fn is_null(&self) -> bool {
        self.json_type() == JsonType::Null
    }

    fn json_type(&self) -> JsonType {
        let Some((_, slot)) = self.slot() else { return JsonType::String };
        match slot.kind {
            Kind::Null => JsonType::Null,
            Kind::True | Kind::False => JsonType::Boolean,
            Kind::Number => JsonType::Number,
            Kind::Plain | Kind::Escaped => JsonType::String,
            Kind::Array => JsonType::Array,
            Kind::Object => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match (expected, self.as_string()) {
            (Value::String(expected), Some(text)) => text == expected.as_str(),
            (Value::String(_), None) | (_, Some(_)) => false,
            (expected, None) => jsonschema::json::cmp::equal(&self.to_value(), expected),
        }
    }

    fn to_value(&self) -> Cow<'a, Value> {
        let value = match self {
            PayloadNode::Text(text) => Value::String((*text).to_owned()),
            PayloadNode::Slot { payload, at } => {
                let slot = payload.slots[*at as usize];
                match payload.string(slot) {
                    Some(text) => Value::String(text.into_owned()),
                    None => serde_json::from_str(payload.slice(slot)).unwrap_or_default(),
                }
            }
        };
        Cow::Owned(value)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        match self {
            PayloadNode::Slot { payload, at } => Some(NodeIdentity::tagged(payload.slots.as_ptr() as usize, *at)),
            PayloadNode::Text(text) => Some(NodeIdentity::new(text.as_ptr() as usize)),
        }
    }
}

impl<'a> Children<'a> {
    fn node(self, at: u32) -> PayloadNode<'a> {
        PayloadNode::Slot { payload: self.payload, at }
    }

    /// The first member with this name. Most names differ in length already, so few texts are looked at.
    fn named(self, name: &str) -> Option<PayloadNode<'a>> {
        let (payload, mut at) = (self.payload, self.at);
        while at < self.end {
            let key = payload.slots[at as usize];
            let same = match key.kind {
                Kind::Plain => (key.end - key.start) as usize == name.len() && payload.slice(key) == name,
                _ => payload.string(key).is_some_and(|key| key == name),
            };
            if same {
                return Some(self.node(at + 1));
            }
            at = payload.slots[at as usize + 1].next;
        }
        None
    }
}

impl<'a> Object<'a, InPlace> for Children<'a> {
    type Node = PayloadNode<'a>;
    type MemberName = Cow<'a, str>;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        self.count as usize
    }

    fn get(&self, key: &String) -> Option<PayloadNode<'a>> {
        self.named(key)
    }

    fn members(&self) -> Members<'a> {
        Members(*self)
    }
}

impl<'a> Array<'a, InPlace> for Children<'a> {
    type Node = PayloadNode<'a>;
    type ElementsIter = Items<'a>;

    fn len(&self) -> usize {
        self.count as usize
    }

    fn elements(&self) -> Items<'a> {
        Items(*self)
    }
}

/// The members of an object, in the order of the text.
#[derive(Debug)]
pub struct Members<'a>(Children<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, PayloadNode<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let Members(children) = self;
        if children.at >= children.end {
            return None;
        }
        let payload = children.payload;
        let name = payload.string(payload.slots[children.at as usize])?;
        let value = children.at + 1;
        children.at = payload.slots[value as usize].next;
        Some((name, children.node(value)))
    }
}

/// The items of an array.
#[derive(Debug)]
pub struct Items<'a>(Children<'a>);

impl<'a> Iterator for Items<'a> {
    type Item = PayloadNode<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let Items(children) = self;
        if children.at >= children.end {
            return None;
        }
        let at = children.at;
        children.at = children.payload.slots[at as usize].next;
        Some(children.node(at))
    }
}

/// A number as it is written.
#[derive(Debug, Clone, Copy)]
pub struct Number<'a>(&'a str);

impl JsonNumber for Number<'_> {
    fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok()
    }

    fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    fn as_f64(&self) -> Option<f64> {
        self.0.parse().ok()
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0)
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        Cow::Owned(serde_json::from_str(self.0).expect("numbers were read as such"))
    }
}
