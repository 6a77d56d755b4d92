//! What a caller asks of inventory: to close nights for sale, to open them again, and what is left.

use karwan::{Context, Store, TenantTx};

use super::decide::{NIGHTS_MAX, days};
use super::state::{Stock, StopSell};
use super::work::{sheet, write};
use super::{RoomAvailability, StopSellActivated, StopSellCleared, StopSellReason};
use crate::ids::{RoomTypeId, StaffId, StopSellId};
use crate::refusal::Refusal;
use crate::values::DateRange;

/// Close nights of a room type for sale.
#[derive(Debug, Clone)]
pub struct Close {
    /// The room type.
    pub room_type_id: RoomTypeId,
    /// The nights.
    pub dates: DateRange,
    /// Why.
    pub reason: StopSellReason,
    /// Who; absent when a rule does.
    pub by: Option<StaffId>,
}

/// Closes nights for sale. What is booked stays booked.
pub async fn stop_sell(store: &Store, context: &Context, close: &Close) -> Result<StopSellId, Refusal> {
    admit(close.dates)?;
    let unit = async |tx: TenantTx| {
        let stock = tx.find::<Stock>(&close.room_type_id.to_string()).await?;
        let stock = stock.ok_or_else(|| Refusal::not_found("room type", close.room_type_id))?;
        let stop_sell_id: StopSellId = tx.fresh();
        let mut sheet = sheet(&tx, &[close.room_type_id], close.dates).await?;
        sheet.nights.values_mut().for_each(|night| {
            night.closed_by.insert(stop_sell_id);
        });
        write(&tx, sheet);
        tx.emit(StopSellActivated {
            stop_sell_id,
            version: 1,
            property_id: stock.property_id,
            room_type_id: close.room_type_id,
            dates: close.dates,
            reason: close.reason,
            maintenance_ticket_id: None,
            activated_by: close.by,
            activated_at: tx.now(),
        });
        tx.put(StopSell {
            stop_sell_id,
            version: 1,
            property_id: stock.property_id,
            room_type_id: close.room_type_id,
            dates: close.dates,
            active: true,
        });
        Ok(stop_sell_id)
    };
    Ok(store.unit::<_, Refusal, _>(context, unit).await?.answer)
}

/// Opens the nights of a stop-sell again; one that was cleared before stays cleared.
pub async fn clear_stop_sell(
    store: &Store,
    context: &Context,
    id: StopSellId,
    by: Option<StaffId>,
) -> Result<(), Refusal> {
    let unit = async |tx: TenantTx| {
        let stop = tx.find::<StopSell>(&id.to_string()).await?;
        let mut stop = stop.ok_or_else(|| Refusal::not_found("stop-sell", id))?;
        if !stop.active {
            return Ok(());
        }
        let mut sheet = sheet(&tx, &[stop.room_type_id], stop.dates).await?;
        sheet.nights.values_mut().for_each(|night| {
            night.closed_by.remove(&id);
        });
        stop.version += 1;
        stop.active = false;
        tx.emit(StopSellCleared {
            stop_sell_id: id,
            version: stop.version,
            property_id: stop.property_id,
            room_type_id: stop.room_type_id,
            dates: stop.dates,
            availability: sheet.availability(),
            cleared_by: by,
            cleared_at: tx.now(),
        });
        write(&tx, sheet);
        tx.put(stop);
        Ok(())
    };
    store.unit::<_, Refusal, _>(context, unit).await.map(drop)
}

/// What is left of a room type, night by night.
pub async fn availability(
    store: &Store,
    context: &Context,
    of: RoomTypeId,
    dates: DateRange,
) -> Result<Vec<RoomAvailability>, Refusal> {
    admit(dates)?;
    let unit = async |tx: TenantTx| Ok(sheet(&tx, &[of], dates).await?.availability());
    Ok(store.unit::<_, Refusal, _>(context, unit).await?.answer)
}

fn admit(dates: DateRange) -> Result<(), Refusal> {
    let nights = dates.until.unix_days().saturating_sub(dates.from.unix_days());
    if days(dates).next().is_none() || usize::try_from(nights).unwrap_or(usize::MAX) > NIGHTS_MAX {
        return Err(Refusal::invalid("dates", format!("from 1 to {NIGHTS_MAX} nights, not {nights}")));
    }
    Ok(())
}
