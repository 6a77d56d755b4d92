//! Takes a schema apart: what a value that satisfies it satisfies, and in which ways a value may violate it.

use super::Prover;
use super::arrays::ArrayFact;
use super::claim::{Case, Claim, State};
use super::objects::ObjectFact;
use super::scalars::ScalarFact;
use crate::evolution::kind::Kind;
use crate::evolution::number::Bound;
use crate::evolution::spot::{Count, Keywords, SpotId};

impl<'a> Prover<'_, 'a> {
    /// Adds what follows when a schema holds; answers whether it may.
    pub(super) fn expand_holds(&mut self, state: &mut State<'a>, spot: SpotId) -> bool {
        let arena = self.arena;
        let keywords = &arena.spot(spot).keywords;
        if !keywords.kinds.has(state.kind) || state.fails.contains(&spot) {
            return false;
        }
        if !state.holds.insert(spot) {
            return true;
        }
        let facts = self.scalar_facts(state.kind, keywords);
        state.pending.extend(facts.into_iter().map(Claim::Scalar));
        if state.kind == Kind::Array
            && let Some(array) = &keywords.array
        {
            let layers = array.layers.iter().map(|layer| ArrayFact::Layer(layer.clone()));
            let counted =
                [ArrayFact::Count(array.count)].into_iter().chain(array.unique.then_some(ArrayFact::Unique(true)));
            state.pending.extend(layers.chain(counted).map(Claim::Array));
            if let Some(contains) = array.contains {
                let most = contains.count.max.map(|max| ArrayFact::AtMost(contains.schema, max));
                let least = ArrayFact::AtLeast(contains.schema, contains.count.min);
                state.pending.extend([least].into_iter().chain(most).map(Claim::Array));
            }
        }
        let joined = keywords.reference.iter().chain(&keywords.all_of);
        state.pending.extend(joined.map(|spot| Claim::Holds(*spot)));
        state.pending.extend(keywords.not.map(Claim::Fails));
        let unevaluated = keywords.unevaluated_properties.filter(|_| keywords.unevaluated_dynamic);
        if let (Kind::Object, Some(schema)) = (state.kind, unevaluated)
            && !self.expand_unevaluated(state, spot, schema)
        {
            return false;
        }
        (state.kind != Kind::Object || self.expand_object(state, keywords)) && self.expand_unions(state, keywords)
    }

    fn expand_unions(&mut self, state: &mut State<'a>, keywords: &Keywords<'a>) -> bool {
        let mut consistent = true;
        if !keywords.any_of.is_empty() {
            consistent &= state.split(keywords.any_of.iter().map(|spot| vec![Claim::Holds(*spot)]).collect());
        }
        if !keywords.one_of.is_empty() {
            let only = |index: usize| {
                let claim = |(other, spot): (usize, &SpotId)| {
                    if other == index { Claim::Holds(*spot) } else { Claim::Fails(*spot) }
                };
                keywords.one_of.iter().enumerate().map(claim).collect::<Case<'a>>()
            };
            consistent &= state.split((0..keywords.one_of.len()).map(only).collect());
        }
        if let Some(conditional) = keywords.conditional.filter(|conditional| conditional.asserts()) {
            let case = |test: Claim<'a>, follows: Option<SpotId>| {
                [test].into_iter().chain(follows.map(Claim::Holds)).collect::<Case<'a>>()
            };
            consistent &= state.split(vec![
                case(Claim::Holds(conditional.test), conditional.then),
                case(Claim::Fails(conditional.test), conditional.otherwise),
            ]);
        }
        consistent
    }

    fn expand_object(&mut self, state: &mut State<'a>, keywords: &Keywords<'a>) -> bool {
        let mut consistent = true;
        for (name, schema) in &keywords.dependent_schemas {
            let absent = vec![Claim::Object(ObjectFact::Absent((*name).into()))];
            let present = vec![Claim::Object(ObjectFact::Present((*name).into())), Claim::Holds(*schema)];
            consistent &= state.split(vec![absent, present]);
        }
        let Some(object) = &keywords.object else { return consistent };
        let layers = object.layers.iter().map(|layer| ObjectFact::Layer(layer.clone()));
        let present = object.required.iter().map(|name| ObjectFact::Present((*name).into()));
        let facts =
            layers.chain(present).chain(object.names.map(ObjectFact::Names)).chain([ObjectFact::Count(object.count)]);
        state.pending.extend(facts.map(Claim::Object));
        for (trigger, names) in &object.dependent_required {
            let absent = vec![Claim::Object(ObjectFact::Absent((*trigger).into()))];
            let present = names.iter().map(|name| Claim::Object(ObjectFact::Present((*name).into())));
            consistent &= state.split(vec![absent, present.collect()]);
        }
        consistent
    }

    /// Adds the ways in which a schema may fail; answers whether there is one.
    pub(super) fn expand_fails(&mut self, state: &mut State<'a>, spot: SpotId) -> bool {
        let arena = self.arena;
        let keywords = &arena.spot(spot).keywords;
        if state.holds.contains(&spot) {
            return false;
        }
        // Known already, or of another type.
        if !state.fails.insert(spot) || !keywords.kinds.has(state.kind) {
            return true;
        }
        let facts = self.scalar_facts(state.kind, keywords).into_iter();
        let Some(mut ways) = facts.map(denied).collect::<Option<Vec<Case<'a>>>>() else { return true };
        match state.kind {
            Kind::Array => array_ways(state, keywords, &mut ways),
            Kind::Object => self.object_ways(state, keywords, &mut ways),
            Kind::Null | Kind::Boolean | Kind::Number | Kind::String => {}
        }
        if keywords.unevaluated_dynamic {
            match (state.kind, keywords.unevaluated_properties, keywords.unevaluated_items) {
                (Kind::Object, Some(schema), _) => match self.unevaluated_ways(state, spot, schema) {
                    Some(unevaluated) => ways.extend(unevaluated),
                    None => return true,
                },
                // Not understood.
                (Kind::Array, _, Some(_)) => return true,
                _ => {}
            }
        }
        ways.extend(keywords.reference.iter().chain(&keywords.all_of).map(|spot| vec![Claim::Fails(*spot)]));
        ways.extend(keywords.not.map(|spot| vec![Claim::Holds(spot)]));
        union_ways(keywords, &mut ways);
        state.split(ways)
    }

    /// The scalar claims that a schema makes of a value of one type.
    fn scalar_facts(&mut self, kind: Kind, keywords: &Keywords<'a>) -> Vec<ScalarFact<'a>> {
        let mut facts: Vec<ScalarFact<'a>> = Vec::new();
        facts.extend(keywords.values.clone().map(ScalarFact::Only));
        match kind {
            Kind::Number => {
                facts.extend(keywords.integer.then_some(ScalarFact::Integral(true)));
                facts.extend(keywords.minimum.map(ScalarFact::Lower));
                facts.extend(keywords.maximum.map(ScalarFact::Upper));
                facts.extend(keywords.multiple_of.map(|of| ScalarFact::Multiple(of, true)));
                facts.extend(keywords.format.map(|format| ScalarFact::Format(format, true)));
            }
            Kind::String => {
                let Count { min, max } = keywords.length;
                facts.extend((min > 0).then_some(ScalarFact::Length(Count { min, max: None })));
                facts.extend(max.map(|max| ScalarFact::Length(Count { min: 0, max: Some(max) })));
                facts.extend(keywords.pattern.map(|pattern| ScalarFact::Pattern(self.common(pattern), true)));
                facts.extend(keywords.format.map(|format| ScalarFact::Format(format, true)));
            }
            Kind::Null | Kind::Boolean | Kind::Array | Kind::Object => {}
        }
        facts
    }
}

