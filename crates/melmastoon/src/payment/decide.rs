//! What becomes of an intent. Pure: the intent and what happened in, facts out; each answer counts once, however often it comes.

use karwan::envelope::cause::Cause;
use karwan::envelope::money::{Micros, Money};
use karwan::envelope::time::Timestamp;

use super::port::Captured;
use super::state::{Case, Due, Intent, IntentState, RefundRow, RefundState};
use super::{
    CashReconciled, IntentCaptured, IntentCreated, IntentFailed, IntentRefunded, PaymentFailure, PaymentPurpose,
    RefundReason,
};
use crate::ids::{DeviceId, PaymentIntentId, RefundId, ShiftId, StaffId};
use crate::values::{BookingStatus, PaymentRail, RefundDecision, RefundRule};

/// How an intent begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// The gateway is asked.
    Charge,
    /// Cash on arrival: it is promised, and asks nobody.
    Promise,
    /// Nothing is due now, so nothing is asked for.
    Nothing,
    /// The rail is not served.
    Unserved,
}

/// How what is due begins, by its rail.
pub fn begin(due: &Due) -> Begin {
    match due.payment.rail {
        PaymentRail::Cash | PaymentRail::CashPending => Begin::Promise,
        PaymentRail::Card if due.payment.payment_method_id.is_none() => Begin::Unserved,
        PaymentRail::Card if due.now.amount_micro.get() <= 0 => Begin::Nothing,
        PaymentRail::Card => Begin::Charge,
        PaymentRail::Paypal | PaymentRail::Mfs => Begin::Unserved,
    }
}

impl Intent {
    /// The intent of a booking whose inputs are both there.
    pub fn of_booking(id: PaymentIntentId, case: &Case, due: &Due, cause: &Cause) -> Self {
        let cash = begin(due) == Begin::Promise;
        Self {
            payment_intent_id: id,
            reservation_id: case.reservation_id,
            folio_id: due.folio_id,
            saga_id: Some(due.saga_id),
            property_id: due.property_id,
            purpose: PaymentPurpose::Booking,
            rail: if cash { PaymentRail::CashPending } else { due.payment.rail },
            method: due.payment.payment_method_id,
            amount: if cash { due.total } else { due.now },
            state: IntentState::Created,
            gateway_ref: None,
            received: Micros::new(0),
            refunds: Vec::new(),
            cause: cause.into(),
        }
    }

    /// It was created.
    pub fn created(&self, now: Timestamp) -> IntentCreated {
        IntentCreated {
            payment_intent_id: self.payment_intent_id,
            folio_id: self.folio_id,
            reservation_id: self.reservation_id,
            saga_id: self.saga_id,
            property_id: self.property_id,
            purpose: self.purpose,
            rail: self.rail,
            payment_method_id: self.method,
            amount: self.amount,
            created_at: now,
        }
    }

    /// Cash is promised.
    pub fn promised(&mut self, now: Timestamp) -> IntentCaptured {
        self.state = IntentState::CashPending;
        self.captured_fact(now)
    }

    /// The money came; nothing where that was known.
    pub fn captured(&mut self, done: &Captured, now: Timestamp) -> Option<IntentCaptured> {
        if self.state != IntentState::Created {
            return None;
        }
        self.state = IntentState::Captured;
        self.gateway_ref = Some(done.gateway_ref.clone());
        self.received = done.amount.amount_micro;
        Some(self.captured_fact(now))
    }

    fn captured_fact(&self, now: Timestamp) -> IntentCaptured {
        IntentCaptured {
            payment_intent_id: self.payment_intent_id,
            folio_id: self.folio_id,
            reservation_id: self.reservation_id,
            saga_id: self.saga_id,
            property_id: self.property_id,
            purpose: self.purpose,
            rail: self.rail,
            amount: self.amount,
            received: self.money(self.received.get()),
            captured_at: now,
        }
    }

    /// The money will not come; nothing where it came, or that was known.
    pub fn failed(&mut self, reason: PaymentFailure, attempts: u32, now: Timestamp) -> Option<IntentFailed> {
        if self.state != IntentState::Created {
            return None;
        }
        self.state = IntentState::Failed(reason);
        Some(IntentFailed {
            payment_intent_id: self.payment_intent_id,
            attempts: attempts.clamp(1, 100),
            folio_id: self.folio_id,
            reservation_id: self.reservation_id,
            saga_id: self.saga_id,
            property_id: self.property_id,
            purpose: self.purpose,
            rail: self.rail,
            amount: self.amount,
            reason,
            failed_at: now,
        })
    }

