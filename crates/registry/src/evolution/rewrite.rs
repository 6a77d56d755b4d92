//! Brings a loaded document's other words for the same thing to one spelling. Every step is exact.
//!
//! * `not` of `not`, of a boolean, or of nothing but types;
//! * `if` that is always true or never;
//! * a `patternProperties` pattern that matches every name, or that lists names;
//! * `propertyNames` that lists names;
//! * `contains` of anything, which counts items;
//! * `false` under `$ref`, `allOf` or in every branch of a union;
//! * a constant object or array, which is a closed one of constants.
//!
//! Runs after `unevaluated`, whose answers depend on the words as written.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value;

use super::canonical::canonical;
use super::document::{ANYTHING_SPOT, Arena, NOTHING_SPOT};
use super::kind::{Kind, Kinds};
use super::limits::SUBSCHEMAS_MAX;
use super::pattern::{admits_everything, listed_names};
use super::spot::{ArrayLayer, Count, Keywords, ObjectLayer, SpotId, Values};

/// Enumerated objects and arrays that are spelled out; longer lists are compared as values.
const SPELLED_OUT_MAX: usize = 16;

/// Rounds in which `false` travels along references.
const NOTHING_ROUNDS_MAX: usize = 8;

pub(super) fn settle(arena: &mut Arena<'_>, first: SpotId) {
    let mut next = first;
    // Constants that are spelled out add spots, which have their turn.
    while (next as usize) < arena.spots.len() {
        settle_not(arena, next);
        settle_conditional(arena, next);
        settle_names(arena, next);
        settle_contains(arena, next);
        settle_values(arena, next);
        let keywords = &mut arena.spots[next as usize].keywords;
        if let Some(object) = &mut keywords.object {
            object.layers = object.layers.iter().flat_map(settled_layer).collect();
        }
        next += 1;
    }
    settle_nothing(arena, first);
}

/// Lets `false` be seen from where `$ref`, `allOf` and unions join it. Children come after their parents, so that one
/// round backwards does for most; what takes more than the bound is left as it is.
fn settle_nothing(arena: &mut Arena<'_>, first: SpotId) {
    for _ in 0..NOTHING_ROUNDS_MAX {
        let mut changed = false;
        for id in (first as usize..arena.spots.len()).rev() {
            let keywords = &arena.spots[id].keywords;
            let nothing = |id: &SpotId| arena.spot(*id).keywords.kinds.is_empty();
            let refused = keywords.reference.iter().chain(&keywords.all_of).any(nothing)
                || [&keywords.any_of, &keywords.one_of].iter().any(|all| !all.is_empty() && all.iter().all(nothing));
            if refused && !keywords.kinds.is_empty() {
                arena.spots[id].keywords.kinds = Kinds::NONE;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
}

/// A schema whose only assertion is `$ref` is what it refers to. References do not loop in place (`guard`).
fn target(arena: &Arena<'_>, mut id: SpotId) -> SpotId {
    while let Keywords { reference: Some(target), .. } = &arena.spot(id).keywords {
        if !arena.spot(id).keywords.is_trivial() || !arena.spot(id).keywords.all_of.is_empty() {
            break;
        }
        id = *target;
    }
    id
}

/// Whether nothing but what `forget` clears is asserted.
fn only(keywords: &Keywords<'_>, forget: impl Fn(&mut Keywords<'_>)) -> bool {
    let mut rest = keywords.clone();
    forget(&mut rest);
    rest.asserts_nothing()
}

fn settle_not(arena: &mut Arena<'_>, id: SpotId) {
    let Some(refused) = arena.spot(id).keywords.not else { return };
    let refused = arena.spot(target(arena, refused)).keywords.clone();
    let keywords = &mut arena.spots[id as usize].keywords;
    if only(&refused, |rest| rest.kinds = Kinds::ALL) {
        keywords.kinds = keywords.kinds.without(refused.kinds);
        keywords.not = None;
    } else if let Some(admitted) = refused.not
        && only(&refused, |rest| rest.not = None)
    {
        keywords.all_of.push(admitted);
        keywords.not = None;
    }
}

fn settle_conditional(arena: &mut Arena<'_>, id: SpotId) {
    let Some(conditional) = arena.spot(id).keywords.conditional else { return };
    let test = &arena.spot(target(arena, conditional.test)).keywords;
    let follows = if only(test, |_| {}) {
        conditional.then
    } else if test.kinds.is_empty() {
        conditional.otherwise
    } else {
        return;
    };
    let keywords = &mut arena.spots[id as usize].keywords;
    keywords.conditional = None;
    keywords.all_of.extend(follows);
}

/// Names that are listed close the model over them.
fn settle_names(arena: &mut Arena<'_>, id: SpotId) {
    let Some(names) = arena.spot(id).keywords.object.as_ref().and_then(|object| object.names) else { return };
    let said = &arena.spot(target(arena, names)).keywords;
    let forget = |rest: &mut Keywords<'_>| {
        (rest.kinds, rest.values, rest.pattern) = (Kinds::ALL, None, None);
    };
    if !only(said, forget) {
        return;
    }
    let allowed: Vec<&str> = match (&said.values, said.pattern.and_then(listed_names)) {
        _ if !said.kinds.has(Kind::String) => Vec::new(),
        (Some(values), _) if said.pattern.is_none() => values.values().filter_map(|value| value.as_str()).collect(),
        (None, Some(listed)) => listed,
        (Some(_), _) | (None, None) => return,
    };
    let layer = ObjectLayer {
        properties: allowed.into_iter().map(|name| (name, ANYTHING_SPOT)).collect(),
        patterns: BTreeMap::new(),
        additional: Some(NOTHING_SPOT),
    };
    if let Some(object) = &mut arena.spots[id as usize].keywords.object {
        object.names = None;
        object.layers.push(Rc::new(layer));
    }
}

fn settle_contains(arena: &mut Arena<'_>, id: SpotId) {
    let Some(contains) = arena.spot(id).keywords.array.as_ref().and_then(|array| array.contains) else { return };
    let counts_all = only(&arena.spot(target(arena, contains.schema)).keywords, |_| {});
    if let Some(array) = arena.spots[id as usize].keywords.array.as_mut().filter(|_| counts_all) {
        array.count = array.count.and(contains.count);
        array.contains = None;
    }
}

/// One layer as several whose patterns neither match every name nor list names.
fn settled_layer<'a>(layer: &Rc<ObjectLayer<'a>>) -> Vec<Rc<ObjectLayer<'a>>> {
    let plain = |pattern: &&str| !admits_everything(pattern) && listed_names(pattern).is_none();
    if layer.patterns.keys().all(plain) {
        return vec![layer.clone()];
    }
    let mut own = ObjectLayer { additional: layer.additional, ..ObjectLayer::default() };
    own.properties.clone_from(&layer.properties);
    let mut layers = Vec::new();
    for (pattern, schema) in &layer.patterns {
        if admits_everything(pattern) {
            // No name is left over for `additionalProperties`.
            own.additional = None;
            layers.push(ObjectLayer { additional: Some(*schema), ..ObjectLayer::default() });
            continue;
        }
        let Some(names) = listed_names(pattern) else {
            own.patterns.insert(pattern, *schema);
            continue;
        };
        for name in names {
            // A name that is declared already keeps that schema, and has this one beside it.
            if own.properties.contains_key(name) {
                let properties = BTreeMap::from([(name, *schema)]);
                layers.push(ObjectLayer { properties, ..ObjectLayer::default() });
            } else {
                own.properties.insert(name, *schema);
            }
        }
    }
    layers.insert(0, own);
    layers.retain(|layer| !layer.properties.is_empty() || !layer.patterns.is_empty() || layer.additional.is_some());
    layers.into_iter().map(Rc::new).collect()
}

