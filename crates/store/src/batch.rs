//! Several units that commit together: a consumer's batch.
//!
//! The units of one tenant share an identity map: a document is checked at the version at which the first of them read it,
//! and written once, as the last of them left it. Facts keep the order of the units. If one unit fails, the whole batch is
//! dropped, and whoever made it does them singly.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use karwan_envelope::cause::Tenant;
use karwan_envelope::envelope::Context;

use crate::error::Error;
use crate::facts::Origin;
use crate::held::Documents;
use crate::own_tables;
use crate::platform::same_tenant;
use crate::recent::Reads;
use crate::store::{Done, Store};
use crate::stored::tenant_bits;
use crate::tx::TenantTx;
use crate::write_set::{Claim, LaneHold, TenantBits, UNIT_KEYS_MAX, WriteSet};

/// The units of a lane's holder, each with the event that it handles.
///
/// Units run one after the other ([`Self::handle`]), or beside each other and are then put in order ([`Self::beside`],
/// [`Self::join`], [`Self::again`]); what is committed is the same.
pub struct Batch {
    store: Store,
    hold: LaneHold,
    documents: BTreeMap<TenantBits, Arc<Mutex<Documents>>>,
    reads: Reads,
    units: Vec<TenantTx>,
    claims: Vec<Claim>,
}

impl Store {
    /// An empty batch of the holder of a lane.
    pub fn batch(&self, hold: &LaneHold) -> Batch {
        Batch {
            store: self.clone(),
            hold: hold.clone(),
            documents: BTreeMap::new(),
            reads: Reads::Fresh,
            units: Vec::new(),
            claims: Vec::new(),
        }
    }
}

impl Batch {
    /// The same batch, empty still, with other reads. Where one of its units does anything but commit, and
    /// [rests on what this process knew](Self::rests_on_recent), it has to be decided again by what the store says.
    #[must_use]
    pub fn reading(self, reads: Reads) -> Self {
        Self { reads, ..self }
    }

    /// The unit in which an event is handled, after those that the batch has already. The claim is the unit's id: an event
    /// that was handled before refuses the whole batch. Effects have the same ids whenever the event is handled.
    ///
    /// The context is of the event's tenant. A projection across tenants keeps its documents as the platform, and says so
    /// by a context of the platform.
    pub fn handle(&mut self, context: &Context, claim: Claim) -> TenantTx {
        let documents = self.documents.entry(tenant_bits(context.tenant)).or_default().clone();
        let unit = self.unit(Arc::new(context.clone()), &claim, documents);
        // The first one may stay the only one; whether it did is seen when the batch commits.
        let unit = if self.units.is_empty() { unit } else { unit.in_company() };
        self.add(unit, claim)
    }

    /// The same for a unit that may run while those before it still do: it does not see what they write. It counts once it
    /// was put in order, by its place in the batch.
    pub fn beside(&mut self, context: Arc<Context>, claim: Claim) -> TenantTx {
        let company = self.unit(context, &claim, Arc::default()).in_company();
        self.add(company, claim)
    }

    /// Puts a unit that ran beside others behind all those before it; false where it would have decided on what one of
    /// them wrote, and has to run [`Self::again`].
    pub fn join(&mut self, place: usize) -> bool {
        let unit = self.units[place].clone();
        let alone = std::mem::take(&mut *unit.documents().lock().expect("nothing panics while holding it"));
        let documents = self.documents.entry(unit.tenant()).or_default().clone();
        let joined = documents.lock().expect("nothing panics while holding it").absorb(alone).is_ok();
        self.units[place] = unit.over(documents);
        joined
    }

    /// A fresh unit in the place of one that did not join, or never ran: it sees what those before it wrote.
    pub fn again(&mut self, place: usize) -> TenantTx {
        let context = self.units[place].shared_context();
        let documents = self.documents.entry(tenant_bits(context.tenant)).or_default().clone();
        self.units[place] = self.unit(context, &self.claims[place], documents).in_company();
        self.units[place].clone()
    }

    /// Whether the unit in this place asked for the Postgres transaction, which it can have only where it runs alone.
    pub fn wants_alone(&self, place: usize) -> bool {
        self.units[place].own().was_refused()
    }

    /// Whether a unit rests on what this process knew.
    pub fn rests_on_recent(&self) -> bool {
        self.units.iter().any(TenantTx::rests_on_recent)
    }

    fn add(&mut self, unit: TenantTx, claim: Claim) -> TenantTx {
        self.units.push(unit.clone());
        self.claims.push(claim);
        unit
    }

    fn unit(&self, context: Arc<Context>, claim: &Claim, documents: Arc<Mutex<Documents>>) -> TenantTx {
        let origin = Origin::of(&[b"event", self.hold.consumer.as_bytes(), &claim.event.bits().to_be_bytes()]);
        let tx = TenantTx::new(self.store.shared.clone(), context, origin, documents).reading(self.reads);
        if tx.context().tenant != Tenant::Platform
            && let Err(refused) = same_tenant("an event", claim.tenant, tx.context())
        {
            tx.refuse(refused);
        }
        tx
    }

    /// How many units it has.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Flushes and commits all units. After an error nothing of any of them is visible.
    pub async fn commit(self) -> Result<Done<()>, Error> {
        let own = own_tables::end(&self.units).await?;
        let set = WriteSet { lane: Some(self.hold), claims: self.claims, ..gather(&self.units, own.is_some())? };
        self.store.flush_once(set, own).await
    }
}

/// What these units collected, as one write, beside what they wrote into tables of their own: sorted where locks are taken in order, bounded, and judged.
pub(crate) fn gather(units: &[TenantTx], own_tables: bool) -> Result<WriteSet, Error> {
    let mut set = WriteSet { own_tables, ..WriteSet::default() };
    let mut documents = BTreeMap::new();
    for unit in units {
        unit.pour(&mut set)?;
        documents.entry(unit.tenant()).or_insert_with(|| unit.documents());
    }
    let writes = own_tables || !(set.facts.is_empty() && set.deadlines.is_empty() && set.effects.is_empty());
    for (tenant, documents) in documents {
        let documents = std::mem::take(&mut *documents.lock().expect("nothing panics while holding it"));
        set.documents.extend(documents.into_writes(tenant, writes));
    }
    set.documents.sort_by(|a, b| (a.kind.name, a.tenant, &a.id).cmp(&(b.kind.name, b.tenant, &b.id)));
    // Of two settings of one deadline the later one counts: it comes first in the reversed list, and stays.
    set.deadlines.reverse();
    set.deadlines.sort_by(|a, b| (a.tenant, &a.kind, &a.id).cmp(&(b.tenant, &b.kind, &b.id)));
    set.deadlines.dedup_by(|a, b| (a.tenant, &a.kind, &a.id) == (b.tenant, &b.kind, &b.id));
    let most = [set.documents.len(), set.facts.len(), set.deadlines.len(), set.effects.len()].into_iter().max();
    let actual = most.unwrap_or_default();
    if actual > UNIT_KEYS_MAX {
        return Err(Error::TooLarge { what: "documents or facts of one unit or batch", actual, max: UNIT_KEYS_MAX });
    }
    Ok(set)
}
