//! Words that assert nothing to a validator but something to people: defaults, personal data, deprecation, encodings.

use serde_json::Value;

use super::{Judge, Part, named};
use crate::evolution::canonical::{canonical, quoted};
use crate::evolution::fingerprint::{ANNOTATIONS, APPLICATORS};
use crate::evolution::normal::Normal;
use crate::evolution::rule::Rule;
use crate::evolution::spot::{Draft, SpotId};

/// Keywords that other modules judge, besides the applicators.
const JUDGED: [&str; 20] = [
    "type",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "contentEncoding",
    "contentMediaType",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "minContains",
    "maxContains",
];

/// Words that are judged here, each with its rule.
const NOTED: [(&str, Rule); 6] = [
    ("default", Rule::DefaultChanged),
    ("x-pii", Rule::PiiChanged),
    // What is about a payment is kept from others by the same means.
    ("x-payment", Rule::PiiChanged),
    ("deprecated", Rule::DeprecationChanged),
    ("contentEncoding", Rule::SemanticsChanged),
    ("contentMediaType", Rule::SemanticsChanged),
];

/// Keywords that mean something in another dialect than the given one.
fn is_foreign(keyword: &str, draft: Draft) -> bool {
    match draft {
        Draft::Seven => matches!(
            keyword,
            "prefixItems"
                | "dependentRequired"
                | "dependentSchemas"
                | "unevaluatedProperties"
                | "unevaluatedItems"
                | "minContains"
                | "maxContains"
                | "$dynamicRef"
                | "$recursiveRef"
                | "nullable"
        ),
        Draft::TwentyTwenty => matches!(keyword, "additionalItems" | "dependencies" | "$recursiveRef" | "nullable"),
    }
}

impl<'a> Judge<'a> {
    pub(super) fn judge_annotations(&self, before: &Normal<'a>, after: &Normal<'a>, label: &str, part: &mut Part) {
        for (keyword, rule) in NOTED {
            let old = self.annotation(&before.base, keyword);
            let new = self.annotation(&after.base, keyword);
            if old != new {
                let pointer = self.place(&before.base, &after.base, &[keyword]);
                part.find(rule, pointer, changed(label, keyword, old, new));
            }
        }
        self.judge_unknown(before, after, label, part);
    }

    /// The keyword's value at the declaring spot, or at what it refers to. `deprecated: false` is its absence.
    fn annotation(&self, base: &[SpotId], keyword: &str) -> Option<String> {
        let value = base.iter().find_map(|id| self.forms.arena.spot(*id).keyword(keyword))?;
        (keyword != "deprecated" || *value != Value::Bool(false)).then(|| canonical(value))
    }

    fn judge_unknown(&self, before: &Normal<'a>, after: &Normal<'a>, label: &str, part: &mut Part) {
        let mut keywords = self.unjudged(&before.base);
        keywords.extend(self.unjudged(&after.base));
        keywords.sort_unstable();
        keywords.dedup();
        for (keyword, foreign) in keywords {
            let old = self.unjudged_value(&before.base, keyword);
            let new = self.unjudged_value(&after.base, keyword);
            if old != new {
                let rule = if foreign { Rule::ForeignKeywordChanged } else { Rule::UnknownKeywordChanged };
                let pointer = self.place(&before.base, &after.base, &[keyword]);
                part.find(rule, pointer, changed(label, keyword, old, new));
            }
        }
    }

    /// The keyword's value where its own dialect does not judge it.
    fn unjudged_value(&self, base: &[SpotId], keyword: &str) -> Option<String> {
        let spots = base.iter().map(|id| self.forms.arena.spot(*id));
        let value = spots.filter(|spot| is_unjudged(keyword, spot.draft)).find_map(|spot| spot.keyword(keyword))?;
        Some(canonical(value))
    }

    fn unjudged(&self, base: &[SpotId]) -> Vec<(&'a str, bool)> {
        let spots = base.iter().map(|id| self.forms.arena.spot(*id));
        let mut found = Vec::new();
        for spot in spots {
            let keywords = spot.source.as_object().into_iter().flat_map(|fields| fields.keys());
            for keyword in keywords {
                let foreign = is_foreign(keyword, spot.draft);
                if foreign || !is_known(keyword) {
                    found.push((keyword.as_str(), foreign));
                }
            }
        }
        found
    }
}

/// Whether a word asserts nothing, but says something to people.
pub(super) fn is_noted(keyword: &str) -> bool {
    NOTED.iter().any(|(noted, _)| *noted == keyword)
}

/// Whether a dialect does not judge a keyword.
pub(super) fn is_unjudged(keyword: &str, draft: Draft) -> bool {
    is_foreign(keyword, draft) || !is_known(keyword)
}

fn is_known(keyword: &str) -> bool {
    ANNOTATIONS.contains(&keyword)
        || APPLICATORS.contains(&keyword)
        || JUDGED.contains(&keyword)
        || keyword.starts_with("x-")
}

fn changed(label: &str, keyword: &str, old: Option<String>, new: Option<String>) -> String {
    let shown = |value: Option<String>| value.map_or("none".to_owned(), |text| quoted(&text));
    format!("{}: {keyword} {} → {}", named(label), shown(old), shown(new))
}