/// Spells out enumerated objects and arrays: as themselves when there is one value, else as a union of constants.
fn settle_values(arena: &mut Arena<'_>, id: SpotId) {
    let Some(values) = arena.spot(id).keywords.values.clone() else { return };
    let composite = |value: &Value| value.is_object() || value.is_array();
    let spelled_out = values.values().filter(|value| composite(value)).count();
    let large = arena.spots.len() + values.len() > SUBSCHEMAS_MAX;
    if spelled_out == 0 || spelled_out > SPELLED_OUT_MAX || large {
        return;
    }
    if let (1, Some(value)) = (values.len(), values.values().next()) {
        spell_out(arena, id, value);
        return;
    }
    let (composites, scalars): (Values<'_>, Values<'_>) = values.into_iter().partition(|(_, value)| composite(value));
    let mut branches: Vec<SpotId> =
        composites.into_iter().map(|one| arena.enumerated(id, Values::from([one]))).collect();
    branches.extend((!scalars.is_empty()).then(|| arena.enumerated(id, scalars)));
    let union = arena.enumerated(id, Values::new());
    arena.spots[union as usize].keywords = Keywords { any_of: branches, ..Keywords::default() };
    let keywords = &mut arena.spots[id as usize].keywords;
    keywords.values = None;
    keywords.all_of.push(union);
}

fn spell_out<'a>(arena: &mut Arena<'a>, id: SpotId, value: &'a Value) {
    let mut constant = |value: &'a Value| arena.enumerated(id, Values::from([(canonical(value), value)]));
    match value {
        Value::Object(fields) => {
            let properties: BTreeMap<&str, SpotId> =
                fields.iter().map(|(name, value)| (name.as_str(), constant(value))).collect();
            let keywords = &mut arena.spots[id as usize].keywords;
            let object = keywords.object.get_or_insert_default();
            object.required.extend(properties.keys());
            let additional = Some(NOTHING_SPOT);
            object.layers.push(Rc::new(ObjectLayer { properties, patterns: BTreeMap::new(), additional }));
            keywords.kinds = keywords.kinds.and(Kinds::NONE.with(Kind::Object));
        }
        Value::Array(items) => {
            let prefix: Vec<SpotId> = items.iter().map(constant).collect();
            let length = prefix.len() as u64;
            let keywords = &mut arena.spots[id as usize].keywords;
            let array = keywords.array.get_or_insert_default();
            array.count = array.count.and(Count { min: length, max: Some(length) });
            array.layers.push(Rc::new(ArrayLayer { prefix, rest: Some(NOTHING_SPOT) }));
            keywords.kinds = keywords.kinds.and(Kinds::NONE.with(Kind::Array));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
    }
    arena.spots[id as usize].keywords.values = None;
}
