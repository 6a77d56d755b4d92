//! Queries over declared fields: equality, one range, an order, a limit and a cursor.

use std::marker::PhantomData;

use crate::error::Error;
use crate::kind::{Document, FieldType, FieldValue, Kind};

/// The most documents of one page.
pub const PAGE_MAX: usize = 1000;
/// The page that is answered where no limit is given.
pub const PAGE_DEFAULT: usize = 100;

/// A question about documents of one kind.
///
/// ```
/// # use karwan_store::kind::{Document, Guard};
/// # use karwan_store::query::Query;
/// # fn ask<Order: Document>() -> Query<Order> {
/// Query::new().equal("status", "open").at_least("due", 1_777_543_200_000_i64).limit(50)
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Query<D> {
    parts: Parts,
    kind: PhantomData<fn() -> D>,
}

/// A query as a backend sees it.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    /// Fields and the values that they have.
    pub equal: Vec<(&'static str, FieldValue)>,
    /// The field that orders the answer, and its bounds: at least, and less than. Without one, ids order it.
    pub order: Option<Order>,
    /// How many.
    pub limit: Option<usize>,
    /// Where the page before ended.
    pub after: Option<Cursor>,
}

/// A range over one field, which also orders the answer.
#[derive(Debug, Clone)]
pub struct Order {
    /// The field.
    pub field: &'static str,
    /// At least this.
    pub from: Option<FieldValue>,
    /// Less than this.
    pub until: Option<FieldValue>,
}

/// Where a page ended: the last document's place in the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The value of the ordering field, where one orders.
    pub value: Option<FieldValue>,
    /// The last document's id.
    pub id: String,
}

/// Some of the documents that a query finds.
#[derive(Debug, Clone)]
pub struct Page<D> {
    /// The documents, in order.
    pub items: Vec<D>,
    /// Where the next page starts; none at the end.
    pub next: Option<Cursor>,
}

impl<D: Document> Default for Query<D> {
    fn default() -> Self {
        Self::new()
    }
}

impl<D: Document> Query<D> {
    /// All documents of the kind, by id.
    pub fn new() -> Self {
        Self { parts: Parts::default(), kind: PhantomData }
    }

    /// Only those whose field has this value.
    #[must_use]
    pub fn equal(mut self, field: &'static str, value: impl Into<FieldValue>) -> Self {
        self.parts.equal.push((field, value.into()));
        self
    }

    /// In the order of this field; those that lack it are left out.
    #[must_use]
    pub fn ordered_by(mut self, field: &'static str) -> Self {
        self.order(field);
        self
    }

    /// Only those whose field is at least this; orders the answer by it.
    #[must_use]
    pub fn at_least(mut self, field: &'static str, value: impl Into<FieldValue>) -> Self {
        self.order(field).from = Some(value.into());
        self
    }

    /// Only those whose field is less than this; orders the answer by it.
    #[must_use]
    pub fn less_than(mut self, field: &'static str, value: impl Into<FieldValue>) -> Self {
        self.order(field).until = Some(value.into());
        self
    }

    /// At most this many, and never more than [`PAGE_MAX`].
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.parts.limit = Some(limit);
        self
    }

    /// What comes after the page that ended here.
    #[must_use]
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.parts.after = Some(cursor);
        self
    }

    fn order(&mut self, field: &'static str) -> &mut Order {
        // A second ordering field replaces the first; a query has one order.
        if self.parts.order.as_ref().is_none_or(|order| order.field != field) {
            self.parts.order = Some(Order { field, from: None, until: None });
        }
        self.parts.order.as_mut().expect("it was just set")
    }

    /// The query, judged by the kind.
    pub(crate) fn into_parts(self) -> Result<Parts, Error> {
        let parts = self.parts;
        for (field, value) in &parts.equal {
            judge(&D::KIND, field, Some(value))?;
        }
        if let Some(Order { field, from, until }) = &parts.order {
            judge(&D::KIND, field, from.as_ref())?;
            judge(&D::KIND, field, until.as_ref())?;
            judge(&D::KIND, field, parts.after.as_ref().and_then(|cursor| cursor.value.as_ref()))?;
        }
        let bounds = parts.order.iter().flat_map(|order| [&order.from, &order.until]);
        if bounds.flatten().any(|bound| *bound == FieldValue::Absent) {
            return Err(Error::Query {
                kind: D::KIND.name,
                reason: "a bound that is absent bounds nothing".to_owned(),
            });
        }
        let orders = parts.after.as_ref().map(|cursor| cursor.value.is_some());
        if orders.is_some_and(|orders| orders != parts.order.is_some()) {
            return Err(Error::Query { kind: D::KIND.name, reason: "its cursor belongs to another order".to_owned() });
        }
        Ok(parts)
    }
}

impl Parts {
    /// How many documents the page may have.
    pub fn page(&self) -> usize {
        self.limit.unwrap_or(PAGE_DEFAULT).clamp(1, PAGE_MAX)
    }

    /// Whether an index leads to its page: with two fields all of a tenant's documents may have to be looked at.
    pub fn follows_an_index(&self) -> bool {
        self.equal.len() + usize::from(self.order.is_some()) <= 1
    }

    /// Whether a document with these values, in the kind's order, is in the answer and after the cursor.
    pub(crate) fn admits(&self, kind: &Kind, id: &str, values: &[FieldValue]) -> bool {
        let value = |name: &str| place(kind, name).map(|place| &values[place]);
        if !self.equal.iter().all(|(field, wanted)| value(field) == Some(wanted) && *wanted != FieldValue::Absent) {
            return false;
        }
        let Some(order) = &self.order else {
            return self.after.as_ref().is_none_or(|cursor| id > cursor.id.as_str());
        };
        let Some(own) = value(order.field).filter(|own| **own != FieldValue::Absent) else { return false };
        order.from.as_ref().is_none_or(|from| own >= from)
            && order.until.as_ref().is_none_or(|until| own < until)
            && self.after.as_ref().is_none_or(|cursor| (Some(own), id) > (cursor.value.as_ref(), cursor.id.as_str()))
    }

    /// The place of a document in the order.
    pub(crate) fn cursor(&self, kind: &Kind, id: &str, values: &[FieldValue]) -> Cursor {
        let value = self.order.as_ref().and_then(|order| place(kind, order.field)).map(|place| values[place].clone());
        Cursor { value, id: id.to_owned() }
    }
}

fn place(kind: &Kind, field: &str) -> Option<usize> {
    kind.fields.iter().position(|declared| declared.name == field)
}

fn judge(kind: &Kind, field: &str, value: Option<&FieldValue>) -> Result<(), Error> {
    let refuse = |reason: String| Err(Error::Query { kind: kind.name, reason });
    let Some(place) = place(kind, field) else {
        let declared: Vec<&str> = kind.fields.iter().map(|field| field.name).collect();
        return refuse(format!("no field `{field}` is declared; there are: {}", declared.join(", ")));
    };
    let of = kind.fields[place].of;
    match value.and_then(FieldValue::of) {
        Some(given) if !comparable(given, of) => {
            refuse(format!("`{field}` is {of:?}, and was compared with {given:?}"))
        }
        _ => Ok(()),
    }
}

fn comparable(given: FieldType, of: FieldType) -> bool {
    given == of
}
