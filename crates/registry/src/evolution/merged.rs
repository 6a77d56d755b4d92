//! One alternative: a choice-free conjunction of spots, its keywords merged.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::Value;

use super::document::{ANYTHING_SPOT, Arena, NOTHING_SPOT};
use super::kind::{Kind, Kinds};
use super::number::{Bound, Num};
use super::spot::{ArrayLayer, Conditional, Conj, Contains, Count, Keywords, ObjectLayer, SpotId, Values};

/// Integers between two bounds that are compared with an enumeration one by one.
pub(super) const INTEGERS_MAX: i128 = 1_000;

/// A construct whose effect the gate does not decide; compared for equivalence only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opaque {
    Not,
    Conditional,
    DependentSchemas,
    Unevaluated,
    /// A `oneOf` whose branches were not proven disjoint.
    Overlap,
}

/// Everything a choice of branches asserts together.
#[derive(Clone)]
pub(super) struct Merged<'a> {
    pub(super) spots: Vec<SpotId>,
    /// Which branch of which `oneOf` was chosen.
    pub(super) choices: Vec<(SpotId, usize)>,
    pub(super) kinds: Kinds,
    pub(super) integer: bool,
    pub(super) values: Option<Values<'a>>,
    pub(super) minimum: Option<Bound>,
    pub(super) maximum: Option<Bound>,
    pub(super) multiples: Vec<Num>,
    pub(super) length: Count,
    pub(super) patterns: BTreeSet<&'a str>,
    pub(super) formats: BTreeSet<&'a str>,
    pub(super) array_layers: Vec<Rc<ArrayLayer>>,
    pub(super) contains: Vec<Contains>,
    pub(super) items: Count,
    pub(super) unique: bool,
    pub(super) object_layers: Vec<Rc<ObjectLayer<'a>>>,
    pub(super) names: Conj,
    pub(super) required: BTreeSet<&'a str>,
    pub(super) dependent_required: BTreeMap<&'a str, BTreeSet<&'a str>>,
    pub(super) fields: Count,
    /// The most fields that a closed model leaves space for.
    pub(super) ceiling: Option<u64>,
    pub(super) opaque: Vec<(Opaque, SpotId)>,
}

impl<'a> Merged<'a> {
    pub(super) fn of(arena: &Arena<'a>, spots: Vec<SpotId>, choices: Vec<(SpotId, usize)>) -> Self {
        let mut merged = Self::unconstrained();
        for id in &spots {
            merged.add(*id, &arena.spot(*id).keywords);
        }
        merged.spots = spots;
        merged.choices = choices;
        merged.require_counted(arena);
        merged.settle();
        merged
    }

    fn unconstrained() -> Self {
        Self {
            spots: Vec::new(),
            choices: Vec::new(),
            kinds: Kinds::ALL,
            integer: false,
            values: None,
            minimum: None,
            maximum: None,
            multiples: Vec::new(),
            length: Count::default(),
            patterns: BTreeSet::new(),
            formats: BTreeSet::new(),
            array_layers: Vec::new(),
            contains: Vec::new(),
            items: Count::default(),
            unique: false,
            object_layers: Vec::new(),
            names: Vec::new(),
            required: BTreeSet::new(),
            dependent_required: BTreeMap::new(),
            fields: Count::default(),
            ceiling: None,
            opaque: Vec::new(),
        }
    }

    /// An alternative that is nothing but a set of values, standing for several enumerated ones.
    pub(super) fn enumerated(parts: &[Rc<Self>], kind: Kind) -> Self {
        let mut merged = Self::unconstrained();
        let mut values = Values::new();
        for part in parts {
            merged.spots.extend(&part.spots);
            values.extend(
                part.values
                    .iter()
                    .flatten()
                    .filter(|(_, value)| Kind::of(value) == kind)
                    .map(|(key, value)| (key.clone(), *value)),
            );
        }
        merged.values = Some(values);
        merged.settle();
        merged
    }

    fn add(&mut self, id: SpotId, keywords: &Keywords<'a>) {
        self.kinds = self.kinds.and(keywords.kinds);
        self.integer |= keywords.integer;
        if let Some(values) = &keywords.values {
            self.values = Some(match self.values.take() {
                None => values.clone(),
                Some(own) => own.into_iter().filter(|(key, _)| values.contains_key(key)).collect(),
            });
        }
        self.minimum = tighter(self.minimum, keywords.minimum, true);
        self.maximum = tighter(self.maximum, keywords.maximum, false);
        self.multiples.extend(keywords.multiple_of);
        self.length = self.length.and(keywords.length);
        self.patterns.extend(keywords.pattern);
        self.formats.extend(keywords.format);
        if let Some(array) = &keywords.array {
            self.array_layers.extend(array.layers.iter().cloned());
            self.contains.extend(array.contains.filter(|contains| contains.asserts()));
            self.items = self.items.and(array.count);
            self.unique |= array.unique;
        }
        if let Some(object) = &keywords.object {
            self.object_layers.extend(object.layers.iter().cloned());
            self.names.extend(object.names);
            self.required.extend(&object.required);
            for (trigger, names) in &object.dependent_required {
                self.dependent_required.entry(trigger).or_default().extend(names);
            }
            self.fields = self.fields.and(object.count);
        }
        let undecided = [
            (keywords.not.is_some(), Opaque::Not),
            (keywords.conditional.is_some_and(Conditional::asserts), Opaque::Conditional),
            (!keywords.dependent_schemas.is_empty(), Opaque::DependentSchemas),
            (keywords.unevaluated_dynamic, Opaque::Unevaluated),
        ];
        self.opaque.extend(undecided.into_iter().filter(|(present, _)| *present).map(|(_, opaque)| (opaque, id)));
    }

