//! `Store`: opened once, shared by everything in a process that commits or reads.

use std::sync::Arc;

use karwan_envelope::Envelope;
use karwan_envelope::envelope::Context;
use karwan_envelope::ids::EventId;
use karwan_envelope::mint::{Mint, OsRandom, Random};
use karwan_envelope::row::AiProvenance;
use karwan_envelope::time::{Clock, SystemClock};
use karwan_registry::{Catalogue, Event};

use crate::address::Address;
use crate::backend::{Backend, Refusal, Void};
use crate::batch::gather;
use crate::deadline::Deadline;
use crate::effect::EffectRef;
use crate::error::Error;
use crate::facts::{Origin, UnitId};
use crate::kind::{Document, Kind, KindType, Kinds};
use crate::log::Position;
use crate::metrics::Metrics;
use crate::own_tables;
use crate::platform::{same_tenant, tenants_only};
use crate::postgres::own::Transaction;
use crate::recent::{Reads, Recent};
use crate::trace::{SpanRecord, Spans};
use crate::tx::TenantTx;
use crate::write_set::{Flushed, UnitClaim, WriteSet};

/// How often a unit is re-run because others were faster, where nothing else is configured.
pub const CONFLICT_RETRIES_MAX: u32 = 20;

/// A database with its log, its documents and everything that readers keep.
#[derive(Clone)]
pub struct Store {
    pub(crate) shared: Arc<Shared>,
}

/// What a store is opened with besides its address.
pub struct Options {
    /// The platform whose events are emitted here.
    pub catalogue: Arc<Catalogue>,
    /// The document kinds that this program knows.
    pub kinds: Vec<KindType>,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// Where chance comes from.
    pub random: Arc<dyn Random>,
    /// How often a unit is re-run because others were faster.
    pub conflict_retries_max: u32,
    /// As whom the log is dropped and intents are pruned, where that is another login (Postgres).
    pub maintenance: Option<Address>,
    /// The most connections that are open at once (Postgres), or readers (SQLite).
    pub connections_max: usize,
    /// Whether nothing will be written: a SQLite file that another process uses can then be read beside it.
    pub read_only: bool,
    /// How large a SQLite file may grow; past that, writes are refused as on a full disk.
    pub file_bytes_max: Option<u64>,
    /// Who hears of spans.
    pub spans: Option<Spans>,
    /// Who decides over every call, in a simulation (SQLite).
    #[cfg(feature = "simulation")]
    pub simulation: Option<Arc<dyn crate::simulation::Simulation>>,
}

impl Options {
    /// The machine's clock and chance, and the usual bounds.
    pub fn new(catalogue: Arc<Catalogue>, kinds: Vec<KindType>) -> Self {
        Self {
            catalogue,
            kinds,
            clock: Arc::new(SystemClock),
            random: Arc::new(OsRandom),
            conflict_retries_max: CONFLICT_RETRIES_MAX,
            maintenance: None,
            connections_max: 16,
            read_only: false,
            file_bytes_max: None,
            spans: None,
            #[cfg(feature = "simulation")]
            simulation: None,
        }
    }
}

/// What all handles of one store share.
pub struct Shared {
    pub(crate) backend: Arc<Backend>,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) kinds: Kinds,
    pub(crate) mint: Mint<Arc<dyn Clock>, Arc<dyn Random>>,
    pub(crate) spans: Option<Spans>,
    pub(crate) metrics: Metrics,
    conflict_retries_max: u32,
    contended: crate::contention::Contention,
    pub(crate) recent: Recent,
}

impl Shared {
    pub(crate) fn kind<D: Document>(&self) -> Result<&Kind, Error> {
        let unknown = || Error::KindUnknown { kind: D::KIND.name.to_owned() };
        self.kinds.named(D::KIND.name).filter(|kind| **kind == D::KIND).ok_or_else(unknown)
    }

    pub(crate) fn envelope<E: Event>(
        &self,
        event: &E,
        context: &Context,
        provenance: Option<AiProvenance>,
    ) -> Result<Envelope, Error> {
        let refused = |cause| self.refused(E::SUBJECT, cause);
        self.catalogue.envelope(event, context, provenance, &self.mint).map_err(refused)
    }
}

/// What a unit of work answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done<T> {
    /// What the decision answered.
    pub answer: T,
    /// Everything that the unit wrote lies at or before this position.
    pub position: Position,
    /// Whether it had been committed before, and nothing was written now.
    pub repeated: Option<Repeated>,
}

/// How a repetition was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeated {
    /// The unit's id was committed before.
    Unit,
    /// The intents of its facts were recorded before; this was the first of them.
    Intent(EventId),
}

