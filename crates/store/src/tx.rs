//! `TenantTx`: one tenant's reads and collected writes.
//!
//! Invariant: nothing is written before the flush, and no connection is held between reads, unless the unit takes its
//! transaction (`own_tables`). What a decision rested on is version-checked when it is flushed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use karwan_envelope::Envelope;
use karwan_envelope::cause::Cause;
use karwan_envelope::envelope::Context;
use karwan_envelope::ids::Id;
use karwan_envelope::row::AiProvenance;
use karwan_envelope::time::Timestamp;
use karwan_registry::Event;
use serde::Serialize;

use crate::error::Error;
use crate::facts::{Facts, Origin};
use crate::held::{DocumentRow, Documents};
use crate::kind::{BODY_BYTES_MAX, Document, FIELD_BYTES_MAX, FieldValue, Guard, ID_BYTES_MAX, Kind, write_body};
use crate::own_tables::Place;
use crate::query::{Page, Query};
use crate::recent::{PEEKED_MAX, Reads};
use crate::store::Shared;
use crate::stored::{cause_text, tenant_bits};
use crate::trace::{SpanRecord, publish_span, transition_span};
use crate::write_set::{DeadlineWrite, EffectWrite, TenantBits, WriteSet};

/// One tenant's unit of work. A handle: clones share what was collected.
#[derive(Clone)]
pub struct TenantTx {
    shared: Arc<Shared>,
    context: Arc<Context>,
    origin: Origin,
    /// Shared by the units of a batch, within one tenant.
    documents: Arc<Mutex<Documents>>,
    reads: Reads,
    collected: Arc<Mutex<Collected>>,
    /// Its transaction, where it writes tables of the user's own.
    own: Arc<Place>,
}

/// What a unit wants to write besides documents.
#[derive(Default)]
struct Collected {
    /// The documents that this unit has read or written; others of its batch may know more.
    seen: BTreeSet<(&'static str, String)>,
    deadlines: Vec<DeadlineWrite>,
    effects: Vec<EffectWrite>,
    /// How many effects there are of each kind.
    counts: BTreeMap<String, usize>,
    facts: Vec<Envelope>,
    transitions: Vec<SpanRecord>,
    /// Where something was not asked of the store, which may be old: in which life it was seen.
    recent: Option<i64>,
    /// The first thing that went wrong while collecting; told at the flush, so that collecting needs no `?`.
    refused: Option<Error>,
}

impl TenantTx {
    pub(crate) fn new(
        shared: Arc<Shared>,
        context: Arc<Context>,
        origin: Origin,
        documents: Arc<Mutex<Documents>>,
    ) -> Self {
        let reads = Reads::Fresh;
        Self { shared, context, origin, documents, reads, collected: Arc::default(), own: Arc::default() }
    }

    /// The same unit, before it has read anything, with other reads.
    pub(crate) fn reading(self, reads: Reads) -> Self {
        Self { reads, ..self }
    }

    /// Whether its decision rests on what this process knew, and may be another one by what the store says.
    pub(crate) fn rests_on_recent(&self) -> bool {
        self.collected().recent.is_some()
    }

    /// Who writes, for whom, and why.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The time, by the store's clock: what a decision is told.
    pub fn now(&self) -> Timestamp {
        self.shared.mint.clock().now()
    }

    /// A fresh id, from the store's clock and chance. A unit that is re-run gets others.
    pub fn fresh<K: karwan_envelope::ids::Kind>(&self) -> Id<K> {
        Id::from_bits(self.shared.mint.event().bits())
    }

    pub(crate) fn shared_context(&self) -> Arc<Context> {
        self.context.clone()
    }

    pub(crate) fn tenant(&self) -> TenantBits {
        tenant_bits(self.context.tenant)
    }

    /// The same unit, which shares its commit with others.
    pub(crate) fn in_company(self) -> Self {
        Self { own: Arc::new(Place::in_company()), ..self }
    }

    pub(crate) fn own(&self) -> &Place {
        &self.own
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The same unit over another identity map.
    pub(crate) fn over(self, documents: Arc<Mutex<Documents>>) -> Self {
        Self { documents, ..self }
    }

    /// The identity map.
    pub(crate) fn documents(&self) -> Arc<Mutex<Documents>> {
        self.documents.clone()
    }

    fn held(&self) -> MutexGuard<'_, Documents> {
        self.documents.lock().expect("nothing panics while holding it")
    }

    fn collected(&self) -> MutexGuard<'_, Collected> {
        self.collected.lock().expect("nothing panics while holding it")
    }

