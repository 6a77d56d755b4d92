//! What an envelope can break, each rule with a name that has a page under `docs/errors/`.

use std::fmt;

use crate::json;

/// One thing wrong with an envelope, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The JSON pointer of the offending value; empty for the document itself.
    pub pointer: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl Violation {
    /// A violation of a rule at a place.
    pub fn new(rule: Rule, pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { rule, pointer: pointer.into(), message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "/".to_owned() } else { json::shortened(&self.pointer) };
        let line = format!("{place}: {} ({})", self.message, self.rule.id());
        // Names and values are a stranger's: they get no line breaks and no terminal codes into a report.
        line.chars().try_for_each(|char| match char {
            control if control.is_control() => write!(f, "{}", control.escape_default()),
            plain => write!(f, "{plain}"),
        })
    }
}

impl From<json::Error> for Violation {
    fn from(error: json::Error) -> Self {
        let message = format!("line {}, column {}: {}", error.line, error.column, error.rule);
        Self { rule: Rule::Json(error.rule.id()), pointer: error.pointer, message }
    }
}

/// All that is wrong with an envelope; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Violations(pub Vec<Violation>);

impl From<Violation> for Violations {
    fn from(violation: Violation) -> Self {
        Self(vec![violation])
    }
}

/// The rules of an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Not strict JSON; the name is the JSON rule's.
    Json(&'static str),
    /// Not an object.
    NotAnObject,
    /// A mandatory field is absent.
    FieldMissing,
    /// A field that the profile does not have.
    FieldUnknown,
    /// A field's value is not of its type.
    FieldInvalid,
    /// The event type carries a version.
    EventTypeVersioned,
    /// The subject is not in the catalogue.
    SubjectUnknown,
    /// The subject and the version beside it disagree.
    VersionMismatch,
    /// The schema URI is not that of the subject.
    SchemaMismatch,
    /// No known schema has the hash that the URI names.
    SchemaUnknown,
    /// The payload does not match the schema that the URI names.
    Payload,
    /// `platform` on an event that belongs to tenants, or a tenant on a platform event.
    Tenancy,
    /// The payload names another tenant than the envelope.
    TenantMismatch,
    /// The ordering key is not `<tenant>:<aggregate>`.
    OrderingKey,
    /// The idempotency key is empty or too long.
    IdempotencyKey,
    /// The retention class is not the catalogue's.
    Retention,
    /// The producer is not one of those that the catalogue names.
    Producer,
    /// An AI event does not say which AI.
    AiProvenance,
    /// Metadata is larger than its bound.
    MetadataTooLarge,
    /// An event that never leaves its device.
    LocalOnly,
}

impl Rule {
    /// Every rule but those of strict JSON.
    pub const ALL: &'static [Rule] = &[
        Rule::NotAnObject,
        Rule::FieldMissing,
        Rule::FieldUnknown,
        Rule::FieldInvalid,
        Rule::EventTypeVersioned,
        Rule::SubjectUnknown,
        Rule::VersionMismatch,
        Rule::SchemaMismatch,
        Rule::SchemaUnknown,
        Rule::Payload,
        Rule::Tenancy,
        Rule::TenantMismatch,
        Rule::OrderingKey,
        Rule::IdempotencyKey,
        Rule::Retention,
        Rule::Producer,
        Rule::AiProvenance,
        Rule::MetadataTooLarge,
        Rule::LocalOnly,
    ];

    /// The stable name.
    pub fn id(self) -> &'static str {
        match self {
            Rule::Json(id) => id,
            Rule::NotAnObject => "envelope-not-an-object",
            Rule::FieldMissing => "envelope-field-missing",
            Rule::FieldUnknown => "envelope-field-unknown",
            Rule::FieldInvalid => "envelope-field-invalid",
            Rule::EventTypeVersioned => "envelope-event-type-versioned",
            Rule::SubjectUnknown => "envelope-subject-unknown",
            Rule::VersionMismatch => "envelope-version-mismatch",
            Rule::SchemaMismatch => "envelope-schema-mismatch",
            Rule::SchemaUnknown => "envelope-schema-unknown",
            Rule::Payload => "envelope-payload",
            Rule::Tenancy => "envelope-tenancy",
            Rule::TenantMismatch => "envelope-tenant-mismatch",
            Rule::OrderingKey => "envelope-ordering-key",
            Rule::IdempotencyKey => "envelope-idempotency-key",
            Rule::Retention => "envelope-retention",
            Rule::Producer => "envelope-producer",
            Rule::AiProvenance => "envelope-ai-provenance",
            Rule::MetadataTooLarge => "envelope-metadata-too-large",
            Rule::LocalOnly => "envelope-local-only",
        }
    }
}
