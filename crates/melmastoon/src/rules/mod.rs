//! What must hold of a drained hotel, recomputed from its log. Each violation is named.
//!
//! The simulation and the node's own check share it. Pure: facts in, one by one; what services keep; what does not hold out. Not
//! here: whether it is drained, and what only the vendors' books can tell.

pub mod allocations;
pub mod ends;
pub mod figures;
pub mod folios;
pub mod keys;
#[cfg(test)]
mod made;
pub mod money;
pub mod nights;
pub mod traces;

use karwan::Event;
use serde::de::DeserializeOwned;

use self::allocations::Allocations;
use self::ends::Ends;
use self::figures::Figures;
use self::folios::Folios;
use self::keys::Keys;
use self::money::Ledger;
use self::nights::Nights;
use self::traces::Traces;
use crate::analytics::state::Day;
use crate::billing::folio::Folio;
use crate::inventory::state::Night;
use crate::lock_integration::state::ManualKey;
use crate::payment::state::FinanceAlert;
use crate::search_aggregation::state::Month;

/// A fact of the log, as rules see it.
#[derive(Debug, Clone, Copy)]
pub struct Fact<'a> {
    /// The event.
    pub event: u128,
    /// Its subject.
    pub subject: &'a str,
    /// The trace.
    pub correlation: u128,
    /// The event that led to it.
    pub causation: Option<u128>,
    /// What it says, as JSON.
    pub payload: &'a str,
}

impl Fact<'_> {
    /// What it says, where it is of this type.
    pub fn of<E: Event + DeserializeOwned>(&self) -> Option<E> {
        (self.subject == E::SUBJECT).then(|| serde_json::from_str(self.payload).ok()).flatten()
    }
}

/// What services keep and the log must agree with: all there is of each kind.
#[derive(Debug, Default)]
pub struct Kept {
    /// Of billing.
    pub folios: Vec<Folio>,
    /// Of analytics.
    pub days: Vec<Day>,
    /// Of search aggregation.
    pub months: Vec<Month>,
    /// Of inventory.
    pub nights: Vec<Night>,
    /// What finance has to look at, and had.
    pub alerts: Vec<FinanceAlert>,
    /// What the front desk has to see to, and had.
    pub manual: Vec<ManualKey>,
}

/// Everything that is told from the log and from what services keep.
#[derive(Debug, Default)]
pub struct Rules {
    nights: Nights,
    allocations: Allocations,
    traces: Traces,
    ends: Ends,
    ledger: Ledger,
    folios: Folios,
    keys: Keys,
    figures: Figures,
}

impl Rules {
    /// Takes the next fact of the log.
    pub fn take(&mut self, fact: &Fact<'_>) {
        self.nights.take(fact);
        self.allocations.take(fact);
        self.traces.take(fact);
        self.ends.take(fact);
        self.ledger.take(fact);
        self.folios.take(fact);
        self.keys.take(fact);
        self.figures.take(fact);
    }

    /// What does not hold of the log, and of what is kept beside it.
    pub fn broken(&self, kept: &Kept) -> Vec<String> {
        let mut broken = self.nights.broken(&kept.nights, &kept.months);
        broken.extend(self.allocations.broken());
        broken.extend(self.traces.broken().iter().cloned());
        broken.extend(self.ends.broken());
        broken.extend(self.ledger.broken(&kept.alerts));
        broken.extend(self.folios.broken(&kept.folios, &kept.alerts));
        broken.extend(self.keys.broken(&kept.manual));
        broken.extend(self.figures.broken(&kept.days));
        broken
    }
}