    /// A document that must be there. The decision rests on it: if it changes before the flush, the unit is re-run.
    ///
    /// Another tenant's is not found, as one that was never there: nobody learns which. So an event that refers to one is tried
    /// again like one that came before its predecessor, which may yet come, and is given up by its consumer's policy.
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
        if let Some(error) = unfit(id, "") {
            return Err(error);
        }
        self.see::<D>(id);
        if let Some(known) = self.held().known::<D>(id, checked) {
            return known;
        }
        let row = self.row(self.shared.kind::<D>()?, id, checked).await?;
        self.held().learn(id, row, checked)
    }

    /// A document as this process saw it last, where that is good enough, else as the store has it.
    async fn row(&self, kind: &Kind, id: &str, checked: bool) -> Result<Option<DocumentRow>, Error> {
        let (backend, recent) = (&self.shared.backend, &self.shared.recent);
        let (tenant, life) = (self.tenant(), backend.incarnation());
        if self.reads == Reads::Recent {
            let age_max = (!checked).then_some(PEEKED_MAX);
            if let Some(row) = recent.known(life, kind, (tenant, id), age_max) {
                self.collected().recent.get_or_insert(life);
                // Nothing was waited for: whoever reads much gives way to others all the same.
                tokio::task::coop::consume_budget().await;
                return Ok(Some(row));
            }
        }
        let row = backend.document(tenant, kind, id).await?;
        if let Some(row) = &row {
            recent.learn(life, kind, tenant, row);
        }
        Ok(row)
    }

    /// Documents by their declared fields, with the unit's own puts and deletes laid over the stored ones.
    ///
    /// The decision does **not** rest on who else might be found: use [`Self::query_under`] for that.
    pub async fn query<D: Document>(&self, query: Query<D>) -> Result<Page<D>, Error> {
        let parts = query.into_parts()?;
        let kind = self.shared.kind::<D>()?;
        let rows = self.shared.backend.query(self.tenant(), kind, &parts).await?;
        let page: Page<D> = self.held().page(&parts, rows)?;
        page.items.iter().for_each(|document| {
            self.see::<D>(&document.id());
        });
        Ok(page)
    }

    /// Remembers that this unit knows a document; whether that is new.
    fn see<D: Document>(&self, id: &str) -> bool {
        self.collected().seen.insert((D::KIND.name, id.to_owned()))
    }

    /// The same, where the decision rests on the answer as a whole: on an absence, or on a count.
    ///
    /// The guard is read before the query. If the unit writes anything, it writes the guard too, so that of two units
    /// that rest on the same guard one is re-run.
    pub async fn query_under<D: Document>(&self, guard: &Guard, query: Query<D>) -> Result<Page<D>, Error> {
        self.find::<Guard>(&guard.of).await?;
        let page = self.query(query).await?;
        self.held().guard(&guard.of);
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
        let body = match write_body(&document) {
            Ok(body) => body,
            Err(cause) => return self.refuse(Error::Body { kind: D::KIND.name, id, cause }),
        };
        if let Some(error) = unfit(&id, &body).or_else(|| mistyped::<D>(&id, &fields)) {
            return self.refuse(error);
        }
        let new_here = self.see::<D>(&id);
        let mut held = self.held();
        // Read or written by another unit of the batch only: done singly, this put would find it there.
        if new_here && held.is_there::<D>(&id) {
            drop(held);
            return self.refuse(Error::Exists { kind: D::KIND.name.to_owned(), id });
        }
        held.put::<D>(id, body, fields);
    }

    /// Deletes a document at the flush. It must have been read in this unit; one that is not there stays away.
    pub fn delete<D: Document>(&self, id: &str) {
        let new_here = self.see::<D>(id);
        if new_here || !self.held().delete::<D>(id) {
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
            Ok(envelope) => self.collected().facts.push(envelope),
            Err(error) => self.refuse(error),
        }
    }

    /// Says which way something went: `transition("booking", "held", "confirmed")`. Where somebody hears of spans, it becomes
    /// one of this unit's trace, named after it, if and only if the unit commits.
    pub fn transition(&self, of: &str, from: &str, to: &str) {
        if self.shared.spans.is_none() {
            return;
        }
        let now = self.now();
        let mut collected = self.collected();
        let ordinal = collected.transitions.len();
        collected.transitions.push(SpanRecord {
            trace: self.context.cause.correlation,
            id: transition_span(self.origin, ordinal),
            parent: self.context.cause.traceparent().span.id,
            name: format!("{of}: {from} → {to}"),
            service: self.context.producer.service.clone(),
            event: self.context.cause.causation,
            tenant: self.context.tenant,
            from: now,
            until: now,
            ok: true,
        });
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
        if let Some(error) = unfit(kind, "").or_else(|| unfit(id, &body)) {
            return self.refuse(error);
        }
        let (kind, id, token) = (kind.to_owned(), id.to_owned(), self.shared.mint.event().bits());
        let cause = cause_text(&self.context.cause);
        let deadline = DeadlineWrite { tenant: self.tenant(), kind, id, due, body, token, cause };
        self.collected().deadlines.push(deadline);
    }

    /// Records a call to the outside. Its id derives from the unit, the kind and its place among the unit's effects of that
    /// kind, so that a repeated command records it once, whatever of another kind comes or goes; it is the idempotency key of
    /// the call.
    pub fn effect(&self, kind: &str, key: &str, told: &impl Serialize) {
        let body = match serde_json::to_string(told) {
            Ok(body) => body,
            Err(cause) => return self.refuse(Error::Body { kind: "effect", id: key.to_owned(), cause: cause.into() }),
        };
        if let Some(error) = unfit(kind, "").or_else(|| unfit(key, &body)) {
            return self.refuse(error);
        }
        let mut collected = self.collected();
        let count = collected.counts.entry(kind.to_owned()).or_default();
        let id = self.origin.effect(kind, *count);
        *count += 1;
        let (kind, key, cause) = (kind.to_owned(), key.to_owned(), cause_text(&self.context.cause));
        collected.effects.push(EffectWrite { tenant: self.tenant(), id, kind, key, body, cause });
    }

    pub(crate) fn refuse(&self, error: Error) {
        self.collected().refused.get_or_insert(error);
    }

    /// Adds all that was collected to a write; the handle is empty afterwards. Documents are the identity map's.
    pub(crate) fn pour(&self, set: &mut WriteSet) -> Result<(), Error> {
        let collected = std::mem::take(&mut *self.collected());
        if let Some(refused) = collected.refused {
            return Err(refused);
        }
        // The first of several: had another begun meanwhile, this one is over.
        set.recent = set.recent.or(collected.recent);
        for envelope in &collected.facts {
            let carrier = self.shared.kinds.carrier(envelope.subject.as_str());
            if let Some(kind) = carrier {
                self.held().hold_key(kind, envelope)?;
            }
            if self.shared.spans.is_some() {
                set.spans.push(self.published(envelope));
            }
            set.facts.push(crate::stored::fact(&self.shared.catalogue, envelope, carrier.is_some())?);
        }
        set.spans.extend(collected.transitions);
        // What a request sets beside its first fact follows from that fact; what else would it be told apart from a root by?
        let first = collected.facts.first().filter(|_| self.context.cause.causation.is_none());
        let cause = first.map(|fact| cause_text(&Cause::of(fact.id, &self.context.cause)));
        let caused = |own: String| cause.clone().unwrap_or(own);
        let deadlines = collected.deadlines.into_iter();
        set.deadlines.extend(deadlines.map(|it| DeadlineWrite { cause: caused(it.cause), ..it }));
        let effects = collected.effects.into_iter();
        set.effects.extend(effects.map(|it| EffectWrite { cause: caused(it.cause), ..it }));
        Ok(())
    }
}

