//! Documents: an aggregate's stored state, one table a kind, with declared fields as typed columns.

use std::fmt;

use karwan_envelope::time::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest id of a document.
pub const ID_BYTES_MAX: usize = 200;
/// The longest name of a kind or a field; both become names in the database.
pub const NAME_BYTES_MAX: usize = 28;
/// The most declared fields of one kind.
pub const FIELDS_MAX: usize = 16;
/// The longest text of a declared field; it stands in an index.
pub const FIELD_BYTES_MAX: usize = 500;
/// The largest document body.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// A kind of document: its name, what can be asked of it, and whose key it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// Its name: snake_case; a table is named after it.
    pub name: &'static str,
    /// The shape of the type, counted from 1. Older bodies are upcast when they are read.
    pub shape: u32,
    /// The aggregate whose facts are ordered by this document: `shop.order` for `shop.order.placed.v1`. Such a fact
    /// needs the document with its key put, or read, in the same unit.
    pub carries: Option<&'static str>,
    /// What can be queried.
    pub fields: &'static [Field],
}

impl Kind {
    /// A kind of this name in its first shape, which carries no keys and declares no fields.
    pub const fn named(name: &'static str) -> Self {
        Self { name, shape: 1, carries: None, fields: &[] }
    }
}

/// A declared field: a column with an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name: snake_case.
    pub name: &'static str,
    /// Its type.
    pub of: FieldType,
}

/// The types of declared fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldType {
    /// A text, ordered by its bytes.
    Text,
    /// A signed integer of 64 bits.
    Integer,
    /// An instant, to the millisecond.
    Time,
    /// True or false.
    Flag,
    /// 128 bits.
    Id,
}

/// A declared field's value in one document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldValue {
    /// Not there; no query finds it by this field.
    Absent,
    /// A text.
    Text(String),
    /// An integer.
    Integer(i64),
    /// An instant, milliseconds after 1970.
    Time(i64),
    /// True or false.
    Flag(bool),
    /// 128 bits.
    Id(u128),
}

impl FieldValue {
    /// Its type; none where it is absent.
    pub const fn of(&self) -> Option<FieldType> {
        match self {
            Self::Absent => None,
            Self::Text(_) => Some(FieldType::Text),
            Self::Integer(_) => Some(FieldType::Integer),
            Self::Time(_) => Some(FieldType::Time),
            Self::Flag(_) => Some(FieldType::Flag),
            Self::Id(_) => Some(FieldType::Id),
        }
    }
}

impl From<&str> for FieldValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
impl From<String> for FieldValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}
impl From<i64> for FieldValue {
    fn from(integer: i64) -> Self {
        Self::Integer(integer)
    }
}
impl From<Timestamp> for FieldValue {
    fn from(instant: Timestamp) -> Self {
        Self::Time(instant.unix_ms())
    }
}
impl From<bool> for FieldValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}
impl<V: Into<FieldValue>> From<Option<V>> for FieldValue {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::Absent, Into::into)
    }
}

/// What a service keeps: state with an identity, read and written whole.
///
/// ```
/// use karwan_store::kind::{Document, Field, FieldType, FieldValue, Kind};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Serialize, Deserialize)]
/// struct Order {
///     id: String,
///     status: String,
/// }
///
/// impl Document for Order {
///     const KIND: Kind = Kind {
///         name: "order",
///         shape: 1,
///         carries: Some("shop.order"),
///         fields: &[Field { name: "status", of: FieldType::Text }],
///     };
///     fn id(&self) -> String {
///         self.id.clone()
///     }
///     fn fields(&self) -> Vec<FieldValue> {
///         vec![self.status.as_str().into()]
///     }
/// }
/// ```
pub trait Document: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Its kind.
    const KIND: Kind;

    /// The shape in which bodies are written. A release that brings a new shape writes the one before, so that programs of
    /// the last release can still read; the next release leaves this out.
    const WRITES: u32 = Self::KIND.shape;

    /// Its id within its tenant and kind.
    fn id(&self) -> String;

    /// The values of the declared fields, in their order; a kind that declares none has none.
    fn fields(&self) -> Vec<FieldValue> {
        Vec::new()
    }

    /// Turns a body of an older shape into the present one. A kind whose shape is 1 has nothing to do here.
    fn upcast(shape: u32, body: Value) -> Result<Value, UnknownShape> {
        if shape == Self::KIND.shape { Ok(body) } else { Err(UnknownShape { kind: Self::KIND.name, shape }) }
    }

    /// Turns a body of the type's shape into the older one that is written. Where both are the same there is nothing to do.
    fn downcast(body: Value) -> Result<Value, UnknownShape> {
        let same = Self::WRITES == Self::KIND.shape;
        if same { Ok(body) } else { Err(UnknownShape { kind: Self::KIND.name, shape: Self::WRITES }) }
    }
}

/// A body in a shape that this program cannot read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no `{kind}` of shape {shape} can be read by this version of the program")]
pub struct UnknownShape {
    /// The kind.
    pub kind: &'static str,
    /// The shape of the body.
    pub shape: u32,
}

/// A document kind with what a backfill needs: how a stored body becomes field values.
#[derive(Clone, Copy)]
pub struct KindType {
    /// The kind.
    pub kind: Kind,
    /// The shape in which bodies are written.
    pub writes: u32,
    /// The values of the declared fields of a stored body.
    pub fields: fn(shape: u32, body: &str) -> Result<Vec<FieldValue>, crate::error::BadBody>,
}

impl KindType {
    /// The kind of this document type.
    pub const fn of<D: Document>() -> Self {
        Self { kind: D::KIND, writes: D::WRITES, fields: |shape, body| Ok(read_body::<D>(shape, body)?.fields()) }
    }
}

