//! Alternatives of one type against each other: matched by tag, then by equivalence, then by the cheapest pairing.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::{Judge, Part, named};
use crate::evolution::error::Error;
use crate::evolution::kind::Kind;
use crate::evolution::limits::PAIRINGS_MAX;
use crate::evolution::merged::Merged;
use crate::evolution::report::{Direction, Finding};
use crate::evolution::rule::Rule;
use crate::evolution::spot::SpotId;

type Alternatives<'a> = [Rc<Merged<'a>>];

/// The alternatives of one type on both sides.
#[derive(Clone, Copy)]
pub(super) struct Union<'m, 'a> {
    pub(super) kind: Kind,
    pub(super) old: &'m Alternatives<'a>,
    pub(super) new: &'m Alternatives<'a>,
    pub(super) label: &'m str,
}

/// Which old alternative each new one is matched with, and their judgement.
struct Match {
    old: usize,
    new: usize,
    part: Part,
}

impl<'a> Judge<'a> {
    pub(super) fn judge_alternatives(&mut self, union: Union<'_, 'a>, part: &mut Part) -> Result<(), Error> {
        let Union { kind, old, new, label } = union;
        if let ([old], [new]) = (old, new) {
            part.join(self.judge_merged(kind, old, new, label)?);
            return Ok(());
        }
        let tag = self.shared_tag(union)?;
        if tag.is_none() && old.len() * new.len() > PAIRINGS_MAX {
            return self.judge_wide_union(union, part);
        }
        let matches = self.matched(union, tag.as_ref())?;
        let (mut taken_old, mut taken_new) = (BTreeSet::new(), BTreeSet::new());
        for Match { old, new, part: own } in matches {
            taken_old.insert(old);
            taken_new.insert(new);
            part.join(own);
        }
        for (_, gone) in old.iter().enumerate().filter(|(index, _)| !taken_old.contains(index)) {
            self.judge_gone(union, gone, part)?;
        }
        for (_, come) in new.iter().enumerate().filter(|(index, _)| !taken_new.contains(index)) {
            self.judge_come(union, come, tag.is_some(), part)?;
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

    fn matched(&mut self, union: Union<'_, 'a>, tag: Option<&Tag>) -> Result<Vec<Match>, Error> {
        let Union { kind, old, new, label } = union;
        if let Some(tag) = tag {
            let mut matches = Vec::new();
            for (index, value) in tag.old.iter().enumerate() {
                if let Some(other) = tag.new.iter().position(|taken| taken == value) {
                    let part = self.judge_merged(kind, &old[index], &new[other], label)?;
                    matches.push(Match { old: index, new: other, part });
                }
            }
            return Ok(matches);
        }
        let mut candidates = Vec::new();
        for (index, before) in old.iter().enumerate() {
            for (other, after) in new.iter().enumerate() {
                let part = self.judge_merged(kind, before, after, label)?;
                candidates.push(Match { old: index, new: other, part });
            }
        }
        candidates.sort_by_key(|candidate| candidate.part.summary.weight);
        let (mut taken_old, mut taken_new) = (BTreeSet::new(), BTreeSet::new());
        let mut matches = Vec::new();
        for candidate in candidates {
            if !taken_old.contains(&candidate.old) && !taken_new.contains(&candidate.new) {
                taken_old.insert(candidate.old);
                taken_new.insert(candidate.new);
                matches.push(candidate);
            }
        }
        Ok(matches)
    }

    /// An old alternative without a counterpart is gone, unless another new one admits all of it.
    fn judge_gone(&mut self, union: Union<'_, 'a>, gone: &Merged<'a>, part: &mut Part) -> Result<(), Error> {
        let Union { kind, new, label, .. } = union;
        for after in new {
            if self.judge_merged(kind, gone, after, label)?.summary.replays() {
                return Ok(());
            }
        }
        let pointer = self.branch_pointer(gone);
        part.find(
            Rule::UnionBranchRemoved,
            pointer,
            format!("{}: a branch is gone ({})", named(label), self.branch_name(gone)?),
        );
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
            part.find(Rule::TypeWidened, pointer, format!("{}: type integer → number", named(label)));
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
    fn add_consumed(&mut self, read: Part, part: &mut Part) -> Result<(), Error> {
        let (mut seen, mut pending, mut findings) = (BTreeSet::new(), read.children, read.own);
        while let Some(outcome) = pending.pop() {
            if seen.insert(outcome) {
                self.forms.spend(1, None)?;
                findings.extend(self.outcomes[outcome].own.iter().cloned());
                pending.extend(&self.outcomes[outcome].children);
            }
        }
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

    /// Declared fields that hold one text only, by name.
    fn constants(&mut self, merged: &Merged<'a>) -> Result<BTreeMap<String, String>, Error> {
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
    fn shared_tag(&mut self, union: Union<'_, 'a>) -> Result<Option<Tag>, Error> {
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

/// The tag's value in each branch of either side.
struct Tag {
    old: Vec<String>,
    new: Vec<String>,
}

fn all_differ(values: &[String]) -> bool {
    values.iter().collect::<BTreeSet<_>>().len() == values.len()
}