    /// Promised cash was counted.
    pub fn counted(&mut self, count: &Count, now: Timestamp) -> Option<CashReconciled> {
        if self.state != IntentState::CashPending || count.received.currency != self.amount.currency {
            return None;
        }
        self.state = IntentState::Captured;
        self.rail = PaymentRail::Cash;
        self.received = count.received.amount_micro;
        Some(CashReconciled {
            payment_intent_id: self.payment_intent_id,
            folio_id: self.folio_id,
            reservation_id: self.reservation_id,
            property_id: self.property_id,
            expected: self.amount,
            received: count.received,
            difference: self.money(self.received.get() - self.amount.amount_micro.get()),
            received_by: count.by,
            shift_id: count.shift_id,
            device_id: count.device_id,
            reconciled_at: now,
        })
    }

    /// Claims a refund of what is left, never more; nothing where nothing is left. Asked for before the money has come, it claims
    /// nothing: whoever captures looks whether the booking is over.
    pub fn claim(&mut self, id: RefundId, wanted: i128, reason: RefundReason) -> Option<RefundRow> {
        let amount = wanted.min(self.left());
        if amount <= 0 || self.state != IntentState::Captured {
            return None;
        }
        let (amount, state) = (Micros::new(amount), RefundState::Asked);
        let row = RefundRow { refund_id: id, keys_spent: 0, amount, reason, state };
        self.refunds.push(row.clone());
        Some(row)
    }

    /// A refund has reached the guest; nothing where that was known.
    pub fn refunded(&mut self, id: RefundId, now: Timestamp) -> Option<IntentRefunded> {
        let row = self.refunds.iter_mut().find(|row| row.refund_id == id && row.state != RefundState::Done)?;
        row.state = RefundState::Done;
        let (amount, reason) = (row.amount.get(), row.reason);
        let done = self.refunds.iter().filter(|row| row.state == RefundState::Done);
        let given: i128 = done.map(|row| row.amount.get()).sum();
        Some(IntentRefunded {
            refund_id: id,
            payment_intent_id: self.payment_intent_id,
            folio_id: self.folio_id,
            reservation_id: self.reservation_id,
            property_id: self.property_id,
            reason,
            rail: self.rail,
            amount: self.money(amount),
            captured_left: self.money(self.received.get() - given),
            refunded_at: now,
        })
    }

    /// A refund has failed; whether that is new. Where the gateway has answered so, the key is used up.
    pub fn refund_failed(&mut self, id: RefundId, reason: PaymentFailure, answered: bool) -> bool {
        match self.refunds.iter_mut().find(|row| row.refund_id == id && row.state == RefundState::Asked) {
            Some(row) => {
                row.state = RefundState::Failed(reason);
                row.keys_spent += u32::from(answered);
                true
            }
            None => false,
        }
    }

    /// A refund that failed is asked for again; none where it did not fail.
    pub fn refund_again(&mut self, id: RefundId) -> Option<RefundRow> {
        let failed = |row: &&mut RefundRow| row.refund_id == id && matches!(row.state, RefundState::Failed(_));
        let row = self.refunds.iter_mut().find(failed)?;
        row.state = RefundState::Asked;
        Some(row.clone())
    }
}

/// How much of a payment a cancellation gives back, and why: what the policy decided; but all of it for a booking that was never
/// confirmed, or of whose payment reservation had not heard when it decided.
pub fn refund_of(previous: BookingStatus, decision: &RefundDecision) -> (i128, RefundReason) {
    if previous == BookingStatus::Held || decision.rule == RefundRule::NothingPaid {
        return (i128::MAX, RefundReason::LateCapture);
    }
    (decision.amount.amount_micro.get(), RefundReason::Cancellation)
}

/// Cash, counted at the desk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// How much.
    pub received: Money,
    /// Who counted it.
    pub by: StaffId,
    /// The shift whose till it is in.
    pub shift_id: Option<ShiftId>,
    /// The desk's device.
    pub device_id: Option<DeviceId>,
}
