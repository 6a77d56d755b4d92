//! What a caller asks of reservation: hold, confirm, cancel, and how it stands.

use karwan::{Context, Store, TenantTx};

use super::booking::{ALLOCATION_MS, Booking, Cancel, HOLD_MS, State};
use super::work::{ALLOCATION_DUE, HOLD_EXPIRED, over};
use super::{CancellationReason, CancelledBy, Channel, cancellation};
use crate::ids::{BookingIntentId, ReservationId, SagaId};
use crate::refusal::Refusal;
use crate::values::{BookingStatus, GuestContact, Offer, PaymentChoice, PaymentRail, RefundDecision};

/// Hold an offer for a guest.
#[derive(Debug, Clone)]
pub struct Hold {
    /// What the guest accepts.
    pub offer: Offer,
    /// The guest.
    pub guest: GuestContact,
    /// What the guest asks for.
    pub special_requests: Option<String>,
    /// How it is to be paid.
    pub payment: PaymentChoice,
    /// Where it is booked.
    pub channel: Channel,
    /// The funnel's intent.
    pub booking_intent_id: Option<BookingIntentId>,
}

/// What a caller gets to follow a booking by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// The reservation.
    pub reservation_id: ReservationId,
    /// Its booking saga.
    pub saga_id: SagaId,
}

/// Keeps an offer for ten minutes: the funnel's step before the guest presses Pay. Nobody else is told.
pub async fn hold(store: &Store, context: &Context, hold: &Hold) -> Result<Placed, Refusal> {
    let unit = async |tx: TenantTx| {
        let booking = draft(&tx, hold)?;
        let placed = booking.placed();
        let key = booking.reservation_id.to_string();
        tx.deadline(HOLD_EXPIRED, &key, booking.hold_expires_at, &booking.reservation_id);
        tx.put(booking);
        Ok(placed)
    };
    Ok(store.unit::<_, Refusal, _>(context, unit).await?.answer)
}

/// The guest presses Pay: the booking saga starts. Asked again, it answers the same and starts nothing.
pub async fn confirm(store: &Store, context: &Context, id: ReservationId) -> Result<Placed, Refusal> {
    let unit = async |tx: TenantTx| {
        let mut booking = found(&tx, id).await?;
        let (now, placed) = (tx.now(), booking.placed());
        match booking.state {
            State::Draft if now >= booking.hold_expires_at => return Err(Refusal::HoldExpired { id: id.to_string() }),
            State::Draft => start(&tx, &mut booking),
            State::Held { .. } | State::Confirmed(_) | State::ConfirmedCashPending(_) => return Ok(placed),
            State::Cancelled { .. } => return Err(refused(&booking)),
        }
        tx.put(booking);
        Ok(placed)
    };
    Ok(store.unit::<_, Refusal, _>(context, unit).await?.answer)
}

/// Holds and confirms at once, as the front desk does.
pub async fn book(store: &Store, context: &Context, hold: &Hold) -> Result<Placed, Refusal> {
    let unit = async |tx: TenantTx| {
        let mut booking = draft(&tx, hold)?;
        let placed = booking.placed();
        start(&tx, &mut booking);
        tx.put(booking);
        Ok(placed)
    };
    Ok(store.unit::<_, Refusal, _>(context, unit).await?.answer)
}

/// Cancels a booking, checked against its policy. What is given back is decided here, once.
pub async fn cancel(
    store: &Store,
    context: &Context,
    id: ReservationId,
    why: &Cancel,
) -> Result<RefundDecision, Refusal> {
    let unit = async |tx: TenantTx| {
        let mut booking = found(&tx, id).await?;
        cancellation::admit(&booking)?;
        let now = tx.now();
        let refund = cancellation::refund(&booking, why, now);
        tx.transition("booking", booking.state.name(), "cancelled");
        tx.emit(booking.cancel(why.clone(), refund, now));
        over(&tx, &id.to_string());
        tx.put(booking);
        Ok(refund)
    };
    Ok(store.unit::<_, Refusal, _>(context, unit).await?.answer)
}

