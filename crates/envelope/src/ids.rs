//! Identifiers: 128 bits kept once, printed in the form that a profile asks for.
//!
//! Invariant: every id has exactly one spelling per form, so two texts are equal exactly when the ids are. Parsers
//! therefore refuse lower-case ULIDs and upper-case UUIDs instead of folding them.
//! Not here: where fresh bits come from (`mint`).

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::Ascii;

const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const ULID_CHARS: usize = 26;
const UUID_CHARS: usize = 36;
/// The regular expression of a ULID; its first character carries only three bits.
pub const ULID_PATTERN: &str = "[0-7][0-9A-HJKMNP-TV-Z]{25}";

/// What an id of one kind is called, and the prefix it is printed with.
///
/// ```
/// use karwan_envelope::ids::{Id, Kind};
/// enum Order {}
/// impl Kind for Order {
///     const PREFIX: &'static str = "ord";
/// }
/// let id: Id<Order> = "ord_01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
/// assert_eq!(id.to_string(), "ord_01ARZ3NDEKTSV4RRFFQ69G5FAV");
/// assert!("inv_01ARZ3NDEKTSV4RRFFQ69G5FAV".parse::<Id<Order>>().is_err());
/// ```
pub trait Kind: 'static {
    /// The prefix, without its underscore.
    const PREFIX: &'static str;
}

/// A public id, `<prefix>_<ulid>`; the kind is part of its type, so ids of two kinds cannot be confused.
pub struct Id<K>(u128, PhantomData<fn() -> K>);

/// The kind of [`TenantId`].
#[derive(Debug)]
pub enum Tenant {}

impl Kind for Tenant {
    const PREFIX: &'static str = "tnt";
}

/// One customer of a platform; the unit of isolation.
pub type TenantId = Id<Tenant>;

/// Why a text is not an id. Names the text (shortened) and the rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct BadId {
    text: String,
    expected: String,
}

impl BadId {
    pub(crate) fn new(text: &str, expected: impl Into<String>) -> Self {
        Self { text: text.chars().take(64).collect(), expected: expected.into() }
    }
}

impl<K: Kind> Id<K> {
    /// The id with these bits.
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits, PhantomData)
    }

    /// The 128 bits.
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// The bare ULID, for profiles that print no prefix.
    pub fn ulid(self) -> String {
        ulid_text(self.0).to_string()
    }

    /// The same bits as a UUID.
    pub fn uuid(self) -> String {
        uuid_text(self.0).to_string()
    }
}

impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Id<K> {}
impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<K> Eq for Id<K> {}
impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}
impl<K> std::hash::Hash for Id<K> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<K: Kind> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(prefixed_text::<K>(self.0).as_str())
    }
}

/// The longest prefix, underscore included.
const PREFIX_BYTES_MAX: usize = 32;

fn prefixed_text<K: Kind>(bits: u128) -> Ascii<{ PREFIX_BYTES_MAX + ULID_CHARS }> {
    const { assert!(K::PREFIX.len() < PREFIX_BYTES_MAX, "an id's prefix is short") };
    let mut text = Ascii::new();
    text.push(K::PREFIX).push("_").digits(bits, ULID_CHARS, 5, CROCKFORD);
    text
}

impl<K: Kind> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<K: Kind> FromStr for Id<K> {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        text.strip_prefix(K::PREFIX)
            .and_then(|rest| rest.strip_prefix('_'))
            .and_then(parse_ulid)
            .map(Self::from_bits)
            .ok_or_else(|| BadId::new(text, format!("an id of the form {}_<ULID>", K::PREFIX)))
    }
}

impl<K: Kind> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(prefixed_text::<K>(self.0).as_str())
    }
}

impl<'de, K: Kind> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl<K: Kind> JsonSchema for Id<K> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("{}Id", K::PREFIX).into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": format!("^{}_{ULID_PATTERN}$", K::PREFIX) })
    }
}

/// How a profile spells 128 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `0190c2f0-…`, and only if the version field says 7.
    UuidV7,
    /// Any UUID, whatever its version.
    Uuid,
    /// `01ARZ3NDEKTSV4RRFFQ69G5FAV`.
    Ulid,
    /// `evt_01ARZ3NDEKTSV4RRFFQ69G5FAV`.
    Prefixed(&'static str),
}

impl Form {
    /// Reads bits in this form.
    pub fn parse(self, text: &str) -> Result<u128, BadId> {
        match self {
            Form::UuidV7 => parse_uuid(text)
                .filter(|bits| is_v7(*bits))
                .ok_or_else(|| BadId::new(text, "a UUID of version 7 in lower case")),
            Form::Uuid => parse_uuid(text).ok_or_else(|| BadId::new(text, "a UUID in lower case")),
            Form::Ulid => parse_ulid(text).ok_or_else(|| BadId::new(text, "a ULID in upper case")),
            Form::Prefixed(prefix) => text
                .strip_prefix(prefix)
                .and_then(|rest| rest.strip_prefix('_'))
                .and_then(parse_ulid)
                .ok_or_else(|| BadId::new(text, format!("an id of the form {prefix}_<ULID>"))),
        }
    }

