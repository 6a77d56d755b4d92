//! The folio: what is posted when. A cancelled booking's charges are reversed by an entry of their own.

use karwan::envelope::money::{Currency, Micros, Money};
use karwan::envelope::time::Timestamp;
use karwan::{Document, Kind};
use serde::{Deserialize, Serialize};

use super::entries::{Entries, Entry, Posting, Sums};
use super::{ChargeKind, FolioChargePosted, FolioRefundPosted, FolioRefundReason};
use crate::ids::{FolioId, FolioLineId, GuestId, PaymentIntentId, PropertyId, ReservationId};
use crate::payment::{IntentRefunded, RefundReason};
use crate::reservation::BookingConfirmed;
use crate::values::RefundDecision;

/// A folio; a draft until check-in opens it (C-36).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Folio {
    /// The folio.
    pub folio_id: FolioId,
    /// Counted up by every fact; 0 while it is a draft that nobody was told of.
    pub version: u32,
    /// The reservation.
    pub reservation_id: ReservationId,
    /// The property.
    pub property_id: PropertyId,
    /// Whose it is.
    pub guest_id: GuestId,
    /// Its currency.
    pub currency: Currency,
    /// Where it stands.
    pub state: FolioState,
    /// What was posted, in its order. It only grows.
    entries: Entries,
}

/// Where a folio stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FolioState {
    /// Its booking is confirmed.
    Draft,
    /// Its booking was cancelled.
    Cancelled,
}

impl FolioState {
    /// What spans call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Document for Folio {
    const KIND: Kind = Kind { carries: Some("melmastoon.billing.folio"), ..Kind::named("billing_folio") };
    fn id(&self) -> String {
        self.folio_id.to_string()
    }
}

impl Folio {
    /// The draft of a confirmed booking: its nights, each with its share of the taxes, and what was paid.
    pub fn draft(of: &BookingConfirmed, now: Timestamp, mut line: impl FnMut() -> FolioLineId) -> Self {
        let mut folio = Self {
            folio_id: of.folio_id,
            version: 0,
            reservation_id: of.reservation_id,
            property_id: of.property_id,
            guest_id: of.guest.guest_id,
            currency: of.quote.total.currency,
            state: FolioState::Draft,
            entries: Entries::default(),
        };
        let net: i128 = of.quote.nights.iter().map(|night| night.amount_micro.get()).sum();
        let (mut net_left, mut left) = (net, of.quote.total.amount_micro.get());
        let what = Posting::Charge(ChargeKind::RoomNight);
        for night in &of.quote.nights {
            // What is left is shared by what is left, so the last night takes the rest and nothing is lost to rounding.
            let own = night.amount_micro.get();
            let amount = if net_left == 0 { left } else { left * own / net_left };
            (net_left, left) = (net_left - own, left - amount);
            let (amount, tax) = (Micros::new(amount), Micros::new(amount - own));
            folio.entries.post(Entry { line: line(), what, amount, tax, date: night.date, at: now });
        }
        folio.payment(of.paid, of.payment_intent_id, now, line());
        folio
    }

    /// Money received; nothing is not posted.
    pub fn payment(&mut self, received: Money, intent: Option<PaymentIntentId>, now: Timestamp, line: FolioLineId) {
        let (what, amount) = (Posting::Payment(intent), received.amount_micro);
        if amount.get() > 0 {
            self.entries.post(Entry { line, what, amount, tax: Micros::new(0), date: now.date(), at: now });
        }
    }

    /// Its booking is cancelled: its charges are reversed, and what the policy keeps is a charge of its own.
    pub fn cancel(
        &mut self,
        refund: &RefundDecision,
        now: Timestamp,
        mut line: impl FnMut() -> FolioLineId,
    ) -> Option<FolioChargePosted> {
        if self.state == FolioState::Cancelled {
            return None;
        }
        self.state = FolioState::Cancelled;
        let (date, none) = (now.date(), Micros::new(0));
        let charges = Micros::new(self.sums().charges);
        self.entries.post(Entry { line: line(), what: Posting::Reversal, amount: charges, tax: none, date, at: now });
        let amount = refund.fee.amount_micro;
        if amount.get() <= 0 {
            return None;
        }
        let (what, line) = (Posting::Charge(ChargeKind::CancellationFee), line());
        self.entries.post(Entry { line, what, amount, tax: none, date, at: now });
        self.version += 1;
        Some(FolioChargePosted {
            folio_id: self.folio_id,
            version: self.version,
            folio_line_id: line,
            reservation_id: self.reservation_id,
            property_id: self.property_id,
            guest_id: self.guest_id,
            saga_id: None,
            kind: ChargeKind::CancellationFee,
            description: "Cancellation fee".to_owned(),
            amount: refund.fee,
            tax: self.money(0),
            service_date: date,
            balance: self.money(self.sums().balance()),
            collect: None,
            posted_by: None,
            posted_at: now,
        })
    }

