//! The part of xAPI 1.0.3 that a recorded statement needs: one agent, one verb, an activity or another statement.
//!
//! Absent on purpose: groups, sub-statements, attachments, extensions and interaction details. Agents are known by an
//! account alone, so that no mail address travels with a statement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::StatementId;
use crate::text::{literals, texts};
use crate::types::{I18nString, LABEL_MAX, TEXT_MAX};

texts! {
    /// An absolute IRI, the way xAPI names verbs and activities.
    Iri = { "type": "string", "pattern": r"^[A-Za-z][A-Za-z0-9+.-]*:\S+$", "maxLength": 2048 }
}

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Actor {
    /// Always an agent.
    pub object_type: ActorType,
    /// The name shown, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LABEL_MAX), extend("x-pii" = "name"))]
    pub name: Option<String>,
    /// The account they are known by.
    pub account: Account,
}

/// An account in some system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// The system.
    pub home_page: Iri,
    /// The account's unique name there; a user's id in ours.
    #[schemars(length(min = 1, max = LABEL_MAX), extend("x-pii" = "identifier"))]
    pub name: String,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verb {
    /// The verb.
    pub id: Iri,
    /// How it reads, by locale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<I18nString>,
}

/// What something was done to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "objectType", rename_all_fields = "camelCase")]
pub enum StatementObject {
    /// A thing to learn from.
    Activity {
        /// The activity.
        id: Iri,
        /// What it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        definition: Option<ActivityDefinition>,
    },
    /// Another statement.
    StatementRef {
        /// That statement.
        id: StatementId,
    },
}

/// What an activity is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivityDefinition {
    /// Its name, by locale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<I18nString>,
    /// Its kind.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub activity_type: Option<Iri>,
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatementResult {
    /// The score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Score>,
    /// Whether it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    /// Whether it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<bool>,
    /// What the learner answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = TEXT_MAX), extend("x-pii" = "free_text"))]
    pub response: Option<String>,
    /// How long it took, as an ISO 8601 duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 64), extend("pattern" = "^P[0-9A-Z.,]+$"))]
    pub duration: Option<String>,
}

/// A score, scaled or raw.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Score {
    /// From -1 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -1.0, max = 1.0))]
    pub scaled: Option<f64>,
    /// Between the two below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<f64>,
    /// The lowest raw score possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// The highest raw score possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

literals! {
    /// What an actor is.
    ActorType {
        /// One person or system.
        Agent = "Agent",
    }
}
