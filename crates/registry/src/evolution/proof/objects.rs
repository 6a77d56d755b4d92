//! Objects: fields by name, and strangers, whose names no schema speaks of.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::claim::{Case, Claim, State};
use super::expand::outside;
use super::scope::Name;
use super::{Goal, Prover};
use crate::evolution::document::STRING_SPOT;
use crate::evolution::kind::{Kind, Kinds};
use crate::evolution::pattern::matches;
use crate::evolution::spot::{Count, Keywords, ObjectLayer, SpotId, Values};

/// Patterns that the name of a stranger is held against.
const PATTERNS_MAX: usize = 6;

/// A claim about an object.
#[derive(Clone)]
pub(super) enum ObjectFact<'a> {
    Layer(Rc<ObjectLayer<'a>>),
    Names(SpotId),
    Count(Count),
    Present(Name<'a>),
    Absent(Name<'a>),
    /// The field is there, and its value fails a schema.
    FieldFails(Name<'a>, SpotId),
    Stranger(Stranger<'a>),
}

/// A field that is there, and whose name no schema of the goal speaks of.
#[derive(Clone, Default)]
pub(super) struct Stranger<'a> {
    value_fails: Option<SpotId>,
    name_fails: Option<SpotId>,
    matched: BTreeSet<&'a str>,
    unmatched: BTreeSet<&'a str>,
}

#[derive(Clone, Default)]
pub(super) struct Objects<'a> {
    layers: Vec<Rc<ObjectLayer<'a>>>,
    names: BTreeSet<SpotId>,
    count: Count,
    present: BTreeMap<Name<'a>, BTreeSet<SpotId>>,
    absent: BTreeSet<Name<'a>>,
    strangers: Vec<Stranger<'a>>,
}

impl<'a> Objects<'a> {
    /// Adds a claim; answers whether it may hold beside the others.
    pub(super) fn add(&mut self, fact: ObjectFact<'a>) -> bool {
        match fact {
            ObjectFact::Layer(layer) => self.layers.push(layer),
            ObjectFact::Names(schema) => drop(self.names.insert(schema)),
            ObjectFact::Count(count) => self.count = self.count.and(count),
            ObjectFact::Present(name) => {
                let absent = self.absent.contains(&name);
                self.present.entry(name).or_default();
                return !absent;
            }
            ObjectFact::Absent(name) => {
                let present = self.present.contains_key(&name);
                self.absent.insert(name);
                return !present;
            }
            ObjectFact::FieldFails(name, schema) => {
                let absent = self.absent.contains(&name);
                self.present.entry(name).or_default().insert(schema);
                return !absent;
            }
            ObjectFact::Stranger(stranger) => self.strangers.push(stranger),
        }
        true
    }

    /// What the value of a field satisfies.
    fn field(&self, name: &str) -> BTreeSet<SpotId> {
        let mut holds = BTreeSet::new();
        for layer in &self.layers {
            holds.extend(layer.properties.get(name));
            let mut covered = Some(layer.properties.contains_key(name));
            for (pattern, schema) in &layer.patterns {
                match matches(pattern, name) {
                    Some(true) => {
                        holds.insert(*schema);
                        covered = Some(true);
                    }
                    Some(false) => {}
                    None => covered = covered.filter(|covered| *covered),
                }
            }
            holds.extend(layer.additional.filter(|_| covered == Some(false)));
        }
        holds
    }
}

impl<'a> Prover<'_, 'a> {
    pub(super) fn objects_contradict(&mut self, state: &State<'a>) -> bool {
        let objects = &state.objects;
        // Strangers may all be the same field.
        let least = objects.present.len() as u64 + u64::from(!objects.strangers.is_empty());
        if objects.count.max.is_some_and(|max| max < objects.count.min.max(least)) {
            return true;
        }
        for (name, fails) in &objects.present {
            if self.name_refused(objects, name) || self.field_empty(objects, name, fails) {
                return true;
            }
        }
        objects.strangers.iter().any(|stranger| self.stranger_empty(objects, stranger)) || self.too_few(objects)
    }

    fn field_empty(&mut self, objects: &Objects<'a>, name: &str, fails: &BTreeSet<SpotId>) -> bool {
        let holds = objects.field(name);
        (!holds.is_empty() || !fails.is_empty()) && self.is_empty(Goal { holds, fails: fails.clone() })
    }

    fn name_refused(&self, objects: &Objects<'a>, name: &str) -> bool {
        objects.names.iter().any(|schema| self.admits_name(*schema, name) == Some(false))
    }

    /// Whether a schema of names admits one; `None` when that is not decided.
    fn admits_name(&self, schema: SpotId, name: &str) -> Option<bool> {
        let mut decided = Some(true);
        for spot in self.joined([schema]) {
            let keywords = &self.arena.spot(spot).keywords;
            let listed = |values: &Values<'a>| values.values().any(|value| value.as_str() == Some(name));
            let matched = keywords.pattern.map_or(Some(true), |pattern| matches(pattern, name));
            if !keywords.kinds.has(Kind::String)
                || !keywords.length.admits(name.chars().count() as u64)
                || keywords.values.as_ref().is_some_and(|values| !listed(values))
                || matched == Some(false)
            {
                return Some(false);
            }
            if matched.is_none() || keywords.format.is_some() || keywords.branches() {
                decided = None;
            }
        }
        decided
    }

    /// Whether a closed model leaves fewer fields than there must be.
    fn too_few(&mut self, objects: &Objects<'a>) -> bool {
        let least = objects.count.min;
        for layer in objects.layers.iter().filter(|layer| least > 0 && layer.patterns.is_empty()) {
            if !layer.additional.is_some_and(|rest| self.arena.spot(rest).keywords.kinds.is_empty()) {
                continue;
            }
            let absent = |name: &&&str| objects.absent.contains(**name);
            let possible: Vec<&str> = layer.properties.keys().filter(|name| !absent(name)).copied().collect();
            let Some(spare) = (possible.len() as u64).checked_sub(least) else { return true };
            let mut empty = 0;
            for name in possible.into_iter().filter(|name| !objects.present.contains_key(*name)) {
                empty += u64::from(self.field_empty(objects, name, &BTreeSet::new()));
                if empty > spare {
                    return true;
                }
            }
        }
        false
    }

    fn stranger_empty(&mut self, objects: &Objects<'a>, stranger: &Stranger<'a>) -> bool {
        let arena = self.arena;
        let mut stranger = stranger.clone();
        for spot in self.joined(objects.names.iter().copied()) {
            let keywords = &arena.spot(spot).keywords;
            // A name that must be among a few is spoken of.
            if keywords.values.is_some() || keywords.pattern.is_some_and(|pattern| self.language(pattern).is_some()) {
                return true;
            }
            stranger.matched.extend(keywords.pattern.map(|pattern| self.common(pattern)));
        }
        if !stranger.matched.is_disjoint(&stranger.unmatched) {
            return true;
        }
        let name = Goal {
            holds: objects.names.iter().copied().chain([STRING_SPOT]).collect(),
            fails: stranger.name_fails.into_iter().collect(),
        };
        name.fails.len() + name.holds.len() > 1 && self.is_empty(name) || self.strange_field_empty(objects, &stranger)
    }

    /// Whether a stranger can have no value, be its name matched by the patterns of the layers or not.
    fn strange_field_empty(&mut self, objects: &Objects<'a>, stranger: &Stranger<'a>) -> bool {
        let holds = self.strange_field(objects, stranger);
        if self.is_empty(Goal { holds, fails: stranger.value_fails.into_iter().collect() }) {
            return true;
        }
        let Stranger { matched, unmatched, .. } = stranger;
        let patterns = objects.layers.iter().flat_map(|layer| layer.patterns.keys().copied());
        let common: BTreeSet<&'a str> = patterns.map(|pattern| self.common(pattern)).collect();
        let open = common.into_iter().find(|pattern| !matched.contains(pattern) && !unmatched.contains(pattern));
        let Some(pattern) = open.filter(|_| matched.len() + unmatched.len() < PATTERNS_MAX) else { return false };
        let (mut one, mut other) = (stranger.clone(), stranger.clone());
        one.matched.insert(pattern);
        other.unmatched.insert(pattern);
        // Names that a pattern lists are no strangers.
        (self.language(pattern).is_some() || self.strange_field_empty(objects, &one))
            && self.strange_field_empty(objects, &other)
    }

    /// What the value of a stranger satisfies.
    fn strange_field(&mut self, objects: &Objects<'a>, stranger: &Stranger<'a>) -> BTreeSet<SpotId> {
        let mut holds = BTreeSet::new();
        for layer in &objects.layers {
            let mut left_over = true;
            for (pattern, schema) in &layer.patterns {
                let common = self.common(pattern);
                holds.extend(stranger.matched.contains(common).then_some(*schema));
                left_over &= stranger.unmatched.contains(common);
            }
            holds.extend(layer.additional.filter(|_| left_over));
        }
        holds
    }

    /// The pattern that a schema of names consists of.
    fn only_pattern(&mut self, schema: SpotId) -> Option<&'a str> {
        let mut keywords = self.arena.spot(schema).keywords.clone();
        let pattern = keywords.pattern.take().filter(|_| keywords.kinds.has(Kind::String))?;
        keywords.kinds = Kinds::ALL;
        keywords.asserts_nothing().then(|| self.common(pattern))
    }

    /// The ways in which an object may violate a schema.
    pub(super) fn object_ways(&mut self, state: &State<'a>, keywords: &Keywords<'a>, ways: &mut Vec<Case<'a>>) {
        for (name, schema) in &keywords.dependent_schemas {
            ways.push(vec![Claim::Object(ObjectFact::Present((*name).into())), Claim::Fails(*schema)]);
        }
        let Some(object) = &keywords.object else { return };
        let mut facts: Vec<ObjectFact<'a>> = outside(object.count).into_iter().map(ObjectFact::Count).collect();
        facts.extend(object.required.iter().map(|name| ObjectFact::Absent((*name).into())));
        for layer in &object.layers {
            self.layer_ways(state, layer, &mut facts);
        }
        if let Some(schema) = object.names {
            let refused = state.scope.names.iter().filter(|name| self.admits_name(schema, name) != Some(true));
            facts.extend(refused.map(|name| ObjectFact::Present(name.clone())));
            let mut stranger = Stranger { name_fails: Some(schema), ..Stranger::default() };
            stranger.unmatched.extend(self.only_pattern(schema));
            facts.push(ObjectFact::Stranger(stranger));
        }
        ways.extend(facts.into_iter().map(|fact| vec![Claim::Object(fact)]));
        for (trigger, names) in &object.dependent_required {
            let alone = |name: &&'a str| {
                let (with, without) = (ObjectFact::Present((*trigger).into()), ObjectFact::Absent((*name).into()));
                vec![Claim::Object(with), Claim::Object(without)]
            };
            ways.extend(names.iter().map(alone));
        }
    }

    /// The ways in which an object may violate what one layer says.
    pub(super) fn layer_ways(&mut self, state: &State<'a>, layer: &ObjectLayer<'a>, facts: &mut Vec<ObjectFact<'a>>) {
        let arena = self.arena;
        let says = |schema: SpotId| !arena.spot(schema).keywords.asserts_nothing();
        let fields = layer.properties.iter().filter(|(_, schema)| says(**schema));
        facts.extend(fields.map(|(name, schema)| ObjectFact::FieldFails((*name).into(), *schema)));
        let names = &state.scope.names;
        for (pattern, schema) in layer.patterns.iter().filter(|(_, schema)| says(**schema)) {
            let matching = names.iter().filter(|name| matches(pattern, name) != Some(false));
            facts.extend(matching.map(|name| ObjectFact::FieldFails(name.clone(), *schema)));
            if self.language(pattern).is_none() {
                let matched = BTreeSet::from([self.common(pattern)]);
                let stranger = Stranger { value_fails: Some(*schema), matched, ..Stranger::default() };
                facts.push(ObjectFact::Stranger(stranger));
            }
        }
        let Some(schema) = layer.additional.filter(|schema| says(*schema)) else { return };
        let left_over = |name: &&Name<'a>| {
            !layer.properties.contains_key(name.as_ref())
                && layer.patterns.keys().all(|pattern| matches(pattern, name) != Some(true))
        };
        facts.extend(names.iter().filter(left_over).map(|name| ObjectFact::FieldFails(name.clone(), schema)));
        let unmatched = layer.patterns.keys().map(|pattern| self.common(pattern)).collect();
        let stranger = Stranger { value_fails: Some(schema), unmatched, ..Stranger::default() };
        facts.push(ObjectFact::Stranger(stranger));
    }
}