    /// Where `minProperties` asks for as many fields as a closed model has, each of them is required; where
    /// `maxProperties` leaves space for the required ones only, the model is closed.
    fn require_counted(&mut self, arena: &Arena<'a>) {
        let nothing = |id: SpotId| arena.spot(id).keywords.kinds.is_empty();
        for layer in &self.object_layers {
            if !layer.patterns.is_empty() || !layer.additional.is_some_and(nothing) {
                continue;
            }
            let possible = || layer.properties.iter().filter(|(_, id)| !nothing(**id)).map(|(name, _)| *name);
            let count = possible().count() as u64;
            self.ceiling = Some(self.ceiling.map_or(count, |ceiling| ceiling.min(count)));
            if self.fields.min > 0 && self.fields.min >= count {
                self.required.extend(possible());
            }
        }
        if !self.required.is_empty() && self.fields.max == Some(self.required.len() as u64) {
            self.ceiling = self.fields.max;
            let properties = self.required.iter().map(|name| (*name, ANYTHING_SPOT)).collect();
            let additional = Some(NOTHING_SPOT);
            self.object_layers.push(Rc::new(ObjectLayer { properties, patterns: BTreeMap::new(), additional }));
        }
    }

    /// Brings equal constraints to one spelling once everything is merged.
    fn settle(&mut self) {
        self.integer |= self.multiples.iter().any(|multiple| multiple.is_integral());
        // One item alone does not repeat.
        self.unique &= self.items.max.is_none_or(|max| max > 1);
        let integer = self.integer;
        self.multiples.retain(|multiple| !integer || Num::Int(1).is_multiple_of(*multiple) != Some(true));
        if self.integer {
            self.minimum = self.minimum.map(|bound| bound.over_integers(true));
            self.maximum = self.maximum.map(|bound| bound.over_integers(false));
        }
        let Some(mut values) = self.values.take() else { return };
        values.retain(|_, value| self.kinds.has(Kind::of(value)) && self.admits_scalar(value) != Some(false));
        self.kinds = values.values().fold(Kinds::NONE, |kinds, value| kinds.with(Kind::of(value)));
        let mut numbers = values.values().filter_map(|value| value.as_number()).peekable();
        if numbers.peek().is_some() {
            self.integer = numbers.all(|number| Num::of(number).is_integral());
        }
        self.values = Some(values);
    }

    /// The values of one type that the rules leave, by canonical text, when those are known and few.
    pub(super) fn few_values(&self, kind: Kind) -> Option<Vec<String>> {
        match kind {
            Kind::Number => self.few_integers(),
            Kind::String => self.few_texts(),
            Kind::Null | Kind::Boolean | Kind::Array | Kind::Object => None,
        }
    }

    fn few_integers(&self) -> Option<Vec<String>> {
        let (Some(lower), Some(upper)) = (self.minimum, self.maximum) else { return None };
        let (Num::Int(first), Num::Int(last)) = (lower.value, upper.value) else { return None };
        if !self.integer || last.checked_sub(first).is_none_or(|span| span >= INTEGERS_MAX) {
            return None;
        }
        let mut integers = Vec::new();
        for value in first..=last {
            integers.extend(self.admits_number(Num::Int(value))?.then(|| value.to_string()));
        }
        Some(integers)
    }

    /// A pattern may list texts, and only one has no length.
    fn few_texts(&self) -> Option<Vec<String>> {
        let listed = match self.patterns.iter().find_map(|pattern| super::pattern::listed_names(pattern)) {
            Some(listed) => listed,
            None if self.length.max == Some(0) => vec![""],
            None => return None,
        };
        let mut texts = Vec::new();
        for text in listed {
            texts.extend(self.admits_text(text)?.then(|| Value::from(text).to_string()));
        }
        Some(texts)
    }

    /// The enumerated values of one type, or `None` when the type's every value is meant.
    pub(super) fn values_of(&self, kind: Kind) -> Option<Vec<(&str, &'a Value)>> {
        let values = self.values.as_ref()?;
        let own: Vec<_> = values
            .iter()
            .filter(|(_, value)| Kind::of(value) == kind)
            .map(|(key, value)| (key.as_str(), *value))
            .collect();
        match kind {
            Kind::Null => None,
            Kind::Boolean if own.len() == 2 => None,
            Kind::Boolean | Kind::Number | Kind::String | Kind::Array | Kind::Object => Some(own),
        }
    }

