//! The gateway's books: what was reserved, taken and given back, under which keys. Pure.
//!
//! Invariants: under one key a thing is done once, and a repetition is answered as the first was; nothing is taken beyond what
//! was reserved, or given back beyond what was taken; a charge under a voided key is refused.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::sign;

/// An amount, in millionths of a unit of its currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// How many millionths.
    pub micros: i64,
    /// ISO 4217.
    pub currency: String,
}

/// A charge, as the gateway knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// The gateway's id.
    pub id: String,
    /// The key under which it was made.
    pub key: String,
    /// The merchant's account.
    pub account: String,
    /// The merchant's reference.
    pub reference: String,
    /// The stored instrument.
    pub instrument: String,
    /// What was reserved.
    pub amount: Amount,
    /// How much of it was taken.
    pub captured_micros: i64,
    /// How much of that was given back.
    pub refunded_micros: i64,
    /// Whether it was undone.
    pub voided: bool,
}

/// How a gateway misbehaves for one instrument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The card is declined.
    Decline,
    /// The card has not enough on it.
    InsufficientFunds,
    /// The first capture is made, and its answer never comes.
    TimeoutAfterCharge,
    /// The first refund of a charge is declined, under its key for ever; another one is made.
    RefundDecline,
    /// Every notice comes three times.
    DuplicateNotices,
    /// Notices come late, behind those of later things.
    LateNotices,
    /// Nothing works: an error of the server every time.
    Down,
}

/// What was asked; one line of the journal each, once it was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// Misbehave for an instrument.
    Fault {
        /// Which.
        instrument: String,
        /// How.
        fault: Fault,
    },
    /// Reserve.
    Authorise {
        /// The key.
        key: String,
        /// The merchant's account.
        account: String,
        /// The merchant's reference.
        reference: String,
        /// The stored instrument.
        instrument: String,
        /// How much.
        amount: Amount,
    },
    /// Take what was reserved.
    Capture {
        /// The key.
        key: String,
        /// The charge.
        charge: String,
        /// How much.
        amount: Amount,
    },
    /// Give back.
    Refund {
        /// The key.
        key: String,
        /// The charge.
        charge: String,
        /// The merchant's reference of the refund.
        reference: String,
        /// How much.
        amount: Amount,
    },
    /// Undo whatever became of a charge, and refuse it if it comes.
    Void {
        /// The key of the charge.
        charge_key: String,
    },
}