impl fmt::Debug for KindType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.kind, f)
    }
}

/// Reads a stored body.
pub(crate) fn read_body<D: Document>(shape: u32, body: &str) -> Result<D, crate::error::BadBody> {
    if shape == D::KIND.shape {
        return Ok(serde_json::from_str(body)?);
    }
    let body = D::upcast(shape, serde_json::from_str(body)?)?;
    Ok(serde_json::from_value(body)?)
}

/// A body as it is stored.
pub(crate) fn write_body<D: Document>(document: &D) -> Result<String, crate::error::BadBody> {
    if D::WRITES == D::KIND.shape {
        return Ok(serde_json::to_string(document)?);
    }
    Ok(D::downcast(serde_json::to_value(document)?)?.to_string())
}

/// A document that stands for an absence or a count, so that it can be version-checked.
///
/// "No other stay takes this bed", "at most five open tickets": whoever changes the answer writes the guard, and whoever
/// relies on the answer has read it before asking ([`crate::TenantTx::query_under`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// What it stands for, such as `bed-7`.
    pub of: String,
}

impl Guard {
    /// The guard of this name.
    pub fn of(name: impl Into<String>) -> Self {
        Self { of: name.into() }
    }
}

impl Document for Guard {
    const KIND: Kind = Kind { name: "guard", shape: 1, carries: None, fields: &[] };

    fn id(&self) -> String {
        self.of.clone()
    }

    fn fields(&self) -> Vec<FieldValue> {
        Vec::new()
    }
}

/// Why a set of kinds cannot be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadKind {
    /// A name that cannot become one in a database.
    #[error("`{name}` is no name for a kind or a field: snake_case, at most {NAME_BYTES_MAX} bytes")]
    Name {
        /// The name.
        name: &'static str,
    },
    /// Two of the same name.
    #[error("two kinds, or two fields of one kind, are called `{name}`")]
    Twice {
        /// The name.
        name: &'static str,
    },
    /// Two kinds that carry the same facts.
    #[error("facts of `{aggregate}` are carried by two kinds, `{one}` and `{other}`: one document orders one key")]
    Carried {
        /// The aggregate.
        aggregate: &'static str,
        /// A kind.
        one: &'static str,
        /// Another.
        other: &'static str,
    },
    /// More fields than can be declared.
    #[error("`{name}` declares more than {FIELDS_MAX} fields")]
    TooManyFields {
        /// The kind.
        name: &'static str,
    },
    /// A stored field whose type was changed.
    #[error("`{kind}.{name}` is stored with another type: declare a field of another name, and drop this one")]
    Retyped {
        /// The kind.
        kind: &'static str,
        /// The field.
        name: &'static str,
    },
    /// A shape that is no count from 1, or one that is written and newer than the type's.
    #[error("`{name}` has shape 0, or writes one that its type does not have yet: shapes are counted from 1")]
    Shape {
        /// The kind.
        name: &'static str,
    },
}

/// The kinds that a program knows, the guard among them, in the order of their names.
#[derive(Debug, Clone)]
pub struct Kinds(Vec<KindType>);

impl Kinds {
    /// Judges and sorts them.
    pub fn new(kinds: &[KindType]) -> Result<Self, BadKind> {
        let mut all = vec![KindType::of::<Guard>()];
        all.extend_from_slice(kinds);
        all.sort_by_key(|it| it.kind.name);
        for (place, KindType { kind, writes, .. }) in all.iter().enumerate() {
            judge(kind, *writes)?;
            for KindType { kind: other, .. } in &all[..place] {
                if other.name == kind.name {
                    return Err(BadKind::Twice { name: kind.name });
                }
                if let (Some(one), Some(aggregate)) = (other.carries, kind.carries)
                    && (covers(one, aggregate) || covers(aggregate, one))
                {
                    return Err(BadKind::Carried { aggregate, one: other.name, other: kind.name });
                }
            }
        }
        Ok(Self(all))
    }

    /// All of them.
    pub fn all(&self) -> &[KindType] {
        &self.0
    }

    /// The kind of this name.
    pub fn named(&self, name: &str) -> Option<&Kind> {
        let found = self.0.binary_search_by(|it| it.kind.name.cmp(name)).ok()?;
        Some(&self.0[found].kind)
    }

    /// The kind that carries the key of this subject's facts.
    pub fn carrier(&self, subject: &str) -> Option<&Kind> {
        self.0.iter().map(|it| &it.kind).find(|kind| kind.carries.is_some_and(|aggregate| covers(aggregate, subject)))
    }
}

fn covers(aggregate: &str, name: &str) -> bool {
    name.strip_prefix(aggregate).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn judge(kind: &Kind, writes: u32) -> Result<(), BadKind> {
    let names = std::iter::once(kind.name).chain(kind.fields.iter().map(|field| field.name));
    if let Some(name) = names.into_iter().find(|name| !is_name(name)) {
        return Err(BadKind::Name { name });
    }
    let twice = kind
        .fields
        .iter()
        .enumerate()
        .find(|(place, field)| kind.fields[..*place].iter().any(|it| it.name == field.name));
    if let Some((_, field)) = twice {
        return Err(BadKind::Twice { name: field.name });
    }
    if kind.fields.len() > FIELDS_MAX {
        return Err(BadKind::TooManyFields { name: kind.name });
    }
    if writes == 0 || writes > kind.shape { Err(BadKind::Shape { name: kind.name }) } else { Ok(()) }
}

fn is_name(name: &str) -> bool {
    // Two underscores stand between the two names of an index.
    name.len() <= NAME_BYTES_MAX
        && !name.contains("__")
        && !name.ends_with('_')
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}
