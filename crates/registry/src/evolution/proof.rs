//! A second opinion on rewrites: proves that two schemas admit the same instances, whatever their words.
//!
//! One schema admits no more than another when no value satisfies the first and violates the second. That goal is taken
//! apart, JSON type by JSON type and case by case, until every case contradicts itself.
//!
//! Invariants:
//! * What is not understood is left out of a case, which only makes the case harder to contradict. So a proof holds,
//!   and a missing proof says nothing.
//! * A goal that is met again below itself counts as proven: its value is a part of the value above, and no value has
//!   parts for ever. A proof that leans on such a goal is not kept for others.
//! * Work is bounded, apart from the work of the comparison; past the bound nothing more is proven.

mod arrays;
mod claim;
mod evaluated;
mod expand;
mod objects;
mod scalars;
mod scope;

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::document::Arena;
use super::kind::Kind;
use super::limits::{PROOF_STEPS_MAX, PROOFS_STEPS_MAX};
use super::spot::{Conj, SpotId};
use claim::{Claim, State};
use scope::Scope;

/// Goals inside goals.
const GOALS_MAX: usize = 24;
/// Cases inside cases of one goal.
const CASES_MAX: usize = 64;

/// What one value satisfies and violates.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Goal {
    holds: BTreeSet<SpotId>,
    fails: BTreeSet<SpotId>,
}

/// What is left of the bound on proofs.
pub(super) struct Allowance(usize);

impl Default for Allowance {
    fn default() -> Self {
        Self(PROOFS_STEPS_MAX)
    }
}

/// Whether both conjunctions are proven to admit the same instances.
pub(super) fn same_instances(arena: &Arena<'_>, allowance: &mut Allowance, one: &Conj, other: &Conj) -> bool {
    let steps = allowance.0.min(PROOF_STEPS_MAX);
    let mut prover = Prover {
        arena,
        steps,
        open: Vec::new(),
        low: usize::MAX,
        known: HashMap::new(),
        languages: HashMap::new(),
        patterns: HashMap::new(),
    };
    let same = prover.contains(one, other) && prover.contains(other, one);
    allowance.0 -= steps - prover.steps;
    same
}

struct Prover<'f, 'a> {
    arena: &'f Arena<'a>,
    /// Steps left.
    steps: usize,
    /// The goals being proven, each below the one before.
    open: Vec<Goal>,
    /// The outermost open goal that the goal being proven leans on.
    low: usize,
    /// Goals that were proven, and those for which no proof was found.
    known: HashMap<Goal, bool>,
    languages: HashMap<&'a str, Option<Rc<BTreeSet<String>>>>,
    /// One pattern for all that say the same, by their common spelling.
    patterns: HashMap<String, &'a str>,
}

