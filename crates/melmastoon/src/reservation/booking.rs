//! The booking: what reservation keeps of one, and the facts that it tells of itself.

use karwan::envelope::money::{Micros, Money};
use karwan::envelope::time::Timestamp;
use karwan::{Document, Field, FieldType, FieldValue, Kind};
use serde::{Deserialize, Serialize};

use super::{BookingCancelled, BookingConfirmed, BookingHeld, CancellationReason, CancelledBy, Channel};
use crate::ids::{BookingIntentId, FolioId, PaymentIntentId, ReservationId, RoomId, SagaId};
use crate::values::{BookingStatus, GuestContact, Offer, PaymentChoice, PaymentRail, RefundDecision};

/// How long an allocation may take (C-38).
pub const ALLOCATION_MS: i64 = 30_000;
/// How long a hold lasts (C-38).
pub const HOLD_MS: i64 = 600_000;

/// A reservation, and where its booking saga stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Booking {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// Counted up by every fact; 0 before the first.
    pub version: u32,
    /// Its booking saga.
    pub saga_id: SagaId,
    /// Its folio, named before billing opens it (C-36).
    pub folio_id: FolioId,
    /// The funnel's intent.
    pub booking_intent_id: Option<BookingIntentId>,
    /// Where it was booked.
    pub channel: Channel,
    /// What was sold; the rooms are assigned as the saga goes on.
    pub offer: Offer,
    /// The guest.
    pub guest: GuestContact,
    /// What the guest asked for.
    pub special_requests: Option<String>,
    /// How it is paid.
    pub payment: PaymentChoice,
    /// When the hold ends by itself.
    pub hold_expires_at: Timestamp,
    /// Where it stands.
    pub state: State,
}

/// Where a booking stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Chosen in the funnel, not confirmed by the guest: nobody was told.
    Draft,
    /// The saga runs. Which of its two answers came first is nobody's choice.
    Held {
        /// Whether inventory has given its rooms.
        allocated: bool,
        /// What payment has received.
        paid: Option<Paid>,
    },
    /// Paid.
    Confirmed(Paid),
    /// To be paid in cash on arrival.
    ConfirmedCashPending(Paid),
    /// Over.
    Cancelled {
        /// Why.
        reason: CancellationReason,
    },
}

impl State {
    /// What spans and the index of sagas call it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Held { .. } => "held",
            Self::Confirmed(_) => "confirmed",
            Self::ConfirmedCashPending(_) => "confirmed_cash_pending",
            Self::Cancelled { .. } => "cancelled",
        }
    }
}

/// A payment, as reservation knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paid {
    /// The intent.
    pub payment_intent_id: PaymentIntentId,
    /// Its rail.
    pub rail: PaymentRail,
    /// What was received.
    pub received: Money,
}

impl Document for Booking {
    const KIND: Kind = Kind {
        carries: Some("melmastoon.reservation.booking"),
        // For those who look for sagas that do not end.
        fields: &[
            Field { name: "status", of: FieldType::Text },
            Field { name: "hold_expires_at", of: FieldType::Time },
        ],
        ..Kind::named("reservation_booking")
    };
    fn id(&self) -> String {
        self.reservation_id.to_string()
    }
    fn fields(&self) -> Vec<FieldValue> {
        vec![self.state.name().into(), self.hold_expires_at.into()]
    }
}

impl Booking {
    /// What callers see; a draft counts as held.
    pub const fn status(&self) -> BookingStatus {
        match self.state {
            State::Draft | State::Held { .. } => BookingStatus::Held,
            State::Confirmed(_) => BookingStatus::Confirmed,
            State::ConfirmedCashPending(_) => BookingStatus::ConfirmedCashPending,
            State::Cancelled { .. } => BookingStatus::Cancelled,
        }
    }

    /// The payment, where one was made.
    pub const fn paid(&self) -> Option<Paid> {
        match self.state {
            State::Held { paid, .. } => paid,
            State::Confirmed(paid) | State::ConfirmedCashPending(paid) => Some(paid),
            State::Draft | State::Cancelled { .. } => None,
        }
    }

    /// How much is captured before it is confirmed.
    pub fn due_now(&self) -> Money {
        match self.payment.rail {
            PaymentRail::Cash | PaymentRail::CashPending => self.none(),
            PaymentRail::Card | PaymentRail::Paypal | PaymentRail::Mfs => self.offer.deposit,
        }
    }

