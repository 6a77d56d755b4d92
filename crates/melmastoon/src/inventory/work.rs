//! What inventory does with the events of others: it counts rooms, and gives them to bookings.

use karwan::{Consumer, Error, Received, TenantTx, Verdict, Work};

use super::decide::{Sheet, days, release_reason};
use super::state::{Allocation, AllocationState, Night, Stock, StockRoom};
use super::{AllocationCommitted, AllocationReleased, BlockedOperation, OversellBlocked, SERVICE};
use crate::ids::RoomTypeId;
use crate::property::{RoomAdded, RoomArchived};
use crate::reservation::{BookingCancelled, BookingHeld};
use crate::values::DateRange;

karwan::consumers! {
    platform: &crate::platform::PLATFORM,
    kinds: crate::hotel::kinds(),
    rooms => crate::given::a_room_comes_and_goes,
    allocations => crate::given::a_booking_is_held_and_cancelled,
}

/// Adds what this service does to a node's work.
pub fn work(work: Work) -> Work {
    consumers().into_iter().fold(work, Work::consumer)
}

fn rooms() -> Consumer {
    Consumer::new(SERVICE, "rooms").on(added).on(archived)
}

/// Held and cancelled share a consumer and a key, so that a cancellation finds the allocation of its hold.
fn allocations() -> Consumer {
    Consumer::new(SERVICE, "allocations").on(held).on(cancelled)
}

async fn added(tx: TenantTx, added: Received<RoomAdded>) -> Result<Verdict, Error> {
    let RoomAdded { room_id, room_type_id, property_id, .. } = added.event;
    let stock = tx.find::<Stock>(&room_type_id.to_string()).await?;
    let mut stock = stock.unwrap_or(Stock { room_type_id, property_id, rooms: Vec::new() });
    if stock.rooms.iter().all(|room| room.room_id != room_id) {
        stock.rooms.push(StockRoom { room_id, archived_from: None });
        tx.put(stock);
    }
    Ok(Verdict::Done)
}

async fn archived(tx: TenantTx, archived: Received<RoomArchived>) -> Result<Verdict, Error> {
    let RoomArchived { room_id, room_type_id, from_date, .. } = archived.event;
    let Some(mut stock) = tx.find::<Stock>(&room_type_id.to_string()).await? else {
        return Ok(Verdict::Later(format!("room {room_id} was not added yet")));
    };
    for room in stock.rooms.iter_mut().filter(|room| room.room_id == room_id) {
        room.archived_from = Some(from_date);
    }
    tx.put(stock);
    Ok(Verdict::Done)
}

async fn held(tx: TenantTx, held: Received<BookingHeld>) -> Result<Verdict, Error> {
    let held = held.event;
    let allocation_id = Allocation::of(held.reservation_id);
    // Answered before, or cancelled before it came.
    if tx.find::<Allocation>(&allocation_id.to_string()).await?.is_some() {
        return Ok(Verdict::Done);
    }
    let dates = DateRange { from: held.stay.check_in, until: held.stay.check_out };
    let types: Vec<RoomTypeId> = held.rooms.iter().map(|room| room.room_type_id).collect();
    let mut sheet = sheet(&tx, &types, dates).await?;
    let allocated = sheet.allocate(allocation_id, &held.rooms, dates);
    let state = if allocated.is_ok() { AllocationState::Committed } else { AllocationState::Blocked };
    tx.transition("allocation", "none", state.name());
    let allocation = Allocation {
        allocation_id,
        version: 1,
        reservation_id: held.reservation_id,
        property_id: held.property_id,
        rooms: allocated.clone().unwrap_or_default(),
        state,
    };
    match allocated {
        Ok(rooms) => {
            tx.emit(AllocationCommitted {
                allocation_id,
                version: allocation.version,
                reservation_id: held.reservation_id,
                reservation_version: held.version,
                saga_id: Some(held.saga_id),
                property_id: held.property_id,
                rooms,
                availability: sheet.availability(),
                committed_at: tx.now(),
            });
            write(&tx, sheet);
        }
        Err(shortages) => tx.emit(OversellBlocked {
            reservation_id: held.reservation_id,
            reservation_version: held.version,
            saga_id: held.saga_id,
            operation: BlockedOperation::Confirm,
            property_id: held.property_id,
            shortages,
            blocked_at: tx.now(),
        }),
    }
    tx.put(allocation);
    Ok(Verdict::Done)
}

async fn cancelled(tx: TenantTx, cancelled: Received<BookingCancelled>) -> Result<Verdict, Error> {
    let cancelled = cancelled.event;
    let allocation_id = Allocation::of(cancelled.reservation_id);
    let Some(mut allocation) = tx.find::<Allocation>(&allocation_id.to_string()).await? else {
        // The hold comes later, or never: it will find that it is over.
        tx.put(Allocation {
            allocation_id,
            version: 1,
            reservation_id: cancelled.reservation_id,
            property_id: cancelled.property_id,
            rooms: Vec::new(),
            state: AllocationState::Released,
        });
        return Ok(Verdict::Done);
    };
    if allocation.state != AllocationState::Committed {
        return Ok(Verdict::Done);
    }
    let types: Vec<RoomTypeId> = allocation.rooms.iter().map(|room| room.room_type_id).collect();
    let dates = DateRange { from: cancelled.stay.check_in, until: cancelled.stay.check_out };
    let mut sheet = sheet(&tx, &types, dates).await?;
    sheet.release(allocation_id, &allocation.rooms);
    allocation.version += 1;
    tx.transition("allocation", allocation.state.name(), AllocationState::Released.name());
    allocation.state = AllocationState::Released;
    tx.emit(AllocationReleased {
        allocation_id,
        version: allocation.version,
        reservation_id: allocation.reservation_id,
        property_id: allocation.property_id,
        reason: release_reason(cancelled.reason),
        rooms: allocation.rooms.clone(),
        availability: sheet.availability(),
        released_at: tx.now(),
    });
    write(&tx, sheet);
    tx.put(allocation);
    Ok(Verdict::Done)
}

/// Reads the rooms of some types and every night of a range.
pub(super) async fn sheet(tx: &TenantTx, types: &[RoomTypeId], dates: DateRange) -> Result<Sheet, Error> {
    let mut sheet = Sheet::default();
    for of in types {
        if sheet.stock.contains_key(of) {
            continue;
        }
        let Some(stock) = tx.find::<Stock>(&of.to_string()).await? else { continue };
        sheet.stock.insert(*of, stock);
        for date in days(dates) {
            let night = tx.find::<Night>(&Night::key(*of, date)).await?;
            sheet.nights.insert((*of, date), night.unwrap_or_else(|| Night::empty(*of, date)));
        }
    }
    Ok(sheet)
}

/// Writes the nights of a sheet.
pub(super) fn write(tx: &TenantTx, sheet: Sheet) {
    sheet.nights.into_values().for_each(|night| tx.put(night));
}
