//! The documents of one unit: what was read at which version, and what becomes of it. Pure.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use karwan_envelope::Envelope;

use crate::error::{BadBody, Error};
use crate::kind::{Document, FieldValue, Guard, Kind, read_body};
use crate::query::{Cursor, Page, Parts};
use crate::write_set::{Action, DocumentWrite, TenantBits};

/// A document as a backend answers it.
#[derive(Debug, Clone)]
pub struct DocumentRow {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: i64,
    /// The body's shape.
    pub shape: u32,
    /// The body; none where a tombstone stands.
    pub body: Option<String>,
}

/// The identity map of one unit: a document is read once, and stays as it was read.
#[derive(Default)]
pub(crate) struct Documents {
    held: BTreeMap<(&'static str, String), Held>,
    /// The kinds that were asked for by a query: any write of such a kind might have changed the answer.
    queried: BTreeSet<&'static str>,
}

struct Held {
    kind: Kind,
    /// What was read; none where the unit only writes.
    read: Option<DocumentRow>,
    use_of_it: Use,
    write: Option<Write>,
}

/// How much a decision rests on a document, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Peeked,
    Checked,
    /// It stands for the answer of a query: written whenever the unit writes.
    Guards,
    /// It carries the key of a fact.
    HoldsKey,
}

enum Write {
    Put { shape: u32, body: String, fields: Vec<FieldValue> },
    Delete,
}

impl Documents {
    fn entry<D: Document>(&mut self, id: &str) -> &mut Held {
        let fresh = || Held { kind: D::KIND, read: None, use_of_it: Use::Peeked, write: None };
        self.held.entry((D::KIND.name, id.to_owned())).or_insert_with(fresh)
    }

    /// What the unit knows of a document already, own writes included; none where it must be read.
    pub fn known<D: Document>(&mut self, id: &str, checked: bool) -> Option<Result<Option<D>, Error>> {
        let held = self.held.get_mut(&(D::KIND.name, id.to_owned()))?;
        held.rest_on(checked);
        (held.read.is_some() || held.write.is_some()).then(|| held.current(id))
    }

    /// Takes in what was read.
    pub fn learn<D: Document>(
        &mut self,
        id: &str,
        row: Option<DocumentRow>,
        checked: bool,
    ) -> Result<Option<D>, Error> {
        let held = self.entry::<D>(id);
        // Two reads of one id may have run at once: the first answer stands.
        held.read.get_or_insert_with(|| row.unwrap_or_else(|| DocumentRow::nothing(id)));
        held.rest_on(checked);
        held.current(id)
    }

    /// A page of a query: stored rows with the unit's own writes laid over them, and with what its decision rests on, which is checked.
    /// What it only peeked at may be older than these rows.
    pub fn page<D: Document>(&mut self, parts: &Parts, rows: Vec<DocumentRow>) -> Result<Page<D>, Error> {
        self.queried.insert(D::KIND.name);
        let full = rows.len() > parts.page();
        let (mut last, mut fresh) = (None, HashSet::new());
        for row in rows.into_iter().take(parts.page()) {
            let fields = row.body_as::<D>()?.map(|stored| stored.fields()).unwrap_or_default();
            last = Some(parts.cursor(&D::KIND, &row.id, &fields));
            fresh.insert(row.id.clone());
            let held = self.entry::<D>(&row.id.clone());
            if held.is_peeked() {
                held.read = Some(row);
            }
        }
        let mut found = BTreeMap::new();
        for ((name, id), held) in &self.held {
            if *name != D::KIND.name || held.is_peeked() && !fresh.contains(id) {
                continue;
            }
            let Some(document) = held.current::<D>(id)? else { continue };
            let fields = document.fields();
            let place = parts.cursor(&D::KIND, id, &fields);
            // Behind a full page other stored rows may come first; they are the next page's business.
            let beyond = full && last.as_ref().is_some_and(|last| (&place.value, &place.id) > (&last.value, &last.id));
            if parts.admits(&D::KIND, id, &fields) && !beyond {
                found.insert((place.value, place.id), document);
            }
        }
        let more = full || found.len() > parts.page();
        let mut items = Vec::new();
        let mut next = None;
        for ((value, id), document) in found.into_iter().take(parts.page()) {
            next = Some(Cursor { value, id });
            items.push(document);
        }
        // A full page that own deletes thinned out ends where its stored rows ended.
        let thinned = full && items.len() < parts.page();
        let next = if thinned { last } else { next };
        Ok(Page { items, next: next.filter(|_| more) })
    }

    /// Whether the document exists, as far as is known here.
    pub fn is_there<D: Document>(&self, id: &str) -> bool {
        self.held.get(&(D::KIND.name, id.to_owned())).is_some_and(Held::is_there)
    }

