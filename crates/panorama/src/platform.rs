//! The platform as data: grammar, services, profile, retention, policy.

use karwan_envelope::cause::Residency;
use karwan_envelope::ids::Form;
use karwan_envelope::profile::{Profile, RetentionClass, Wire};
use karwan_envelope::subject::{Exception, Grammar, Service};
use karwan_registry::platform::{EnvelopeSchema, Platform, Policy};

/// Panorama.
pub static PLATFORM: Platform = Platform {
    name: "panorama",
    grammar: GRAMMAR,
    profiles: &[PROFILE],
    retention: RETENTION,
    policy: POLICY,
    events: crate::events,
    samples: crate::samples::files,
    envelope_schemas: &[EnvelopeSchema {
        profile: PROFILE,
        file: "event-schemas/envelope/v1.json",
        id: "schemas://panorama/envelope/v1.json",
        redacted: &[],
    }],
    workers: &[],
};

/// A row of the notification table; ids are UUIDs of any version.
pub const PROFILE: Profile = Profile {
    name: "panorama",
    wire: Wire::TableRow,
    event_id: Form::Uuid,
    tenant_id: Form::Uuid,
    versioned: false,
    retention: RETENTION,
    residency: Residency::Us,
    alias_prefix: None,
    schema_base: None,
};

/// Dispatched rows are pruned after 90 days, unless a tenant asks for longer.
const RETENTION: &[RetentionClass] =
    &[RetentionClass { label: "operational", broker_days: 90, warehouse_days: 0, cold_days: 0 }];

/// What the platform's subjects look like: `panorama.<context>.<verb>`, without a version.
pub const GRAMMAR: Grammar<'static> = Grammar {
    prefix: Some("panorama"),
    versioned: false,
    aggregated: false,
    partitioned: false,
    services: &[
        Service { name: "reservation-service", token: "reservation" },
        Service { name: "inspection-service", token: "damage" },
        Service { name: "invitation-service", token: "invitation" },
    ],
    exceptions: &[Exception {
        subject: "panorama.reservation.reminder",
        service: "reservation",
        aggregate: "reservation",
        verb: "reminder",
        why: "named after what it sends; the fact is that the time for it came",
    }],
};

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
