//! `TenantTx`: one tenant's reads and collected writes.
//!
//! Invariant: nothing is written before the flush, and no connection is held between reads. What a decision rested on
//! is version-checked when it is flushed.

use std::sync::{Arc, Mutex, MutexGuard};

use karwan_envelope::Envelope;
use karwan_envelope::envelope::Context;
use karwan_envelope::row::AiProvenance;
use karwan_envelope::time::Timestamp;
use karwan_registry::Event;
use serde::Serialize;

use crate::error::Error;
use crate::facts::{Facts, Origin};
use crate::held::Documents;
use crate::kind::{BODY_BYTES_MAX, Document, FIELD_BYTES_MAX, FieldValue, Guard, ID_BYTES_MAX};
use crate::query::{Page, Query};
use crate::store::Shared;
use crate::stored::tenant_bits;
use crate::write_set::{DeadlineWrite, EffectWrite, TenantBits, UNIT_KEYS_MAX, WriteSet};

/// One tenant's unit of work. A handle: clones share what was collected.
#[derive(Clone)]
pub struct TenantTx {
    shared: Arc<Shared>,
    context: Arc<Context>,
    origin: Origin,
    unit: Arc<Mutex<Unit>>,
}

/// What a unit has read and wants to write.
#[derive(Default)]
struct Unit {
    documents: Documents,
    deadlines: Vec<DeadlineWrite>,
    effects: Vec<EffectWrite>,
    facts: Vec<Envelope>,
    /// The first thing that went wrong while collecting; told at the flush, so that collecting needs no `?`.
    refused: Option<Error>,
}

impl TenantTx {
    pub(crate) fn new(shared: Arc<Shared>, context: Arc<Context>, origin: Origin) -> Self {
        Self { shared, context, origin, unit: Arc::default() }
    }

    /// Who writes, for whom, and why.
    pub fn context(&self) -> &Context {
        &self.context
    }

    fn tenant(&self) -> TenantBits {
        tenant_bits(self.context.tenant)
    }

