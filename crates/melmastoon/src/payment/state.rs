//! What payment keeps: the case of a reservation, where its two inputs meet, and the intent that comes of it.

use karwan::envelope::money::{Micros, Money};
use karwan::envelope::time::Timestamp;
use karwan::{Document, Field, FieldType, FieldValue, Kind};
use serde::{Deserialize, Serialize};

use super::{PaymentFailure, PaymentPurpose, RefundReason};
use crate::ids::{FolioId, PaymentIntentId, PaymentMethodId, PropertyId, RefundId, ReservationId, SagaId};
use crate::kept_cause::KeptCause;
use crate::values::{PaymentChoice, PaymentRail};

/// What is known of a reservation that is to be paid. Hold and allocation come under different keys, so in either order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// The hold.
    pub hold: Option<Due>,
    /// Whether its rooms are allocated.
    pub allocated: bool,
    /// Whether it was cancelled.
    pub cancelled: bool,
    /// The intent, once there is one.
    pub intent: Option<PaymentIntentId>,
}

/// What a hold says of its payment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Due {
    /// The saga.
    pub saga_id: SagaId,
    /// The property.
    pub property_id: PropertyId,
    /// The draft folio.
    pub folio_id: FolioId,
    /// How it is paid.
    pub payment: PaymentChoice,
    /// How much is captured now.
    pub now: Money,
    /// How much it costs in all.
    pub total: Money,
}

impl Case {
    /// A reservation of which nothing is known.
    pub const fn new(reservation_id: ReservationId) -> Self {
        Self { reservation_id, hold: None, allocated: false, cancelled: false, intent: None }
    }

    /// What is to be paid, when both inputs are there, it is not over, and nothing was done about it.
    pub fn ready(&self) -> Option<&Due> {
        self.hold.as_ref().filter(|_| self.allocated && !self.cancelled && self.intent.is_none())
    }
}

impl Document for Case {
    const KIND: Kind = Kind::named("payment_case");
    fn id(&self) -> String {
        self.reservation_id.to_string()
    }
}

/// A payment. Amounts are only ever added to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// The intent; also the key under which a gateway is asked for the charge, whatever the attempt.
    pub payment_intent_id: PaymentIntentId,
    /// The reservation.
    pub reservation_id: ReservationId,
    /// The folio.
    pub folio_id: FolioId,
    /// The saga that waits for it.
    pub saga_id: Option<SagaId>,
    /// The property.
    pub property_id: PropertyId,
    /// What it pays for.
    pub purpose: PaymentPurpose,
    /// The rail.
    pub rail: PaymentRail,
    /// The stored method.
    pub method: Option<PaymentMethodId>,
    /// How much.
    pub amount: Money,
    /// Where it stands.
    pub state: IntentState,
    /// The gateway's reference of the charge. Never in an event.
    pub gateway_ref: Option<String>,
    /// What was received.
    pub received: Micros,
    /// What was and is to be given back.
    pub refunds: Vec<RefundRow>,
    /// What led to it, or to its refund: what a webhook or a repair brings belongs to that trace.
    pub cause: KeptCause,
}

/// Where an intent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentState {
    /// The gateway is being asked.
    Created,
    /// The money is here.
    Captured,
    /// Cash was promised.
    CashPending,
    /// It will not come.
    Failed(PaymentFailure),
}

impl IntentState {
    /// What spans call it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Captured => "captured",
            Self::CashPending => "cash_pending",
            Self::Failed(_) => "failed",
        }
    }
}

/// One refund.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefundRow {
    /// The refund; the key under which a gateway is asked is made from it.
    pub refund_id: RefundId,
    /// How many keys are used up: a gateway has answered under them that it does not give the money back.
    #[serde(default)]
    pub keys_spent: u32,
    /// How much.
    pub amount: Micros,
    /// Why.
    pub reason: RefundReason,
    /// Where it stands.
    pub state: RefundState,
}

/// Where a refund stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundState {
    /// The gateway is being asked.
    Asked,
    /// The money went back.
    Done,
    /// It did not; finance knows, and may ask again.
    Failed(PaymentFailure),
}

impl RefundState {
    /// What spans call it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Done => "done",
            Self::Failed(_) => "failed",
        }
    }
}

impl RefundRow {
    /// The key under which a gateway is asked. It stays the same while nobody has answered, so that what was done after all is not
    /// done twice; an answer against us is repeated under its key for ever, so the next attempt has another.
    pub fn key(&self) -> String {
        match self.keys_spent {
            0 => self.refund_id.to_string(),
            spent => format!("{}:{spent}", self.refund_id),
        }
    }
}

impl Intent {
    /// An amount in its currency.
    pub const fn money(&self, micros: i128) -> Money {
        Money { amount_micro: Micros::new(micros), currency: self.amount.currency }
    }

    /// What is received and not claimed by a refund; a failed refund keeps its claim, since it will be repaired.
    pub fn left(&self) -> i128 {
        self.received.get() - self.refunds.iter().map(|refund| refund.amount.get()).sum::<i128>()
    }
}

impl Document for Intent {
    const KIND: Kind = Kind { carries: Some("melmastoon.payment.intent"), ..Kind::named("payment_intent") };
    fn id(&self) -> String {
        self.payment_intent_id.to_string()
    }
}

/// Something that finance has to look at: a refund that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FinanceAlert {
    /// The refund.
    pub refund_id: RefundId,
    /// The intent.
    pub payment_intent_id: PaymentIntentId,
    /// The reservation, which stays cancelled.
    pub reservation_id: ReservationId,
    /// How much is owed to the guest.
    pub amount: Money,
    /// Why it failed.
    pub reason: PaymentFailure,
    /// Whether it was repaired.
    pub open: bool,
    /// When it was raised.
    pub raised_at: Timestamp,
}

impl Document for FinanceAlert {
    const KIND: Kind = Kind {
        // What finance looks through.
        fields: &[Field { name: "open", of: FieldType::Flag }],
        ..Kind::named("payment_finance_alert")
    };
    fn id(&self) -> String {
        self.refund_id.to_string()
    }
    fn fields(&self) -> Vec<FieldValue> {
        vec![self.open.into()]
    }
}