    /// When a hold without rooms ends; both timers begin when it is told.
    pub fn allocation_due_at(&self) -> Timestamp {
        self.hold_expires_at.plus_ms(ALLOCATION_MS - HOLD_MS)
    }

    fn none(&self) -> Money {
        Money { amount_micro: Micros::new(0), currency: self.offer.quote.total.currency }
    }

    /// Gives the rooms their numbers; rooms of a type are interchangeable, so they are given in their order.
    pub fn assign(&mut self, rooms: &[(RoomId, Option<String>)]) {
        for (booked, (room_id, label)) in self.offer.rooms.iter_mut().zip(rooms) {
            booked.room_id = Some(*room_id);
            booked.room_label.clone_from(label);
        }
    }

    /// From the funnel to the saga: the hold is told.
    pub fn hold(&mut self, now: Timestamp) -> BookingHeld {
        self.version += 1;
        self.state = State::Held { allocated: false, paid: None };
        self.hold_expires_at = now.plus_ms(HOLD_MS);
        let Offer { property_id, property_name, stay, rooms, party, quote, cancellation, .. } = self.offer.clone();
        BookingHeld {
            reservation_id: self.reservation_id,
            version: self.version,
            status: BookingStatus::Held,
            saga_id: self.saga_id,
            booking_intent_id: self.booking_intent_id,
            channel: self.channel,
            property_id,
            property_name,
            stay,
            rooms,
            party,
            guest: self.guest.clone(),
            special_requests: self.special_requests.clone(),
            quote,
            cancellation,
            payment: self.payment,
            due_now: self.due_now(),
            folio_id: self.folio_id,
            held_at: now,
            allocation_due_at: self.allocation_due_at(),
            hold_expires_at: self.hold_expires_at,
        }
    }

    /// Allocated and paid, or promised in cash.
    pub fn confirm(&mut self, paid: Paid, now: Timestamp) -> BookingConfirmed {
        self.version += 1;
        let cash = paid.rail == PaymentRail::CashPending;
        self.state = if cash { State::ConfirmedCashPending(paid) } else { State::Confirmed(paid) };
        let Offer { property_id, property_name, stay, rooms, party, quote, cancellation, .. } = self.offer.clone();
        let due = quote.total.amount_micro.get() - paid.received.amount_micro.get();
        // U-15: whoever has paid all of it. Who has paid a part, or will pay on arrival, gets a key at the desk.
        let key_eligible = !cash && due <= 0 && rooms.iter().all(|room| room.room_id.is_some());
        BookingConfirmed {
            reservation_id: self.reservation_id,
            version: self.version,
            status: self.status(),
            saga_id: Some(self.saga_id),
            booking_intent_id: self.booking_intent_id,
            channel: self.channel,
            property_id,
            property_name,
            stay,
            rooms,
            party,
            guest: self.guest.clone(),
            special_requests: self.special_requests.clone(),
            balance_due: Money { amount_micro: Micros::new(due), currency: quote.total.currency },
            quote,
            cancellation,
            payment: self.payment,
            payment_intent_id: Some(paid.payment_intent_id),
            paid: paid.received,
            folio_id: self.folio_id,
            key_eligible,
            confirmed_at: now,
        }
    }

    /// Over, for whatever reason; what is given back was decided by whoever calls.
    pub fn cancel(&mut self, why: Cancel, refund: RefundDecision, now: Timestamp) -> BookingCancelled {
        self.version += 1;
        let (previous_status, paid) = (self.status(), self.paid());
        self.state = State::Cancelled { reason: why.reason };
        let Offer { property_id, property_name, stay, rooms, quote, .. } = self.offer.clone();
        BookingCancelled {
            reservation_id: self.reservation_id,
            version: self.version,
            status: BookingStatus::Cancelled,
            previous_status,
            reason: why.reason,
            detail: why.detail,
            cancelled_by: why.by,
            property_id,
            property_name,
            stay,
            rooms,
            guest: self.guest.clone(),
            quote,
            refund,
            payment_intent_id: paid.map(|paid| paid.payment_intent_id),
            rail: paid.map(|paid| paid.rail),
            folio_id: self.folio_id,
            cancelled_at: now,
        }
    }
}

/// Why a booking is cancelled, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancel {
    /// Why.
    pub reason: CancellationReason,
    /// Who decided it.
    pub by: CancelledBy,
    /// The same in words.
    pub detail: Option<String>,
}

impl Cancel {
    /// A deadline or a failed step.
    pub const fn by_saga(reason: CancellationReason) -> Self {
        Self { reason, by: CancelledBy::Saga, detail: None }
    }
}
