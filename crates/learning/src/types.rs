//! Types that the payloads of several services share.
//!
//! The document names them and leaves their shape open; the shapes were decided here, and are as small as the events
//! need. Limits on texts and lists are named once, below.

use std::collections::BTreeMap;

use karwan_envelope::money::{Currency, Micros, Money as ExactMoney};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::text::{literals, texts};

/// The largest integer that every JSON reader keeps exactly, 2^53 − 1.
pub const INTEGER_MAX: u64 = 9_007_199_254_740_991;
/// The most characters of a reference, a key, a code or another short text.
pub const LABEL_MAX: usize = 200;
/// The most characters of a text that people read.
pub const TEXT_MAX: usize = 4000;
/// The most characters of an address.
pub const URL_MAX: usize = 2048;
/// The most entries of a list.
pub const LIST_MAX: usize = 200;

const LOCALE_PATTERN: &str = "[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}";

texts! {
    /// A mail address.
    Email = { "type": "string", "format": "email", "minLength": 3, "maxLength": 254, "x-pii": "contact" }
    /// A BCP 47 language tag, such as `ps-AF`.
    Locale = { "type": "string", "pattern": format!("^{LOCALE_PATTERN}$") }
    /// A semantic version, such as `1.4.0`.
    SemVer = {
        "type": "string",
        "pattern": r"^[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}(-[0-9A-Za-z.-]{1,64})?(\+[0-9A-Za-z.-]{1,64})?$"
    }
    /// A SHA-256 digest in lower-case hexadecimal.
    Sha256 = { "type": "string", "pattern": "^[0-9a-f]{64}$" }
    /// A compact JSON Web Signature; the middle part is empty when the payload is detached.
    Jws = { "type": "string", "pattern": r"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+$", "maxLength": 16_384 }
    /// A recurrence rule of RFC 5545: daily, weekly, monthly or yearly, nothing finer.
    RRule = {
        "type": "string",
        "pattern": "^FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)(;[A-Z]+=[A-Z0-9,+-]+)*$",
        "maxLength": 500
    }
}

/// A text in several languages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct I18nString(pub BTreeMap<Locale, String>);

impl JsonSchema for I18nString {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "I18nString".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A text in several languages.",
            "type": "object",
            "patternProperties": {
                format!("^{LOCALE_PATTERN}$"): { "type": "string", "minLength": 1, "maxLength": TEXT_MAX }
            },
            "additionalProperties": false,
            "minProperties": 1,
            "maxProperties": LIST_MAX
        })
    }
}

/// An amount as this platform prints it: an integer, bounded so that every JSON reader keeps it exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Money {
    /// The amount in millionths of the currency.
    #[schemars(range(max = INTEGER_MAX))]
    pub amount_micro: u64,
    /// Its currency.
    pub currency: Currency,
}

impl From<Money> for ExactMoney {
    fn from(money: Money) -> Self {
        Self { amount_micro: Micros::new(i128::from(money.amount_micro)), currency: money.currency }
    }
}

/// What a safety check said about a prompt or an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SafetyVerdict {
    /// What was decided.
    pub decision: SafetyDecision,
    /// What was found; empty when nothing was.
    #[schemars(length(max = 7))]
    pub categories: Vec<SafetyCategory>,
}

literals! {
    /// What a safety check decided.
    SafetyDecision {
        /// The text passed.
        Allow = "allow",
        /// The text passed with a warning.
        Warn = "warn",
        /// The text was held back.
        Block = "block",
    }

    /// What a safety check looks for.
    SafetyCategory {
        /// Sexual content.
        Sexual = "sexual",
        /// Violence.
        Violence = "violence",
        /// Hate.
        Hate = "hate",
        /// Self-harm.
        SelfHarm = "self_harm",
        /// Something illegal.
        Illegal = "illegal",
        /// An attempt to steer the model.
        PromptInjection = "prompt_injection",
        /// Personal data.
        Pii = "pii",
    }
}
