//! `unevaluatedProperties` past a union or a condition: which fields are evaluated hangs on the branches that hold.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value;

use super::Prover;
use super::claim::{Case, Claim, State};
use super::objects::ObjectFact;
use crate::evolution::document::ANYTHING_SPOT;
use crate::evolution::spot::{Conditional, ObjectLayer, SpotId};

/// Ways that are told apart.
const WAYS_MAX: usize = 32;
/// Branches of an `anyOf`, each of which may hold or not.
const BRANCHES_MAX: usize = 4;
/// Unions inside unions.
const DEPTH_MAX: usize = 8;

/// Words past which it is not known what is evaluated.
const DYNAMIC: [&str; 2] = ["unevaluatedProperties", "$dynamicRef"];

/// Branches that hold together, and what they evaluate.
#[derive(Clone, Default)]
struct Way<'a> {
    claims: Case<'a>,
    fields: BTreeMap<&'a str, SpotId>,
    patterns: BTreeMap<&'a str, SpotId>,
    /// A schema of all other fields evaluates them all.
    all: bool,
}

impl<'a> Way<'a> {
    fn joined(&self, other: &Self) -> Self {
        let mut joined = self.clone();
        joined.claims.extend(other.claims.iter().cloned());
        joined.fields.extend(&other.fields);
        joined.patterns.extend(&other.patterns);
        joined.all |= other.all;
        joined
    }

    /// What the keyword says of the fields that are left.
    fn layer(&self, schema: SpotId) -> ObjectLayer<'a> {
        let (properties, patterns) = (self.fields.clone(), self.patterns.clone());
        ObjectLayer { properties, patterns, additional: Some(schema).filter(|_| !self.all) }
    }
}