    /// Prints bits in this form; refuses bits that are no UUIDv7 where one must be printed.
    pub fn print(self, bits: u128) -> Result<String, BadId> {
        self.spell(bits).map(|spelled| spelled.to_string())
    }

    /// The same on the stack.
    pub(crate) fn spell(self, bits: u128) -> Result<Spelled, BadId> {
        match self {
            Form::UuidV7 if !is_v7(bits) => {
                Err(BadId::new(uuid_text(bits).as_str(), "of version 7, and this profile prints only UUIDv7"))
            }
            Form::UuidV7 | Form::Uuid => Ok(Spelled { prefix: ["", ""], digits: uuid_text(bits) }),
            Form::Ulid => Ok(Spelled { prefix: ["", ""], digits: ulid_text(bits) }),
            Form::Prefixed(prefix) => Ok(Spelled { prefix: [prefix, "_"], digits: ulid_text(bits) }),
        }
    }
}

/// An id as it is printed, or a word in its place; on the stack, because every event prints several.
pub(crate) struct Spelled {
    prefix: [&'static str; 2],
    digits: Ascii<UUID_CHARS>,
}

impl Spelled {
    /// A word that stands where an id is expected.
    pub(crate) const fn word(word: &'static str) -> Self {
        Self { prefix: [word, ""], digits: Ascii::new() }
    }

    /// The text, in pieces.
    pub(crate) fn parts(&self) -> [&str; 3] {
        let [prefix, mark] = self.prefix;
        [prefix, mark, self.digits.as_str()]
    }
}

impl fmt::Display for Spelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts().into_iter().try_for_each(|part| f.write_str(part))
    }
}

macro_rules! bits_newtype {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u128);

        impl $name {
            /// The id with these bits.
            pub const fn from_bits(bits: u128) -> Self {
                Self(bits)
            }

            /// The 128 bits.
            pub const fn bits(self) -> u128 {
                self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), ulid_text(self.0))
            }
        }
    };
}

bits_newtype! {
    /// An event's identity: minted as UUIDv7, so ids sort by time in every form. A foreign id of another version is
    /// kept, and refused only where a UUIDv7 must be printed.
    EventId
}
bits_newtype! {
    /// The trace group of one request, carried unmodified through everything that it causes.
    CorrelationId
}
bits_newtype! {
    /// The log row's id, for forensics.
    OutboxId
}

impl EventId {
    /// Whether the bits carry version 7 and the RFC variant.
    pub const fn is_v7(self) -> bool {
        is_v7(self.0)
    }

    /// The milliseconds since 1970 in its first 48 bits.
    pub const fn unix_ms(self) -> u64 {
        (self.0 >> 80) as u64
    }
}

impl fmt::Display for EventId {
    /// As a UUID, whatever the version.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(uuid_text(self.0).as_str())
    }
}

impl fmt::Display for CorrelationId {
    /// As a ULID.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ulid_text(self.0).as_str())
    }
}

const fn is_v7(bits: u128) -> bool {
    (bits >> 76) & 0xF == 7 && (bits >> 62) & 0b11 == 0b10
}

pub(crate) fn ulid_text(bits: u128) -> Ascii<UUID_CHARS> {
    let mut text = Ascii::new();
    text.digits(bits, ULID_CHARS, 5, CROCKFORD);
    text
}

fn parse_ulid(text: &str) -> Option<u128> {
    let text = text.as_bytes();
    if text.len() != ULID_CHARS || text[0] > b'7' {
        return None;
    }
    text.iter().try_fold(0, |bits, char| {
        let digit = CROCKFORD.iter().position(|known| known == char)?;
        Some(bits << 5 | digit as u128)
    })
}

fn uuid_text(bits: u128) -> Ascii<UUID_CHARS> {
    let mut text = Ascii::new();
    text.hex(bits >> 96, 8).push("-").hex(bits >> 80, 4).push("-").hex(bits >> 64, 4);
    text.push("-").hex(bits >> 48, 4).push("-").hex(bits, 12);
    text
}

fn parse_uuid(text: &str) -> Option<u128> {
    let text = text.as_bytes();
    if text.len() != UUID_CHARS {
        return None;
    }
    text.iter().enumerate().try_fold(0, |bits, (place, char)| match (place, char) {
        (8 | 13 | 18 | 23, b'-') => Some(bits),
        (8 | 13 | 18 | 23, _) => None,
        (_, b'0'..=b'9') => Some(bits << 4 | u128::from(char - b'0')),
        (_, b'a'..=b'f') => Some(bits << 4 | u128::from(char - b'a' + 10)),
        _ => None,
    })
}