    /// Money went back; nothing where that was posted before.
    pub fn refund(&mut self, of: &IntentRefunded, line: FolioLineId, now: Timestamp) -> Option<FolioRefundPosted> {
        let what = Posting::Refund(of.refund_id);
        if self.entries().iter().any(|entry| entry.what == what) {
            return None;
        }
        let (amount, tax) = (of.amount.amount_micro, Micros::new(0));
        self.entries.post(Entry { line, what, amount, tax, date: now.date(), at: now });
        self.version += 1;
        Some(FolioRefundPosted {
            folio_id: self.folio_id,
            version: self.version,
            folio_line_id: line,
            reservation_id: self.reservation_id,
            property_id: self.property_id,
            guest_id: self.guest_id,
            refund_id: Some(of.refund_id),
            payment_intent_id: Some(of.payment_intent_id),
            reason: reason(of.reason),
            description: "Refund".to_owned(),
            amount: of.amount,
            tax: self.money(0),
            balance: self.money(self.sums().balance()),
            posted_by: None,
            posted_at: now,
        })
    }

    /// What was posted, in its order.
    pub fn entries(&self) -> &[Entry] {
        self.entries.all()
    }

    /// What its entries add up to.
    pub fn sums(&self) -> Sums {
        self.entries.sums()
    }

    const fn money(&self, micros: i128) -> Money {
        Money { amount_micro: Micros::new(micros), currency: self.currency }
    }
}

const fn reason(of: RefundReason) -> FolioRefundReason {
    match of {
        RefundReason::Cancellation => FolioRefundReason::Cancellation,
        RefundReason::NoShow => FolioRefundReason::NoShow,
        RefundReason::EarlyCheckout => FolioRefundReason::EarlyCheckout,
        RefundReason::DatesChange => FolioRefundReason::DatesChange,
        RefundReason::LateCapture | RefundReason::Goodwill => FolioRefundReason::Goodwill,
    }
}

#[cfg(test)]
mod tests {
    use karwan::envelope::mint::Random as _;
    use karwan::testing::SeededRandom;

    use super::{Folio, FolioState};
    use crate::payment::{IntentRefunded, RefundReason};
    use crate::told;

    /// Money is append-only: whatever happens, in whatever order, and however often, what is posted stays where it is.
    #[test]
    fn no_entry_is_ever_changed_or_removed() {
        const SEEDS: u64 = 500;
        const STEPS: u64 = 30;
        for seed in 1..=SEEDS {
            let random = SeededRandom::new(seed);
            let below = |bound: u64| random.bits() % bound;
            let small = |bound: u64| i128::from(random.bits() % bound);
            let booking = told::confirmed(10);
            let mut lines = 0;
            let mut line = || {
                lines += 1;
                told::id(lines)
            };
            let mut folio = Folio::draft(&booking, booking.confirmed_at, &mut line);
            let mut balance = folio.sums().balance();
            for _ in 0..STEPS {
                let before = folio.entries().to_vec();
                let (paid, posted) = (told::afghanis(small(3)), told::at(told::may(2), "00:00:00"));
                let owed = match below(3) {
                    0 => {
                        folio.payment(paid, None, posted, line());
                        -paid.amount_micro.get()
                    }
                    1 => {
                        let mut decision = told::cancelled(&booking).refund;
                        decision.fee = told::afghanis(small(56));
                        let is_first = folio.state == FolioState::Draft;
                        let charges = folio.sums().charges;
                        folio.cancel(&decision, posted, &mut line);
                        if is_first { decision.fee.amount_micro.get() - charges } else { 0 }
                    }
                    _ => {
                        let refund = told::refunded(&booking, RefundReason::Cancellation, paid);
                        let number = u32::try_from(below(4)).expect("a small number");
                        let refund = IntentRefunded { refund_id: told::id(900 + number), ..refund };
                        let is_new = folio.refund(&refund, line(), posted).is_some();
                        if is_new { paid.amount_micro.get() } else { 0 }
                    }
                };
                let after = folio.entries();
                assert!(after.starts_with(&before), "seed={seed}: {before:?} became {after:?}");
                balance += owed;
                assert_eq!(folio.sums().balance(), balance, "seed={seed}: {after:?}");
            }
        }
    }
}
