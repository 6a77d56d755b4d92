//! The shop as a platform: grammar, profile, retention and policy, all data.

use karwan_envelope::cause::Residency;
use karwan_envelope::ids::Form;
use karwan_envelope::profile::{CLOUDEVENTS, Profile, RetentionClass, Wire};
use karwan_envelope::subject::{Grammar, Service};
use karwan_registry::Platform;
use karwan_registry::platform::{EnvelopeSchema, Policy};

/// The shop.
pub static PLATFORM: Platform = Platform {
    name: "shop",
    grammar: Grammar {
        prefix: Some("shop"),
        versioned: true,
        aggregated: true,
        partitioned: false,
        services: &[Service { name: "sales-service", token: "sales" }],
        exceptions: &[],
    },
    profiles: &[PROFILE, CLOUDEVENTS],
    retention: RETENTION,
    policy: POLICY,
    events: crate::events::events,
    samples: Vec::new,
    envelope_schemas: &[EnvelopeSchema {
        profile: PROFILE,
        file: "event-schemas/envelope/v1.json",
        id: "schemas://shop/envelope/v1.json",
        redacted: &[],
    }],
    workers: &[],
};

/// How the shop writes envelopes.
pub const PROFILE: Profile = Profile {
    name: "shop",
    wire: Wire::Nested,
    event_id: Form::UuidV7,
    tenant_id: Form::Prefixed("tnt"),
    versioned: true,
    retention: RETENTION,
    residency: Residency::Eu,
    alias_prefix: None,
    schema_base: None,
};

const RETENTION: &[RetentionClass] =
    &[RetentionClass { label: "year", broker_days: 7, warehouse_days: 365, cold_days: 0 }];

const POLICY: Policy = Policy {
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
};