impl Store {
    /// Opens a migrated store. On Postgres this refuses to go on where row-level security does not bite.
    pub async fn open(address: &Address, options: Options) -> Result<Self, Error> {
        let kinds = Kinds::new(&options.kinds)?;
        let backend = Backend::open(address, &options, &kinds).await?;
        Ok(Self {
            shared: Arc::new(Shared {
                backend: Arc::new(backend),
                metrics: Metrics::new(options.catalogue.platform().name),
                spans: options.spans,
                catalogue: options.catalogue,
                kinds,
                mint: Mint::new(options.clock, options.random),
                conflict_retries_max: options.conflict_retries_max,
                contended: crate::contention::Contention::default(),
                recent: Recent::default(),
            }),
        })
    }

    /// What this process counts.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// Something came from a channel or a task of this process, and is about to be acted on. A simulation may end the process
    /// here; otherwise this is nothing.
    #[doc(hidden)]
    pub async fn heard(&self, what: &'static str) {
        self.shared.backend.heard(what).await;
    }

    /// Tells of a span, where somebody wants to hear of it.
    pub fn tell(&self, span: impl FnOnce() -> SpanRecord) {
        if let Some(spans) = &self.shared.spans {
            spans(span());
        }
    }

    /// The platform's catalogue.
    pub fn catalogue(&self) -> &Catalogue {
        &self.shared.catalogue
    }

    /// One unit of work: the decision is re-run when what it rests on has changed, at most `conflict_retries_max` times.
    ///
    /// The decision must have no effect but on its handle: it may run several times, and its last run counts.
    pub async fn unit<T, E, F>(&self, context: &Context, decide: impl Fn(TenantTx) -> F) -> Result<Done<T>, E>
    where
        F: Future<Output = Result<T, E>>,
        E: From<Error>,
    {
        tenants_only(context)?;
        self.run(Reason::Own(self.fresh_id()), context, decide).await
    }

    /// The same under an id from outside: repeated with the same id it commits once, and answers *repeated*. Where the
    /// decision refuses what it accepted the first time, the answer is [`Error::Repeated`].
    pub async fn once<T, E, F>(
        &self,
        id: UnitId,
        context: &Context,
        decide: impl Fn(TenantTx) -> F,
    ) -> Result<Done<T>, E>
    where
        F: Future<Output = Result<T, E>>,
        E: From<Error>,
    {
        tenants_only(context)?;
        self.run(Reason::Command(id), context, decide).await
    }

    /// A unit for whatever reason, re-run on conflict.
    pub(crate) async fn run<T, E, F>(
        &self,
        mut reason: Reason<'_>,
        context: &Context,
        decide: impl Fn(TenantTx) -> F,
    ) -> Result<Done<T>, E>
    where
        F: Future<Output = Result<T, E>>,
        E: From<Error>,
    {
        let context = Arc::new(context.clone());
        let mut attempts = 0;
        let mut turn = None;
        let mut lost = false;
        // What this process knows is good enough for a first try: a flush that is taken has checked it.
        let mut reads = Reads::Recent;
        reason.admits(&context)?;
        loop {
            let reads = std::mem::replace(&mut reads, Reads::Fresh);
            let tx =
                TenantTx::new(self.shared.clone(), context.clone(), reason.origin(), Arc::default()).reading(reads);
            let answer = match decide(tx.clone()).await {
                Ok(answer) => answer,
                Err(_) if tx.rests_on_recent() => continue,
                Err(_) if tx.own().lost().await && attempts < self.shared.conflict_retries_max => {
                    attempts += 1;
                    continue;
                }
                Err(refused) if self.was_committed(&reason, &tx).await => {
                    drop(refused);
                    return Err(Error::Repeated.into());
                }
                Err(refused) => return Err(refused),
            };
            // Whatever is refused below: decided by what the store says, it may be taken.
            let recent = tx.rests_on_recent();
            let own = own_tables::end(std::slice::from_ref(&tx)).await?;
            let set = match reason.set(&tx, own.is_some()) {
                Ok(set) => Arc::new(set),
                Err(_) if recent => continue,
                Err(error) => return Err(error.into()),
            };
            if set.documents.is_empty() && !set.writes() {
                return Ok(self.done(answer, self.shared.backend.highest().await?, None));
            }
            let refusal = match self.flush(&set, own).await {
                Ok(flushed) => {
                    self.published(&set);
                    return Ok(self.done(answer, flushed.seq, None));
                }
                Err(refusal) => refusal,
            };
            attempts += 1;
            lost |= matches!(refusal, Refusal::Lost(_));
            if recent && matches!(refusal, Refusal::Error(_)) {
                continue;
            }
            match self.settle(refusal, &set, reason.void(), attempts).await? {
                // Somebody has done this before: this very call, whose answer was lost, or another process.
                Settled::Repeated(Repeated::Unit, _) if !lost && reason.is_a_task() => {
                    return Err(Error::Gone { what: "what is due".to_owned() }.into());
                }
                // Nothing was checked: its answer may be of the past.
                Settled::Repeated(..) if recent => {}
                Settled::Repeated(repeated, seq) => return Ok(self.done(answer, seq, Some(repeated))),
                Settled::Committed(seq) => {
                    self.published(&set);
                    return Ok(self.done(answer, seq, None));
                }
                // Whoever has lost twice waits for its turn at what it lost.
                Settled::Again(what) => {
                    drop(turn.take());
                    turn = if attempts >= 2 { Some(self.shared.contended.turn(&what).await) } else { None };
                    self.heard("a turn at a document").await;
                }
            }
            if let Reason::Own(id) = &mut reason {
                // The old id may have been made void.
                *id = self.fresh_id();
            }
        }
    }

