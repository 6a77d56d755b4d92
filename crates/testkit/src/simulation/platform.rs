//! The platform that is simulated: a desk takes requests for orders, a ledger books them. A stranger's, as any user's.

use std::sync::{Arc, LazyLock};

use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer, Residency, Tenant};
use karwan_envelope::envelope::Context;
use karwan_envelope::ids::{CorrelationId, Form, TenantId};
use karwan_envelope::profile::{Profile, RetentionClass, Wire};
use karwan_envelope::subject::{Grammar, Service};
use karwan_registry::platform::{EnvelopeSchema, Platform, Policy};
use karwan_registry::{Catalogue, Event, EventType, events};
use karwan_store::kind::{Document, FieldValue, Kind, KindType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who takes requests, and who books them.
pub const DESK: &str = "desk-service";
/// See [`DESK`].
pub const LEDGER: &str = "ledger-service";

/// What is to happen on the way of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Course {
    /// Nothing of note.
    Plain,
    /// Its first handlings fail.
    Fails,
    /// Its first handlings ask for a later time.
    Waits,
    /// Its first handling hangs past its limit.
    Hangs,
    /// Its handler takes its time, sometimes longer than a lease.
    Slow,
    /// It can never be handled.
    Poisoned,
    /// It leads to a call to the outside.
    Charged,
    /// It sets a deadline.
    Reminded,
}

/// A request came in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "sim.desk.order.requested.v1",
    owner = "desk-service",
    retention = "year",
    key = "{order_id}",
    idempotency = "{order_id}:{revision}"
)]
pub struct Requested {
    /// The order.
    #[schemars(length(min = 1, max = 100))]
    pub order_id: String,
    /// Which request for it, from 1.
    pub revision: i64,
    /// The command that led to it.
    pub command: i64,
    /// What happens on its way.
    pub course: Course,
}

/// A request was booked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "sim.ledger.entry.booked.v1",
    owner = "ledger-service",
    retention = "year",
    key = "{order_id}",
    idempotency = "{order_id}:{revision}:booked"
)]
pub struct Booked {
    /// The order.
    #[schemars(length(min = 1, max = 100))]
    pub order_id: String,
    /// Which request for it.
    pub revision: i64,
}

/// What the desk knows of an order; it carries the order's requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Its id.
    pub id: String,
    /// How many requests there were.
    pub revision: i64,
}

/// What was done for one order, in the order in which it was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// Who keeps it, and of which order.
    pub id: String,
    /// Revisions.
    pub entries: Vec<i64>,
}

/// How much was done in all; everybody writes the same one, so that writers meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// Who counts.
    pub id: String,
    /// How much.
    pub count: i64,
}

macro_rules! document {
    ($type:ident, $name:literal, $carries:expr) => {
        impl Document for $type {
            const KIND: Kind = Kind { name: $name, shape: 1, carries: $carries, fields: &[] };

            fn id(&self) -> String {
                self.id.clone()
            }

            fn fields(&self) -> Vec<FieldValue> {
                Vec::new()
            }
        }
    };
}
document!(Order, "order", Some("sim.desk.order"));
document!(Journal, "journal", None);
document!(Total, "total", None);

/// What the simulated services keep.
pub fn kinds() -> Vec<KindType> {
    vec![KindType::of::<Order>(), KindType::of::<Journal>(), KindType::of::<Total>()]
}

fn all_events() -> Vec<EventType> {
    events![Requested, Booked].into()
}

const CLASSES: &[RetentionClass] =
    &[RetentionClass { label: "year", broker_days: 7, warehouse_days: 365, cold_days: 0 }];

const PROFILE: Profile = Profile {
    name: "sim",
    wire: Wire::Nested,
    event_id: Form::UuidV7,
    tenant_id: Form::Prefixed("tnt"),
    versioned: true,
    retention: CLASSES,
    residency: Residency::Eu,
    alias_prefix: None,
    schema_base: None,
};

static PLATFORM: Platform = Platform {
    name: "sim",
    grammar: Grammar {
        prefix: Some("sim"),
        versioned: true,
        aggregated: true,
        partitioned: false,
        services: &[Service { name: DESK, token: "desk" }, Service { name: LEDGER, token: "ledger" }],
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
    events: all_events,
    samples: Vec::new,
    envelope_schemas: &[EnvelopeSchema {
        profile: PROFILE,
        file: "event-schemas/envelope/v1.json",
        id: "schemas://sim/envelope/v1.json",
        redacted: &[],
    }],
    workers: &[],
};

static CATALOGUE: LazyLock<Arc<Catalogue>> =
    LazyLock::new(|| Arc::new(Catalogue::of(&PLATFORM).expect("the simulated types make a catalogue")));

/// The catalogue of the simulated platform.
pub fn catalogue() -> Arc<Catalogue> {
    CATALOGUE.clone()
}

/// Where the bits of tenants begin.
pub const TENANTS: u128 = 0x0190_c2f0_0000_7000_8000_0000_0000_0000;

/// A request at the desk for the n-th tenant.
pub fn context(tenant: u64) -> Context {
    Context {
        tenant: Tenant::One(TenantId::from_bits(TENANTS + u128::from(tenant))),
        cause: Cause::root(CorrelationId::from_bits(TENANTS)),
        actor: Actor { kind: ActorKind::User, id: "usr_1".to_owned() },
        producer: Producer {
            service: DESK.to_owned(),
            instance: "desk".to_owned(),
            commit: "0a1b2c3".to_owned(),
            region: None,
        },
        residency: Residency::Eu,
    }
}