    /// Whether the type is enumerated and the other rules are known to admit every value listed.
    pub(super) fn is_surely_enumerated(&self, kind: Kind) -> bool {
        let own = self.values.iter().flatten().filter(|(_, value)| Kind::of(value) == kind);
        self.values.is_some() && own.into_iter().all(|(_, value)| self.admits_scalar(value) == Some(true))
    }

    /// Whether the scalar rules admit a scalar; arrays and objects are not decided here.
    pub(super) fn admits_scalar(&self, value: &Value) -> Option<bool> {
        match value {
            Value::Null | Value::Bool(_) => Some(true),
            Value::Number(number) => self.admits_number(Num::of(number)),
            Value::String(text) => self.admits_text(text),
            Value::Array(_) | Value::Object(_) => None,
        }
    }

    fn admits_number(&self, value: Num) -> Option<bool> {
        if self.integer && !value.is_integral()
            || self.minimum.is_some_and(|bound| !bound.admits_number(value, true))
            || self.maximum.is_some_and(|bound| !bound.admits_number(value, false))
        {
            return Some(false);
        }
        all_decided(self.multiples.iter().map(|multiple| value.is_multiple_of(*multiple)))
    }

    fn admits_text(&self, text: &str) -> Option<bool> {
        if !self.length.admits(text.chars().count() as u64) {
            return Some(false);
        }
        let patterns = all_decided(self.patterns.iter().map(|pattern| super::pattern::matches(pattern, text)));
        match patterns {
            Some(true) if !self.formats.is_empty() => None,
            decided => decided,
        }
    }

    /// The item schema of one position; the count of items is not looked at.
    pub(super) fn item(&self, position: usize) -> Item {
        let mut item = Item { conj: Vec::new(), listed: false };
        for layer in &self.array_layers {
            match layer.prefix.get(position) {
                Some(schema) => {
                    item.listed |= *schema != ANYTHING_SPOT;
                    item.conj.push(*schema);
                }
                None => item.conj.extend(layer.rest),
            }
        }
        item
    }

    /// The number of declared positions.
    pub(super) fn positions(&self) -> usize {
        self.array_layers.iter().map(|layer| layer.prefix.len()).max().unwrap_or(0)
    }

    /// What holds for the field `name`.
    pub(super) fn field(&self, name: &str) -> Field<'a> {
        let mut field = Field { conj: Vec::new(), listed: false, named: false, mapped: Vec::new(), unsure: Vec::new() };
        for layer in &self.object_layers {
            let mut covered = false;
            if let Some(schema) = layer.properties.get(name) {
                covered = true;
                field.named = true;
                field.listed |= *schema != ANYTHING_SPOT;
                field.conj.push(*schema);
            }
            let mut unsure = false;
            for (pattern, schema) in &layer.patterns {
                match super::pattern::matches(pattern, name) {
                    Some(true) => {
                        covered = true;
                        field.conj.push(*schema);
                        field.mapped.push(*schema);
                    }
                    Some(false) => {}
                    None => {
                        unsure = true;
                        field.unsure.push((pattern, *schema));
                    }
                }
            }
            match layer.additional {
                // Whether `additionalProperties` applies hangs on the undecided match; the caller asks for an audit.
                Some(schema) if !covered && !unsure => {
                    field.conj.push(schema);
                    field.mapped.push(schema);
                }
                Some(schema) if !covered => {
                    field.unsure.push(("additionalProperties", schema));
                }
                Some(_) | None => {}
            }
        }
        // A map over listed names declares them.
        field.listed |= field.named && !field.mapped.is_empty();
        field
    }
}

/// What holds at one position of an array.
pub(super) struct Item {
    pub(super) conj: Conj,
    pub(super) listed: bool,
}

/// What holds for one field of an object.
pub(super) struct Field<'a> {
    pub(super) conj: Conj,
    /// Declared under `properties`.
    pub(super) listed: bool,
    /// Spoken of by name, if only to allow it.
    pub(super) named: bool,
    /// The schemas that cover it as a map would: matching patterns and `additionalProperties`.
    pub(super) mapped: Conj,
    /// Schemas of which it is not known whether they cover it.
    pub(super) unsure: Vec<(&'a str, SpotId)>,
}

/// The bound of one end that admits less.
pub(super) fn tighter(left: Option<Bound>, right: Option<Bound>, lower: bool) -> Option<Bound> {
    match (left, right) {
        (Some(left), Some(right)) => Some(if left.admits(right, lower) { right } else { left }),
        (left, right) => left.or(right),
    }
}

/// Kleene's conjunction: one refusal decides, otherwise one undecided leaves it open.
pub(super) fn all_decided(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut outcome = Some(true);
    for part in parts {
        match part {
            Some(true) => {}
            Some(false) => return Some(false),
            None => outcome = None,
        }
    }
    outcome
}
