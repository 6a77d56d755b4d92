//! The platform as data: grammar, services, profiles, retention, policy.

use karwan::envelope::cause::Residency;
use karwan::envelope::ids::Form;
use karwan::envelope::profile::{CLOUDEVENTS, Profile, RetentionClass, Wire};
use karwan::envelope::subject::{Exception, Grammar, Service};
use karwan::registry::platform::{CrossTenantRead, EnvelopeSchema, Platform, Policy, Sample, SchemaAddress};

use crate::workers::WORKERS;

/// Melmastoon.
pub static PLATFORM: Platform = Platform {
    name: "melmastoon",
    grammar: GRAMMAR,
    profiles: &[PROFILE, LOCK_PROFILE, CLOUDEVENTS],
    retention: RETENTION,
    policy: POLICY,
    events: crate::events,
    samples,
    envelope_schemas: &[
        EnvelopeSchema {
            profile: PROFILE,
            file: "event-schemas/platform/event_envelope/v1.json",
            id: "schemas://platform/event_envelope/v1.json",
            redacted: &[],
        },
        EnvelopeSchema {
            profile: LOCK_PROFILE,
            file: "event-schemas/platform/event_envelope/lock-ce.json",
            id: "schemas://platform/event_envelope/lock-ce.json",
            redacted: &[],
        },
        EnvelopeSchema {
            profile: CLOUDEVENTS,
            file: "event-schemas/platform/event_envelope/cloudevents.json",
            id: "schemas://platform/event_envelope/cloudevents.json",
            redacted: &[],
        },
        // A tenant's webhook carries the envelope without what our models did.
        EnvelopeSchema {
            profile: PROFILE,
            file: "event-schemas/webhooks/v1.json",
            id: "https://schemas.melmastoon.ghasi.io/webhooks/v1.json",
            redacted: &["aiProvenance"],
        },
    ],
    workers: &WORKERS,
};

/// The envelope of the event-driven architecture.
pub const PROFILE: Profile = Profile {
    name: "melmastoon",
    wire: Wire::Nested,
    event_id: Form::UuidV7,
    tenant_id: Form::Prefixed("tnt"),
    versioned: true,
    retention: RETENTION,
    residency: Residency::Me,
    alias_prefix: None,
    schema_base: None,
};

/// The envelope as the lock integration's documents write it, with its own spellings of the subjects.
pub const LOCK_PROFILE: Profile = Profile {
    name: "lock-ce",
    wire: Wire::SpecData,
    event_id: Form::Prefixed("evt"),
    alias_prefix: Some("melmastoon.lock."),
    schema_base: Some(LOCK_SCHEMAS),
    ..PROFILE
};

const LOCK_SCHEMAS: &str = "https://schemas.melmastoon.ghasi.io/lock/";

/// Days on the broker, in the warehouse, and in cold storage.
const RETENTION: &[RetentionClass] = &[
    RetentionClass { label: "hot", broker_days: 7, warehouse_days: 30, cold_days: 0 },
    RetentionClass { label: "warm", broker_days: 7, warehouse_days: 365, cold_days: 0 },
    RetentionClass { label: "cold", broker_days: 7, warehouse_days: 365, cold_days: 7 * 365 },
];

/// What the platform's subjects look like.
pub const GRAMMAR: Grammar<'static> = Grammar {
    prefix: Some("melmastoon"),
    versioned: true,
    aggregated: true,
    partitioned: false,
    services: SERVICES,
    exceptions: EXCEPTIONS,
};

const fn service(name: &'static str, token: &'static str) -> Service<'static> {
    Service { name, token }
}

/// The services of document 000 §3.1, in its order, and the two BFFs that it leaves out.
pub const SERVICES: &[Service<'static>] = &[
    service("iam-service", "iam"),
    service("tenant-service", "tenant"),
    service("property-service", "property"),
    service("reservation-service", "reservation"),
    service("inventory-service", "inventory"),
    service("pricing-service", "pricing"),
    service("housekeeping-service", "housekeeping"),
    service("maintenance-service", "maintenance"),
    service("billing-service", "billing"),
    service("payment-gateway-service", "payment"),
    service("notification-service", "notification"),
    service("theme-config-service", "theme"),
    service("lock-integration-service", "lock_integration"),
    service("search-aggregation-service", "search_aggregation"),
    service("ai-orchestrator-service", "ai_orchestrator"),
    service("file-storage-service", "file"),
    service("reporting-service", "reporting"),
    service("analytics-service", "analytics"),
    service("audit-service", "audit"),
    service("sync-service", "sync"),
    service("staff-service", "staff"),
    service("bff-tenant-booking-service", "bff_tenant_booking"),
    service("bff-consumer-service", "bff_consumer"),
    service("bff-backoffice-service", "bff_backoffice"),
];

