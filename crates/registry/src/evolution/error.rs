//! What makes an input impossible to judge.

use std::fmt;

/// Which of the two schemas is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The schema that is already published.
    Old,
    /// The schema that is proposed.
    New,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Old => "old",
            Self::New => "new",
        })
    }
}

/// An input that is not a schema the gate can judge; names the place and the rule it violates.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{side} schema at `{pointer}`: {fault}", in_subject(.subject.as_deref()))]
pub struct Error {
    /// The subject whose schema this is, when a whole catalogue was judged.
    pub subject: Option<String>,
    /// Which of the two schemas.
    pub side: Side,
    /// JSON pointer of the place; empty for the root.
    pub pointer: String,
    /// The violated rule.
    pub fault: Fault,
}

/// The rules an input has to keep to be judged at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Only objects and booleans are schemas.
    #[error("a schema is an object or a boolean, this is {found}")]
    NotASchema {
        /// The JSON type that stands there.
        found: &'static str,
    },
    /// A keyword whose value has the wrong form.
    #[error("`{keyword}` must be {expected}")]
    MalformedKeyword {
        /// The keyword.
        keyword: String,
        /// What its value must be.
        expected: &'static str,
    },
    /// A dialect other than draft 07 and 2020-12.
    #[error("dialect `{dialect}` is not supported; use draft-07 or 2020-12")]
    UnsupportedDialect {
        /// The value of `$schema`.
        dialect: String,
    },
    /// A reference into this document that leads nowhere.
    #[error("`$ref` to `{reference}` leads nowhere in this document")]
    UnresolvedReference {
        /// The reference as written.
        reference: String,
    },
    /// A reference to another document: the gate reads nothing but its two inputs.
    #[error("`$ref` to `{reference}` leaves this document; bundle it under `$defs`")]
    RemoteReference {
        /// The reference as written.
        reference: String,
    },
    /// An `$id` below the root, which would move the base of the references under it.
    #[error("`$id` below the root is not supported; refer by JSON pointer")]
    NestedIdentifier,
    /// References that lead back to themselves without passing a field or an item.
    #[error("references lead back to this schema without entering a field or an item, so it says nothing")]
    ReferenceLoop,
    /// Nested deeper than the bound.
    #[error("nested deeper than {limit} levels")]
    TooDeep {
        /// The bound.
        limit: usize,
    },
    /// More of something than the bound.
    #[error("more than {limit} {what}")]
    TooLarge {
        /// What was counted.
        what: &'static str,
        /// The bound.
        limit: usize,
    },
}

impl Fault {
    /// The rule's short name, stable for scripts.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::NotASchema { .. } => "not-a-schema",
            Self::MalformedKeyword { .. } => "malformed-keyword",
            Self::UnsupportedDialect { .. } => "unsupported-dialect",
            Self::UnresolvedReference { .. } => "unresolved-reference",
            Self::RemoteReference { .. } => "remote-reference",
            Self::NestedIdentifier => "nested-identifier",
            Self::ReferenceLoop => "reference-loop",
            Self::TooDeep { .. } => "too-deep",
            Self::TooLarge { .. } => "too-large",
        }
    }
}

impl Error {
    pub(super) fn new(side: Side, pointer: impl Into<String>, fault: Fault) -> Self {
        Self { subject: None, side, pointer: pointer.into(), fault }
    }

    pub(super) fn in_subject(mut self, subject: &str) -> Self {
        self.subject = Some(subject.to_owned());
        self
    }
}

fn in_subject(subject: Option<&str>) -> String {
    subject.map(|subject| format!("{subject}: ")).unwrap_or_default()
}
