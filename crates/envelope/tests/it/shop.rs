//! A platform of the tests' own: a shop whose five profiles cover the five wire forms.

use karwan_envelope::cause::Residency;
use karwan_envelope::directory::{Directory, Entry, Hash, SchemaUri};
use karwan_envelope::ids::Form;
use karwan_envelope::profile::{Profile, RetentionClass, Wire};
use karwan_envelope::row::{AiRule, Row, Scope, Template, Tenancy};
use karwan_envelope::subject::{Exception, Grammar, Service};

const CLASSES: &[RetentionClass] = &[class("brief", 7, 30, 0), class("kept", 7, 365, 0), class("long", 7, 365, 2555)];
const LEDGER_CLASSES: &[RetentionClass] = &[class("monthly", 7, 30, 0), class("lasting", 14, 400, 2555)];

const fn class(label: &'static str, broker_days: u32, warehouse_days: u32, cold_days: u32) -> RetentionClass {
    RetentionClass { label, broker_days, warehouse_days, cold_days }
}

/// The nested form: UUIDv7 and prefixed tenants.
pub const COUNTER: Profile = Profile {
    name: "counter",
    wire: Wire::Nested,
    event_id: Form::UuidV7,
    tenant_id: Form::Prefixed("tnt"),
    versioned: true,
    retention: CLASSES,
    residency: Residency::Me,
    alias_prefix: None,
    schema_base: None,
};

/// The flat form: ULIDs everywhere and retention labels of its own.
pub const LEDGER: Profile = Profile {
    name: "ledger",
    wire: Wire::Flat,
    event_id: Form::Ulid,
    tenant_id: Form::Ulid,
    retention: LEDGER_CLASSES,
    residency: Residency::Eu,
    ..COUNTER
};

/// The spec-and-data form: aliases and a schema address.
pub const TILL: Profile = Profile {
    name: "till",
    wire: Wire::SpecData,
    event_id: Form::Prefixed("evt"),
    alias_prefix: Some("till."),
    schema_base: Some("https://schemas.shop.example/"),
    ..COUNTER
};

/// The table row form: any UUID, and no versions.
pub const BOARD: Profile = Profile {
    name: "board",
    wire: Wire::TableRow,
    event_id: Form::Uuid,
    tenant_id: Form::Uuid,
    versioned: false,
    ..COUNTER
};

/// CloudEvents.
pub const CLOUD: Profile = Profile { name: "cloud", wire: Wire::CloudEvents, event_id: Form::Uuid, ..COUNTER };

/// All five.
pub const PROFILES: [&Profile; 5] = [&COUNTER, &LEDGER, &TILL, &BOARD, &CLOUD];

const SERVICES: &[Service<'static>] = &[
    Service { name: "shop-service", token: "shop" },
    Service { name: "depot-service", token: "depot" },
    Service { name: "till-service", token: "till" },
];

/// Strict names with a version.
pub const GRAMMAR: Grammar<'static> = Grammar {
    prefix: None,
    versioned: true,
    aggregated: true,
    partitioned: false,
    services: SERVICES,
    exceptions: &[Exception {
        subject: "shop.opened.v1",
        service: "shop",
        aggregate: "shop",
        verb: "opened",
        why: "published before the grammar was",
    }],
};

/// Names without a version.
pub const BARE_GRAMMAR: Grammar<'static> = Grammar { versioned: false, exceptions: &[], ..GRAMMAR };

/// The shop's subjects: two versions of one fact, aliases, a platform event and a name without a version.
pub fn directory() -> Directory {
    Directory::new(vec![
        entry(&GRAMMAR, "shop.order.placed.v1", &["till.order.placed.v1"], "kept", Tenancy::Tenant),
        entry(&GRAMMAR, "shop.order.placed.v2", &[], "kept", Tenancy::Tenant),
        entry(
            &GRAMMAR,
            "depot.parcel.sent.v1",
            &["depot.box.sent.v1", "till.parcel.sent.v1"],
            "brief",
            Tenancy::CrossTenant,
        ),
        entry(&GRAMMAR, "shop.catalogue.published.v1", &[], "long", Tenancy::Platform),
        entry(&BARE_GRAMMAR, "shop.visit.counted", &[], "brief", Tenancy::Tenant),
    ])
}

fn entry(grammar: &Grammar, subject: &str, aliases: &[&str], retention: &str, tenancy: Tenancy) -> Entry {
    let parts = grammar.parse(subject).expect("the shop's names follow its grammar");
    let owner = format!("{}-service", parts.service);
    let row = Row {
        subject: subject.to_owned(),
        aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        producers: vec![owner.clone()],
        owner,
        summary: format!("{subject} happened."),
        retention: retention.to_owned(),
        merkle: false,
        tenancy,
        scope: Scope::Domain,
        local_only: false,
        key: Template("{orderId}".to_owned()),
        idempotency_key: Template(format!("{{orderId}}:{}", parts.verb)),
        ai_provenance: AiRule::None,
        decided_here: true,
    };
    let schema = SchemaUri { path: parts.schema_path(), hash: Hash([subject.len() as u8; 32]) };
    let retention = COUNTER.class(retention).expect("one of the shop's classes").retention();
    Entry { row, parts, schema, retention }
}
