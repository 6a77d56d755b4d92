//! A platform: its grammar, its profiles and its policy, all data, with the event types that its crate defines.

use karwan_envelope::profile::{Profile, RetentionClass};
use karwan_envelope::subject::Grammar;

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
