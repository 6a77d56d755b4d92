//! Judges a pair of conjunctions in both directions.
//!
//! Replay is containment: every instance of the old must be one of the new, or a finding says why not. A pair that is
//! met again while it is being judged is assumed clean, which is sound because no reference returns to itself without
//! entering a field or an item (`guard`). A result that leans on such an assumption is kept only once the assumed pair
//! turned out clean.
//! Not here: what a keyword's change weighs (`rule`), the words of a document (`document`).

mod annotations;
mod arrays;
mod fields;
mod objects;
mod opaque;
mod part;
mod rewrites;
mod scalars;
mod tags;
mod unions;

use std::collections::HashMap;
use std::rc::Rc;

use super::error::{Error, Fault};
use super::kind::{Kind, Kinds};
use super::limits::{PAIR_DEPTH_MAX, STEPS_MAX};
use super::merged::Merged;
use super::normal::{Forms, Normal};
use super::report::Finding;
use super::rule::Rule;
use super::spot::{Conj, SpotId};
use part::{Doubt, Part, Summary};
use unions::Union;

type Pair = (Conj, Conj);

/// Two alternatives of one type, and how findings name the value they describe.
#[derive(Clone, Copy)]
struct Sides<'m, 'a> {
    old: &'m Merged<'a>,
    new: &'m Merged<'a>,
    label: &'m str,
}

/// A judged pair: where its findings are, and what they amount to.
#[derive(Clone, Copy, Debug)]
struct Judged {
    outcome: usize,
    summary: Summary,
}

enum Entry {
    /// Being judged, at this depth.
    Open {
        outcome: usize,
        depth: usize,
    },
    /// Judged, leaning on the assumption that the open pair at depth `low` is clean.
    Leaning {
        judged: Judged,
        low: usize,
    },
    Done(Judged),
}

pub(super) struct Judge<'a> {
    forms: Forms<'a>,
    entries: HashMap<Pair, Entry>,
    outcomes: Vec<Part>,
    leaning: Vec<Pair>,
    depth: usize,
    /// The outermost open pair that the pair being judged leans on.
    low: usize,
}

impl<'a> Judge<'a> {
    pub(super) fn new(forms: Forms<'a>) -> Self {
        Self { forms, entries: HashMap::new(), outcomes: Vec::new(), leaning: Vec::new(), depth: 0, low: usize::MAX }
    }

    /// Judges two whole schemas and returns their findings.
    pub(super) fn compare(mut self, old: SpotId, new: SpotId) -> Result<Vec<Finding>, Error> {
        let judged = self.judge(&vec![old], &vec![new], "");
        let mut findings = match self.outcomes.first() {
            Some(root) => root.gathered(&self.outcomes),
            None => Vec::new(),
        };
        match judged {
            Ok(_) => {}
            // Both were read, so neither is bad input: they are only too much to compare. What was found stays found.
            Err(_) if self.forms.exhausted() => {
                let change = format!("{}: too much to compare, more than {STEPS_MAX} steps", named(""));
                findings.push(Finding::new(Rule::UnionUndecided, "", change));
            }
            Err(error) => return Err(error),
        }
        Ok(findings)
    }

