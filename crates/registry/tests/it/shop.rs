//! A stranger's platform: a shop, written with what the registry makes public and nothing else.

use karwan_envelope::Envelope;
use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer, Residency, Tenant};
use karwan_envelope::envelope::Context;
use karwan_envelope::ids::{CorrelationId, Form, TenantId};
use karwan_envelope::mint::{Mint, SeededRandom};
use karwan_envelope::money::Money;
use karwan_envelope::profile::{CLOUDEVENTS, Profile, RetentionClass, Wire};
use karwan_envelope::row::AiProvenance;
use karwan_envelope::subject::{Exception, Grammar, Service};
use karwan_envelope::time::{ManualClock, Timestamp};
use karwan_envelope::violation::Violations;
use karwan_registry::platform::{CrossTenantRead, EnvelopeSchema, Platform, Policy, Sample};
use karwan_registry::{Catalogue, Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A customer placed an order.
///
/// Decided here: the shop has no document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "shop.order.basket.placed.v1",
    aliases("till.basket.placed.v1"),
    owner = "order-service",
    retention = "kept",
    key = "{order_id}",
    idempotency = "{order_id}:placed:{revision}",
    merkle,
    decided_here
)]
pub struct BasketPlaced {
    /// The order.
    #[schemars(length(min = 1, max = 100))]
    pub order_id: String,
    /// Which revision of it.
    #[serde(rename = "rev")]
    pub revision: u32,
    /// What it costs.
    pub total: Money,
    /// What is in it.
    #[schemars(length(min = 1, max = 50))]
    pub lines: Vec<Line>,
    /// Where the customer is reached.
    #[schemars(length(max = 254), extend("x-pii" = "contact"))]
    pub email: String,
    /// How fast it is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<Speed>,
    /// What the customer wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500), extend("x-pii" = "free_text"))]
    pub note: Option<String>,
}

/// A customer placed an order, as the second version tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[event(
    subject = "shop.order.basket.placed.v2",
    owner = "order-service",
    retention = "kept",
    key = "{order}",
    idempotency = "{order}:placed"
)]
pub struct BasketPlacedV2 {
    /// The order.
    #[schemars(length(min = 1, max = 100))]
    pub order: String,
}

/// One line of a basket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// What is bought.
    #[schemars(length(min = 1, max = 40))]
    pub article: String,
    /// How many of it.
    pub count: u16,
    /// Grams, where the article is weighed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grams: Option<u64>,
}

/// How fast an order is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speed {
    /// Whenever.
    Usual,
    /// Tomorrow.
    Express,
}

/// The registry under another name, as a façade would export it.
pub mod facade {
    pub use karwan_registry as events;
}

/// An order was paid for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    crate = "crate::shop::facade::events",
    subject = "shop.payment.invoice.paid.v1",
    owner = "payment-service",
    producers("payment-service", "till-service"),
    retention = "long",
    scope = "integration",
    key = "{order_id}",
    idempotency = "{order_id}:paid"
)]
pub struct InvoicePaid {
    /// The order.
    #[schemars(length(min = 1, max = 100))]
    pub order_id: String,
    /// Whose order it is.
    pub tenant_id: TenantId,
}

/// A model hinted at another article.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "shop.advice.hint.given.v1",
    owner = "advice-service",
    retention = "brief",
    key = "{hint_id}",
    idempotency = "{hint_id}:given",
    ai_provenance = "metadata"
)]
pub struct HintGiven {
    /// The hint.
    #[schemars(length(min = 1, max = 40))]
    pub hint_id: String,
}

/// A model drew a picture of an article.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "shop.advice.picture.drawn.v1",
    owner = "advice-service",
    retention = "brief",
    key = "{picture_id}",
    idempotency = "{picture_id}:drawn",
    ai_provenance = "payload"
)]
pub struct PictureDrawn {
    /// The picture.
    #[schemars(length(min = 1, max = 40))]
    pub picture_id: String,
    /// Which model drew it.
    pub ai_provenance: AiProvenance,
}

/// A price was listed for comparison with other shops.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "shop.search.price.listed.v1",
    owner = "search-service",
    retention = "brief",
    tenancy = "cross_tenant",
    key = "{article}",
    idempotency = "{article}:listed"
)]
pub struct PriceListed {
    /// What is sold.
    #[schemars(length(min = 1, max = 40))]
    pub article: String,
}

/// The day's books were closed, for one tenant or for all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "shop.order.books.closed.v1",
    owner = "order-service",
    retention = "long",
    tenancy = "platform",
    key = "{day}",
    idempotency = "{day}:closed"
)]
pub struct BooksClosed {
    /// The day.
    #[schemars(length(min = 10, max = 10))]
    pub day: String,
    /// The tenant whose books they are, where they are not everybody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
}

/// A till was counted, and keeps that to itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[event(
    subject = "shop.till.drawer.counted.local.v1",
    owner = "till-service",
    retention = "brief",
    key = "{drawer}",
    idempotency = "{drawer}:counted",
    local_only
)]
pub struct DrawerCounted {
    /// The drawer.
    #[schemars(length(min = 1, max = 40))]
    pub drawer: String,
}

/// Eight events, in this order.
pub fn shop_events() -> Vec<EventType> {
    let orders = events![BasketPlaced, BasketPlacedV2, BooksClosed, InvoicePaid];
    let others = events![HintGiven, PictureDrawn, PriceListed, DrawerCounted];
    [orders, others].concat()
}

