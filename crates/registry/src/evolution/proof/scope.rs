//! The names and positions that the schemas of one goal speak of; every other name is a stranger to all of them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{Goal, Prover};
use crate::evolution::spot::SpotId;

/// Names, and positions, past which a goal is not looked at.
const NAMES_MAX: usize = 256;
const POSITIONS_MAX: usize = 64;

pub(super) type Name<'a> = Cow<'a, str>;

pub(super) struct Scope<'a> {
    pub(super) names: BTreeSet<Name<'a>>,
    /// The longest list of declared positions.
    pub(super) positions: usize,
}

impl<'a> Scope<'a> {
    /// What is spoken of by the goal's schemas and all that judge the same value; `None` when that is too much.
    pub(super) fn of(prover: &mut Prover<'_, 'a>, goal: &Goal) -> Option<Self> {
        let mut scope = Self { names: BTreeSet::new(), positions: 0 };
        let mut seen: BTreeSet<SpotId> = BTreeSet::new();
        let mut pending: Vec<SpotId> = goal.holds.iter().chain(&goal.fails).copied().collect();
        while let Some(spot) = pending.pop() {
            if !seen.insert(spot) {
                continue;
            }
            if !prover.step() {
                return None;
            }
            scope.add(prover, spot);
            if scope.names.len() > NAMES_MAX || scope.positions > POSITIONS_MAX {
                return None;
            }
            pending.extend(prover.arena.spot(spot).keywords.in_place());
        }
        Some(scope)
    }

    fn add(&mut self, prover: &mut Prover<'_, 'a>, spot: SpotId) {
        let arena = prover.arena;
        let keywords = &arena.spot(spot).keywords;
        self.names.extend(keywords.dependent_schemas.keys().map(|name| Cow::Borrowed(*name)));
        for layer in keywords.array.iter().flat_map(|array| &array.layers) {
            self.positions = self.positions.max(layer.prefix.len());
        }
        let Some(object) = &keywords.object else { return };
        self.names.extend(object.required.iter().map(|name| Cow::Borrowed(*name)));
        for (trigger, names) in &object.dependent_required {
            self.names.extend([trigger].into_iter().chain(names).map(|name| Cow::Borrowed(*name)));
        }
        for layer in &object.layers {
            self.names.extend(layer.properties.keys().map(|name| Cow::Borrowed(*name)));
            layer.patterns.keys().for_each(|pattern| self.add_listed(prover, pattern));
        }
        for name in prover.joined(object.names) {
            let keywords = &arena.spot(name).keywords;
            keywords.pattern.iter().for_each(|pattern| self.add_listed(prover, pattern));
            let texts = keywords.values.iter().flat_map(|values| values.values()).filter_map(|value| value.as_str());
            self.names.extend(texts.map(Cow::Borrowed));
        }
    }

    /// The names that a pattern lists, when those are few.
    fn add_listed(&mut self, prover: &mut Prover<'_, 'a>, pattern: &'a str) {
        if let Some(texts) = prover.language(pattern) {
            self.names.extend(texts.iter().map(|text| Cow::Owned(text.clone())));
        }
    }
}
