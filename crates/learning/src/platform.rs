//! The platform as data: grammar, services, profile, retention, policy.

use karwan_envelope::cause::Residency;
use karwan_envelope::ids::Form;
use karwan_envelope::profile::{Profile, RetentionClass, Wire};
use karwan_envelope::subject::{Exception, Grammar, Service};
use karwan_registry::platform::{EnvelopeSchema, Platform, Policy};

/// Learning.
pub static PLATFORM: Platform = Platform {
    name: "learning",
    grammar: GRAMMAR,
    profiles: &[PROFILE],
    retention: RETENTION,
    policy: POLICY,
    events: crate::events,
    samples: crate::samples::files,
    envelope_schemas: &[EnvelopeSchema {
        profile: PROFILE,
        file: "event-schemas/envelope/v1.json",
        id: "schemas://envelope/v1.json",
        redacted: &[],
    }],
    workers: &[],
};

/// Its envelope: flat, ULIDs throughout.
pub const PROFILE: Profile = Profile {
    name: "learning",
    wire: Wire::Flat,
    event_id: Form::Ulid,
    tenant_id: Form::Ulid,
    versioned: true,
    retention: RETENTION,
    residency: Residency::Us,
    alias_prefix: None,
    schema_base: None,
};

/// Days on the stream, and in the archive; 13 months are 396 days. `audit` is kept as long as `regulated`.
const RETENTION: &[RetentionClass] = &[
    RetentionClass { label: "operational", broker_days: 30, warehouse_days: 0, cold_days: 396 },
    RetentionClass { label: "regulated", broker_days: 180, warehouse_days: 0, cold_days: 7 * 365 },
    RetentionClass { label: "audit", broker_days: 180, warehouse_days: 0, cold_days: 7 * 365 },
];

/// What the platform's subjects look like.
pub const GRAMMAR: Grammar<'static> = Grammar {
    prefix: None,
    versioned: true,
    aggregated: true,
    partitioned: true,
    services: SERVICES,
    exceptions: EXCEPTIONS,
};

const fn service(name: &'static str, token: &'static str) -> Service<'static> {
    Service { name, token }
}

/// The nineteen tokens of document 003 §3, and the two that its catalogue uses besides.
pub const SERVICES: &[Service<'static>] = &[
    service("identity-service", "identity"),
    service("tenant-service", "tenant"),
    service("catalog-service", "catalog"),
    service("authoring-service", "authoring"),
    service("content-service", "content"),
    service("marketplace-service", "marketplace"),
    service("billing-service", "billing"),
    service("enrollment-service", "enrollment"),
    service("assignment-service", "assignment"),
    service("delivery-service", "delivery"),
    service("progress-service", "progress"),
    service("assessment-service", "assessment"),
    service("certification-service", "certification"),
    service("notification-service", "notification"),
    service("media-service", "media"),
    service("search-service", "search"),
    service("analytics-service", "analytics"),
    service("ai-gateway-service", "ai"),
    service("sync-service", "sync"),
    service("tenant-service", "gdpr"),
    service("audit-service", "audit"),
];

const fn odd(subject: &'static str, parts: [&'static str; 3], why: &'static str) -> Exception<'static> {
    let [service, aggregate, verb] = parts;
    Exception { subject, service, aggregate, verb, why }
}

const SHORT: &str = "published without an aggregate; the service stands for it";
const LONG: &str = "published with one segment more than the grammar has";
const NOT_PAST: &str = "published with a verb that is not in the past tense";

/// Names kept verbatim because they are published contracts. A new one is refused.
const EXCEPTIONS: &[Exception<'static>] = &[
    odd("enrollment.created.v1", ["enrollment", "enrollment", "created"], SHORT),
    odd("enrollment.completed.v1", ["enrollment", "enrollment", "completed"], SHORT),
    odd("enrollment.revoked.v1", ["enrollment", "enrollment", "revoked"], SHORT),
    odd("notification.sent.v1", ["notification", "notification", "sent"], SHORT),
    odd("notification.failed.v1", ["notification", "notification", "failed"], SHORT),
    odd("authoring.draft.block.added.v1", ["authoring", "draft_block", "added"], LONG),
    odd("authoring.draft.ai.block_generated.v1", ["authoring", "draft_ai", "block_generated"], LONG),
    odd("authoring.draft.ai.block_accepted.v1", ["authoring", "draft_ai", "block_accepted"], LONG),
    odd("content.play_package.bundle.published.v1", ["content", "play_package_bundle", "published"], LONG),
    odd("content.play_package.bundle.license_issued.v1", ["content", "play_package_bundle", "license_issued"], LONG),
    odd("content.play_package.bundle.revoked.v1", ["content", "play_package_bundle", "revoked"], LONG),
    odd("delivery.assistant.turn.completed.v1", ["delivery", "assistant_turn", "completed"], LONG),
    odd("delivery.offline.bundle.tamper_detected.v1", ["delivery", "offline_bundle", "tamper_detected"], LONG),
    odd("media.ai.image.generated.v1", ["media", "ai_image", "generated"], LONG),
    odd("ai.gateway.call.completed.v1", ["ai", "gateway_call", "completed"], LONG),
    odd("ai.gateway.call.refused.v1", ["ai", "gateway_call", "refused"], LONG),
    odd("ai.inference.local.completed.v1", ["ai", "inference_local", "completed"], LONG),
    odd("ai.safety.flag.raised.v1", ["ai", "safety_flag", "raised"], LONG),
    odd("assignment.compliance_window.overdue.v1", ["assignment", "compliance_window", "overdue"], NOT_PAST),
    odd("media.asset.ready.v1", ["media", "asset", "ready"], NOT_PAST),
];

const POLICY: Policy = Policy {
    platform_events: &["audit.merkle.anchored.v1"],
    platform_events_reviewed: "2026-11-16",
    cross_tenant_prefixes: &[],
    cross_tenant_reads: &[],
    ai_prefixes: &[],
    ai_payloads: &[
        "assignment.recommendation.generated.v1",
        "delivery.assistant.turn.completed.v1",
        "assessment.short_answer.ai_graded.v1",
        "media.ai.image.generated.v1",
        "search.recommendation.generated.v1",
        "analytics.insight.generated.v1",
    ],
    // Every service in the scope of a subject request acknowledges it.
    shared: &["gdpr.subject_request.acknowledged.v1"],
    // How many tokens a model read and wrote.
    narrowing_forbidden: true,
    not_secret: &[("ai.gateway.call.completed.v1", "tokens")],
    owners: &[],
    schema_addresses: &[],
};
