//! file-storage-service: objects uploaded and scanned.

pub mod events;

use karwan::{EventType, events};

use self::events::{FileScanned, FileUploaded};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![FileUploaded, FileScanned].into()
}
