//! What property keeps: that a property, a room type and a room are there, and their versions.

use karwan::{Document, Kind};
use serde::{Deserialize, Serialize};

use crate::ids::{PropertyId, RoomId, RoomTypeId};

/// A property.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Property {
    /// The property.
    pub property_id: PropertyId,
    /// Its name in addresses.
    pub slug: String,
}

impl Document for Property {
    const KIND: Kind = Kind { carries: Some("melmastoon.property.property"), ..Kind::named("property_property") };
    fn id(&self) -> String {
        self.property_id.to_string()
    }
}

/// A room type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoomType {
    /// The room type.
    pub room_type_id: RoomTypeId,
    /// Its property.
    pub property_id: PropertyId,
    /// The version of its specification.
    pub version: u32,
}

impl Document for RoomType {
    const KIND: Kind = Kind { carries: Some("melmastoon.property.room_type"), ..Kind::named("property_room_type") };
    fn id(&self) -> String {
        self.room_type_id.to_string()
    }
}

/// A room.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Room {
    /// The room.
    pub room_id: RoomId,
    /// Its property.
    pub property_id: PropertyId,
    /// Its type.
    pub room_type_id: RoomTypeId,
    /// The number on its door.
    pub label: String,
    /// Whether it was retired.
    pub archived: bool,
}

impl Document for Room {
    const KIND: Kind = Kind { carries: Some("melmastoon.property.room"), ..Kind::named("property_room") };
    fn id(&self) -> String {
        self.room_id.to_string()
    }
}
