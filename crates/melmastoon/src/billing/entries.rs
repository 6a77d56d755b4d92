//! Entries of folios: a list that only grows, and what it adds up to.
//!
//! Invariant: charges less payments plus refunds is the balance, after every entry. There is no way to change an entry, to remove one,
//! or to put another list in place of a folio's.

use karwan::envelope::money::Micros;
use karwan::envelope::time::{Date, Timestamp};
use serde::{Deserialize, Serialize};

use super::ChargeKind;
use crate::ids::{FolioLineId, PaymentIntentId, RefundId};

/// What was posted, in its order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Entries(Vec<Entry>);

impl Entries {
    /// One more.
    pub fn post(&mut self, entry: Entry) {
        self.0.push(entry);
    }

    /// All of them.
    pub fn all(&self) -> &[Entry] {
        &self.0
    }

    /// What they add up to.
    pub fn sums(&self) -> Sums {
        self.0.iter().fold(Sums::default(), |mut sums, entry| {
            let amount = entry.amount.get();
            match entry.what {
                Posting::Charge(_) => sums.charges += amount,
                Posting::Reversal => sums.charges -= amount,
                Posting::Payment(_) => sums.payments += amount,
                Posting::Refund(_) => sums.refunds += amount,
            }
            sums
        })
    }
}

/// One entry; never changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The line.
    pub line: FolioLineId,
    /// What it is.
    pub what: Posting,
    /// How much, never negative; what it is says which way it counts.
    pub amount: Micros,
    /// The taxes in it.
    pub tax: Micros,
    /// The day that it is for.
    pub date: Date,
    /// When it was posted.
    pub at: Timestamp,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Posting {
    /// Something to pay.
    Charge(ChargeKind),
    /// Charges that no longer stand.
    Reversal,
    /// Money received.
    Payment(Option<PaymentIntentId>),
    /// Money given back.
    Refund(RefundId),
}

/// What the entries of a folio add up to, in micro-units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    /// Charges, less those that were reversed.
    pub charges: i128,
    /// Money received.
    pub payments: i128,
    /// Money given back.
    pub refunds: i128,
}

impl Sums {
    /// What is to be paid; negative where the guest is owed.
    pub const fn balance(&self) -> i128 {
        self.charges - self.payments + self.refunds
    }
}
