//! What was found between two schemas that turn out to admit the same instances is no change.

use std::collections::BTreeSet;

use serde_json::Value;

use super::annotations::{is_noted, is_unjudged};
use super::{Judge, Part};
use crate::evolution::canonical::canonical;
use crate::evolution::document::Arena;
use crate::evolution::error::Error;
use crate::evolution::normal::Normal;
use crate::evolution::pattern::matches;
use crate::evolution::rule::Rule;
use crate::evolution::spot::{Conj, Keywords, SpotId};

/// What schemas say to people: the fields and positions they describe, and words that assert nothing.
#[derive(Default)]
struct Said<'a> {
    fields: BTreeSet<&'a str>,
    positions: usize,
    words: BTreeSet<(&'a str, String)>,
    /// Fields spoken of at all, if only under `if` or `not`.
    mentioned: BTreeSet<&'a str>,
    /// Patterns of fields.
    patterns: Vec<&'a str>,
    /// Some map describes every field, and some list every position.
    maps: bool,
    lists: bool,
}

impl Said<'_> {
    /// Whether whatever the other describes is spoken of here.
    fn covers(&self, other: &Self) -> bool {
        let matched = |name: &str| self.patterns.iter().any(|pattern| matches(pattern, name) != Some(false));
        let known = |name: &&str| self.maps || self.mentioned.contains(*name) || matched(name);
        other.fields.iter().all(known) && (self.lists || self.positions >= other.positions)
    }
}

impl<'a> Judge<'a> {
    /// Drops what was found where nothing changed but the words. A field that is no longer described is a change for
    /// whoever reads it, and so is a default, though neither refuses an instance.
    pub(super) fn without_rewrites(
        &mut self,
        (old, before): (&Conj, &Normal<'a>),
        (new, after): (&Conj, &Normal<'a>),
        found: Part,
    ) -> Part {
        let union = [before, after].iter().any(|normal| normal.overflowed || normal.alternatives.len() > 1);
        // What was found in a field alone was looked at there.
        if found.is_empty() || !union && !found.has_own() || !self.forms.proven_same(old, new) {
            return found;
        }
        // Past the bound on work nothing more is dropped.
        let (Ok(was), Ok(is)) = (self.said(old), self.said(new)) else { return found };
        if was.words != is.words || !was.covers(&is) || !is.covers(&was) {
            return found;
        }
        let mut kept = Part::default();
        let noted = |rule: Rule| {
            matches!(
                rule,
                Rule::DefaultChanged
                    | Rule::PiiChanged
                    | Rule::DeprecationChanged
                    | Rule::SemanticsChanged
                    | Rule::UnknownKeywordChanged
                    | Rule::ForeignKeywordChanged
            )
        };
        let findings = found.gathered(&self.outcomes).into_iter();
        findings.filter(|finding| noted(finding.rule)).for_each(|finding| kept.add(finding));
        kept
    }

    fn said(&mut self, conj: &Conj) -> Result<Said<'a>, Error> {
        let mut said = Said::default();
        let mut seen: BTreeSet<(SpotId, bool)> = BTreeSet::new();
        let mut pending: Vec<(SpotId, bool)> = conj.iter().map(|id| (*id, true)).collect();
        while let Some((id, described)) = pending.pop() {
            if !seen.insert((id, described)) {
                continue;
            }
            self.forms.spend(1, Some(&id))?;
            let edges = self.forms.edges(id).into_iter();
            pending.extend(edges.map(|(edge, target)| (target, described && edge != "not" && edge != "if")));
            let spot = self.forms.arena.spot(id);
            said.add(&self.forms.arena, &spot.keywords, described);
            for (keyword, value) in spot.source.as_object().into_iter().flatten() {
                let absent = keyword == "deprecated" && *value == Value::Bool(false);
                if (is_noted(keyword) || is_unjudged(keyword, spot.draft)) && !absent {
                    said.words.insert((keyword.as_str(), canonical(value)));
                }
            }
        }
        Ok(said)
    }
}

impl<'a> Said<'a> {
    fn add(&mut self, arena: &Arena<'a>, keywords: &Keywords<'a>, described: bool) {
        let possible = |id: SpotId| !arena.spot(id).keywords.kinds.is_empty();
        let asserts = |id: SpotId| possible(id) && !arena.spot(id).keywords.asserts_nothing();
        for layer in keywords.object.iter().flat_map(|object| &object.layers) {
            let fields = layer.properties.iter().filter(|(_, id)| possible(**id)).map(|(name, _)| *name);
            self.mentioned.extend(fields.clone());
            self.fields.extend(fields.filter(|_| described));
            self.patterns.extend(layer.patterns.iter().filter(|(_, id)| possible(**id)).map(|(name, _)| *name));
            self.maps |= layer.additional.is_some_and(asserts);
        }
        for layer in keywords.array.iter().flat_map(|array| &array.layers) {
            self.positions = self.positions.max(layer.prefix.len());
            self.lists |= layer.rest.is_some_and(asserts);
        }
    }
}