impl TenantTx {
    /// The span of publishing a fact, which ends with the commit.
    fn published(&self, envelope: &Envelope) -> SpanRecord {
        let from = envelope.occurred_at;
        SpanRecord {
            trace: envelope.cause.correlation,
            id: publish_span(envelope.id),
            parent: self.context.cause.traceparent().span.id,
            name: format!("publish {}", envelope.subject),
            service: self.context.producer.service.clone(),
            event: Some(envelope.id),
            tenant: envelope.tenant,
            from,
            until: from,
            ok: true,
        }
    }
}

/// What keeps a name and a body out of every store; JSON has no NUL of its own, a name may.
fn unfit(name: &str, body: &str) -> Option<Error> {
    if name.contains('\0') {
        return Some(Error::Nul { what: "a name", text: name.to_owned() });
    }
    let bounds = [("bytes of an id", name.len(), ID_BYTES_MAX), ("bytes of a body", body.len(), BODY_BYTES_MAX)];
    let (what, actual, max) = bounds.into_iter().find(|(_, actual, max)| actual > max)?;
    Some(Error::TooLarge { what, actual, max })
}

fn mistyped<D: Document>(id: &str, fields: &[FieldValue]) -> Option<Error> {
    for value in fields {
        let FieldValue::Text(text) = value else { continue };
        // A longer text would not fit into an index.
        if text.len() > FIELD_BYTES_MAX {
            let (actual, max) = (text.len(), FIELD_BYTES_MAX);
            return Some(Error::TooLarge { what: "bytes of a declared field", actual, max });
        }
        if text.contains('\0') {
            return Some(Error::Nul { what: "a declared field", text: text.clone() });
        }
    }
    let declared = D::KIND.fields;
    let fits = fields.len() == declared.len()
        && fields.iter().zip(declared).all(|(value, field)| value.of().is_none_or(|of| of == field.of));
    let reason = || format!("`{id}` gives {fields:?} for the declared fields {declared:?}");
    (!fits).then(|| Error::Query { kind: D::KIND.name, reason: reason() })
}
