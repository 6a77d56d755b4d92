//! What makes a Rust struct an event.

use karwan_envelope::row::Row;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A fact that already happened: one struct per subject and version.
///
/// Write it with `#[derive(Event)]`; whatever is forgotten does not compile.
///
/// ```
/// use karwan_registry::Event;
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// /// A customer placed an order.
/// #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
/// #[serde(rename_all = "camelCase")]
/// #[event(
///     subject = "shop.order.placed.v1",
///     owner = "order-service",
///     retention = "warm",
///     key = "{order_id}",
///     idempotency = "{order_id}:placed"
/// )]
/// pub struct OrderPlaced {
///     /// The order.
///     pub order_id: String,
///     /// How many items it has.
///     pub items: u32,
/// }
///
/// let placed = OrderPlaced { order_id: "o-1".into(), items: 2 };
/// assert_eq!(placed.idempotency_key(), "o-1:placed");
/// assert_eq!(OrderPlaced::row().idempotency_key.0, "{orderId}:placed");
/// ```
///
/// What does not compile, each beside the same event above that does. Without a subject:
///
/// ```compile_fail
/// /// A customer placed an order.
/// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema, karwan_registry::Event)]
/// #[event(owner = "order-service", retention = "warm", key = "{id}", idempotency = "{id}")]
/// pub struct OrderPlaced { pub id: String }
/// ```
///
/// Without an owner:
///
/// ```compile_fail
/// /// A customer placed an order.
/// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema, karwan_registry::Event)]
/// #[event(subject = "shop.order.placed.v1", retention = "warm", key = "{id}", idempotency = "{id}")]
/// pub struct OrderPlaced { pub id: String }
/// ```
///
/// Without a retention class:
///
/// ```compile_fail
/// /// A customer placed an order.
/// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema, karwan_registry::Event)]
/// #[event(subject = "shop.order.placed.v1", owner = "order-service", key = "{id}", idempotency = "{id}")]
/// pub struct OrderPlaced { pub id: String }
/// ```
///
/// Without a key:
///
/// ```compile_fail
/// /// A customer placed an order.
/// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema, karwan_registry::Event)]
/// #[event(subject = "shop.order.placed.v1", owner = "order-service", retention = "warm", idempotency = "{id}")]
/// pub struct OrderPlaced { pub id: String }
/// ```
///
/// Without an idempotency key:
///
/// ```compile_fail
/// /// A customer placed an order.
/// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema, karwan_registry::Event)]
/// #[event(subject = "shop.order.placed.v1", owner = "order-service", retention = "warm", key = "{id}")]
/// pub struct OrderPlaced { pub id: String }
/// ```
///
/// With a key over a field that it does not have:
///
/// ```compile_fail
/// /// A customer placed an order.
/// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema, karwan_registry::Event)]
/// #[event(
///     subject = "shop.order.placed.v1", owner = "order-service", retention = "warm", key = "{order}", idempotency = "{id}"
/// )]
/// pub struct OrderPlaced { pub id: String }
/// ```
///
/// With a subject that is none:
///
/// ```compile_fail
/// /// A customer placed an order.
/// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema, karwan_registry::Event)]
/// #[event(subject = "Shop.OrderPlaced", owner = "order-service", retention = "warm", key = "{id}", idempotency = "{id}")]
/// pub struct OrderPlaced { pub id: String }
/// ```
///
/// Without a doc comment:
///
/// ```compile_fail
/// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema, karwan_registry::Event)]
/// #[event(subject = "shop.order.placed.v1", owner = "order-service", retention = "warm", key = "{id}", idempotency = "{id}")]
/// pub struct OrderPlaced { pub id: String }
/// ```
///
/// Marked as decided here, and without a word about it:
///
/// ```compile_fail
/// /// A customer placed an order.
/// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema, karwan_registry::Event)]
/// #[event(
///     subject = "shop.order.placed.v1", owner = "order-service", retention = "warm", key = "{id}", idempotency = "{id}",
///     decided_here
/// )]
/// pub struct OrderPlaced { pub id: String }
/// ```
pub trait Event: Serialize + DeserializeOwned + JsonSchema + 'static {
    /// The canonical subject.
    const SUBJECT: &'static str;

    /// All that is decided about it besides the payload.
    fn row() -> Row;

    /// The aggregate's id: what the tenant is put before to make the ordering key.
    fn key(&self) -> String;

    /// The deterministic key of the business intent; the same intent twice gives the same key.
    fn idempotency_key(&self) -> String;
}

/// An event type as the catalogue keeps it.
#[derive(Debug, Clone, Copy)]
pub struct EventType {
    /// Its canonical name.
    pub subject: &'static str,
    /// Its row.
    pub row: fn() -> Row,
    /// Its JSON Schema, as emitted.
    pub schema: fn() -> serde_json::Value,
    /// Reads a payload into the struct and answers what the struct prints, with its two keys.
    pub reread: fn(&str) -> Result<Reread, serde_json::Error>,
}

/// What a struct makes of a payload. What its schema admits, it must read, and print back unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reread {
    /// The payload as the struct prints it.
    pub payload: String,
    /// The aggregate's id.
    pub key: String,
    /// The business intent.
    pub idempotency_key: String,
}

fn reread<E: Event>(payload: &str) -> Result<Reread, serde_json::Error> {
    let event: E = serde_json::from_str(payload)?;
    let payload = serde_json::to_string(&event)?;
    Ok(Reread { payload, key: event.key(), idempotency_key: event.idempotency_key() })
}

impl EventType {
    /// The event type of `E`.
    pub const fn of<E: Event>() -> Self {
        Self { subject: E::SUBJECT, row: E::row, schema: crate::schema::emit::<E>, reread: reread::<E> }
    }
}

/// The event types of these structs, in this order: `events![OrderPlaced, OrderPaid]`.
#[macro_export]
macro_rules! events {
    ($($event:ty),* $(,)?) => {
        [$($crate::EventType::of::<$event>()),*]
    };
}
