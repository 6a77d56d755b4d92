//! Money that came and went back.

use std::collections::{BTreeMap, BTreeSet};

use super::Fact;
use crate::ids::{PaymentIntentId, RefundId, ReservationId};
use crate::payment::state::FinanceAlert;
use crate::payment::{CashReconciled, IntentCaptured, IntentRefunded};
use crate::reservation::BookingCancelled;

/// Nothing is taken twice or given back twice; of a booking that is over everything goes back but the fee that its cancellation
/// keeps, or waits with finance; of one that stands nothing does. So a cancellation is partial exactly where finance has an alert.
#[derive(Debug, Default)]
pub struct Ledger {
    /// How often each was taken: by a gateway, and over the desk.
    taken: BTreeMap<PaymentIntentId, (u32, u32)>,
    /// How often each went back.
    given: BTreeMap<RefundId, u32>,
    of: BTreeMap<ReservationId, Account>,
}

/// The money of one booking, in micro-units.
#[derive(Debug, Default)]
struct Account {
    received: i128,
    given_back: i128,
    /// What its cancellation keeps; none while it stands.
    fee: Option<i128>,
}

impl Ledger {
    pub(super) fn take(&mut self, fact: &Fact<'_>) {
        if let Some(it) = fact.of::<IntentCaptured>() {
            self.taken.entry(it.payment_intent_id).or_default().0 += 1;
            self.account(it.reservation_id).received += it.received.amount_micro.get();
        } else if let Some(it) = fact.of::<CashReconciled>() {
            self.taken.entry(it.payment_intent_id).or_default().1 += 1;
            self.account(it.reservation_id).received += it.received.amount_micro.get();
        } else if let Some(it) = fact.of::<IntentRefunded>() {
            *self.given.entry(it.refund_id).or_default() += 1;
            self.account(it.reservation_id).given_back += it.amount.amount_micro.get();
        } else if let Some(it) = fact.of::<BookingCancelled>() {
            self.account(it.reservation_id).fee = Some(it.refund.fee.amount_micro.get());
        }
    }

    fn account(&mut self, of: ReservationId) -> &mut Account {
        self.of.entry(of).or_default()
    }

    /// What does not hold, where finance has these alerts.
    pub(super) fn broken(&self, alerts: &[FinanceAlert]) -> Vec<String> {
        let mut broken = Vec::new();
        let twice = self.taken.iter().filter(|(_, (captured, counted))| *captured > 1 || *counted > 1);
        broken.extend(twice.map(|(id, _)| format!("money is taken twice: {id}")));
        let twice = self.given.iter().filter(|(_, times)| **times > 1);
        broken.extend(twice.map(|(id, _)| format!("money is given back twice: {id}")));
        let mut waits: BTreeMap<ReservationId, i128> = BTreeMap::new();
        for alert in alerts.iter().filter(|alert| alert.open) {
            if self.given.contains_key(&alert.refund_id) {
                broken.push(format!("finance looks for a refund that went back: {}", alert.refund_id));
            }
            *waits.entry(alert.reservation_id).or_default() += alert.amount.amount_micro.get();
        }
        let none = Account::default();
        for id in self.of.keys().chain(waits.keys()).collect::<BTreeSet<_>>() {
            let waits = waits.get(id).copied().unwrap_or_default();
            broken.extend(self.of.get(id).unwrap_or(&none).broken(*id, waits));
        }
        broken
    }
}

impl Account {
    fn broken(&self, of: ReservationId, waits: i128) -> Option<String> {
        let said = || format!("{of}: {self:?}, {waits} wait with finance");
        if self.given_back > self.received {
            return Some(format!("more was given back than was received: {}", said()));
        }
        match (self.fee.map(|fee| self.received - fee), self.given_back + waits) {
            (None, 0) => None,
            (None, _) => Some(format!("money goes back for a booking that stands: {}", said())),
            (Some(owed), back) if back < owed => Some(format!("a refund was never asked for: {}", said())),
            (Some(owed), back) if back > owed => Some(format!("more goes back than is owed: {}", said())),
            (Some(_), _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::payment::RefundReason;
    use crate::rules::Kept;
    use crate::rules::made::{self, Made, captured, given_up, held};
    use crate::told;

    fn alert(open: bool) -> Kept {
        let alerts = vec![made::alert(&told::confirmed(10), told::afghanis(110), open)];
        Kept { alerts, ..Kept::default() }
    }

    #[test]
    fn a_refund_that_nobody_asked_for_is_named_where_a_paid_booking_is_cancelled() {
        let booking = told::confirmed(10);
        let mut made = Made::with(&booking);
        made.holds("a refund was", &Kept::default());
        made.tell(&told::cancelled(&booking));
        made.is_named("a refund was never asked for", &Kept::default());
        made.is_named("a refund was never asked for", &alert(false));
        made.holds("a refund was", &alert(true));
        made.tell(&told::refunded(&booking, RefundReason::Cancellation, told::afghanis(110)));
        made.holds("a refund was", &Kept::default());
        made.is_named("finance looks for a refund that went back", &alert(true));
    }

    /// A compensation: captured, and cancelled before it was confirmed.
    #[test]
    fn a_refund_that_nobody_asked_for_is_named_where_a_captured_hold_is_given_up() {
        let booking = told::confirmed(10);
        let mut made = Made::default();
        made.tell(&held(&booking));
        made.tell(&captured(&booking));
        made.tell(&given_up(&booking));
        made.is_named("a refund was never asked for", &Kept::default());
        made.tell(&told::refunded(&booking, RefundReason::LateCapture, told::afghanis(110)));
        made.holds("a refund was", &Kept::default());
    }

    #[test]
    fn money_that_goes_back_without_need_is_named() {
        let booking = told::confirmed(10);
        let mut made = Made::with(&booking);
        made.is_named("money goes back for a booking that stands", &alert(true));
        let mut kept_half = told::cancelled(&booking);
        (kept_half.refund.amount, kept_half.refund.fee) = (told::afghanis(55), told::afghanis(55));
        made.tell(&kept_half);
        made.is_named("more goes back than is owed", &alert(true));
        let refund = told::refunded(&booking, RefundReason::Cancellation, told::afghanis(110));
        made.tell(&refund);
        made.is_named("more goes back than is owed", &Kept::default());
        made.tell(&refund);
        made.is_named("money is given back twice", &Kept::default());
        made.is_named("more was given back than was received", &Kept::default());
    }

    #[test]
    fn money_that_is_taken_twice_is_named() {
        let booking = told::confirmed(10);
        let mut made = Made::with(&booking);
        made.holds("money is", &Kept::default());
        made.tell(&captured(&booking));
        made.is_named("money is taken twice", &Kept::default());
    }
}
