//! A stranger's platform: a shop with orders and parcels, written with public names alone.

use std::sync::{Arc, LazyLock};

use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer, Residency, Tenant};
use karwan_envelope::envelope::Context;
use karwan_envelope::ids::{CorrelationId, Form, TenantId};
use karwan_envelope::profile::{Profile, RetentionClass, Wire};
use karwan_envelope::subject::{Grammar, Service};
use karwan_envelope::time::Timestamp;
use karwan_registry::platform::{EnvelopeSchema, Platform, Policy, Workers};
use karwan_registry::{Catalogue, Event, EventType, events};
use karwan_store::kind::{Document, Field, FieldType, FieldValue, Kind, KindType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    #[schemars(length(min = 1, max = 100))]
    pub order_id: String,
    /// How many items it has.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub items: i64,
}

/// An order was changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "shop.sales.order.changed.v1",
    owner = "sales-service",
    retention = "year",
    key = "{order_id}",
    idempotency = "{order_id}:changed:{revision}"
)]
pub struct OrderChanged {
    /// The order.
    #[schemars(length(min = 1, max = 100))]
    pub order_id: String,
    /// Which change of it.
    pub revision: i64,
}

/// An order was paid; the payload names the tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "shop.sales.order.paid.v1",
    owner = "sales-service",
    retention = "year",
    key = "{order_id}",
    idempotency = "{order_id}:paid"
)]
pub struct OrderPaid {
    /// The order.
    #[schemars(length(min = 1, max = 100))]
    pub order_id: String,
    /// Whose order it is.
    pub tenant_id: TenantId,
}

/// A parcel left the house. No document carries parcels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "shop.delivery.parcel.sent.v1",
    owner = "delivery-service",
    retention = "year",
    key = "{parcel_id}",
    idempotency = "{parcel_id}:sent:{count}"
)]
pub struct ParcelSent {
    /// The parcel.
    #[schemars(length(min = 1, max = 100))]
    pub parcel_id: String,
    /// Which one of several.
    pub count: i64,
}

fn shop_events() -> Vec<EventType> {
    events![OrderPlaced, OrderChanged, OrderPaid, ParcelSent].into()
}

const CLASSES: &[RetentionClass] =
    &[RetentionClass { label: "year", broker_days: 7, warehouse_days: 365, cold_days: 0 }];

const PROFILE: Profile = Profile {
    name: "shop",
    wire: Wire::Nested,
    event_id: Form::UuidV7,
    tenant_id: Form::Prefixed("tnt"),
    versioned: true,
    retention: CLASSES,
    residency: Residency::Eu,
    alias_prefix: None,
    schema_base: None,
};

static SHOP: Platform = Platform {
    name: "shop",
    grammar: Grammar {
        prefix: Some("shop"),
        versioned: true,
        aggregated: true,
        partitioned: false,
        services: &[
            Service { name: "sales-service", token: "sales" },
            Service { name: "delivery-service", token: "delivery" },
        ],
        exceptions: &[],
    },
    profiles: &[PROFILE],
    retention: CLASSES,
    policy: Policy {
        platform_events: &[],
        platform_events_reviewed: "2026-11-16",
        cross_tenant_prefixes: &[],
        cross_tenant_reads: &[],
        ai_prefixes: &[],
        ai_payloads: &[],
        shared: &[],
        narrowing_forbidden: false,
        not_secret: &[],
        owners: &[],
        schema_addresses: &[],
    },
    events: shop_events,
    samples: Vec::new,
    envelope_schemas: &[EnvelopeSchema {
        profile: PROFILE,
        file: "event-schemas/envelope/v1.json",
        id: "schemas://shop/envelope/v1.json",
        redacted: &[],
    }],
    workers: &[Workers { service: "delivery-service", instances: (1, 3), at_once: 2, messages: 8, guard: None }],
};

static CATALOGUE: LazyLock<Arc<Catalogue>> =
    LazyLock::new(|| Arc::new(Catalogue::of(&SHOP).expect("the shop's types make a catalogue")));

/// The shop's catalogue.
pub fn catalogue() -> Arc<Catalogue> {
    CATALOGUE.clone()
}

/// What the shop keeps.
pub fn kinds() -> Vec<KindType> {
    vec![KindType::of::<Order>(), KindType::of::<Counter>()]
}

/// An order, with a declared field of every type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub id: String,
    pub status: String,
    pub items: i64,
    pub due: Option<i64>,
    pub express: Option<bool>,
    pub customer: Option<String>,
    /// Padding, for tests that need large bodies.
    #[serde(default)]
    pub note: String,
}

impl Document for Order {
    const KIND: Kind = Kind {
        name: "order",
        shape: 1,
        carries: Some("shop.sales.order"),
        fields: &[
            Field { name: "status", of: FieldType::Text },
            Field { name: "items", of: FieldType::Integer },
            Field { name: "due", of: FieldType::Time },
            Field { name: "express", of: FieldType::Flag },
            Field { name: "customer", of: FieldType::Id },
        ],
    };

    fn id(&self) -> String {
        self.id.clone()
    }

    fn fields(&self) -> Vec<FieldValue> {
        let customer = self.customer.as_ref().map(|text| u128::from_str_radix(text, 16).expect("tests write hex"));
        vec![
            self.status.as_str().into(),
            self.items.into(),
            self.due.map(Timestamp::from_unix_ms).into(),
            self.express.into(),
            customer.map_or(FieldValue::Absent, FieldValue::Id),
        ]
    }
}

/// A number that carries no facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    pub id: String,
    pub value: i64,
}

impl Document for Counter {
    const KIND: Kind = Kind { name: "counter", shape: 1, carries: None, fields: &[] };

    fn id(&self) -> String {
        self.id.clone()
    }

    fn fields(&self) -> Vec<FieldValue> {
        Vec::new()
    }
}

/// An open order of one item.
pub fn order(id: &str) -> Order {
    Order {
        id: id.to_owned(),
        status: "open".to_owned(),
        items: 1,
        due: None,
        express: None,
        customer: None,
        note: String::new(),
    }
}

pub fn counter(id: &str, value: i64) -> Counter {
    Counter { id: id.to_owned(), value }
}

pub fn placed(id: &str) -> OrderPlaced {
    OrderPlaced { order_id: id.to_owned(), items: 1 }
}

pub fn changed(id: &str, revision: i64) -> OrderChanged {
    OrderChanged { order_id: id.to_owned(), revision }
}

pub fn sent(id: &str, count: i64) -> ParcelSent {
    ParcelSent { parcel_id: id.to_owned(), count }
}

/// The bits of the n-th tenant.
pub const fn tenant_bits(number: u64) -> u128 {
    0x0190_c2f0_0000_7000_8000_0000_0000_0000 + number as u128
}

/// A request of the sales service for the n-th tenant.
pub fn context(tenant: u64) -> Context {
    context_of("sales-service", tenant)
}

/// A request of any service.
pub fn context_of(service: &str, tenant: u64) -> Context {
    Context {
        tenant: Tenant::One(TenantId::from_bits(tenant_bits(tenant))),
        cause: Cause::root(CorrelationId::from_bits(0x0190_c2f0_0000_7000_8000_0000_0000_0002)),
        actor: Actor { kind: ActorKind::User, id: "usr_1".to_owned() },
        producer: Producer {
            service: service.to_owned(),
            instance: "r-1".to_owned(),
            commit: "0a1b2c3".to_owned(),
            region: None,
        },
        residency: Residency::Eu,
    }
}
