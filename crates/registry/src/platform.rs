//! A platform: its grammar, its profiles and its policy, all data, with the event types that its crate defines.

use karwan_envelope::cause::Residency;
use karwan_envelope::ids::Form;
use karwan_envelope::profile::{Profile, RetentionClass, Wire};
use karwan_envelope::subject::{Grammar, Service};

use crate::EventType;

/// Everything the registry must know about a platform.
#[derive(Debug, Clone, Copy)]
pub struct Platform {
    /// Its name.
    pub name: &'static str,
    /// What its subjects look like.
    pub grammar: Grammar<'static>,
    /// How it writes envelopes; the first is the usual one.
    pub profiles: &'static [Profile],
    /// Its retention classes, shortest first.
    pub retention: &'static [RetentionClass],
    /// What it allows.
    pub policy: Policy,
    /// Its event types.
    pub events: fn() -> Vec<EventType>,
    /// Sample documents.
    pub samples: fn() -> Vec<Sample>,
    /// The envelope schemas that it publishes.
    pub envelope_schemas: &'static [EnvelopeSchema],
    /// How much of whose work is done at once, where the platform says so: its consumers have their lanes from here.
    pub workers: &'static [Workers],
}

/// The retention classes of a plain platform.
const PLAIN_CLASSES: &[RetentionClass] = &[
    RetentionClass { label: "month", broker_days: 7, warehouse_days: 30, cold_days: 0 },
    RetentionClass { label: "year", broker_days: 7, warehouse_days: 365, cold_days: 0 },
    RetentionClass { label: "decade", broker_days: 7, warehouse_days: 365, cold_days: 3650 },
];

/// How a plain platform writes envelopes.
const PLAIN: Profile = Profile {
    name: "plain",
    wire: Wire::Nested,
    event_id: Form::UuidV7,
    tenant_id: Form::Prefixed("tnt"),
    versioned: true,
    retention: PLAIN_CLASSES,
    residency: Residency::Eu,
    alias_prefix: None,
    schema_base: None,
};

impl Platform {
    /// A platform with the usual choices: subjects `<name>.<service>.<aggregate>.<what>.v<n>`, events kept for a `month`, a
    /// `year` or a `decade`, every event one tenant's and one owner's. Write the struct out where you choose otherwise.
    pub const fn plain(
        name: &'static str,
        services: &'static [Service<'static>],
        events: fn() -> Vec<EventType>,
    ) -> Self {
        Self {
            name,
            grammar: Grammar {
                prefix: Some(name),
                versioned: true,
                aggregated: true,
                partitioned: false,
                services,
                exceptions: &[],
            },
            profiles: &[PLAIN],
            retention: PLAIN_CLASSES,
            policy: Policy {
                platform_events: &[],
                platform_events_reviewed: "",
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
            events,
            samples: Vec::new,
            envelope_schemas: &[],
            workers: &[],
        }
    }

    /// How much of a service's work is done at once, where the platform says so.
    pub fn workers_of(&self, service: &str) -> Option<&'static Workers> {
        self.workers.iter().find(|workers| workers.service == service)
    }
}

/// How much of a service's work is done at once. Instances and messages become lanes and batches: a lane is what one worker
/// does at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workers {
    /// The service.
    pub service: &'static str,
    /// The fewest and the most instances; of one that pulls, its workers.
    pub instances: (u16, u16),
    /// How many events an instance handles at once.
    pub at_once: u16,
    /// How many events share a transaction.
    pub messages: usize,
    /// By what its work is serialised besides the key of its events: a guard document's name.
    pub guard: Option<&'static str>,
}

impl Workers {
    /// The most that can be handled at once, over all processes.
    pub const fn lanes(&self) -> u16 {
        self.instances.1 * self.at_once
    }
}

/// A published schema of an envelope.
#[derive(Debug, Clone, Copy)]
pub struct EnvelopeSchema {
    /// The profile whose form it describes.
    pub profile: Profile,
    /// Its file below the platform's catalogue.
    pub file: &'static str,
    /// Its address.
    pub id: &'static str,
    /// Metadata that receivers of this form never see.
    pub redacted: &'static [&'static str],
}

/// What a platform allows beyond the ordinary tenant event of one owner.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Events that belong to no tenant.
    pub platform_events: &'static [&'static str],
    /// When that list was last reviewed, `2026-11-16`.
    pub platform_events_reviewed: &'static str,
    /// Where cross-tenant subjects may live.
    pub cross_tenant_prefixes: &'static [&'static str],
    /// Who reads across tenants.
    pub cross_tenant_reads: &'static [CrossTenantRead],
    /// Subjects whose envelopes must say which AI took part.
    pub ai_prefixes: &'static [&'static str],
    /// Subjects whose payloads must say which AI took part.
    pub ai_payloads: &'static [&'static str],
    /// Subjects that services besides the owner may publish.
    pub shared: &'static [&'static str],
    /// Whether no audit can allow a narrowed range or pattern within a version.
    pub narrowing_forbidden: bool,
    /// Field names that look like secrets and are none: subject and name.
    pub not_secret: &'static [(&'static str, &'static str)],
    /// Subjects whose owner is not the service of their token.
    pub owners: &'static [(&'static str, &'static str)],
    /// Other addresses under which a schema is published, by prefix of the spelling.
    pub schema_addresses: &'static [SchemaAddress],
}

/// One row of the cross-tenant read paths.
#[derive(Debug, Clone, Copy)]
pub struct CrossTenantRead {
    /// The subject.
    pub subject: &'static str,
    /// Who may read it across tenants.
    pub consumers: &'static [&'static str],
}

/// Where else the schemas of some spellings are published.
#[derive(Debug, Clone, Copy)]
pub struct SchemaAddress {
    /// The beginning of the spelling.
    pub prefix: &'static str,
    /// The beginning of the address.
    pub base: &'static str,
}

/// A sample document that must stay valid.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Its path below `samples/`: `payloads/<subject>.json`, `envelopes/<profile>/<name>.json`, or a page about them.
    pub path: String,
    /// The document.
    pub text: &'static str,
}