    /// One unit of work whose reads and writes the caller makes itself; a conflict is the caller's to handle.
    pub fn tenant(&self, context: &Context) -> OpenUnit {
        let reason = Reason::Own(self.fresh_id());
        let tx = TenantTx::new(self.shared.clone(), Arc::new(context.clone()), reason.origin(), Arc::default());
        if let Err(refused) = tenants_only(context) {
            tx.refuse(refused);
        }
        OpenUnit { store: self.clone(), reason, tx }
    }

    pub(crate) fn fresh_id(&self) -> UnitId {
        UnitId::from_bits(self.shared.mint.event().bits())
    }

    fn done<T>(&self, answer: T, seq: i64, repeated: Option<Repeated>) -> Done<T> {
        let incarnation = self.shared.backend.incarnation();
        Done { answer, position: Position { incarnation, seq }, repeated }
    }

    /// Counts what was committed, and tells of it.
    fn published(&self, set: &WriteSet) {
        let directory = self.shared.catalogue.directory();
        let now = self.shared.mint.clock().now();
        for facts in set.facts.chunk_by(|a, b| a.tenant == b.tenant) {
            let owners = facts.iter().filter_map(|fact| {
                directory.resolve(&fact.subject).map(|entry| (entry.row.owner.as_str(), fact.subject.as_str()))
            });
            self.shared.metrics.published(facts[0].tenant, owners, now.unix_ms());
        }
        for span in &set.spans {
            self.tell(|| SpanRecord { until: now, ..span.clone() });
        }
    }

    /// Whether a command that is refused now was committed before.
    async fn was_committed(&self, reason: &Reason<'_>, tx: &TenantTx) -> bool {
        let Reason::Command(id) = reason else { return false };
        let claim = UnitClaim { tenant: tx.tenant(), id: id.bits() };
        // Where this cannot be asked, the refusal stands.
        self.shared.backend.unit_committed(claim, Void::No).await.unwrap_or(false)
    }

    /// Flushes a set that is not re-run.
    pub(crate) async fn flush_once(&self, set: WriteSet, own: Option<Transaction>) -> Result<Done<()>, Error> {
        let set = Arc::new(set);
        match self.flush(&set, own).await {
            Ok(flushed) => {
                self.published(&set);
                Ok(self.done((), flushed.seq, None))
            }
            Err(Refusal::Conflict { what }) => Err(Error::Conflict { what, attempts: 1 }),
            Err(refusal) => match self.settle(refusal, &set, Void::Yes, u32::MAX).await? {
                Settled::Repeated(repeated, seq) => Ok(self.done((), seq, Some(repeated))),
                Settled::Committed(seq) => {
                    self.published(&set);
                    Ok(self.done((), seq, None))
                }
                Settled::Again(what) => Err(Error::Conflict { what, attempts: 1 }),
            },
        }
    }

    /// Flushes a set, and remembers what became of its documents.
    async fn flush(&self, set: &Arc<WriteSet>, own: Option<Transaction>) -> Result<Flushed, Refusal> {
        let Shared { backend, recent, .. } = &*self.shared;
        // Before it: it may go to another life.
        let life = backend.incarnation();
        let flushed = backend.flush(set, own).await;
        match &flushed {
            Ok(_) => recent.wrote(life, set),
            Err(Refusal::Conflict { what }) => recent.refused(life, set, what),
            Err(Refusal::Lost(_) | Refusal::UnitRepeated | Refusal::IntentRepeated(_) | Refusal::Error(_)) => {
                recent.refused(life, set, "");
            }
        }
        flushed
    }

