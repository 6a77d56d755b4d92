//! What a gate says.

use std::fmt;

use serde::Serialize;

/// One thing wrong with a catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The gate.
    pub gate: Gate,
    /// The file, and where in it; empty when it is about all files.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

impl Finding {
    pub(crate) fn new(
        gate: Gate,
        place: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { gate, place: place.into(), message: message.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { gate, place, message, remedy } = self;
        let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
        write!(f, "{}: {place}{message}\n    {remedy} (docs/errors/{}.md)", gate.id(), gate.id())
    }
}

/// The gates, each with a page under `docs/errors/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "&'static str")]
pub enum Gate {
    /// A file that cannot be read.
    Unreadable,
    /// The committed files are not what the types give.
    Stale,
    /// A row without a schema.
    RowWithoutSchema,
    /// A schema without a row.
    SchemaWithoutRow,
    /// A schema whose content is not what its URI says.
    SchemaHash,
    /// A schema that does not compile.
    SchemaInvalid,
    /// A name outside the grammar.
    SubjectGrammar,
    /// A spelling that stands twice.
    SubjectDuplicate,
    /// A publisher that is not the owner.
    NonOwner,
    /// An untenanted event outside the allow-list.
    Untenanted,
    /// A cross-tenant event outside the read paths.
    CrossTenant,
    /// An AI event that need not say which AI.
    AiProvenance,
    /// A row without an idempotency key.
    IdempotencyKey,
    /// A row without an ordering key.
    OrderingKey,
    /// A retention class that the platform does not have.
    RetentionClass,
    /// A local-only subject among the topics, or the other way round.
    LocalOnly,
    /// A field that looks like a secret.
    Secret,
    /// A sample that is not valid.
    Sample,
}

impl Gate {
    /// All gates.
    pub const ALL: &'static [Gate] = &[
        Gate::Unreadable,
        Gate::Stale,
        Gate::RowWithoutSchema,
        Gate::SchemaWithoutRow,
        Gate::SchemaHash,
        Gate::SchemaInvalid,
        Gate::SubjectGrammar,
        Gate::SubjectDuplicate,
        Gate::NonOwner,
        Gate::Untenanted,
        Gate::CrossTenant,
        Gate::AiProvenance,
        Gate::IdempotencyKey,
        Gate::OrderingKey,
        Gate::RetentionClass,
        Gate::LocalOnly,
        Gate::Secret,
        Gate::Sample,
    ];

    /// The stable name.
    pub const fn id(self) -> &'static str {
        match self {
            Gate::Unreadable => "catalog-unreadable",
            Gate::Stale => "catalog-stale",
            Gate::RowWithoutSchema => "catalog-row-without-schema",
            Gate::SchemaWithoutRow => "catalog-schema-without-row",
            Gate::SchemaHash => "catalog-schema-hash",
            Gate::SchemaInvalid => "catalog-schema-invalid",
            Gate::SubjectGrammar => "catalog-subject-grammar",
            Gate::SubjectDuplicate => "catalog-subject-duplicate",
            Gate::NonOwner => "catalog-non-owner",
            Gate::Untenanted => "catalog-untenanted",
            Gate::CrossTenant => "catalog-cross-tenant",
            Gate::AiProvenance => "catalog-ai-provenance",
            Gate::IdempotencyKey => "catalog-idempotency-key",
            Gate::OrderingKey => "catalog-ordering-key",
            Gate::RetentionClass => "catalog-retention-class",
            Gate::LocalOnly => "catalog-local-only",
            Gate::Secret => "catalog-secret",
            Gate::Sample => "catalog-sample",
        }
    }
}

impl From<Gate> for &'static str {
    fn from(gate: Gate) -> Self {
        gate.id()
    }
}
