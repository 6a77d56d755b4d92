//! Alternatives of one type against each other: matched by tag, then by equivalence, then by the cheapest pairing.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::part::Doubt;
use super::tags::{Split, Tag};
use super::{Judge, Part, Sides, named};
use crate::evolution::error::Error;
use crate::evolution::kind::Kind;
use crate::evolution::limits::PAIRINGS_MAX;
use crate::evolution::merged::Merged;
use crate::evolution::report::{Direction, Finding, Severity};
use crate::evolution::rule::Rule;
use crate::evolution::spot::SpotId;

pub(super) type Alternatives<'a> = [Rc<Merged<'a>>];

/// The alternatives of one type on both sides.
#[derive(Clone, Copy)]
pub(super) struct Union<'m, 'a> {
    pub(super) kind: Kind,
    pub(super) old: &'m Alternatives<'a>,
    pub(super) new: &'m Alternatives<'a>,
    pub(super) label: &'m str,
}

/// A pairing of an old alternative with a new one, and their judgement.
struct Match {
    old: usize,
    new: usize,
    part: Part,
}

impl<'a> Judge<'a> {
    pub(super) fn judge_alternatives(&mut self, union: Union<'_, 'a>, part: &mut Part) -> Result<(), Error> {
        let Union { kind, old, new, label } = union;
        if let ([old], [new]) = (old, new) {
            return self.judge_merged_into(part, kind, Sides { old, new, label });
        }
        let tag = self.shared_tag(union)?;
        if tag.is_none()
            && let Some(Split { old, new }) = self.split_by_tag(union)?
        {
            return self.judge_alternatives(Union { kind, old: &old, new: &new, label }, part);
        }
        if tag.is_none() && old.len() * new.len() > PAIRINGS_MAX {
            return self.judge_wide_union(union, part);
        }
        let pairs = match &tag {
            Some(tag) => self.tagged(union, tag, part)?,
            None => self.matched(union, part)?,
        };
        for (index, gone) in old.iter().enumerate() {
            if pairs.iter().all(|(taken, _)| *taken != index) {
                self.judge_gone(union, gone, part)?;
            }
        }
        for (index, come) in new.iter().enumerate() {
            if pairs.iter().all(|(_, taken)| *taken != index) {
                self.judge_come(union, come, tag.is_some(), part)?;
            }
        }
        Ok(())
    }