    /// Takes in the documents of a unit that ran beside those that are here, as if it had run after them. Hands them back
    /// where that would have made a difference: then it has to run again, over what is here.
    pub fn absorb(&mut self, later: Self) -> Result<(), Self> {
        let untouched = |kind: &&'static str| !self.held.iter().any(|((name, _), held)| name == kind && held.changes());
        let fits =
            |(place, held): (&(&'static str, String), &Held)| self.held.get(place).is_none_or(|it| it.admits(held));
        if !(later.queried.iter().all(untouched) && later.held.iter().all(fits)) {
            return Err(later);
        }
        for (place, later) in later.held {
            match self.held.entry(place) {
                Entry::Vacant(entry) => drop(entry.insert(later)),
                Entry::Occupied(entry) => entry.into_mut().take_in(later),
            }
        }
        Ok(())
    }

    /// A put, at the flush.
    pub fn put<D: Document>(&mut self, id: String, body: String, fields: Vec<FieldValue>) {
        self.entry::<D>(&id).write = Some(Write::Put { shape: D::WRITES, body, fields });
    }

    /// A delete, at the flush; false where the unit never read or wrote the document.
    pub fn delete<D: Document>(&mut self, id: &str) -> bool {
        let held = self.entry::<D>(id);
        let known = held.read.is_some() || held.write.is_some();
        // What only this unit created is simply not created.
        let stored = held.read.as_ref().is_some_and(|row| row.body.is_some());
        held.write = stored.then_some(Write::Delete);
        held.rest_on(true);
        known
    }

    /// The decision rests on a query that this guard stands for.
    pub fn guard(&mut self, id: &str) {
        let held = self.entry::<Guard>(id);
        held.use_of_it = held.use_of_it.max(Use::Guards);
    }

    /// A fact's key is ordered by its document: put, or held until the commit.
    pub fn hold_key(&mut self, kind: &Kind, fact: &Envelope) -> Result<(), Error> {
        match self.held.get_mut(&(kind.name, fact.key.clone())) {
            Some(held) if held.read.is_some() || held.write.is_some() => {
                held.use_of_it = Use::HoldsKey;
                Ok(())
            }
            Some(_) | None => Err(Error::KeyNotHeld {
                subject: fact.subject.as_str().to_owned(),
                key: fact.key.clone(),
                kind: kind.name,
            }),
        }
    }

    /// What is to be written and checked, sorted by kind and id. `writes` says whether the unit writes anything else.
    pub fn into_writes(self, tenant: TenantBits, writes: bool) -> Vec<DocumentWrite> {
        let writes = writes || self.held.values().any(|held| held.write.is_some());
        self.held.into_iter().filter_map(|((_, id), held)| held.into_write(tenant, id, writes)).collect()
    }
}

impl Held {
    /// Whether the document exists, as far as is known here.
    fn is_there(&self) -> bool {
        match &self.write {
            Some(write) => matches!(write, Write::Put { .. }),
            None => self.read.as_ref().is_some_and(|row| row.body.is_some()),
        }
    }

    /// Whether it is neither written nor checked.
    fn is_peeked(&self) -> bool {
        self.write.is_none() && self.use_of_it == Use::Peeked
    }

    /// Whether the flush changes it.
    fn changes(&self) -> bool {
        self.write.is_some() || self.use_of_it == Use::Guards
    }

    /// Whether a later unit, which ran without knowing this, would have done the same.
    fn admits(&self, later: &Self) -> bool {
        match (&self.read, &later.read) {
            _ if self.changes() => false,
            // It was put as new, and is there.
            (_, None) => later.write.is_none() || !self.is_there(),
            (Some(mine), Some(theirs)) => mine.version == theirs.version,
            (None, Some(_)) => true,
        }
    }

    fn take_in(&mut self, later: Self) {
        self.read = self.read.take().or(later.read);
        self.use_of_it = self.use_of_it.max(later.use_of_it);
        self.write = later.write;
    }

    fn rest_on(&mut self, checked: bool) {
        if checked {
            self.use_of_it = self.use_of_it.max(Use::Checked);
        }
    }

    fn current<D: Document>(&self, id: &str) -> Result<Option<D>, Error> {
        let bad = |cause: BadBody| Error::Body { kind: D::KIND.name, id: id.to_owned(), cause };
        match &self.write {
            Some(Write::Put { shape, body, .. }) => read_body(*shape, body).map(Some).map_err(bad),
            Some(Write::Delete) => Ok(None),
            None => self.read.as_ref().map_or(Ok(None), DocumentRow::body_as),
        }
    }

    fn into_write(self, tenant: TenantBits, id: String, writes: bool) -> Option<DocumentWrite> {
        let action = match (self.write, self.use_of_it) {
            (Some(Write::Put { shape, body, fields }), _) => Action::Put { shape, body, fields },
            (Some(Write::Delete), _) => Action::Delete,
            (None, Use::HoldsKey) => Action::Hold,
            (None, Use::Guards) if writes => {
                let body = serde_json::to_string(&Guard::of(id.clone())).expect("a name is JSON");
                Action::Put { shape: self.kind.shape, body, fields: Vec::new() }
            }
            (None, Use::Guards | Use::Checked) => Action::Check,
            (None, Use::Peeked) => return None,
        };
        let (expected, blind) = self.read.map_or((0, true), |row| (row.version, false));
        // Nothing was read and nothing is written: there is nothing to check.
        if blind && matches!(action, Action::Check) {
            return None;
        }
        Some(DocumentWrite { kind: self.kind, tenant, id, expected, blind, action })
    }
}

impl DocumentRow {
    fn nothing(id: &str) -> Self {
        Self { id: id.to_owned(), version: 0, shape: 1, body: None }
    }

    fn body_as<D: Document>(&self) -> Result<Option<D>, Error> {
        let Some(body) = &self.body else { return Ok(None) };
        let bad = |cause: BadBody| Error::Body { kind: D::KIND.name, id: self.id.clone(), cause };
        read_body(self.shape, body).map(Some).map_err(bad)
    }
}