impl<'a> Prover<'_, 'a> {
    /// Whether every instance of `one` is one of `other`.
    fn contains(&mut self, one: &Conj, other: &Conj) -> bool {
        let holds: BTreeSet<SpotId> = one.iter().copied().collect();
        other.iter().all(|spot| self.is_empty(Goal { holds: holds.clone(), fails: BTreeSet::from([*spot]) }))
    }

    /// Takes one step; `false` when none is left.
    fn step(&mut self) -> bool {
        self.steps = self.steps.saturating_sub(1);
        self.steps > 0
    }

    /// Whether no value reaches the goal.
    fn is_empty(&mut self, goal: Goal) -> bool {
        if let Some(known) = self.known.get(&goal) {
            return *known;
        }
        if let Some(index) = self.open.iter().position(|open| *open == goal) {
            self.low = self.low.min(index);
            return true;
        }
        let depth = self.open.len();
        if !self.step() || depth >= GOALS_MAX {
            return false;
        }
        let Some(scope) = Scope::of(self, &goal) else { return false };
        let scope = Rc::new(scope);
        let outer_low = std::mem::replace(&mut self.low, usize::MAX);
        self.open.push(goal.clone());
        let proven = Kind::ALL.into_iter().all(|kind| self.closes(State::new(kind, &goal, scope.clone()), CASES_MAX));
        self.open.pop();
        let leans = self.low < depth;
        // Without a proof nothing is claimed, so that may always be remembered.
        if !proven || !leans {
            self.known.insert(goal, proven);
        }
        self.low = if leans { self.low.min(outer_low) } else { outer_low };
        proven
    }

    /// Whether every case of a state contradicts itself. The alternative that leaves the fewest cases goes first.
    fn closes(&mut self, mut state: State<'a>, depth: usize) -> bool {
        if depth == 0 || self.steps == 0 {
            return false;
        }
        if self.contradicts(&mut state) {
            return true;
        }
        // What has one case left is settled, which may settle others.
        let mut settled = true;
        let mut best: Option<Vec<State<'a>>> = None;
        while settled {
            (settled, best) = (false, None);
            let mut index = 0;
            while index < state.splits.len() {
                let fewest = best.as_ref().map(Vec::len);
                index += 1;
                let Some(mut cases) = self.cases(&state, index - 1, fewest) else { continue };
                match cases.len() {
                    0 => return true,
                    1 => {
                        // The alternative is gone, and another may stand in its place.
                        (state, best, settled) = (cases.remove(0), None, true);
                        index -= 1;
                    }
                    _ => best = Some(cases),
                }
            }
        }
        best.is_some_and(|cases| cases.into_iter().all(|case| self.closes(case, depth - 1)))
    }

    /// The cases of one alternative that do not contradict themselves; `None` when they are no fewer than `fewest`.
    fn cases(&mut self, state: &State<'a>, index: usize, fewest: Option<usize>) -> Option<Vec<State<'a>>> {
        let mut rest = state.clone();
        let split = rest.splits.swap_remove(index);
        let mut cases = Vec::new();
        for claims in split.iter() {
            // A case of many schemas is much to copy.
            self.steps = self.steps.saturating_sub((rest.holds.len() + rest.fails.len() + rest.splits.len()) / 64);
            let mut case = rest.clone();
            case.pending.extend(claims.iter().cloned());
            if !self.contradicts(&mut case) {
                cases.push(case);
            }
            if fewest.is_some_and(|fewest| cases.len() >= fewest) {
                return None;
            }
        }
        Some(cases)
    }

    /// Works off what is pending; answers whether the state contradicts itself without a further case.
    fn contradicts(&mut self, state: &mut State<'a>) -> bool {
        while let Some(claim) = state.pending.pop() {
            if !self.step() {
                return false;
            }
            let consistent = match claim {
                Claim::Holds(spot) => self.expand_holds(state, spot),
                Claim::Fails(spot) => self.expand_fails(state, spot),
                Claim::Scalar(fact) => state.scalars.add(fact),
                Claim::Array(fact) => state.arrays.add(fact),
                Claim::Object(fact) => state.objects.add(fact),
                Claim::Either(cases) => state.either(cases),
            };
            if !consistent {
                return true;
            }
        }
        match state.kind {
            Kind::Null | Kind::Boolean | Kind::Number | Kind::String => self.scalars_contradict(state),
            Kind::Array => state.scalars.lacks(state.kind) || self.arrays_contradict(state),
            Kind::Object => state.scalars.lacks(state.kind) || self.objects_contradict(state),
        }
    }

    /// The texts that a pattern admits, when those are few.
    fn language(&mut self, pattern: &'a str) -> Option<Rc<BTreeSet<String>>> {
        let known = self.languages.entry(pattern).or_insert_with(|| super::pattern::language(pattern).map(Rc::new));
        known.clone()
    }

    /// The pattern that stands for all that say the same.
    fn common(&mut self, pattern: &'a str) -> &'a str {
        match super::pattern::spelling(pattern) {
            Some(spelling) => self.patterns.entry(spelling).or_insert(pattern),
            None => pattern,
        }
    }

    /// The spots that `$ref` and `allOf` join to these.
    fn joined(&self, spots: impl IntoIterator<Item = SpotId>) -> BTreeSet<SpotId> {
        let mut joined = BTreeSet::new();
        let mut pending: Vec<SpotId> = spots.into_iter().collect();
        while let Some(spot) = pending.pop() {
            if joined.insert(spot) {
                let keywords = &self.arena.spot(spot).keywords;
                pending.extend(keywords.reference.iter().chain(&keywords.all_of));
            }
        }
        joined
    }
}