    /// What follows a refused flush.
    async fn settle(&self, refusal: Refusal, set: &WriteSet, void: Void, attempts: u32) -> Result<Settled, Error> {
        match refusal {
            Refusal::Conflict { what } if attempts <= self.shared.conflict_retries_max => Ok(Settled::Again(what)),
            Refusal::Conflict { what } => Err(Error::Conflict { what, attempts }),
            Refusal::UnitRepeated => Ok(Settled::Repeated(Repeated::Unit, self.shared.backend.highest().await?)),
            Refusal::IntentRepeated(event) => {
                Ok(Settled::Repeated(Repeated::Intent(event), self.shared.backend.highest().await?))
            }
            Refusal::Lost(error) => match self.look_up(set, void).await {
                Ok(Some(true)) => Ok(Settled::Committed(self.shared.backend.highest().await?)),
                // Done again, it meets its own claim if the first try arrives after all.
                Ok(Some(false) | None) if attempts <= self.shared.conflict_retries_max => {
                    Ok(Settled::Again("the connection".into()))
                }
                Ok(Some(false)) => Err(error),
                Ok(None) | Err(_) => Err(Error::OutcomeUnknown { cause: Box::new(error) }),
            },
            Refusal::Error(error) => Err(error),
        }
    }

    /// Whether a flush whose answer was lost was committed; none where only doing it again can tell.
    ///
    /// It may still be on its way. An id of our own is made void, so that it can never commit later; an id from outside
    /// stays usable, and is claimed once.
    async fn look_up(&self, set: &WriteSet, void: Void) -> Result<Option<bool>, Error> {
        if let Some(claim) = set.units.first() {
            let committed = self.shared.backend.unit_committed(*claim, void).await?;
            return Ok((committed || void == Void::Yes).then_some(committed));
        }
        let Some(lane) = set.lane.as_ref().filter(|_| !set.claims.is_empty()) else { return Ok(None) };
        // A consumer's claims are its unit's id, all of them: some may have been handled in another batch.
        let handled = self.shared.backend.handled(&lane.consumer, &set.claims).await?;
        Ok((handled.len() == set.claims.len()).then_some(true))
    }
}

/// Why a unit runs: what it claims, and what its effects derive their ids from.
#[derive(Clone, Copy)]
pub(crate) enum Reason<'a> {
    /// Somebody in this process wants it; the id is ours.
    Own(UnitId),
    /// A command whose id came from outside.
    Command(UnitId),
    /// A deadline is due.
    Deadline(&'a Deadline),
    /// The answer of an effect is to be acted on.
    Answer(EffectRef),
}

impl Reason<'_> {
    fn origin(&self) -> Origin {
        match self {
            Self::Own(id) | Self::Command(id) => Origin::command(*id),
            Self::Deadline(deadline) => deadline.origin(),
            Self::Answer(effect) => effect.origin(),
        }
    }

    /// Refuses another tenant than the task's.
    fn admits(&self, context: &Context) -> Result<(), Error> {
        let (what, tenant) = match self {
            Self::Own(_) | Self::Command(_) => return Ok(()),
            Self::Deadline(deadline) => ("a deadline", deadline.tenant),
            Self::Answer(effect) => ("an effect", effect.tenant),
        };
        same_tenant(what, tenant, context)
    }

    /// Whether it is something that is taken away by being done.
    const fn is_a_task(&self) -> bool {
        matches!(self, Self::Deadline(_) | Self::Answer(_))
    }

    /// What becomes of the id when an answer is lost.
    const fn void(&self) -> Void {
        if matches!(self, Self::Own(_)) { Void::Yes } else { Void::No }
    }

    /// What the unit collected, with its claim. What writes nothing claims nothing.
    fn set(&self, tx: &TenantTx, own_tables: bool) -> Result<WriteSet, Error> {
        let mut set = gather(std::slice::from_ref(tx), own_tables)?;
        match self {
            Self::Own(id) | Self::Command(id) if set.writes() => {
                set.units.push(UnitClaim { tenant: tx.tenant(), id: id.bits() });
            }
            Self::Own(_) | Self::Command(_) => {}
            Self::Deadline(deadline) => set.fired.push((*deadline).clone()),
            Self::Answer(effect) => set.settled.push(*effect),
        }
        if let Self::Deadline(_) | Self::Answer(_) = self {
            set.units.push(UnitClaim { tenant: tx.tenant(), id: self.origin().bits() });
        }
        Ok(set)
    }
}

enum Settled {
    Committed(i64),
    Repeated(Repeated, i64),
    Again(String),
}

/// A unit of work that is not re-run.
pub struct OpenUnit {
    store: Store,
    reason: Reason<'static>,
    tx: TenantTx,
}

impl OpenUnit {
    /// Flushes and commits. A conflict is an error; nothing of the unit is visible after one.
    pub async fn commit(self) -> Result<Done<()>, Error> {
        let own = own_tables::end(std::slice::from_ref(&self.tx)).await?;
        let set = self.reason.set(&self.tx, own.is_some())?;
        self.store.flush_once(set, own).await
    }
}

impl std::ops::Deref for OpenUnit {
    type Target = TenantTx;

    fn deref(&self) -> &TenantTx {
        &self.tx
    }
}
