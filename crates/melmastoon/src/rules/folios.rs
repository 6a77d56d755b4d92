//! Folios and what they add up to.

use std::collections::BTreeMap;

use super::Fact;
use crate::billing::entries::Sums;
use crate::billing::folio::Folio;
use crate::billing::{FolioChargePosted, FolioRefundPosted};
use crate::ids::{FolioId, FolioLineId, ReservationId};
use crate::payment::state::FinanceAlert;
use crate::payment::{CashReconciled, IntentCaptured, IntentRefunded};
use crate::reservation::{BookingCancelled, BookingConfirmed};

/// A confirmed booking has one folio, others have none; its entries are what was received and given back, and charges less payments
/// plus refunds leave what the end of its saga says: what the guest was told is due, or, once it is cancelled, nothing but what waits
/// with finance. An entry that was told of stays as it was told.
#[derive(Debug, Default)]
pub struct Folios {
    due: BTreeMap<FolioId, Due>,
    /// Entries that were told of.
    posted: BTreeMap<FolioId, Vec<(FolioLineId, i128)>>,
}

/// What the log says of a folio, in micro-units.
#[derive(Debug, Default)]
struct Due {
    confirmed: bool,
    price: i128,
    /// What the guest was told is due.
    on_arrival: i128,
    /// Cash that came of that.
    counted: i128,
    /// What a cancellation keeps; none while the booking stands.
    fee: Option<i128>,
    received: i128,
    given_back: i128,
}

impl Folios {
    pub(super) fn take(&mut self, fact: &Fact<'_>) {
        if let Some(it) = fact.of::<BookingConfirmed>() {
            let due = self.due.entry(it.folio_id).or_default();
            (due.confirmed, due.price) = (true, it.quote.total.amount_micro.get());
            due.on_arrival = it.balance_due.amount_micro.get();
        } else if let Some(it) = fact.of::<BookingCancelled>() {
            self.due.entry(it.folio_id).or_default().fee = Some(it.refund.fee.amount_micro.get());
        } else if let Some(it) = fact.of::<IntentCaptured>() {
            self.due.entry(it.folio_id).or_default().received += it.received.amount_micro.get();
        } else if let Some(it) = fact.of::<CashReconciled>() {
            let due = self.due.entry(it.folio_id).or_default();
            due.received += it.received.amount_micro.get();
            due.counted += it.received.amount_micro.get();
        } else if let Some(it) = fact.of::<IntentRefunded>() {
            self.due.entry(it.folio_id).or_default().given_back += it.amount.amount_micro.get();
        } else if let Some(it) = fact.of::<FolioChargePosted>() {
            self.posted.entry(it.folio_id).or_default().push((it.folio_line_id, it.amount.amount_micro.get()));
        } else if let Some(it) = fact.of::<FolioRefundPosted>() {
            self.posted.entry(it.folio_id).or_default().push((it.folio_line_id, it.amount.amount_micro.get()));
        }
    }

    /// What does not hold of these folios, which are all there are, where finance has these alerts.
    pub(super) fn broken(&self, folios: &[Folio], alerts: &[FinanceAlert]) -> Vec<String> {
        let mut broken = Vec::new();
        let mut found: BTreeMap<FolioId, u32> = BTreeMap::new();
        let mut waits: BTreeMap<ReservationId, i128> = BTreeMap::new();
        for alert in alerts.iter().filter(|alert| alert.open) {
            *waits.entry(alert.reservation_id).or_default() += alert.amount.amount_micro.get();
        }
        for folio in folios {
            let id = folio.folio_id;
            *found.entry(id).or_default() += 1;
            let Some(due) = self.due.get(&id).filter(|due| due.confirmed) else {
                broken.push(format!("folio {id} is of no confirmed booking"));
                continue;
            };
            let waits = waits.get(&folio.reservation_id).copied().unwrap_or_default();
            broken.extend(due.broken(id, folio.sums(), waits));
            for posted in self.posted.get(&id).into_iter().flatten() {
                if !folio.entries().iter().any(|entry| (entry.line, entry.amount.get()) == *posted) {
                    broken.push(format!("an entry of folio {id} is gone or changed: {posted:?}"));
                }
            }
        }
        for (id, _) in self.due.iter().filter(|(_, due)| due.confirmed) {
            match found.get(id) {
                Some(1) => {}
                count => broken.push(format!("a confirmed booking has {} folios: {id}", count.unwrap_or(&0))),
            }
        }
        broken
    }
}

