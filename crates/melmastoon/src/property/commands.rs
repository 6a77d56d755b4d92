//! What a caller asks of property: to open one, to describe its rooms, to add and retire them.

use karwan::envelope::money::Currency;
use karwan::envelope::time::Date;
use karwan::{Context, Store, TenantTx};

use super::state::{Property, Room, RoomType};
use super::{Address, ArchiveReason, Bed, PropertyCreated, PropertyKind, RoomAdded, RoomArchived, RoomTypePublished};
use crate::house_time::offset_minutes;
use crate::ids::{PropertyId, RoomId, RoomTypeId};
use crate::refusal::Refusal;
use crate::values::{GeoPoint, LocalText, Party};

/// The most rooms that are added at once.
pub const ROOMS_MAX: usize = 100;

/// Open a property.
#[derive(Debug, Clone)]
pub struct Open {
    /// Its name in addresses of the booking site.
    pub slug: String,
    /// Its name.
    pub name: Vec<LocalText>,
    /// What kind of house it is.
    pub kind: PropertyKind,
    /// Where it stands.
    pub address: Address,
    /// The same on the map.
    pub geo: GeoPoint,
    /// The IANA time zone.
    pub time_zone: String,
    /// The currency that it sells in.
    pub currency: Currency,
    /// From when on rooms are ready, local time.
    pub check_in_from: String,
    /// Until when rooms are left, local time.
    pub check_out_by: String,
}

/// Opens a property.
pub async fn open(store: &Store, context: &Context, open: &Open) -> Result<PropertyId, Refusal> {
    if offset_minutes(&open.time_zone).is_none() {
        let reason = format!("`{}` is not a zone that is known, or it has summer time", open.time_zone);
        return Err(Refusal::invalid("timeZone", reason));
    }
    let unit = async |tx: TenantTx| {
        let property_id: PropertyId = tx.fresh();
        let open = open.clone();
        tx.put(Property { property_id, slug: open.slug.clone() });
        tx.emit(PropertyCreated {
            property_id,
            slug: open.slug,
            name: open.name,
            kind: open.kind,
            address: open.address,
            geo: open.geo,
            time_zone: open.time_zone,
            currency: open.currency,
            locale_override: None,
            check_in_from: open.check_in_from,
            check_out_by: open.check_out_by,
            phone: None,
            email: None,
            photos: Vec::new(),
            created_at: tx.now(),
        });
        Ok(property_id)
    };
    Ok(store.unit::<_, Refusal, _>(context, unit).await?.answer)
}

/// Describe a room type.
#[derive(Debug, Clone)]
pub struct Describe {
    /// The property.
    pub property_id: PropertyId,
    /// Its name.
    pub name: Vec<LocalText>,
    /// How many it sleeps at most.
    pub capacity: Party,
    /// Its beds.
    pub beds: Vec<Bed>,
    /// Its amenities.
    pub amenities: Vec<String>,
}

/// Publishes a room type.
pub async fn publish_room_type(store: &Store, context: &Context, of: &Describe) -> Result<RoomTypeId, Refusal> {
    let unit = async |tx: TenantTx| {
        house(&tx, of.property_id).await?;
        let room_type_id: RoomTypeId = tx.fresh();
        let of = of.clone();
        tx.put(RoomType { room_type_id, property_id: of.property_id, version: 1 });
        tx.emit(RoomTypePublished {
            room_type_id,
            version: 1,
            property_id: of.property_id,
            name: of.name,
            description: Vec::new(),
            capacity: of.capacity,
            beds: of.beds,
            amenities: of.amenities,
            photos: Vec::new(),
            published_at: tx.now(),
        });
        Ok(room_type_id)
    };
    Ok(store.unit::<_, Refusal, _>(context, unit).await?.answer)
}

/// Adds rooms of a type, by the numbers on their doors; in the order of the numbers.
pub async fn add_rooms(
    store: &Store,
    context: &Context,
    of: RoomTypeId,
    labels: &[String],
) -> Result<Vec<RoomId>, Refusal> {
    if labels.is_empty() || labels.len() > ROOMS_MAX {
        return Err(Refusal::invalid("labels", format!("from 1 to {ROOMS_MAX} rooms at once")));
    }
    let unit = async |tx: TenantTx| {
        let room_type = tx.find::<RoomType>(&of.to_string()).await?;
        let room_type = room_type.ok_or_else(|| Refusal::not_found("room type", of))?;
        let mut ids = Vec::new();
        for label in labels {
            let room_id: RoomId = tx.fresh();
            let (property_id, label) = (room_type.property_id, label.clone());
            tx.put(Room { room_id, property_id, room_type_id: of, label: label.clone(), archived: false });
            tx.emit(RoomAdded {
                room_id,
                property_id,
                room_type_id: of,
                label,
                floor: None,
                building: None,
                accessible: false,
                electronic_lock: true,
                added_at: tx.now(),
            });
            ids.push(room_id);
        }
        Ok(ids)
    };
    Ok(store.unit::<_, Refusal, _>(context, unit).await?.answer)
}

/// Retires a room from a day on. What is booked in it stays booked.
pub async fn archive_room(
    store: &Store,
    context: &Context,
    id: RoomId,
    from_date: Date,
    reason: ArchiveReason,
) -> Result<(), Refusal> {
    let unit = async |tx: TenantTx| {
        let room = tx.find::<Room>(&id.to_string()).await?;
        let mut room = room.ok_or_else(|| Refusal::not_found("room", id))?;
        if room.archived {
            return Ok(());
        }
        room.archived = true;
        tx.emit(RoomArchived {
            room_id: id,
            property_id: room.property_id,
            room_type_id: room.room_type_id,
            label: room.label.clone(),
            reason,
            from_date,
            archived_at: tx.now(),
        });
        tx.put(room);
        Ok(())
    };
    store.unit::<_, Refusal, _>(context, unit).await.map(drop)
}

async fn house(tx: &TenantTx, id: PropertyId) -> Result<Property, Refusal> {
    tx.find::<Property>(&id.to_string()).await?.ok_or_else(|| Refusal::not_found("property", id))
}
