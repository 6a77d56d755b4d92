//! The shop's events.

use karwan_envelope::ids::{Id, Kind};
use karwan_envelope::money::Money;
use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every event of the shop.
pub fn events() -> Vec<EventType> {
    events![OrderPlaced].into()
}

/// The kind of an order's id.
#[derive(Debug)]
pub enum Order {}

impl Kind for Order {
    const PREFIX: &'static str = "ord";
}

/// A customer placed an order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "shop.sales.order.placed.v1",
    owner = "sales-service",
    retention = "year",
    key = "{order_id}",
    idempotency = "{order_id}:placed"
)]
pub struct OrderPlaced {
    /// The order.
    pub order_id: Id<Order>,
    /// How many items it has.
    #[schemars(range(min = 1, max = 1000))]
    pub items: u32,
    /// What it costs.
    pub total: Money,
    /// What the customer wrote; absent when nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 500), extend("x-pii" = "free_text"))]
    pub note: Option<String>,
    /// When it was placed.
    pub placed_at: Timestamp,
}
