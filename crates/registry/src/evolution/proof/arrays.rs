//! Lists and tuples.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::claim::State;
use super::{Goal, Prover};
use crate::evolution::spot::{ArrayLayer, Count, SpotId};

/// A claim about a list.
#[derive(Clone)]
pub(super) enum ArrayFact {
    Layer(Rc<ArrayLayer>),
    Count(Count),
    Unique(bool),
    /// The item at a position fails a schema.
    ItemFails(usize, SpotId),
    /// An item past every declared position fails a schema.
    FurtherFails {
        from: usize,
        schema: SpotId,
    },
    /// So many items or more satisfy a schema.
    AtLeast(SpotId, u64),
    /// No more than so many items satisfy a schema.
    AtMost(SpotId, u64),
}

#[derive(Clone, Default)]
pub(super) struct Arrays {
    layers: Vec<Rc<ArrayLayer>>,
    count: Count,
    unique: Option<bool>,
    fails: BTreeMap<usize, BTreeSet<SpotId>>,
    /// Each of some item past the declared positions, not all of the same one.
    further: Vec<SpotId>,
    at_least: Vec<(SpotId, u64)>,
    at_most: Vec<(SpotId, u64)>,
}

impl Arrays {
    /// Adds a claim; answers whether it may hold beside the others.
    pub(super) fn add(&mut self, fact: ArrayFact) -> bool {
        match fact {
            ArrayFact::Layer(layer) => self.layers.push(layer),
            ArrayFact::Count(count) => self.count = self.count.and(count),
            ArrayFact::Unique(unique) => {
                if self.unique.replace(unique).is_some_and(|known| known != unique) {
                    return false;
                }
                // What repeats is there twice.
                self.longer_than(if unique { 0 } else { 2 });
            }
            ArrayFact::ItemFails(position, schema) => {
                self.fails.entry(position).or_default().insert(schema);
                self.longer_than(position as u64 + 1);
            }
            ArrayFact::FurtherFails { from, schema } => {
                self.further.push(schema);
                self.longer_than(from as u64 + 1);
            }
            ArrayFact::AtLeast(schema, count) => {
                self.at_least.push((schema, count));
                self.longer_than(count);
            }
            ArrayFact::AtMost(schema, count) => self.at_most.push((schema, count)),
        }
        self.count.max.is_none_or(|max| self.count.min <= max)
    }

    fn longer_than(&mut self, least: u64) {
        self.count.min = self.count.min.max(least);
    }

    /// What no item satisfies.
    fn barred(&self) -> impl Iterator<Item = SpotId> {
        self.at_most.iter().filter(|(_, most)| *most == 0).map(|(schema, _)| *schema)
    }

    /// What an item satisfies.
    fn item(&self, position: usize) -> BTreeSet<SpotId> {
        let schema = |layer: &Rc<ArrayLayer>| layer.prefix.get(position).copied().or(layer.rest);
        self.layers.iter().filter_map(schema).collect()
    }
}

impl<'a> Prover<'_, 'a> {
    pub(super) fn arrays_contradict(&mut self, state: &State<'a>) -> bool {
        let arrays = &state.arrays;
        // The position past all that are declared stands for every further one.
        let further = state.scope.positions;
        for position in (0..=further).take_while(|position| (*position as u64) < arrays.count.min) {
            if self.item_empty(arrays, position, arrays.fails.get(&position).into_iter().flatten()) {
                return true;
            }
        }
        arrays.further.iter().any(|schema| self.item_empty(arrays, further, [schema]))
            || self.matches_contradict(arrays, further)
    }

    /// Whether no item can be at a position and fail these.
    fn item_empty<'s>(
        &mut self,
        arrays: &Arrays,
        position: usize,
        fails: impl IntoIterator<Item = &'s SpotId>,
    ) -> bool {
        let goal =
            Goal { holds: arrays.item(position), fails: fails.into_iter().copied().chain(arrays.barred()).collect() };
        goal != Goal::default() && self.is_empty(goal)
    }

    /// Whether more items match a schema than may, or none can.
    fn matches_contradict(&mut self, arrays: &Arrays, further: usize) -> bool {
        for (wide, most) in &arrays.at_most {
            for (narrow, _) in arrays.at_least.iter().filter(|(_, least)| least > most) {
                if self.is_empty(Goal { holds: BTreeSet::from([*narrow]), fails: BTreeSet::from([*wide]) }) {
                    return true;
                }
            }
            if arrays.count.min > *most && (0..=further).all(|at| self.item_empty(arrays, at, [wide])) {
                return true;
            }
        }
        for (schema, _) in arrays.at_least.iter().filter(|(_, least)| *least > 0) {
            let matching = |at: usize| Goal {
                holds: arrays.item(at).into_iter().chain([*schema]).collect(),
                fails: arrays.barred().collect(),
            };
            if (0..=further).all(|at| self.is_empty(matching(at))) {
                return true;
            }
        }
        false
    }
}