/// The contrary of a scalar claim; `None` when it has none that can be said.
fn denied(fact: ScalarFact<'_>) -> Option<Case<'_>> {
    let fact = match fact {
        // Past some number, enumerated lists and objects are not taken apart.
        ScalarFact::Only(values) if values.values().any(|value| value.is_array() || value.is_object()) => return None,
        ScalarFact::Only(values) => ScalarFact::Except(values),
        ScalarFact::Except(values) => ScalarFact::Only(values),
        ScalarFact::Integral(integral) => ScalarFact::Integral(!integral),
        ScalarFact::Lower(Bound { value, exclusive }) => ScalarFact::Upper(Bound { value, exclusive: !exclusive }),
        ScalarFact::Upper(Bound { value, exclusive }) => ScalarFact::Lower(Bound { value, exclusive: !exclusive }),
        ScalarFact::Multiple(of, whole) => ScalarFact::Multiple(of, !whole),
        ScalarFact::Length(count) => ScalarFact::Length(*outside(count).first()?),
        ScalarFact::Pattern(pattern, matched) => ScalarFact::Pattern(pattern, !matched),
        ScalarFact::Format(format, kept) => ScalarFact::Format(format, !kept),
    };
    Some(vec![Claim::Scalar(fact)])
}

/// The counts below and above a count.
pub(super) fn outside(count: Count) -> Vec<Count> {
    let below = (count.min > 0).then(|| Count { min: 0, max: Some(count.min - 1) });
    let above = count.max.and_then(|max| Some(Count { min: max.checked_add(1)?, max: None }));
    below.into_iter().chain(above).collect()
}

fn array_ways<'a>(state: &State<'a>, keywords: &Keywords<'a>, ways: &mut Vec<Case<'a>>) {
    let Some(array) = &keywords.array else { return };
    let positions = state.scope.positions;
    let mut facts: Vec<ArrayFact> = outside(array.count).into_iter().map(ArrayFact::Count).collect();
    facts.extend(array.unique.then_some(ArrayFact::Unique(false)));
    for layer in &array.layers {
        facts.extend(layer.prefix.iter().enumerate().map(|(at, schema)| ArrayFact::ItemFails(at, *schema)));
        if let Some(schema) = layer.rest {
            facts.extend((layer.prefix.len()..positions).map(|at| ArrayFact::ItemFails(at, schema)));
            facts.push(ArrayFact::FurtherFails { from: positions, schema });
        }
    }
    if let Some(contains) = array.contains {
        let Count { min, max } = contains.count;
        facts.extend((min > 0).then(|| ArrayFact::AtMost(contains.schema, min - 1)));
        facts.extend(max.and_then(|max| Some(ArrayFact::AtLeast(contains.schema, max.checked_add(1)?))));
    }
    ways.extend(facts.into_iter().map(|fact| vec![Claim::Array(fact)]));
}

fn union_ways<'a>(keywords: &Keywords<'a>, ways: &mut Vec<Case<'a>>) {
    let none = |branches: &[SpotId]| branches.iter().map(|spot| Claim::Fails(*spot)).collect::<Case<'a>>();
    ways.extend((!keywords.any_of.is_empty()).then(|| none(&keywords.any_of)));
    if !keywords.one_of.is_empty() {
        ways.push(none(&keywords.one_of));
        for (index, one) in keywords.one_of.iter().enumerate() {
            let two = |other: &SpotId| vec![Claim::Holds(*one), Claim::Holds(*other)];
            ways.extend(keywords.one_of[index + 1..].iter().map(two));
        }
    }
    if let Some(conditional) = keywords.conditional {
        ways.extend(conditional.then.map(|then| vec![Claim::Holds(conditional.test), Claim::Fails(then)]));
        ways.extend(conditional.otherwise.map(|other| vec![Claim::Fails(conditional.test), Claim::Fails(other)]));
    }
}