/// Cancels at the guest's wish.
pub async fn cancel_for_guest(store: &Store, context: &Context, id: ReservationId) -> Result<RefundDecision, Refusal> {
    let why = Cancel { reason: CancellationReason::GuestRequest, by: CancelledBy::Guest, detail: None };
    cancel(store, context, id, &why).await
}

/// How a booking stands; a saga that went back answers with its refusal.
pub async fn status(store: &Store, context: &Context, id: ReservationId) -> Result<BookingStatus, Refusal> {
    let booking = store.tenant(context).find::<Booking>(&id.to_string()).await?;
    let booking = booking.ok_or_else(|| Refusal::not_found("reservation", id))?;
    match booking.state {
        State::Cancelled { reason: CancellationReason::GuestRequest | CancellationReason::PropertyRequest } => {
            Ok(BookingStatus::Cancelled)
        }
        State::Cancelled { .. } => Err(refused(&booking)),
        State::Draft | State::Held { .. } | State::Confirmed(_) | State::ConfirmedCashPending(_) => {
            Ok(booking.status())
        }
    }
}

impl Booking {
    const fn placed(&self) -> Placed {
        Placed { reservation_id: self.reservation_id, saga_id: self.saga_id }
    }
}

fn draft(tx: &TenantTx, hold: &Hold) -> Result<Booking, Refusal> {
    let Hold { offer, guest, special_requests, payment, channel, booking_intent_id } = hold.clone();
    let now = tx.now();
    if now >= offer.quote.expires_at {
        return Err(Refusal::HoldExpired { id: offer.quote.quote_id.to_string() });
    }
    if offer.rooms.is_empty() || offer.rooms.len() > 10 {
        return Err(Refusal::invalid("rooms", "from 1 to 10 rooms"));
    }
    if offer.stay.check_in >= offer.stay.check_out {
        return Err(Refusal::invalid("stay", "it ends before it begins"));
    }
    if payment.rail == PaymentRail::Card && payment.payment_method_id.is_none() {
        return Err(Refusal::invalid("payment", "a card needs a stored method"));
    }
    Ok(Booking {
        reservation_id: tx.fresh(),
        version: 0,
        saga_id: tx.fresh(),
        folio_id: tx.fresh(),
        booking_intent_id,
        channel,
        offer,
        guest,
        special_requests,
        payment,
        hold_expires_at: now.plus_ms(HOLD_MS),
        state: State::Draft,
    })
}

/// Tells of the hold, and sets both timers.
fn start(tx: &TenantTx, booking: &mut Booking) {
    let (now, key, id) = (tx.now(), booking.reservation_id.to_string(), booking.reservation_id);
    tx.transition("booking", booking.state.name(), "held");
    tx.emit(booking.hold(now));
    tx.deadline(ALLOCATION_DUE, &key, now.plus_ms(ALLOCATION_MS), &id);
    tx.deadline(HOLD_EXPIRED, &key, booking.hold_expires_at, &id);
}

async fn found(tx: &TenantTx, id: ReservationId) -> Result<Booking, Refusal> {
    tx.find::<Booking>(&id.to_string()).await?.ok_or_else(|| Refusal::not_found("reservation", id))
}

/// Why a booking that is over cannot go on.
fn refused(booking: &Booking) -> Refusal {
    let id = booking.reservation_id.to_string();
    match booking.state {
        State::Cancelled { reason: CancellationReason::HoldExpired } => Refusal::HoldExpired { id },
        State::Cancelled { reason: CancellationReason::OversellBlocked } => Refusal::Overbooked { id },
        State::Cancelled { reason: CancellationReason::PaymentFailed } => Refusal::Declined { id },
        State::Cancelled { .. }
        | State::Draft
        | State::Held { .. }
        | State::Confirmed(_)
        | State::ConfirmedCashPending(_) => Refusal::WrongState { id, status: booking.status() },
    }
}