/// What the gateway decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// Done; the charge as it is now.
    Done(Charge),
    /// Given back, under the gateway's id of the refund.
    Refunded(String, Charge),
    /// Undone; what had been taken and was given back.
    Voided(Option<Amount>),
    /// A card error.
    Declined(&'static str),
    /// A request that makes no sense.
    Wrong(&'static str),
}

/// The books.
#[derive(Debug, Default)]
pub struct Books {
    charges: BTreeMap<String, Charge>,
    /// By the keys of charges.
    by_key: HashMap<String, String>,
    /// What each key was used for, and what it was answered.
    asked: HashMap<String, (Entry, Ruling)>,
    voided: HashSet<String>,
    /// Charges whose first refund was declined on purpose.
    refund_declined: HashSet<String>,
    faults: HashMap<String, Vec<Fault>>,
}

impl Books {
    /// Enters what was asked and answers it. The same under the same key is answered as before; something else is wrong.
    pub fn enter(&mut self, entry: &Entry) -> Ruling {
        let Some(key) = key(entry) else {
            if let Entry::Fault { instrument, fault } = entry {
                self.faults.entry(instrument.clone()).or_default().push(*fault);
            }
            return Ruling::Wrong("a fault has no ruling");
        };
        if let Some((before, ruling)) = self.asked.get(&key) {
            return if before == entry { ruling.clone() } else { Ruling::Wrong("idempotency_key_reused") };
        }
        let ruling = self.rule(entry);
        self.asked.insert(key, (entry.clone(), ruling.clone()));
        ruling
    }

    /// Whether this was asked before.
    pub fn knows(&self, entry: &Entry) -> bool {
        key(entry).is_some_and(|key| self.asked.contains_key(&key))
    }

    /// How the gateway misbehaves for the instrument of a request.
    pub fn faults(&self, entry: &Entry) -> &[Fault] {
        let instrument = match entry {
            Entry::Fault { instrument, .. } | Entry::Authorise { instrument, .. } => Some(instrument),
            Entry::Capture { charge, .. } | Entry::Refund { charge, .. } => {
                self.charges.get(charge).map(|charge| &charge.instrument)
            }
            Entry::Void { charge_key } => {
                self.by_key.get(charge_key).and_then(|id| self.charges.get(id)).map(|charge| &charge.instrument)
            }
        };
        instrument.and_then(|instrument| self.faults.get(instrument)).map_or(&[], Vec::as_slice)
    }

    /// Every charge.
    pub fn charges(&self) -> impl Iterator<Item = &Charge> {
        self.charges.values()
    }

    fn rule(&mut self, entry: &Entry) -> Ruling {
        let faults = self.faults(entry).to_vec();
        let has = |fault| faults.contains(&fault);
        match entry {
            Entry::Fault { .. } => Ruling::Wrong("a fault has no ruling"),
            Entry::Authorise { key, .. } if self.voided.contains(key) => Ruling::Declined("charge_voided"),
            Entry::Authorise { .. } if has(Fault::Decline) => Ruling::Declined("do_not_honor"),
            Entry::Authorise { .. } if has(Fault::InsufficientFunds) => Ruling::Declined("insufficient_funds"),
            Entry::Authorise { amount, .. } if amount.micros <= 0 => Ruling::Wrong("amount_invalid"),
            Entry::Authorise { key, account, reference, instrument, amount } => {
                let charge = Charge {
                    id: sign::id("ch_", key),
                    key: key.clone(),
                    account: account.clone(),
                    reference: reference.clone(),
                    instrument: instrument.clone(),
                    amount: amount.clone(),
                    captured_micros: 0,
                    refunded_micros: 0,
                    voided: false,
                };
                self.by_key.insert(key.clone(), charge.id.clone());
                self.charges.insert(charge.id.clone(), charge.clone());
                Ruling::Done(charge)
            }
            Entry::Capture { charge, amount, .. } => match self.charges.get_mut(charge) {
                None => Ruling::Wrong("no_such_charge"),
                Some(charge) if charge.voided => Ruling::Declined("charge_voided"),
                Some(charge) if charge.captured_micros > 0 => Ruling::Wrong("already_captured"),
                Some(charge) if *amount != charge.amount => Ruling::Wrong("amount_invalid"),
                Some(charge) => {
                    charge.captured_micros = amount.micros;
                    Ruling::Done(charge.clone())
                }
            },
            Entry::Refund { charge, .. }
                if has(Fault::RefundDecline) && self.refund_declined.insert(charge.clone()) =>
            {
                Ruling::Declined("refund_declined")
            }
            Entry::Refund { key, charge, amount, .. } => match self.charges.get_mut(charge) {
                None => Ruling::Wrong("no_such_charge"),
                Some(charge) if amount.currency != charge.amount.currency || amount.micros <= 0 => {
                    Ruling::Wrong("amount_invalid")
                }
                Some(charge) if charge.refunded_micros + amount.micros > charge.captured_micros => {
                    Ruling::Declined("exceeds_captured")
                }
                Some(charge) => {
                    charge.refunded_micros += amount.micros;
                    Ruling::Refunded(sign::id("re_", key), charge.clone())
                }
            },
            Entry::Void { charge_key } => self.void(charge_key),
        }
    }

    fn void(&mut self, charge_key: &str) -> Ruling {
        self.voided.insert(charge_key.to_owned());
        let charge = self.by_key.get(charge_key).and_then(|id| self.charges.get_mut(id));
        let Some(charge) = charge else { return Ruling::Voided(None) };
        let left = charge.captured_micros - charge.refunded_micros;
        charge.voided = true;
        charge.refunded_micros = charge.captured_micros;
        Ruling::Voided((left > 0).then(|| Amount { micros: left, currency: charge.amount.currency.clone() }))
    }
}

/// What a thing is done once under; a reservation and its capture may share a key of the caller's.
fn key(entry: &Entry) -> Option<String> {
    match entry {
        Entry::Fault { .. } => None,
        Entry::Authorise { key, .. } => Some(format!("authorise {key}")),
        Entry::Capture { key, .. } => Some(format!("capture {key}")),
        Entry::Refund { key, .. } => Some(format!("refund {key}")),
        Entry::Void { charge_key } => Some(format!("void {charge_key}")),
    }
}
