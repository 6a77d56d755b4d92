//! Normal form: the alternatives that a conjunction of spots amounts to.
//!
//! `anyOf` and `oneOf` are multiplied out over their siblings, `$ref` and `allOf` joined in, so that
//! `anyOf: [{type: a}, {type: b}]` and `type: [a, b]` meet in one form. `oneOf` is read as `anyOf` in `normal`;
//! `exclusive` adds to each alternative the `oneOf`s whose branches may overlap.

use std::collections::HashMap;
use std::rc::Rc;

use super::document::Arena;
use super::error::{Error, Fault};
use super::kind::{Kind, Kinds};
use super::limits::{ALTERNATIVES_MAX, RESERVE_STEPS_MAX, SCHEMA_DEPTH_MAX, STEPS_MAX};
use super::merged::{Merged, Opaque};
use super::proof::{Allowance, same_instances};
use super::spot::{Conj, SpotId};

/// A choice-free list of spots with the `oneOf` choices that led to it.
#[derive(Clone, Default)]
struct Choice {
    spots: Vec<SpotId>,
    branches: Vec<(SpotId, usize)>,
}

impl Choice {
    fn joined(&self, other: &Self) -> Self {
        let mut joined = self.clone();
        for spot in &other.spots {
            if !joined.spots.contains(spot) {
                joined.spots.push(*spot);
            }
        }
        joined.branches.extend(&other.branches);
        joined
    }
}

/// The alternatives of one conjunction.
pub(super) struct Normal<'a> {
    /// Spots that hold whatever is chosen, the declaring one first.
    pub(super) base: Vec<SpotId>,
    /// The satisfiable choices, as far as types and values tell.
    pub(super) alternatives: Vec<Rc<Merged<'a>>>,
    /// The unions multiply past the bound; nothing is known of the alternatives.
    pub(super) overflowed: bool,
}

impl<'a> Normal<'a> {
    pub(super) fn kinds(&self) -> Kinds {
        Kind::ALL
            .into_iter()
            .filter(|kind| self.alternatives.iter().any(|merged| merged.kinds.has(*kind)))
            .fold(Kinds::NONE, Kinds::with)
    }

    /// Whether something undecided stands wherever one of these types is admitted, and so may refuse it.
    pub(super) fn is_doubtful(&self, kinds: Kinds) -> bool {
        let mut own = self.alternatives.iter().filter(|merged| !merged.kinds.and(kinds).is_empty());
        own.all(|merged| !merged.opaque.is_empty())
    }

    /// The alternatives of one type; enumerated scalars are gathered into one, so that consts meet an `enum`.
    pub(super) fn of_kind(&self, kind: Kind) -> Vec<Rc<Merged<'a>>> {
        let own = self.alternatives.iter().filter(|merged| merged.kinds.has(kind)).cloned();
        let full_boolean = |merged: &Rc<Merged<'a>>| kind == Kind::Boolean && merged.values_of(kind).is_none();
        let (enumerated, mut others): (Vec<_>, Vec<_>) = own.partition(|merged| {
            kind.is_scalar() && merged.opaque.is_empty() && !full_boolean(merged) && merged.is_surely_enumerated(kind)
        });
        match enumerated.len() {
            0 => {}
            1 => others.extend(enumerated),
            _ => others.push(Rc::new(Merged::enumerated(&enumerated, kind))),
        }
        others
    }
}

/// The arena with the normal forms computed so far.
pub(super) struct Forms<'a> {
    pub(super) arena: Arena<'a>,
    normals: HashMap<Conj, Rc<Normal<'a>>>,
    exclusive: HashMap<Conj, Rc<Normal<'a>>>,
    steps: usize,
    /// Steps that are left past the bound.
    reserve: usize,
    on_reserve: bool,
    pub(super) proofs: Allowance,
}

impl<'a> Forms<'a> {
    pub(super) fn new(arena: Arena<'a>) -> Self {
        Self {
            arena,
            normals: HashMap::new(),
            exclusive: HashMap::new(),
            steps: 0,
            reserve: RESERVE_STEPS_MAX,
            on_reserve: false,
            proofs: Allowance::default(),
        }
    }

