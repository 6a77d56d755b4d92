//! What happens to presets, brand tokens and content blocks.

use karwan::Event;
use karwan::envelope::ids::TenantId;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{ContentBlockId, MediaId, PropertyId, ThemePresetId};
use crate::values::LocalText;

/// A version of a theme preset was published.
///
/// Decided here: carries the preset's tokens whole, so that a site is rendered from events alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.theme.preset.published.v1",
    owner = "theme-config-service",
    retention = "warm",
    key = "{theme_preset_id}",
    idempotency = "{theme_preset_id}:published:{version}",
    decided_here
)]
pub struct PresetPublished {
    /// The preset.
    pub theme_preset_id: ThemePresetId,
    /// The published version.
    pub version: u32,
    /// What it is called.
    #[schemars(length(min = 1, max = 100))]
    pub name: String,
    /// Its tokens.
    #[schemars(length(min = 1, max = 300))]
    pub tokens: Vec<BrandToken>,
    /// The places that content blocks may fill.
    #[schemars(length(max = 100), inner(regex(pattern = r"^[a-z][a-z0-9_]{0,63}$")))]
    pub content_slots: Vec<String>,
    /// When it was published.
    pub published_at: Timestamp,
}

/// One named value of a look: a colour, a font, a radius.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrandToken {
    /// Its name, dotted: `color.primary`.
    #[schemars(length(min = 1, max = 100))]
    pub name: String,
    /// Its value, as a style sheet takes it.
    #[schemars(length(min = 1, max = 500))]
    pub value: String,
}

/// A tenant's brand tokens were updated.
///
/// Decided here: carries the tokens whole; notification dresses its messages with them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.theme.tokens.changed.v1",
    owner = "theme-config-service",
    retention = "warm",
    key = "{tenant_id}",
    idempotency = "{tenant_id}:tokens:{version}",
    decided_here
)]
pub struct TokensChanged {
    /// The tenant.
    pub tenant_id: TenantId,
    /// The version of the tokens.
    pub version: u32,
    /// The preset that they refine.
    pub theme_preset_id: ThemePresetId,
    /// Its version.
    pub preset_version: u32,
    /// The tenant's own tokens now.
    #[schemars(length(max = 300))]
    pub tokens: Vec<BrandToken>,
    /// The names of those that changed.
    #[schemars(length(min = 1, max = 300), inner(length(min = 1, max = 100)))]
    pub changed: Vec<String>,
    /// The logo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logo: Option<MediaId>,
    /// When it was changed.
    pub changed_at: Timestamp,
}

/// A theme content block was changed.
///
/// Decided here: carries the block whole, in every language.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.theme.content_block.changed.v1",
    owner = "theme-config-service",
    retention = "warm",
    key = "{content_block_id}",
    idempotency = "{content_block_id}:changed:{version}",
    decided_here
)]
pub struct ContentBlockChanged {
    /// The block.
    pub content_block_id: ContentBlockId,
    /// Its version.
    pub version: u32,
    /// The property that it is for; absent when it is for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property_id: Option<PropertyId>,
    /// The place that it fills.
    #[schemars(regex(pattern = r"^[a-z][a-z0-9_]{0,63}$"))]
    pub slot: String,
    /// Its text.
    #[schemars(length(max = 20))]
    pub texts: Vec<LocalText>,
    /// Its pictures.
    #[schemars(length(max = 50))]
    pub media: Vec<MediaId>,
    /// Whether guests see it.
    pub visible: bool,
    /// When it was changed.
    pub changed_at: Timestamp,
}