impl Due {
    fn broken(&self, id: FolioId, sums: Sums, waits: i128) -> Vec<String> {
        let mut broken = Vec::new();
        let told = (self.fee.unwrap_or(self.price), self.received, self.given_back);
        if (sums.charges, sums.payments, sums.refunds) != told {
            broken.push(format!("folio {id} has other sums than the log: {sums:?}, and the log says {self:?}"));
        }
        let left = if self.fee.is_some() { -waits } else { self.on_arrival - self.counted };
        if sums.balance() != left {
            broken.push(format!("folio {id} is not balanced: {sums:?} leave {}, not {left}", sums.balance()));
        }
        broken
    }
}

#[cfg(test)]
mod tests {
    use crate::billing::folio::Folio;
    use crate::ids::FolioLineId;
    use crate::payment::RefundReason;
    use crate::reservation::BookingConfirmed;
    use crate::rules::Kept;
    use crate::rules::made::{Made, alert};
    use crate::told;

    /// Lines with numbers of their own.
    fn lines() -> impl FnMut() -> FolioLineId {
        let mut last = 0;
        move || {
            last += 1;
            told::id(last)
        }
    }

    fn draft(booking: &BookingConfirmed) -> Folio {
        Folio::draft(booking, booking.confirmed_at, lines())
    }

    fn with(folios: Vec<Folio>) -> Kept {
        Kept { folios, ..Kept::default() }
    }

    #[test]
    fn a_confirmed_booking_with_no_folio_or_with_two_and_a_folio_of_nobody_are_named() {
        let booking = told::confirmed(10);
        let made = Made::with(&booking);
        let folio = draft(&booking);
        made.holds("folio", &with(vec![folio.clone()]));
        made.is_named("a confirmed booking has 0 folios", &Kept::default());
        made.is_named("a confirmed booking has 2 folios", &with(vec![folio.clone(), folio.clone()]));
        made.is_named("is of no confirmed booking", &with(vec![folio, draft(&told::confirmed(11))]));
    }

    #[test]
    fn a_folio_with_a_payment_that_nobody_made_is_named() {
        let booking = told::confirmed(10);
        let made = Made::with(&booking);
        let mut folio = draft(&booking);
        folio.payment(told::afghanis(1), None, booking.confirmed_at, told::id(90));
        made.is_named("has other sums than the log", &with(vec![folio.clone()]));
        made.is_named("is not balanced", &with(vec![folio]));
    }

    /// Where the log agrees with the folio, and both are wrong: what came is not what the guest was told of, nobody gave back.
    #[test]
    fn a_folio_that_does_not_add_up_to_the_end_of_its_saga_is_named() {
        let mut booking = told::confirmed(10);
        booking.balance_due = told::afghanis(5);
        Made::with(&booking).is_named("is not balanced", &with(vec![draft(&booking)]));

        let booking = told::confirmed(10);
        let (mut made, mut folio) = (Made::with(&booking), draft(&booking));
        let cancelled = told::cancelled(&booking);
        made.tell(&cancelled);
        folio.cancel(&cancelled.refund, cancelled.cancelled_at, lines());
        made.is_named("is not balanced", &with(vec![folio.clone()]));
        let alert = alert(&booking, told::afghanis(110), true);
        made.holds("folio", &Kept { alerts: vec![alert], ..with(vec![folio.clone()]) });
        let refund = told::refunded(&booking, RefundReason::Cancellation, told::afghanis(110));
        made.tell(&refund);
        folio.refund(&refund, told::id(91), refund.refunded_at).into_iter().for_each(|posted| made.tell(&posted));
        made.holds("folio", &with(vec![folio]));
    }

    #[test]
    fn an_entry_that_was_told_and_is_gone_is_named() {
        let booking = told::confirmed(10);
        let (mut made, mut folio) = (Made::with(&booking), draft(&booking));
        let mut cancelled = told::cancelled(&booking);
        (cancelled.refund.amount, cancelled.refund.fee) = (told::afghanis(55), told::afghanis(55));
        made.tell(&cancelled);
        let before = folio.clone();
        let fee = folio.cancel(&cancelled.refund, cancelled.cancelled_at, || told::id(95)).expect("a fee is posted");
        made.tell(&fee);
        made.holds("gone or changed", &with(vec![folio]));
        made.is_named("is gone or changed", &with(vec![before]));
    }
}