    /// Judges a pair below `part` and adds what it finds, also what it found before the bound on work was passed.
    fn judge_below(&mut self, part: &mut Part, old: &Conj, new: &Conj, label: &str) -> Result<(), Error> {
        let next = self.outcomes.len();
        match self.judge(old, new, label) {
            Ok(judged) => part.child(judged),
            Err(error) => {
                if next < self.outcomes.len() {
                    part.child(Judged { outcome: next, summary: self.outcomes[next].summary });
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn judge(&mut self, old: &Conj, new: &Conj, label: &str) -> Result<Judged, Error> {
        let pair = (old.clone(), new.clone());
        match self.entries.get(&pair) {
            Some(Entry::Done(judged)) => return Ok(*judged),
            Some(Entry::Leaning { judged, low }) => {
                self.low = self.low.min(*low);
                return Ok(*judged);
            }
            Some(Entry::Open { outcome, depth }) => {
                self.low = self.low.min(*depth);
                return Ok(Judged { outcome: *outcome, summary: Summary::default() });
            }
            None => {}
        }
        self.forms.spend(1, new.first())?;
        self.refuse_depth(new)?;
        let (outcome, depth) = (self.outcomes.len(), self.depth);
        self.outcomes.push(Part::default());
        self.entries.insert(pair.clone(), Entry::Open { outcome, depth });
        let outer_low = std::mem::replace(&mut self.low, usize::MAX);
        let leaning_before = self.leaning.len();
        self.depth += 1;
        let mut part = Part::default();
        let ended = self.judge_forms(old, new, label, &mut part);
        self.depth -= 1;
        let judged = Judged { outcome, summary: part.summary };
        self.outcomes[outcome] = part;
        ended?;
        self.close(pair, judged, leaning_before);
        self.low = self.low.min(outer_low);
        Ok(judged)
    }

    /// Files a judged pair, and settles the results that leaned on it. Leaves `low` for the pair outside.
    fn close(&mut self, pair: Pair, judged: Judged, leaning_before: usize) {
        if self.low < self.depth {
            self.entries.insert(pair.clone(), Entry::Leaning { judged, low: self.low });
            self.leaning.push(pair);
            return;
        }
        self.low = usize::MAX;
        for leaning in self.leaning.split_off(leaning_before) {
            let Some(Entry::Leaning { judged: settled, .. }) = self.entries.remove(&leaning) else { continue };
            if judged.summary.is_clean() {
                self.entries.insert(leaning, Entry::Done(settled));
            }
        }
        self.entries.insert(pair, Entry::Done(judged));
    }

    fn refuse_depth(&self, at: &Conj) -> Result<(), Error> {
        if self.depth < PAIR_DEPTH_MAX {
            return Ok(());
        }
        let spot = self.forms.arena.spot(at.first().copied().unwrap_or_default());
        Err(Error::new(spot.side, spot.pointer.clone(), Fault::TooDeep { limit: PAIR_DEPTH_MAX }))
    }

    /// Whether both admit the same instances.
    fn equivalent(&mut self, one: &Conj, other: &Conj) -> Result<bool, Error> {
        Ok(self.judge(one, other, "")?.summary.replays() && self.judge(other, one, "")?.summary.replays())
    }

    fn judge_forms(&mut self, old: &Conj, new: &Conj, label: &str, part: &mut Part) -> Result<(), Error> {
        if old == new {
            return Ok(());
        }
        let (before, after) = (self.forms.exclusive(old)?, self.forms.exclusive(new)?);
        self.judge_annotations(&before, &after, label, part);
        let mut found = Part::default();
        if before.overflowed || after.overflowed {
            if self.forms.fingerprint(old)? != self.forms.fingerprint(new)? {
                let pointer = self.place(&before.base, &after.base, &["oneOf", "anyOf"]);
                found.find(Rule::UnionUndecided, pointer, format!("{}: the union differs", named(label)));
            }
        } else if let Err(error) = self.judge_types(&before, &after, label, &mut found) {
            part.join(found);
            return Err(error);
        }
        part.join(self.without_rewrites((old, &before), (new, &after), found));
        Ok(())
    }

    fn judge_types(
        &mut self,
        before: &Normal<'a>,
        after: &Normal<'a>,
        label: &str,
        part: &mut Part,
    ) -> Result<(), Error> {
        self.judge_kinds(before, after, label, part);
        for kind in before.kinds().and(after.kinds()).iter() {
            let (old, new) = (before.of_kind(kind), after.of_kind(kind));
            self.judge_alternatives(Union { kind, old: &old, new: &new, label }, part)?;
        }
        Ok(())
    }

    fn judge_kinds(&self, before: &Normal<'a>, after: &Normal<'a>, label: &str, part: &mut Part) {
        let (had, has) = (before.kinds(), after.kinds());
        let (gone, come) = (had.without(has), has.without(had));
        if gone.is_empty() && come.is_empty() {
            return;
        }
        let pointer = self.place(&before.base, &after.base, &["type", "const", "enum"]);
        let change = format!("{}: type {} → {}", named(label), kind_names(had, before), kind_names(has, after));
        let doubt = Doubt { replay: before.is_doubtful(gone), consume: after.is_doubtful(come) };
        if had.and(has).is_empty() && !gone.is_empty() && !come.is_empty() {
            part.find_doubted(doubt, Finding::new(Rule::TypeChanged, pointer, change));
            return;
        }
        if !gone.is_empty() {
            part.find_doubted(doubt, Finding::new(Rule::TypeNarrowed, pointer.clone(), change.clone()));
        }
        if !come.is_empty() {
            part.find_doubted(doubt, Finding::new(Rule::TypeWidened, pointer, change));
        }
    }

    /// Judges one alternative against another, for instances of one type.
    fn judge_merged(&mut self, kind: Kind, old: &Merged<'a>, new: &Merged<'a>, label: &str) -> Result<Part, Error> {
        let mut part = Part::default();
        self.judge_merged_into(&mut part, kind, Sides { old, new, label })?;
        Ok(part)
    }

    /// The same, adding to `part` also what was found before the bound on work was passed.
    fn judge_merged_into(&mut self, part: &mut Part, kind: Kind, sides: Sides<'_, 'a>) -> Result<(), Error> {
        let Sides { old, new, .. } = sides;
        self.forms.spend(1, new.spots.first())?;
        if old.spots == new.spots {
            return Ok(());
        }
        let doubt = self.judge_opaque(sides, part)?;
        let mut decided = Part::default();
        let ended = self.judge_decided(kind, sides, &mut decided);
        part.join(decided.doubted(doubt));
        ended
    }

    fn judge_decided(&mut self, kind: Kind, sides: Sides<'_, 'a>, part: &mut Part) -> Result<(), Error> {
        let settled = self.judge_values(kind, sides, part)?;
        match kind {
            Kind::Null | Kind::Boolean => {}
            Kind::Number => {
                self.judge_integer(sides, part);
                if !settled {
                    self.judge_number(sides, part);
                }
            }
            Kind::String if settled => {}
            Kind::String => self.judge_string(sides, part),
            Kind::Array => self.judge_array(sides, part)?,
            Kind::Object => self.judge_object(sides, part)?,
        }
        Ok(())
    }

    /// The pointer of a keyword: where the new schema has it, else where the old one had it, else the new place itself.
    fn place(&self, old: &[SpotId], new: &[SpotId], keywords: &[&str]) -> String {
        for id in new.iter().chain(old) {
            let spot = self.forms.arena.spot(*id);
            for keyword in keywords {
                if spot.keyword(keyword).is_some() {
                    return format!("{}/{keyword}", spot.pointer);
                }
            }
        }
        let first = new.first().or(old.first());
        first.map(|id| self.forms.arena.spot(*id).pointer.clone()).unwrap_or_default()
    }

    fn place_in(&self, old: &Merged<'a>, new: &Merged<'a>, keywords: &[&str]) -> String {
        self.place(&old.spots, &new.spots, keywords)
    }

    fn pointer_of(&self, conj: &Conj) -> String {
        self.place(&[], conj, &[])
    }
}

/// How a finding names the value it speaks of.
fn named(label: &str) -> String {
    if label.is_empty() { "the payload".to_owned() } else { format!("`{label}`") }
}

fn field_label(label: &str, field: &str) -> String {
    if label.is_empty() { field.to_owned() } else { format!("{label}.{field}") }
}

fn kind_names(kinds: Kinds, normal: &Normal<'_>) -> String {
    if kinds == Kinds::ALL {
        return "any".to_owned();
    }
    let integer = |kind: Kind| {
        kind == Kind::Number
            && normal.alternatives.iter().all(|merged: &Rc<Merged<'_>>| !merged.kinds.has(kind) || merged.integer)
    };
    let names: Vec<&str> = kinds.iter().map(|kind| if integer(kind) { "integer" } else { kind.name() }).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(" or ") }
}