impl<'a> Prover<'_, 'a> {
    /// Adds what `unevaluatedProperties` says; answers whether it may hold.
    pub(super) fn expand_unevaluated(&mut self, state: &mut State<'a>, spot: SpotId, schema: SpotId) -> bool {
        let Some(ways) = self.ways(spot, 0) else { return true };
        let case = |way: Way<'a>| {
            let layer = ObjectFact::Layer(Rc::new(way.layer(schema)));
            way.claims.into_iter().chain([Claim::Object(layer)]).collect()
        };
        state.split(ways.into_iter().map(case).collect())
    }

    /// The ways in which `unevaluatedProperties` alone may fail; `None` when they are not known.
    pub(super) fn unevaluated_ways(
        &mut self,
        state: &State<'a>,
        spot: SpotId,
        schema: SpotId,
    ) -> Option<Vec<Case<'a>>> {
        let mut cases = Vec::new();
        for way in self.ways(spot, 0)? {
            let mut facts = Vec::new();
            self.layer_ways(state, &way.layer(schema), &mut facts);
            let fails = facts.into_iter().map(|fact| vec![Claim::Object(fact)]).collect();
            cases.push(way.claims.into_iter().chain([Claim::Either(Rc::new(fails))]).collect());
        }
        Some(cases)
    }

    /// All ways in which a schema may hold, as far as they differ in what is evaluated.
    fn ways(&mut self, spot: SpotId, depth: usize) -> Option<Vec<Way<'a>>> {
        let arena = self.arena;
        let (source, keywords) = (arena.spot(spot).source, &arena.spot(spot).keywords);
        // A spot of the gate's own was made from a constant, which evaluates nothing.
        let Value::Object(words) = source else { return Some(vec![Way::default()]) };
        let dynamic = |word: &str| words.contains_key(word) && !(depth == 0 && word == "unevaluatedProperties");
        // What `not` and `if` evaluate is known only as they were written: `not` nothing, and `if` what it holds for.
        let rewritten = words.contains_key("not") && keywords.not.is_none()
            || words.contains_key("if") && keywords.conditional.is_none();
        if !self.step() || depth > DEPTH_MAX || rewritten || DYNAMIC.iter().any(|word| dynamic(word)) {
            return None;
        }
        let named = |word: &str| {
            let fields = words.get(word).and_then(Value::as_object).into_iter().flatten();
            fields.map(|(name, _)| (name.as_str(), ANYTHING_SPOT)).collect::<BTreeMap<_, _>>()
        };
        let mut ways = vec![Way {
            claims: Vec::new(),
            fields: named("properties"),
            patterns: named("patternProperties"),
            all: words.contains_key("additionalProperties"),
        }];
        for joined in keywords.reference.iter().chain(&keywords.all_of) {
            ways = multiplied(&ways, &self.ways(*joined, depth + 1)?)?;
        }
        if !keywords.any_of.is_empty() {
            ways = multiplied(&ways, &self.any_ways(&keywords.any_of, depth)?)?;
        }
        if !keywords.one_of.is_empty() {
            ways = multiplied(&ways, &self.one_ways(&keywords.one_of, depth)?)?;
        }
        if let Some(Conditional { test, then, otherwise }) = keywords.conditional {
            let mut options = self.given(Claim::Holds(test), [test].into_iter().chain(then), depth)?;
            options.extend(self.given(Claim::Fails(test), otherwise, depth)?);
            ways = multiplied(&ways, &options)?;
        }
        for (name, schema) in &keywords.dependent_schemas {
            let fact = |present: bool| {
                let name = Cow::Borrowed(*name);
                Claim::Object(if present { ObjectFact::Present(name) } else { ObjectFact::Absent(name) })
            };
            let mut options = self.given(fact(true), [*schema], depth)?;
            options.push(Way { claims: vec![fact(false)], ..Way::default() });
            ways = multiplied(&ways, &options)?;
        }
        Some(ways)
    }

    /// The ways in which schemas hold together, given a claim.
    fn given(
        &mut self,
        claim: Claim<'a>,
        schemas: impl IntoIterator<Item = SpotId>,
        depth: usize,
    ) -> Option<Vec<Way<'a>>> {
        let mut ways = vec![Way { claims: vec![claim], ..Way::default() }];
        for schema in schemas {
            let held = Way { claims: vec![Claim::Holds(schema)], ..Way::default() };
            ways = multiplied(&multiplied(&ways, &[held])?, &self.ways(schema, depth + 1)?)?;
        }
        Some(ways)
    }

    /// The ways in which an `anyOf` holds: some branches do, and the others do not.
    fn any_ways(&mut self, branches: &[SpotId], depth: usize) -> Option<Vec<Way<'a>>> {
        if branches.len() > BRANCHES_MAX {
            return None;
        }
        let mut ways = Vec::new();
        for chosen in 1..1_usize << branches.len() {
            ways.extend(self.chosen_ways(branches, |index| chosen & (1 << index) != 0, depth)?);
        }
        Some(ways)
    }

    fn one_ways(&mut self, branches: &[SpotId], depth: usize) -> Option<Vec<Way<'a>>> {
        let mut ways = Vec::new();
        for chosen in 0..branches.len() {
            ways.extend(self.chosen_ways(branches, |index| index == chosen, depth)?);
        }
        Some(ways)
    }

    fn chosen_ways(
        &mut self,
        branches: &[SpotId],
        holds: impl Fn(usize) -> bool,
        depth: usize,
    ) -> Option<Vec<Way<'a>>> {
        let claim = |(index, spot): (usize, &SpotId)| {
            if holds(index) { Claim::Holds(*spot) } else { Claim::Fails(*spot) }
        };
        let mut ways = vec![Way { claims: branches.iter().enumerate().map(claim).collect(), ..Way::default() }];
        for (_, branch) in branches.iter().enumerate().filter(|(index, _)| holds(*index)) {
            ways = multiplied(&ways, &self.ways(*branch, depth + 1)?)?;
        }
        Some(ways)
    }
}

fn multiplied<'a>(ways: &[Way<'a>], options: &[Way<'a>]) -> Option<Vec<Way<'a>>> {
    let few = ways.len().saturating_mul(options.len()) <= WAYS_MAX;
    few.then(|| ways.iter().flat_map(|way| options.iter().map(|option| way.joined(option))).collect())
}
