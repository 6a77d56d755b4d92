//! What reservation does with the answers of others and with its deadlines: it walks the booking saga.

use karwan::{Consumer, Document, Due, Error, Kind, Received, TenantTx, Timer, Verdict, Work};
use serde::{Deserialize, Serialize};

use super::booking::{Booking, Cancel, Paid, State};
use super::saga::{Heard, Step, heard_at, next};
use super::{SERVICE, cancellation};
use crate::ids::{ReservationId, RoomId};
use crate::inventory::{AllocationCommitted, BlockedOperation, OversellBlocked};
use crate::payment::{CashReconciled, IntentCaptured, IntentFailed, PaymentPurpose};
use crate::property::RoomAdded;
use crate::values::PaymentRail;

/// The deadline of the allocation.
pub const ALLOCATION_DUE: &str = "reservation.allocation_due";
/// The deadline of the hold.
pub const HOLD_EXPIRED: &str = "reservation.hold_expired";

karwan::consumers! {
    platform: &crate::platform::PLATFORM,
    kinds: crate::hotel::kinds(),
    doors => crate::given::a_room_comes_and_goes,
    booking_saga => crate::given::inventory_and_payment_answer,
}

/// Adds what this service does to a node's work.
pub fn work(work: Work) -> Work {
    let work = consumers().into_iter().fold(work, Work::consumer);
    work.timer(Timer::new(SERVICE, ALLOCATION_DUE, allocation_due)).timer(Timer::new(
        SERVICE,
        HOLD_EXPIRED,
        hold_expired,
    ))
}

/// The number on a room's door, for the guest's messages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Door {
    room_id: RoomId,
    label: String,
}

impl Document for Door {
    const KIND: Kind = Kind::named("reservation_door");
    fn id(&self) -> String {
        self.room_id.to_string()
    }
}

fn doors() -> Consumer {
    Consumer::new(SERVICE, "doors").on(added)
}

async fn added(tx: TenantTx, added: Received<RoomAdded>) -> Result<Verdict, Error> {
    let RoomAdded { room_id, label, .. } = added.event;
    tx.find::<Door>(&room_id.to_string()).await?;
    tx.put(Door { room_id, label });
    Ok(Verdict::Done)
}

/// The answers come under keys of their own, so in any order.
fn booking_saga() -> Consumer {
    Consumer::new(SERVICE, "booking-saga").on(committed).on(blocked).on(captured).on(failed).on(cash_counted)
}

async fn committed(tx: TenantTx, committed: Received<AllocationCommitted>) -> Result<Verdict, Error> {
    let committed = committed.event;
    let mut rooms = Vec::new();
    for room_id in committed.rooms.iter().filter_map(|room| room.room_id) {
        let door = tx.peek::<Door>(&room_id.to_string()).await?;
        rooms.push((room_id, door.map(|door| door.label)));
    }
    heard(&tx, committed.reservation_id, Heard::Allocated, |booking| booking.assign(&rooms)).await
}

async fn blocked(tx: TenantTx, blocked: Received<OversellBlocked>) -> Result<Verdict, Error> {
    match blocked.event.operation {
        BlockedOperation::Confirm => heard(&tx, blocked.event.reservation_id, Heard::Blocked, |_| {}).await,
        // The date-change saga's.
        BlockedOperation::DatesChange => Ok(Verdict::Done),
    }
}

async fn captured(tx: TenantTx, captured: Received<IntentCaptured>) -> Result<Verdict, Error> {
    let IntentCaptured { payment_intent_id, reservation_id, purpose, rail, received, .. } = captured.event;
    if purpose != PaymentPurpose::Booking {
        return Ok(Verdict::Done);
    }
    heard(&tx, reservation_id, Heard::Paid(Paid { payment_intent_id, rail, received }), |_| {}).await
}

async fn failed(tx: TenantTx, failed: Received<IntentFailed>) -> Result<Verdict, Error> {
    if failed.event.purpose != PaymentPurpose::Booking {
        return Ok(Verdict::Done);
    }
    heard(&tx, failed.event.reservation_id, Heard::PaymentFailed, |_| {}).await
}

async fn cash_counted(tx: TenantTx, counted: Received<CashReconciled>) -> Result<Verdict, Error> {
    let CashReconciled { payment_intent_id, reservation_id, received, .. } = counted.event;
    let paid = Paid { payment_intent_id, rail: PaymentRail::Cash, received };
    heard(&tx, reservation_id, Heard::CashCounted(paid), |_| {}).await
}

async fn allocation_due(tx: TenantTx, due: Due<ReservationId>) -> Result<(), Error> {
    heard(&tx, due.told, Heard::AllocationDue, |_| {}).await.map(drop)
}

async fn hold_expired(tx: TenantTx, due: Due<ReservationId>) -> Result<(), Error> {
    heard(&tx, due.told, Heard::HoldExpired, |_| {}).await.map(drop)
}

/// Walks the saga one step. `learn` takes what the fact brought, where it matters.
async fn heard(
    tx: &TenantTx,
    id: ReservationId,
    heard: Heard,
    learn: impl FnOnce(&mut Booking),
) -> Result<Verdict, Error> {
    let key = id.to_string();
    let Some(mut booking) = tx.find::<Booking>(&key).await? else {
        // A draft that was forgotten, or a deadline of one: nothing to walk.
        return Ok(Verdict::Done);
    };
    let (now, before) = (tx.now(), booking.state.name());
    match next(&booking.state, heard_at(&booking, heard, now)) {
        Step::Nothing => return Ok(Verdict::Done),
        Step::Forget => {
            tx.delete::<Booking>(&key);
            return Ok(Verdict::Done);
        }
        Step::Wait { allocated, paid } => {
            learn(&mut booking);
            booking.state = State::Held { allocated, paid };
            if allocated {
                tx.cancel_deadline(ALLOCATION_DUE, &key);
            }
        }
        Step::Confirm(paid) => {
            learn(&mut booking);
            tx.emit(booking.confirm(paid, now));
            over(tx, &key);
        }
        Step::Cancel(reason) => {
            let why = Cancel::by_saga(reason);
            let refund = cancellation::refund(&booking, &why, now);
            tx.emit(booking.cancel(why, refund, now));
            over(tx, &key);
        }
        Step::Settle(paid) => booking.state = State::Confirmed(paid),
    }
    if booking.state.name() != before {
        tx.transition("booking", before, booking.state.name());
    }
    tx.put(booking);
    Ok(Verdict::Done)
}

/// No deadline outlives the saga.
pub(super) fn over(tx: &TenantTx, key: &str) {
    tx.cancel_deadline(ALLOCATION_DUE, key);
    tx.cancel_deadline(HOLD_EXPIRED, key);
}
