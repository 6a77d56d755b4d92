//! The catalogue's row: all that is decided about one event besides its payload.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// One event of a platform. Written by the `Event` derive, and as it stands in `topics.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Row {
    /// The canonical name, with its version where the platform prints one.
    pub subject: String,
    /// Other spellings of the same fact; never published twice.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The one service that decides this fact.
    pub owner: String,
    /// Who may publish it: the owner alone, unless the row says otherwise.
    pub producers: Vec<String>,
    /// What happened, in a sentence.
    pub summary: String,
    /// The label of the retention class.
    pub retention: String,
    /// Whether it is anchored in the Merkle tree.
    pub merkle: bool,
    /// Whose event it is.
    pub tenancy: Tenancy,
    /// How far its contract reaches.
    pub scope: Scope,
    /// Never leaves the device that wrote it.
    pub local_only: bool,
    /// The aggregate's id, a template over payload fields; `<tenantId>:` is put before it.
    pub key: Template,
    /// The business intent, a template over payload fields.
    pub idempotency_key: Template,
    /// Whether an AI took part, and where the envelope says so.
    pub ai_provenance: AiRule,
    /// Whether the payload was designed here because no document gives one.
    pub decided_here: bool,
}

/// Whose event it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Tenancy {
    /// One tenant's.
    Tenant,
    /// One tenant's, read across tenants by registered projections.
    CrossTenant,
    /// The platform's own; only from the allow-list.
    Platform,
}

/// How far an event's contract reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// Inside its own context.
    Domain,
    /// Across contexts: the strictest rules of evolution.
    Integration,
}

/// Where an event must say which AI produced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AiRule {
    /// No AI takes part.
    None,
    /// Mandatory in the envelope's metadata.
    Metadata,
    /// Mandatory in the payload.
    Payload,
    /// In the payload when an AI took part.
    PayloadOptional,
}

/// A text with payload fields in braces: `{orderId}:placed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Template(pub String);

impl Template {
    /// The names between the braces.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(field, _)| field)
    }

    /// Puts the payload's values in; `None` when a field is missing or is no string, number or boolean.
    pub fn render(&self, payload: &serde_json::Value) -> Option<String> {
        let mut parts = self.0.split('{');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (field, rest) = part.split_once('}')?;
            match payload.get(field)? {
                serde_json::Value::String(value) => text.push_str(value),
                value @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_)) => {
                    text.push_str(&value.to_string());
                }
                serde_json::Value::Null | serde_json::Value::Array(_) | serde_json::Value::Object(_) => return None,
            }
            text.push_str(rest);
        }
        Some(text)
    }
}

/// Which model produced a content, from what, and who answers for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AiProvenance {
    /// The model.
    #[schemars(length(min = 1, max = 200))]
    pub model_id: String,
    /// Its version.
    #[schemars(length(min = 1, max = 100))]
    pub model_version: String,
    /// The prompt in the prompt registry.
    #[schemars(length(min = 1, max = 200))]
    pub prompt_id: String,
    /// Its version.
    #[schemars(length(min = 1, max = 100))]
    pub prompt_version: String,
    /// The trace of the call.
    #[schemars(length(min = 1, max = 200))]
    pub trace_id: String,
    /// Whether the model ran on the device.
    pub local: bool,
    /// Hash of the input, so that it can be matched without being kept.
    #[schemars(length(min = 1, max = 200))]
    pub input_hash: String,
    /// The model's confidence, 0 to 1.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 1.0))]
    pub confidence: Option<f64>,
    /// The human decision about it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 200))]
    pub decision_id: Option<String>,
    /// Who reviewed it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 200), extend("x-pii" = "identifier"))]
    pub reviewed_by: Option<String>,
    /// When it was produced.
    pub generated_at: crate::time::Timestamp,
}

impl AiProvenance {
    /// The first thing that its schema would refuse, where a reader took it apart without one.
    pub(crate) fn fault(&self) -> Option<String> {
        let texts = [
            ("modelId", Some(&self.model_id), 200),
            ("modelVersion", Some(&self.model_version), 100),
            ("promptId", Some(&self.prompt_id), 200),
            ("promptVersion", Some(&self.prompt_version), 100),
            ("traceId", Some(&self.trace_id), 200),
            ("inputHash", Some(&self.input_hash), 200),
            ("decisionId", self.decision_id.as_ref(), 200),
            ("reviewedBy", self.reviewed_by.as_ref(), 200),
        ];
        for (name, text, max) in texts {
            if text.is_some_and(|text| text.is_empty() || text.chars().count() > max) {
                return Some(format!("`{name}` has 1 to {max} characters"));
            }
        }
        let sure = self.confidence.is_none_or(|confidence| (0.0..=1.0).contains(&confidence));
        (!sure).then(|| "`confidence` lies between 0 and 1".to_owned())
    }
}

/// An optional value is left out or given; a null would be printed back as absent.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