    /// Counts work against the bound of one comparison.
    pub(super) fn spend(&mut self, steps: usize, at: Option<&SpotId>) -> Result<(), Error> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps <= STEPS_MAX {
            return Ok(());
        }
        if let Some(left) = self.reserve.checked_sub(steps).filter(|_| self.on_reserve) {
            self.reserve = left;
            return Ok(());
        }
        let spot = self.arena.spot(at.copied().unwrap_or_default());
        Err(Error::new(
            spot.side,
            spot.pointer.clone(),
            Fault::TooLarge { what: "steps of comparison", limit: STEPS_MAX },
        ))
    }

    /// Lets what is left past the bound be used, or no longer.
    pub(super) fn use_reserve(&mut self, used: bool) {
        self.on_reserve = used;
    }

    /// Whether the bound on work was passed; every answer since is an error, but for what the reserve pays.
    pub(super) fn exhausted(&self) -> bool {
        self.steps > STEPS_MAX
    }

    pub(super) fn normal(&mut self, conj: &Conj) -> Result<Rc<Normal<'a>>, Error> {
        if let Some(known) = self.normals.get(conj) {
            return Ok(known.clone());
        }
        let base = self.joined(conj)?;
        let choices = self.choices(conj, 0)?;
        let overflowed = choices.is_none();
        let mut alternatives = Vec::new();
        for choice in choices.into_iter().flatten() {
            self.spend(choice.spots.len() + 1, conj.first())?;
            let merged = Merged::of(&self.arena, choice.spots, choice.branches);
            if !merged.kinds.is_empty() {
                alternatives.push(Rc::new(merged));
            }
        }
        let normal = Rc::new(Normal { base, alternatives, overflowed });
        self.normals.insert(conj.clone(), normal.clone());
        Ok(normal)
    }

    /// The normal form in which every alternative names the overlapping `oneOf`s that it chose from.
    pub(super) fn exclusive(&mut self, conj: &Conj) -> Result<Rc<Normal<'a>>, Error> {
        if let Some(known) = self.exclusive.get(conj) {
            return Ok(known.clone());
        }
        let mut normal = self.normal(conj)?;
        let overlaps = self.overlaps(&normal)?;
        if !overlaps.is_empty() {
            let named = |merged: &Rc<Merged<'a>>| {
                let mut merged = Merged::clone(merged);
                let chosen = merged.choices.iter().map(|(union, _)| *union).filter(|union| overlaps.contains(union));
                merged.opaque.extend(chosen.map(|union| (Opaque::Overlap, union)));
                Rc::new(merged)
            };
            let alternatives = normal.alternatives.iter().map(named).collect();
            normal = Rc::new(Normal { base: normal.base.clone(), alternatives, overflowed: normal.overflowed });
        }
        self.exclusive.insert(conj.clone(), normal.clone());
        Ok(normal)
    }

    /// The spots that `$ref`, `allOf` and unions of one branch join to these. Free of recursion.
    fn joined(&mut self, conj: &Conj) -> Result<Vec<SpotId>, Error> {
        let mut joined: Vec<SpotId> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let mut pending: Vec<SpotId> = conj.iter().rev().copied().collect();
        while let Some(id) = pending.pop() {
            if !seen.insert(id) {
                continue;
            }
            self.spend(1, Some(&id))?;
            joined.push(id);
            let keywords = &self.arena.spot(id).keywords;
            let singles = [&keywords.any_of, &keywords.one_of].into_iter().filter(|branches| branches.len() == 1);
            pending.extend(singles.flatten().chain(keywords.all_of.iter().rev()).chain(keywords.reference.iter()));
        }
        Ok(joined)
    }

    /// Multiplies the unions out; `None` past the bound.
    fn choices(&mut self, conj: &Conj, depth: usize) -> Result<Option<Vec<Choice>>, Error> {
        let base = self.joined(conj)?;
        if depth > SCHEMA_DEPTH_MAX {
            let spot = self.arena.spot(base.first().copied().unwrap_or_default());
            return Err(Error::new(spot.side, spot.pointer.clone(), Fault::TooDeep { limit: SCHEMA_DEPTH_MAX }));
        }
        let mut unions: Vec<(SpotId, bool, Vec<SpotId>)> = Vec::new();
        for id in &base {
            let keywords = &self.arena.spot(*id).keywords;
            unions.extend((keywords.any_of.len() > 1).then(|| (*id, false, keywords.any_of.clone())));
            unions.extend((keywords.one_of.len() > 1).then(|| (*id, true, keywords.one_of.clone())));
        }
        let mut choices = vec![Choice { spots: base, branches: Vec::new() }];
        for (union, exclusive, branches) in unions {
            let mut options: Vec<Choice> = Vec::new();
            for (index, branch) in branches.into_iter().enumerate() {
                let Some(mut own) = self.choices(&vec![branch], depth + 1)? else { return Ok(None) };
                if exclusive {
                    own.iter_mut().for_each(|choice| choice.branches.push((union, index)));
                }
                options.extend(own);
            }
            if choices.len() * options.len() > ALTERNATIVES_MAX {
                return Ok(None);
            }
            self.spend(choices.len() * options.len(), Some(&union))?;
            choices = choices.iter().flat_map(|choice| options.iter().map(|option| choice.joined(option))).collect();
        }
        Ok(Some(choices))
    }

    /// Whether both are proven to admit the same instances.
    pub(super) fn proven_same(&mut self, one: &Conj, other: &Conj) -> bool {
        same_instances(&self.arena, &mut self.proofs, one, other)
    }

    /// Whether every instance is admitted.
    pub(super) fn is_anything(&mut self, conj: &Conj) -> Result<bool, Error> {
        let base = self.joined(conj)?;
        Ok(base.iter().all(|id| self.arena.spot(*id).keywords.is_trivial()))
    }

    /// Whether no instance is admitted, as far as types and values tell.
    pub(super) fn is_nothing(&mut self, conj: &Conj) -> Result<bool, Error> {
        let normal = self.normal(conj)?;
        Ok(!normal.overflowed && normal.alternatives.is_empty())
    }

    /// Whether `false` stands in the conjunction, in so many words. A mere contradiction is left to the comparison: a
    /// consumer reads its parts.
    pub(super) fn is_banned(&mut self, conj: &Conj) -> Result<bool, Error> {
        let base = self.joined(conj)?;
        Ok(base.iter().any(|id| self.arena.spot(*id).keywords.kinds.is_empty()))
    }
}
