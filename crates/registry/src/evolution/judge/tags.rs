//! The field by which the branches of a union are told apart, and plain objects split by its values.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::Value;

use super::Judge;
use super::unions::{Alternatives, Union};
use crate::evolution::canonical::canonical;
use crate::evolution::error::Error;
use crate::evolution::kind::Kind;
use crate::evolution::limits::{ALTERNATIVES_MAX, PAIRINGS_MAX};
use crate::evolution::merged::Merged;
use crate::evolution::spot::{ObjectLayer, Values};

static NULL: Value = Value::Null;
static TRUE: Value = Value::Bool(true);
static FALSE: Value = Value::Bool(false);

/// The tag's value in each branch of either side.
pub(super) struct Tag {
    pub(super) old: Vec<String>,
    pub(super) new: Vec<String>,
}

/// Both sides of a union, each branch with one value of the tag.
pub(super) struct Split<'a> {
    pub(super) old: Vec<Rc<Merged<'a>>>,
    pub(super) new: Vec<Rc<Merged<'a>>>,
}

impl<'a> Judge<'a> {
    /// Declared fields that hold one text only, by name.
    pub(super) fn constants(&mut self, merged: &Merged<'a>) -> Result<BTreeMap<String, String>, Error> {
        let mut constants = BTreeMap::new();
        let names: BTreeSet<&str> =
            merged.object_layers.iter().flat_map(|layer| layer.properties.keys().copied()).collect();
        for name in names.into_iter().take(PAIRINGS_MAX) {
            self.forms.spend(1, merged.spots.first())?;
            let normal = self.forms.normal(&merged.field(name).conj)?;
            if let [only] = normal.alternatives.as_slice()
                && let Some(values) = &only.values
                && let (1, Some(value)) = (values.len(), values.keys().next())
            {
                constants.insert(name.to_owned(), value.clone());
            }
        }
        Ok(constants)
    }

    /// The field by which both unions tell their branches apart: constant in every branch, and never twice the same.
    pub(super) fn shared_tag(&mut self, union: Union<'_, 'a>) -> Result<Option<Tag>, Error> {
        let Union { kind, old, new, .. } = union;
        if kind != Kind::Object {
            return Ok(None);
        }
        let mut constants = Vec::new();
        for merged in old.iter().chain(new) {
            constants.push(self.constants(merged)?);
        }
        let Some(first) = constants.first() else { return Ok(None) };
        for name in first.keys() {
            let values: Option<Vec<String>> = constants.iter().map(|own| own.get(name).cloned()).collect();
            let Some(values) = values else { continue };
            let (before, after) = values.split_at(old.len());
            if all_differ(before) && all_differ(after) {
                return Ok(Some(Tag { old: before.to_vec(), new: after.to_vec() }));
            }
        }
        Ok(None)
    }

    /// Splits both sides by a field that every branch requires and enumerates, so that an enumeration on one side meets
    /// a constant a branch on the other. Exact: each instance has one value of the field, and is in the part of it.
    pub(super) fn split_by_tag(&mut self, union: Union<'_, 'a>) -> Result<Option<Split<'a>>, Error> {
        let Union { kind, old, new, .. } = union;
        let Some(first) = old.first().filter(|_| kind == Kind::Object) else { return Ok(None) };
        let everywhere = |name: &&&str| old.iter().chain(new).all(|merged| merged.required.contains(**name));
        let names: Vec<&'a str> = first.required.iter().filter(everywhere).copied().collect();
        for name in names {
            let (Some(before), Some(after)) = (self.tag_values(old, name)?, self.tag_values(new, name)?) else {
                continue;
            };
            if before.iter().chain(&after).any(|values| values.len() > 1) {
                let old = self.split(old, name, before)?;
                return Ok(Some(Split { old, new: self.split(new, name, after)? }));
            }
        }
        Ok(None)
    }

    /// The values of a field in each branch; `None` when one has no list of them, or two share one.
    fn tag_values(&mut self, branches: &Alternatives<'a>, name: &str) -> Result<Option<Vec<Values<'a>>>, Error> {
        let (mut seen, mut lists) = (BTreeSet::new(), Vec::new());
        for merged in branches {
            self.forms.spend(1, merged.spots.first())?;
            let normal = self.forms.normal(&merged.field(name).conj)?;
            let mut values = Values::new();
            for (kind, alternative) in
                normal.alternatives.iter().flat_map(|own| own.kinds.iter().map(move |k| (k, own)))
            {
                match (alternative.values_of(kind), kind) {
                    (Some(own), _) => values.extend(own.into_iter().map(|(key, value)| (key.to_owned(), value))),
                    (None, Kind::Null) => values.extend([(canonical(&NULL), &NULL)]),
                    (None, Kind::Boolean) => values.extend([(canonical(&TRUE), &TRUE), (canonical(&FALSE), &FALSE)]),
                    (None, Kind::Number | Kind::String | Kind::Array | Kind::Object) => return Ok(None),
                }
            }
            if normal.overflowed
                || values.keys().any(|value| !seen.insert(value.clone()))
                || seen.len() > ALTERNATIVES_MAX
            {
                return Ok(None);
            }
            lists.push(values);
        }
        Ok(Some(lists))
    }

    fn split(
        &mut self,
        branches: &Alternatives<'a>,
        name: &'a str,
        lists: Vec<Values<'a>>,
    ) -> Result<Vec<Rc<Merged<'a>>>, Error> {
        let mut parts = Vec::new();
        for (merged, values) in branches.iter().zip(lists) {
            for (key, value) in values {
                self.forms.spend(1, merged.spots.first())?;
                let like = merged.field(name).conj.first().or(merged.spots.first()).copied().unwrap_or_default();
                let constant = self.forms.arena.enumerated(like, Values::from([(key, value)]));
                let mut part = Merged::clone(merged);
                part.spots.push(constant);
                let properties = BTreeMap::from([(name, constant)]);
                part.object_layers.push(Rc::new(ObjectLayer { properties, ..ObjectLayer::default() }));
                parts.push(Rc::new(part));
            }
        }
        Ok(parts)
    }
}

fn all_differ(values: &[String]) -> bool {
    values.iter().collect::<BTreeSet<_>>().len() == values.len()
}
