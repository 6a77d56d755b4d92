//! Settles `unevaluatedProperties` and `unevaluatedItems` where their reach does not depend on the instance.
//!
//! Through `$ref` and `allOf` alone, what is evaluated is known from the schema: the keyword then equals a layer of its
//! own that admits the evaluated names and says its schema of all others. Past any other applicator it stays dynamic,
//! and the gate compares it by text.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::document::ANYTHING_SPOT;
use super::spot::{ArrayLayer, ObjectLayer, Spot, SpotId};

pub(super) fn settle(spots: &mut [Spot<'_>], first: SpotId) {
    for id in first as usize..spots.len() {
        if let Some(schema) = spots[id].keywords.unevaluated_properties {
            settle_properties(spots, id, schema);
        }
        if let Some(schema) = spots[id].keywords.unevaluated_items {
            settle_items(spots, id, schema);
        }
    }
}

/// The spots that `$ref` and `allOf` join to this one, or `None` when another applicator is among them.
fn joined(spots: &[Spot<'_>], id: usize) -> Option<Vec<usize>> {
    let mut seen = BTreeSet::from([id]);
    let mut pending = vec![id];
    while let Some(next) = pending.pop() {
        let keywords = &spots[next].keywords;
        if keywords.branches() {
            return None;
        }
        for target in keywords.reference.iter().chain(&keywords.all_of) {
            if seen.insert(*target as usize) {
                pending.push(*target as usize);
            }
        }
    }
    Some(seen.into_iter().collect())
}

fn settle_properties(spots: &mut [Spot<'_>], id: usize, schema: SpotId) {
    let Some(joined) = joined(spots, id) else {
        spots[id].keywords.unevaluated_dynamic = true;
        return;
    };
    let mut layer = ObjectLayer { properties: BTreeMap::new(), patterns: BTreeMap::new(), additional: Some(schema) };
    let mut all_evaluated = false;
    for other in joined {
        let keywords = &spots[other].keywords;
        all_evaluated |= other != id && keywords.unevaluated_properties.is_some();
        for own in keywords.object.iter().flat_map(|object| &object.layers) {
            all_evaluated |= own.additional.is_some();
            layer.properties.extend(own.properties.keys().map(|name| (*name, ANYTHING_SPOT)));
            layer.patterns.extend(own.patterns.keys().map(|pattern| (*pattern, ANYTHING_SPOT)));
        }
    }
    if !all_evaluated {
        spots[id].keywords.object.get_or_insert_default().layers.push(Rc::new(layer));
    }
}

fn settle_items(spots: &mut [Spot<'_>], id: usize, schema: SpotId) {
    let Some(joined) = joined(spots, id) else {
        spots[id].keywords.unevaluated_dynamic = true;
        return;
    };
    let (mut evaluated, mut all_evaluated, mut contains) = (0, false, false);
    for other in joined {
        let keywords = &spots[other].keywords;
        all_evaluated |= other != id && keywords.unevaluated_items.is_some();
        contains |= spots[other].keyword("contains").is_some();
        if let Some(array) = &keywords.array {
            for layer in &array.layers {
                all_evaluated |= layer.rest.is_some();
                evaluated = evaluated.max(layer.prefix.len());
            }
        }
    }
    // `contains` evaluates the items it matches, which only an instance tells.
    if contains {
        spots[id].keywords.unevaluated_dynamic = true;
    } else if !all_evaluated {
        let layer = ArrayLayer { prefix: vec![ANYTHING_SPOT; evaluated], rest: Some(schema) };
        spots[id].keywords.array.get_or_insert_default().layers.push(Rc::new(layer));
    }
}
