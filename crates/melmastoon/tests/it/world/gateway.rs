//! A card gateway in this process: books of its own, and every kind of trouble that the port's contract allows.
//!
//! The sandbox's gateway does the same over sockets; this one is quick enough for thousands of bookings from a seed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard};

use karwan::Refusal;
use karwan::envelope::money::{Micros, Money};
use melmastoon::payment::PaymentFailure;
use melmastoon::payment::port::{
    Asked, Authorise, Authorised, Capture, Captured, Rail, Refund, Refunded, Ruling, Void, Voided,
};

/// What goes wrong with a charge and its refunds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// It is declined.
    Declined(PaymentFailure),
    /// It is reserved, and its capture is declined.
    CaptureDeclined,
    /// Nobody answers so many times, and nothing is done.
    SilentBefore(u32),
    /// It is charged, and nobody says so, so many times.
    SilentAfter(u32),
    /// Its refund is declined so many times.
    RefundDeclined(u32),
    /// It is refunded, and nobody says so, so many times.
    RefundSilentAfter(u32),
    /// Its charge is called a request that makes no sense, before or after it was reserved.
    Wrong {
        /// Whether it was reserved.
        reserved: bool,
    },
    /// Its refund is called so.
    RefundWrong,
}

/// A charge in the gateway's books.
#[derive(Debug, Clone)]
pub struct Charge {
    /// What was reserved.
    pub amount: Money,
    /// What was taken: each time, so that a second would be seen.
    pub taken: Vec<i128>,
    /// What was given back, by key.
    pub given: BTreeMap<String, i128>,
    /// Whether it was voided.
    pub voided: bool,
    /// The keys of refunds that were declined: under each it is declined for ever.
    declined: BTreeSet<String>,
    fault: Fault,
    silences: u32,
    refusals: u32,
}

impl Charge {
    /// What is left with the house.
    pub fn net(&self) -> i128 {
        self.taken.iter().sum::<i128>() - self.given.values().sum::<i128>()
    }
}

/// The gateway.
#[derive(Default)]
pub struct Gateway {
    books: Mutex<BTreeMap<String, Charge>>,
    faults: Mutex<VecDeque<Fault>>,
}

impl Gateway {
    /// What goes wrong with the next charge that is new.
    pub fn next(&self, fault: Fault) {
        self.faults.lock().expect("nothing panics while holding it").push_back(fault);
    }

    /// From now on nothing goes wrong any more; what was declined under a key stays so.
    pub fn mend(&self) {
        self.faults.lock().expect("nothing panics while holding it").clear();
        self.held().values_mut().for_each(|charge| charge.fault = Fault::None);
    }

    /// Changes what it thinks of a charge, behind everybody's back.
    pub fn forge(&self, key: &str, change: impl FnOnce(&mut Charge)) {
        change(self.held().get_mut(key).expect("a charge of this key"));
    }

    /// Its books, by the key of the charge.
    pub fn books(&self) -> BTreeMap<String, Charge> {
        self.held().clone()
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<String, Charge>> {
        self.books.lock().expect("nothing panics while holding it")
    }

    fn reserve(&self, ask: Authorise) -> Result<Ruling<Authorised>, Refusal> {
        let mut books = self.held();
        let fault = || self.faults.lock().expect("nothing panics while holding it").pop_front().unwrap_or(Fault::None);
        let charge = books.entry(ask.idempotency_key.clone()).or_insert_with(|| Charge {
            amount: ask.amount,
            taken: Vec::new(),
            given: BTreeMap::new(),
            voided: false,
            declined: BTreeSet::new(),
            fault: fault(),
            silences: 0,
            refusals: 0,
        });
        if charge.voided {
            return Ok(Ruling::Declined(PaymentFailure::Abandoned));
        }
        match charge.fault {
            Fault::Declined(why) => Ok(Ruling::Declined(why)),
            Fault::Wrong { reserved: false } => Err(wrong()),
            Fault::SilentBefore(times) if charge.silences < times => {
                charge.silences += 1;
                Err(silence())
            }
            _ => Ok(Ruling::Granted(Authorised { gateway_ref: format!("ch_{}", ask.idempotency_key) })),
        }
    }

    fn take(&self, ask: Capture) -> Result<Ruling<Captured>, Refusal> {
        let mut books = self.held();
        let Some(charge) = books.get_mut(&ask.idempotency_key).filter(|charge| !charge.voided) else {
            return Ok(Ruling::Declined(PaymentFailure::Abandoned));
        };
        if charge.fault == (Fault::Wrong { reserved: true }) {
            return Err(wrong());
        }
        if charge.fault == Fault::CaptureDeclined {
            return Ok(Ruling::Declined(PaymentFailure::Declined));
        }
        if charge.taken.is_empty() {
            charge.taken.push(ask.amount.amount_micro.get());
        }
        match charge.fault {
            Fault::SilentAfter(times) if charge.silences < times => {
                charge.silences += 1;
                Err(silence())
            }
            _ => Ok(Ruling::Granted(Captured { gateway_ref: ask.gateway_ref, amount: charge.amount })),
        }
    }

    fn give(&self, ask: Refund) -> Result<Ruling<Refunded>, Refusal> {
        let mut books = self.held();
        let key = ask.gateway_ref.trim_start_matches("ch_");
        let Some(charge) = books.get_mut(key) else { return Ok(Ruling::Declined(PaymentFailure::Declined)) };
        if charge.declined.contains(&ask.idempotency_key) {
            return Ok(Ruling::Declined(PaymentFailure::Declined));
        }
        match charge.fault {
            Fault::RefundWrong => return Err(wrong()),
            Fault::RefundDeclined(times) if charge.refusals < times => {
                charge.refusals += 1;
                charge.declined.insert(ask.idempotency_key);
                return Ok(Ruling::Declined(PaymentFailure::Declined));
            }
            _ => charge.given.insert(ask.idempotency_key.clone(), ask.amount.amount_micro.get()),
        };
        match charge.fault {
            Fault::RefundSilentAfter(times) if charge.silences < times => {
                charge.silences += 1;
                Err(silence())
            }
            _ => Ok(Ruling::Granted(Refunded { gateway_ref: format!("re_{}", ask.refund), amount: ask.amount })),
        }
    }

    fn undo(&self, ask: &Void) -> Voided {
        let mut books = self.held();
        let Some(charge) = books.get_mut(&ask.charge_key) else { return Voided { given_back: None } };
        charge.voided = true;
        let left = charge.net();
        if left > 0 {
            charge.given.insert(format!("void:{}", ask.charge_key), left);
        }
        let given = Money { amount_micro: Micros::new(left), currency: charge.amount.currency };
        Voided { given_back: (left > 0).then_some(given) }
    }
}

fn silence() -> Refusal {
    Refusal::Later("no answer".to_owned())
}

fn wrong() -> Refusal {
    Refusal::Never("400 Bad Request".to_owned())
}

impl Rail for Gateway {
    fn authorise(&self, ask: Authorise) -> Asked<'_, Authorised> {
        Box::pin(async move { self.reserve(ask) })
    }
    fn capture(&self, ask: Capture) -> Asked<'_, Captured> {
        Box::pin(async move { self.take(ask) })
    }
    fn refund(&self, ask: Refund) -> Asked<'_, Refunded> {
        Box::pin(async move { self.give(ask) })
    }
    fn void(&self, ask: Void) -> Asked<'_, Voided> {
        Box::pin(async move { Ok(Ruling::Granted(self.undo(&ask))) })
    }
}