    fn unit(&self) -> MutexGuard<'_, Unit> {
        self.unit.lock().expect("nothing panics while holding it")
    }

    /// A document that must be there. The decision rests on it: if it changes before the flush, the unit is re-run.
    pub async fn get<D: Document>(&self, id: &str) -> Result<D, Error> {
        self.find(id).await?.ok_or_else(|| Error::NotFound { kind: D::KIND.name, id: id.to_owned() })
    }

    /// A document that may be there. The decision rests on the answer, also on its absence.
    pub async fn find<D: Document>(&self, id: &str) -> Result<Option<D>, Error> {
        self.read(id, true).await
    }

    /// A document that may be stale by the time of the flush, such as a name to print.
    pub async fn peek<D: Document>(&self, id: &str) -> Result<Option<D>, Error> {
        self.read(id, false).await
    }

    async fn read<D: Document>(&self, id: &str, checked: bool) -> Result<Option<D>, Error> {
        if let Some(known) = self.unit().documents.known::<D>(id, checked) {
            return known;
        }
        let kind = self.shared.kind::<D>()?;
        let row = self.shared.backend.document(self.tenant(), kind, id).await?;
        self.unit().documents.learn(id, row, checked)
    }

    /// Documents by their declared fields, with the unit's own puts and deletes laid over the stored ones.
    ///
    /// The decision does **not** rest on who else might be found: use [`Self::query_under`] for that.
    pub async fn query<D: Document>(&self, query: Query<D>) -> Result<Page<D>, Error> {
        let parts = query.into_parts()?;
        let kind = self.shared.kind::<D>()?;
        let rows = self.shared.backend.query(self.tenant(), kind, &parts).await?;
        self.unit().documents.page(&parts, rows)
    }

    /// The same, where the decision rests on the answer as a whole: on an absence, or on a count.
    ///
    /// The guard is read before the query. If the unit writes anything, it writes the guard too, so that of two units
    /// that rest on the same guard one is re-run.
    pub async fn query_under<D: Document>(&self, guard: &Guard, query: Query<D>) -> Result<Page<D>, Error> {
        self.find::<Guard>(&guard.of).await?;
        let page = self.query(query).await?;
        self.unit().documents.guard(&guard.of);
        Ok(page)
    }

    /// Says that this unit changes what a guard stands for.
    pub async fn touch(&self, guard: &Guard) -> Result<(), Error> {
        self.find::<Guard>(&guard.of).await?;
        self.put(guard.clone());
        Ok(())
    }

    /// Writes a document at the flush. One that was not read in this unit is expected not to exist.
    pub fn put<D: Document>(&self, document: D) {
        let id = document.id();
        let fields = document.fields();
        let body = match serde_json::to_string(&document) {
            Ok(body) => body,
            Err(cause) => return self.refuse(Error::Body { kind: D::KIND.name, id, cause: cause.into() }),
        };
        if let Some(error) = oversize(&id, &body).or_else(|| mistyped::<D>(&id, &fields)) {
            return self.refuse(error);
        }
        self.unit().documents.put::<D>(id, body, fields);
    }

    /// Deletes a document at the flush. It must have been read in this unit; one that is not there stays away.
    pub fn delete<D: Document>(&self, id: &str) {
        let known = self.unit().documents.delete::<D>(id);
        if !known {
            self.refuse(Error::NotFound { kind: D::KIND.name, id: id.to_owned() });
        }
    }

    /// Emits facts: they enter the log if and only if the unit commits.
    pub fn emit(&self, facts: impl Into<Facts>) {
        for fact in facts.into().into_list() {
            self.collect(fact(&self.shared, &self.context));
        }
    }

    /// Emits a fact in which an AI took part.
    pub fn emit_with<E: Event>(&self, event: &E, provenance: AiProvenance) {
        self.collect(self.shared.envelope(event, &self.context, Some(provenance)));
    }

    fn collect(&self, envelope: Result<Envelope, Error>) {
        match envelope {
            Ok(envelope) => self.unit().facts.push(envelope),
            Err(error) => self.refuse(error),
        }
    }

    /// Sets a deadline, or moves one: `kind` says what is to be done, `id` which one it is.
    pub fn deadline(&self, kind: &str, id: &str, due: Timestamp, told: &impl Serialize) {
        match serde_json::to_string(told) {
            Ok(body) => self.push_deadline(kind, id, Some(due.unix_ms()), body),
            Err(cause) => self.refuse(Error::Body { kind: "deadline", id: id.to_owned(), cause: cause.into() }),
        }
    }

    /// Cancels a deadline; one that is not there is no failure.
    pub fn cancel_deadline(&self, kind: &str, id: &str) {
        self.push_deadline(kind, id, None, String::new());
    }

    fn push_deadline(&self, kind: &str, id: &str, due: Option<i64>, body: String) {
        if let Some(error) = oversize(kind, "").or_else(|| oversize(id, &body)) {
            return self.refuse(error);
        }
        let deadline = DeadlineWrite { tenant: self.tenant(), kind: kind.to_owned(), id: id.to_owned(), due, body };
        let mut unit = self.unit();
        unit.deadlines.retain(|other| (&other.kind, &other.id) != (&deadline.kind, &deadline.id));
        unit.deadlines.push(deadline);
    }

    /// Records a call to the outside. Its id derives from the unit, the kind and its place among the unit's effects, so
    /// that a repeated command records it once; it is the idempotency key of the call.
    pub fn effect(&self, kind: &str, key: &str, told: &impl Serialize) {
        let body = match serde_json::to_string(told) {
            Ok(body) => body,
            Err(cause) => return self.refuse(Error::Body { kind: "effect", id: key.to_owned(), cause: cause.into() }),
        };
        if let Some(error) = oversize(kind, "").or_else(|| oversize(key, &body)) {
            return self.refuse(error);
        }
        let mut unit = self.unit();
        let ordinal = unit.effects.len();
        let id = self.origin.effect(kind, ordinal);
        unit.effects.push(EffectWrite { tenant: self.tenant(), id, kind: kind.to_owned(), key: key.to_owned(), body });
    }

    fn refuse(&self, error: Error) {
        self.unit().refused.get_or_insert(error);
    }

    /// All that was collected, checked and sorted; the handle is empty afterwards.
    pub(crate) fn take(&self) -> Result<WriteSet, Error> {
        let unit = std::mem::take(&mut *self.unit());
        if let Some(refused) = unit.refused {
            return Err(refused);
        }
        let tenant = self.tenant();
        let mut documents = unit.documents;
        let mut facts = Vec::with_capacity(unit.facts.len());
        for envelope in &unit.facts {
            let carrier = self.shared.kinds.carrier(envelope.subject.as_str());
            if let Some(kind) = carrier {
                documents.hold_key(kind, envelope)?;
            }
            facts.push(crate::stored::fact(&self.shared.catalogue, envelope, carrier.is_some())?);
        }
        let writes = !(facts.is_empty() && unit.deadlines.is_empty() && unit.effects.is_empty());
        let documents = documents.into_writes(tenant, writes);
        let most = [documents.len(), facts.len(), unit.deadlines.len(), unit.effects.len()].into_iter().max();
        let actual = most.unwrap_or_default();
        if actual > UNIT_KEYS_MAX {
            return Err(Error::TooLarge { what: "documents or facts of one unit", actual, max: UNIT_KEYS_MAX });
        }
        let mut deadlines = unit.deadlines;
        deadlines.sort_by(|a, b| (&a.kind, &a.id).cmp(&(&b.kind, &b.id)));
        let mut effects = unit.effects;
        effects.sort_by_key(|effect| effect.id);
        Ok(WriteSet { documents, deadlines, effects, facts, ..WriteSet::default() })
    }
}

fn oversize(id: &str, body: &str) -> Option<Error> {
    let bounds = [("bytes of an id", id.len(), ID_BYTES_MAX), ("bytes of a body", body.len(), BODY_BYTES_MAX)];
    let (what, actual, max) = bounds.into_iter().find(|(_, actual, max)| actual > max)?;
    Some(Error::TooLarge { what, actual, max })
}

fn mistyped<D: Document>(id: &str, fields: &[FieldValue]) -> Option<Error> {
    // A longer text would not fit into an index.
    let texts = fields.iter().map(|value| if let FieldValue::Text(text) = value { text.len() } else { 0 });
    if let Some(actual) = texts.max().filter(|bytes| *bytes > FIELD_BYTES_MAX) {
        return Some(Error::TooLarge { what: "bytes of a declared field", actual, max: FIELD_BYTES_MAX });
    }
    let declared = D::KIND.fields;
    let fits = fields.len() == declared.len()
        && fields.iter().zip(declared).all(|(value, field)| value.of().is_none_or(|of| of == field.of));
    let reason = || format!("`{id}` gives {fields:?} for the declared fields {declared:?}");
    (!fits).then(|| Error::Query { kind: D::KIND.name, reason: reason() })
}