const fn class(label: &'static str, warehouse_days: u32, cold_days: u32) -> RetentionClass {
    RetentionClass { label, broker_days: 7, warehouse_days, cold_days }
}

const CLASSES: &[RetentionClass] = &[class("brief", 30, 0), class("kept", 365, 0), class("long", 365, 2555)];

/// How the shop writes envelopes.
pub const COUNTER: Profile = Profile {
    name: "counter",
    wire: Wire::Nested,
    event_id: Form::UuidV7,
    tenant_id: Form::Prefixed("tnt"),
    versioned: true,
    retention: CLASSES,
    residency: Residency::Eu,
    alias_prefix: None,
    schema_base: None,
};

/// Both forms in which the shop's envelopes travel.
pub const PROFILES: &[Profile] = &[COUNTER, CLOUDEVENTS];

/// The shop.
pub static SHOP: Platform = Platform {
    name: "shop",
    grammar: Grammar {
        prefix: Some("shop"),
        versioned: true,
        aggregated: true,
        partitioned: false,
        services: &[
            Service { name: "order-service", token: "order" },
            Service { name: "payment-service", token: "payment" },
            Service { name: "advice-service", token: "advice" },
            Service { name: "search-service", token: "search" },
            Service { name: "till-service", token: "till" },
        ],
        exceptions: &[Exception {
            subject: "shop.till.drawer.counted.local.v1",
            service: "till",
            aggregate: "drawer",
            verb: "counted_local",
            why: "never leaves the till",
        }],
    },
    profiles: PROFILES,
    retention: CLASSES,
    policy: Policy {
        platform_events: &["shop.order.books.closed.v1"],
        platform_events_reviewed: "2026-11-16",
        cross_tenant_prefixes: &["shop.search."],
        cross_tenant_reads: &[CrossTenantRead { subject: "shop.search.price.listed.v1", consumers: &["comparison"] }],
        ai_prefixes: &["shop.advice.hint."],
        ai_payloads: &["shop.advice.picture.drawn.v1"],
        shared: &["shop.payment.invoice.paid.v1"],
        narrowing_forbidden: false,
        not_secret: &[],
        owners: &[],
        schema_addresses: &[],
    },
    events: shop_events,
    samples,
    envelope_schemas: &[EnvelopeSchema {
        profile: COUNTER,
        file: "event-schemas/envelope/v1.json",
        id: "schemas://envelope/v1.json",
        redacted: &[],
    }],
    workers: &[],
};

fn samples() -> Vec<Sample> {
    let text = r#"{"orderId": "o-1", "tenantId": "tnt_01ARZ3NDEKTSV4RRFFQ69G5FAV"}"#;
    vec![Sample { path: "payloads/shop.payment.invoice.paid.v1.json".to_owned(), text }]
}

pub fn catalogue() -> Catalogue {
    Catalogue::of(&SHOP).expect("the shop's types make a catalogue")
}

/// A basket that nothing is wrong with.
pub fn basket() -> BasketPlaced {
    let total = Money { amount_micro: "12500000".parse().expect("digits"), currency: "AFN".parse().expect("a code") };
    BasketPlaced {
        order_id: "o-1".to_owned(),
        revision: 3,
        total,
        lines: vec![Line { article: "bread".to_owned(), count: 2, grams: None }],
        email: "zarghuna@example.org".to_owned(),
        speed: Some(Speed::Express),
        note: None,
    }
}

pub fn provenance() -> AiProvenance {
    AiProvenance {
        model_id: "owl".to_owned(),
        model_version: "2".to_owned(),
        prompt_id: "hint".to_owned(),
        prompt_version: "7".to_owned(),
        trace_id: "t-1".to_owned(),
        local: false,
        input_hash: "00".to_owned(),
        confidence: None,
        decision_id: None,
        reviewed_by: None,
        generated_at: Timestamp::from_unix_ms(1_780_000_000_000),
    }
}

/// The tenant of all tests that need one only.
pub const TENANT: Tenant = Tenant::One(TenantId::from_bits(0x0190_c2f0_0000_7000_8000_0000_0000_0001));

/// A request of `service` for `tenant`.
pub fn context(service: &str, tenant: Tenant) -> Context {
    Context {
        tenant,
        cause: Cause::root(CorrelationId::from_bits(0x0190_c2f0_0000_7000_8000_0000_0000_0002)),
        actor: Actor { kind: ActorKind::User, id: "usr_1".to_owned() },
        producer: Producer {
            service: service.to_owned(),
            instance: "r-1".to_owned(),
            commit: "0a1b2c3".to_owned(),
            region: Some("europe-west1".to_owned()),
        },
        residency: Residency::Eu,
    }
}

/// Ids and times that are the same in every run.
pub fn mint() -> Mint<ManualClock, SeededRandom> {
    Mint::new(ManualClock::at(Timestamp::from_unix_ms(1_780_000_000_000)), SeededRandom::new(7))
}

/// Envelopes an event as its owner would, for the one tenant.
pub fn produced<E: Event>(event: &E) -> Result<Envelope, Violations> {
    catalogue().envelope(event, &context(&E::row().owner, TENANT), None, &mint())
}
