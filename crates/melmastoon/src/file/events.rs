//! Stored files. Not here: their bytes, their signed addresses, and their place in the object store.

use karwan::Event;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{FileId, GuestId, PropertyId, ReservationId, UserId};

/// An object was uploaded to the store with a signed address.
///
/// Decided here: what the scanner and the audit trail need; nobody may read the file before `scanned` says it is clean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.file.uploaded.v1",
    owner = "file-storage-service",
    retention = "warm",
    key = "{file_id}",
    idempotency = "{file_id}:uploaded",
    decided_here
)]
pub struct FileUploaded {
    /// The file.
    pub file_id: FileId,
    /// What it is for.
    pub purpose: FilePurpose,
    /// Whose file it is.
    pub belongs_to: FileOwner,
    /// What its uploader called it.
    #[schemars(length(min = 1, max = 255), extend("x-pii" = "free_text"))]
    pub file_name: String,
    /// Its media type, as the store determined it.
    #[schemars(regex(pattern = "^[a-z]+/[a-z0-9.+-]+$"), length(max = 120))]
    pub media_type: String,
    /// Its size in bytes.
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub size_bytes: u64,
    /// The hash of its bytes.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub content_hash: String,
    /// Whether it shows personal data, and falls under erasure.
    pub personal_data: bool,
    /// Who uploaded it; absent when a service or a guest without an account did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub uploaded_by: Option<UserId>,
    /// When it was uploaded.
    pub uploaded_at: Timestamp,
}

/// The virus scan of a file was completed.
///
/// Decided here: the verdict and what was done about it; repeats the purpose, so that a reader needs no earlier event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.file.scanned.v1",
    owner = "file-storage-service",
    retention = "warm",
    key = "{file_id}",
    idempotency = "{file_id}:scanned:{scanned_at}",
    decided_here
)]
pub struct FileScanned {
    /// The file.
    pub file_id: FileId,
    /// What it is for.
    pub purpose: FilePurpose,
    /// The hash of the bytes that were scanned.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub content_hash: String,
    /// What was found.
    pub verdict: ScanVerdict,
    /// The threats, by the scanner's names; empty when there are none.
    #[schemars(length(max = 20), inner(length(min = 1, max = 120)))]
    pub threats: Vec<String>,
    /// Whether the file may be read.
    pub released: bool,
    /// The scanner and its signatures, so that old files can be scanned again.
    #[schemars(length(min = 1, max = 120))]
    pub scanner: String,
    /// When it was scanned.
    pub scanned_at: Timestamp,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FilePurpose {
    /// A picture of a property or room.
    PropertyMedia,
    /// A part of a theme.
    ThemeAsset,
    /// A guest's document.
    GuestDocument,
    /// An invoice.
    Invoice,
    /// A report.
    Report,
    /// A picture for a work order or a task.
    WorkPicture,
    /// The output of a model.
    AiOutput,
}

/// Whose file it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum FileOwner {
    /// The tenant's.
    Tenant,
    /// A property's.
    Property {
        /// The property.
        property_id: PropertyId,
    },
    /// A stay's.
    Reservation {
        /// The reservation.
        reservation_id: ReservationId,
    },
    /// A guest's.
    Guest {
        /// The guest.
        #[schemars(extend("x-pii" = "identifier"))]
        guest_id: GuestId,
    },
}

/// What a scan found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScanVerdict {
    /// Nothing.
    Clean,
    /// A threat.
    Infected,
    /// It could not be scanned: encrypted, broken or too large.
    Unscannable,
}