const fn odd(subject: &'static str, parts: [&'static str; 3], why: &'static str) -> Exception<'static> {
    let [service, aggregate, verb] = parts;
    Exception { subject, service, aggregate, verb, why }
}

const NO_AGGREGATE: &str = "published without an aggregate; the service stands for it";
const NOT_PAST: &str = "published with a verb that is not in the past tense";
const LOCAL: &str = "written on a device, and never published";

/// Names kept verbatim because they are published contracts. A new one is refused.
const EXCEPTIONS: &[Exception<'static>] = &[
    odd("melmastoon.file.uploaded.v1", ["file", "file", "uploaded"], NO_AGGREGATE),
    odd("melmastoon.file.scanned.v1", ["file", "file", "scanned"], NO_AGGREGATE),
    odd("melmastoon.reservation.booking.no_show.v1", ["reservation", "booking", "no_show"], NOT_PAST),
    odd("melmastoon.reservation.booking.early_checkout.v1", ["reservation", "booking", "early_checkout"], NOT_PAST),
    odd("melmastoon.lock_integration.vendor.error.v1", ["lock_integration", "vendor", "error"], NOT_PAST),
    odd("melmastoon.lock_integration.device.offline.v1", ["lock_integration", "device", "offline"], NOT_PAST),
    odd("melmastoon.lock_integration.device.online.v1", ["lock_integration", "device", "online"], NOT_PAST),
    odd("melmastoon.lock_integration.device.battery_low.v1", ["lock_integration", "device", "battery_low"], NOT_PAST),
    odd("melmastoon.lock_integration.device.health_alert.v1", ["lock_integration", "device", "health_alert"], NOT_PAST),
    odd("melmastoon.lock_integration.audit.attempt.v1", ["lock_integration", "audit", "attempt"], NOT_PAST),
    odd("melmastoon.lock.credential.issued.local.v1", ["lock_integration", "key_credential", "issued_local"], LOCAL),
    odd("melmastoon.lock.credential.revoked.local.v1", ["lock_integration", "key_credential", "revoked_local"], LOCAL),
];

const POLICY: Policy = Policy {
    platform_events: &["melmastoon.audit.merkle.anchored.v1"],
    platform_events_reviewed: "2026-11-16",
    cross_tenant_prefixes: &["melmastoon.search_aggregation.", "melmastoon.analytics."],
    cross_tenant_reads: &[
        CrossTenantRead {
            subject: "melmastoon.analytics.snapshot.computed.v1",
            consumers: &["warehouse", "platform-reporting"],
        },
        CrossTenantRead {
            subject: "melmastoon.search_aggregation.listing.indexed.v1",
            consumers: &["bff-consumer-service"],
        },
    ],
    ai_prefixes: &["melmastoon.ai_orchestrator."],
    ai_payloads: &[],
    shared: &[],
    narrowing_forbidden: false,
    // What a model read and wrote, and what a theme is made of.
    not_secret: &[
        ("melmastoon.ai_orchestrator.completion.completed.v1", "inputTokens"),
        ("melmastoon.ai_orchestrator.completion.completed.v1", "outputTokens"),
        ("melmastoon.theme.preset.published.v1", "tokens"),
        ("melmastoon.theme.tokens.changed.v1", "tokens"),
    ],
    // Written by the device, drained by the service that reconciles it.
    owners: &[
        ("melmastoon.lock.credential.issued.local.v1", "sync-service"),
        ("melmastoon.lock.credential.revoked.local.v1", "sync-service"),
    ],
    schema_addresses: &[SchemaAddress { prefix: "melmastoon.lock.", base: LOCK_SCHEMAS }],
};

fn samples() -> Vec<Sample> {
    let payloads = crate::samples::payloads().into_iter();
    let payloads = payloads.map(|(subject, text)| Sample { path: format!("payloads/{subject}.json"), text });
    let envelopes = crate::samples::envelopes().into_iter();
    let envelopes =
        envelopes.map(|(profile, name, text)| Sample { path: format!("envelopes/{profile}/{name}.json"), text });
    let page = Sample { path: "README.md".to_owned(), text: include_str!("../samples/README.md") };
    payloads.chain(envelopes).chain([page]).collect()
}
