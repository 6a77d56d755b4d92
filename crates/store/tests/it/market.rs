//! A platform for tests that is none of ours: parcels without a document of their own, and orders that a document carries.

use std::sync::Arc;

use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer, Residency, Tenant};
use karwan_envelope::envelope::Context;
use karwan_envelope::ids::{CorrelationId, Form, TenantId};
use karwan_envelope::profile::{Profile, RetentionClass, Wire};
use karwan_envelope::subject::{Grammar, Service};
use karwan_registry::platform::Policy;
use karwan_registry::{Catalogue, Event, Platform, events};
use karwan_store::kind::{Document, Field, FieldType, FieldValue, Kind};
use karwan_store::{KindType, Options};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A parcel was seen somewhere; its key has no document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "market.parcel.parcel.scanned.v1",
    owner = "parcel-service",
    retention = "year",
    key = "{parcel_id}",
    idempotency = "{parcel_id}:{serial}"
)]
pub struct ParcelScanned {
    /// The parcel.
    #[schemars(length(min = 1, max = 100))]
    pub parcel_id: String,
    /// Which scan it is.
    pub serial: u32,
    /// Whose it is, where it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub tenant_id: Option<String>,
}

/// An order changed; its document orders its facts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "market.sales.order.changed.v1",
    owner = "sales-service",
    producers = ["sales-service", "parcel-service"],
    retention = "year",
    key = "{order_id}",
    idempotency = "{order_id}:{serial}"
)]
pub struct OrderChanged {
    /// The order.
    #[schemars(length(min = 1, max = 100))]
    pub order_id: String,
    /// Which change it is.
    pub serial: u32,
}

/// What sales keeps of an order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    pub id: String,
    pub changes: u32,
    pub status: String,
}

impl Document for Order {
    const KIND: Kind = Kind {
        name: "order",
        shape: 1,
        carries: Some("market.sales.order"),
        fields: &[Field { name: "status", of: FieldType::Text }, Field { name: "changes", of: FieldType::Integer }],
    };
    fn id(&self) -> String {
        self.id.clone()
    }
    fn fields(&self) -> Vec<FieldValue> {
        vec![self.status.as_str().into(), i64::from(self.changes).into()]
    }
}

pub const RETENTION: &[RetentionClass] =
    &[RetentionClass { label: "year", broker_days: 7, warehouse_days: 365, cold_days: 0 }];

pub const PROFILE: Profile = Profile {
    name: "market",
    wire: Wire::Nested,
    event_id: Form::UuidV7,
    tenant_id: Form::Prefixed("tnt"),
    versioned: true,
    retention: RETENTION,
    residency: Residency::Eu,
    alias_prefix: None,
    schema_base: None,
};

pub static PLATFORM: Platform = Platform {
    name: "market",
    grammar: Grammar {
        prefix: Some("market"),
        versioned: true,
        aggregated: true,
        partitioned: false,
        services: &[
            Service { name: "parcel-service", token: "parcel" },
            Service { name: "sales-service", token: "sales" },
        ],
        exceptions: &[],
    },
    profiles: &[PROFILE],
    retention: RETENTION,
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
    events: || events![ParcelScanned, OrderChanged].into(),
    samples: Vec::new,
    envelope_schemas: &[],
};

pub const KINDS: &[KindType] = &[KindType::of::<Order>()];

pub fn catalogue() -> Arc<Catalogue> {
    Arc::new(Catalogue::of(&PLATFORM).expect("the market has a catalogue"))
}

pub fn options() -> Options {
    Options::new(catalogue(), KINDS.to_vec())
}

pub fn tenant(number: u128) -> TenantId {
    TenantId::from_bits(0x0190_c2f0_0000_7000_8000_0000_0000_0000 + number)
}

pub fn context(number: u128, service: &str) -> Context {
    Context {
        tenant: Tenant::One(tenant(number)),
        cause: Cause::root(CorrelationId::from_bits(7)),
        actor: Actor { kind: ActorKind::Service, id: service.into() },
        producer: Producer { service: service.into(), instance: "test".into(), commit: "test".into(), region: None },
        residency: Residency::Eu,
    }
}
