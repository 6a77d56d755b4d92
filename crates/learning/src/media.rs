//! Images, sounds, films and documents.

use karwan_envelope::row::AiProvenance;
use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{MediaAssetId, TenantId};
use crate::text::literals;
use crate::types::{LABEL_MAX, LIST_MAX};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![MediaAssetReady, MediaAiImageGenerated, MediaAssetQuarantined].into()
}

/// A media asset was processed and can be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "media.asset.ready.v1",
    owner = "media-service",
    retention = "operational",
    key = "{asset_id}",
    idempotency = "{asset_id}:ready:{at}"
)]
pub struct MediaAssetReady {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The media asset.
    pub asset_id: MediaAssetId,
    /// What it is.
    pub kind: MediaKind,
    /// The forms it is available in.
    #[schemars(length(max = LIST_MAX), inner(length(min = 1, max = LABEL_MAX)))]
    pub variants: Vec<String>,
    /// When it happened.
    pub at: Timestamp,
}

/// An AI drew an image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "media.ai.image.generated.v1",
    owner = "media-service",
    retention = "operational",
    ai_provenance = "payload",
    key = "{asset_id}",
    idempotency = "{asset_id}:ai_generated"
)]
pub struct MediaAiImageGenerated {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The media asset.
    pub asset_id: MediaAssetId,
    /// Which model produced it, from what, and who answers for it.
    pub ai_provenance: AiProvenance,
    /// When it happened.
    pub at: Timestamp,
}

/// A media asset was locked away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "media.asset.quarantined.v1",
    owner = "media-service",
    retention = "operational",
    key = "{asset_id}",
    idempotency = "{asset_id}:quarantined:{at}"
)]
pub struct MediaAssetQuarantined {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The media asset.
    pub asset_id: MediaAssetId,
    /// Why.
    pub reason: QuarantineReason,
    /// When it happened.
    pub at: Timestamp,
}

literals! {
    /// What a media asset is.
    MediaKind {
        /// An image.
        Image = "image",
        /// A sound.
        Audio = "audio",
        /// A film.
        Video = "video",
        /// A document.
        Document = "document",
        /// Subtitles.
        Subtitle = "subtitle",
        /// An image that an AI drew.
        AiImage = "ai_image",
        /// A sound that an AI made.
        AiAudio = "ai_audio",
    }

    /// Why an asset was locked away.
    QuarantineReason {
        /// Malware was found.
        Virus = "virus",
        /// It is not fit to be shown.
        Nsfw = "nsfw",
        /// Somebody else holds the rights.
        Copyright = "copyright",
        /// An operator decided so.
        Manual = "manual",
    }
}