    /// Too many alternatives to try each against each: only word-for-word equality is recognised.
    fn judge_wide_union(&mut self, union: Union<'_, 'a>, part: &mut Part) -> Result<(), Error> {
        let Union { old, new, label, .. } = union;
        let words = |judge: &mut Self, alternatives: &Alternatives<'a>| {
            alternatives.iter().map(|merged| judge.forms.fingerprint(&merged.spots)).collect::<Result<BTreeSet<_>, _>>()
        };
        if words(self, old)? != words(self, new)? {
            let pointer = self.place(&old[0].spots, &new[0].spots, &["oneOf", "anyOf"]);
            part.find(Rule::UnionUndecided, pointer, format!("{}: the union differs", named(label)));
        }
        Ok(())
    }

    /// Judges the branches of equal tags against each other; answers which those are.
    fn tagged(&mut self, union: Union<'_, 'a>, tag: &Tag, part: &mut Part) -> Result<Vec<(usize, usize)>, Error> {
        let Union { kind, old, new, label } = union;
        let mut pairs = Vec::new();
        for (index, value) in tag.old.iter().enumerate() {
            if let Some(other) = tag.new.iter().position(|taken| taken == value) {
                self.judge_merged_into(part, kind, Sides { old: &old[index], new: &new[other], label })?;
                pairs.push((index, other));
            }
        }
        Ok(pairs)
    }

    /// Judges the cheapest pairing of branches; answers which those are.
    fn matched(&mut self, union: Union<'_, 'a>, part: &mut Part) -> Result<Vec<(usize, usize)>, Error> {
        let Union { kind, old, new, label } = union;
        let mut candidates = Vec::new();
        for (index, before) in old.iter().enumerate() {
            for (other, after) in new.iter().enumerate() {
                let mut own = Part::default();
                let ended = self.judge_merged_into(&mut own, kind, Sides { old: before, new: after, label });
                candidates.push(Match { old: index, new: other, part: own });
                if let Err(error) = ended {
                    self.keep_certain(union, candidates, part);
                    return Err(error);
                }
            }
        }
        candidates.sort_by_key(|candidate| candidate.part.summary.weight);
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for Match { old: index, new: other, part: own } in candidates {
            if pairs.iter().any(|(before, after)| *before == index || *after == other) {
                continue;
            }
            pairs.push((index, other));
            let doubt = Doubt {
                replay: own.summary.replay == Some(Severity::Breaking)
                    && self.may_be_elsewhere(kind, &old[index], &new[other], new)?,
                consume: own.summary.consume == Some(Severity::Breaking)
                    && self.may_be_elsewhere(kind, &new[other], &old[index], old)?,
            };
            part.join(own.doubted(doubt));
        }
        Ok(pairs)
    }

    /// Keeps, of a pairing that the bound on work cut short, what was found between branches that have nothing in common
    /// with any other: no other branch can make up for it.
    fn keep_certain(&mut self, union: Union<'_, 'a>, mut candidates: Vec<Match>, part: &mut Part) {
        let Union { old, new, .. } = union;
        candidates.sort_by_key(|candidate| candidate.part.summary.weight);
        let mut kept = BTreeSet::new();
        self.forms.use_reserve(true);
        for Match { old: index, new: other, part: own } in candidates {
            if kept.contains(&index) {
                continue;
            }
            let apart = self
                .apart_from_others(&old[index], new, other)
                .and_then(|apart| Ok(apart && self.apart_from_others(&new[other], old, index)?));
            match apart {
                Ok(true) => {
                    kept.insert(index);
                    part.join(own);
                }
                Ok(false) => {}
                // Nothing is left to tell by.
                Err(_) => break,
            }
        }
        self.forms.use_reserve(false);
    }

    /// Whether a branch has nothing in common with any of `others` but its partner.
    fn apart_from_others(
        &mut self,
        branch: &Merged<'a>,
        others: &Alternatives<'a>,
        partner: usize,
    ) -> Result<bool, Error> {
        for (_, other) in others.iter().enumerate().filter(|(index, _)| *index != partner) {
            if !self.forms.disjoint(branch, other)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether what `partner` refuses of a branch may be admitted by another of `others`.
    fn may_be_elsewhere(
        &mut self,
        kind: Kind,
        branch: &Merged<'a>,
        partner: &Merged<'a>,
        others: &Alternatives<'a>,
    ) -> Result<bool, Error> {
        let mut rivals = self.forms.disjoint(branch, branch)?;
        for other in others.iter().filter(|other| other.spots != partner.spots) {
            rivals = rivals || !self.forms.disjoint(branch, other)?;
        }
        let all: Vec<&Merged<'a>> = others.iter().map(|other| other.as_ref()).collect();
        Ok(rivals && !self.forms.refuted(kind, branch, &all)?)
    }

    /// An old alternative without a counterpart is gone, unless another new one admits all of it. Whether several of
    /// them do together is not decided.
    fn judge_gone(&mut self, union: Union<'_, 'a>, gone: &Merged<'a>, part: &mut Part) -> Result<(), Error> {
        let Union { kind, new, label, .. } = union;
        // A branch that admits nothing takes nothing with it.
        if self.forms.disjoint(gone, gone)? {
            return Ok(());
        }
        let (mut overlapping, mut least) = (0, Some(Severity::Breaking));
        for after in new {
            let replay = self.judge_merged(kind, gone, after, label)?.summary.replay;
            if replay <= Some(Severity::Note) {
                return Ok(());
            }
            if !self.forms.disjoint(gone, after)? {
                overlapping += 1;
                least = least.min(replay);
            }
        }
        let all: Vec<&Merged<'a>> = new.iter().map(|after| after.as_ref()).collect();
        let sure = overlapping == 0
            || overlapping == 1 && least == Some(Severity::Breaking)
            || self.forms.refuted(kind, gone, &all)?;
        let change = format!("{}: a branch is gone ({})", named(label), self.branch_name(gone)?);
        let finding = Finding::new(Rule::UnionBranchRemoved, self.branch_pointer(gone), change);
        part.find_doubted(Doubt { replay: !sure, consume: false }, finding);
        Ok(())
    }

    /// A new alternative without a counterpart: nothing when an old one admits all of it, a note when a consumer can
    /// tell it apart, and otherwise undecided.
    fn judge_come(
        &mut self,
        union: Union<'_, 'a>,
        come: &Merged<'a>,
        tagged: bool,
        part: &mut Part,
    ) -> Result<(), Error> {
        let Union { kind, old, label, .. } = union;
        for before in old {
            if self.judge_merged(kind, come, before, label)?.summary.replays() {
                return Ok(());
            }
        }
        let change = format!("{}: a branch was added ({})", named(label), self.branch_name(come)?);
        let pointer = self.branch_pointer(come);
        if kind == Kind::Number && !come.integer && old.iter().all(|before| before.integer) {
            let change = format!("{}: type integer → number", named(label));
            let doubt = Doubt { replay: false, consume: !come.opaque.is_empty() };
            part.find_doubted(doubt, Finding::new(Rule::TypeWidened, pointer, change));
            return Ok(());
        }
        let mut apart = tagged || kind.is_scalar();
        if !apart && old.len() > 1 {
            apart = true;
            for before in old {
                apart &= self.forms.disjoint(before, come)?;
            }
        }
        if apart {
            part.find(Rule::UnionBranchAdded, pointer, change);
            return Ok(());
        }
        part.find(Rule::UnionBranchUntagged, pointer, change);
        // Where the old schema was no union, its consumers read the new branch as the one form they know.
        if let [before] = old {
            let read = self.judge_merged(kind, before, come, label)?;
            self.add_consumed(read, part)?;
        }
        Ok(())
    }

    /// Adds what old consumers notice; whether old events replay is judged on the branch that they belong to.
    pub(super) fn add_consumed(&mut self, read: Part, part: &mut Part) -> Result<(), Error> {
        let findings = read.gathered(&self.outcomes);
        self.forms.spend(findings.len(), None)?;
        for finding in findings.into_iter().filter(|finding| finding.direction.touches(Direction::Consume)) {
            part.add(Finding { direction: Direction::Consume, ..finding });
        }
        Ok(())
    }

    fn branch_pointer(&self, merged: &Merged<'a>) -> String {
        let branch = |id: &&SpotId| {
            let pointer = &self.forms.arena.spot(**id).pointer;
            ["/oneOf/", "/anyOf/"]
                .iter()
                .any(|union| pointer.rfind(union).is_some_and(|at| !pointer[at + union.len()..].contains('/')))
        };
        let id = merged.spots.iter().rev().find(branch).or(merged.spots.first());
        id.map(|id| self.forms.arena.spot(*id).pointer.clone()).unwrap_or_default()
    }

    fn branch_name(&mut self, merged: &Merged<'a>) -> Result<String, Error> {
        if let Some((name, value)) = self.constants(merged)?.first_key_value() {
            return Ok(format!("{name} = {value}"));
        }
        let title = merged.spots.iter().rev().find_map(|id| self.forms.arena.spot(*id).keyword("title")?.as_str());
        Ok(title.map_or_else(|| format!("at {}", self.branch_pointer(merged)), str::to_owned))
    }

    /// An instance of an overlapping `oneOf` must match one branch and no other; only equal ones are known to agree.
    pub(super) fn same_branches(&mut self, old: SpotId, new: SpotId) -> Result<bool, Error> {
        let branches = |judge: &Self, union: SpotId| judge.forms.arena.spot(union).keywords.one_of.clone();
        let (before, mut after) = (branches(self, old), branches(self, new));
        if before.len() != after.len() || before.len() * after.len() > PAIRINGS_MAX {
            return Ok(false);
        }
        for branch in before {
            let mut same = None;
            for (index, other) in after.iter().enumerate() {
                if self.equivalent(&vec![branch], &vec![*other])? {
                    same = Some(index);
                    break;
                }
            }
            let Some(index) = same else { return Ok(false) };
            after.remove(index);
        }
        Ok(true)
    }
}
