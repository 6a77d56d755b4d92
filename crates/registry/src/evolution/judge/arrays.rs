//! Lists and tuples.

use super::scalars::CountRules;
use super::{Judge, Part, Sides, named};
use crate::evolution::error::Error;
use crate::evolution::merged::{Item, Merged};
use crate::evolution::report::{Direction, Finding};
use crate::evolution::rule::Rule;
use crate::evolution::spot::{Conj, Contains, Count};

const ITEMS: CountRules = CountRules {
    keywords: ["minItems", "maxItems"],
    tightened: Rule::ItemCountTightened,
    widened: Rule::ItemCountWidened,
    lowered: Rule::ItemMinimumLowered,
};

impl<'a> Judge<'a> {
    pub(super) fn judge_array(&mut self, sides: Sides<'_, 'a>, part: &mut Part) -> Result<(), Error> {
        let Sides { old, new, label } = sides;
        let (before, after) = (self.reach(old)?, self.reach(new)?);
        for position in 0..old.positions().max(new.positions()) {
            self.forms.spend(1, new.spots.first())?;
            self.judge_position(sides, (before, after), position, part)?;
        }
        let declared = old.positions().max(new.positions());
        self.judge_further_items(sides, (before, after), declared, part)?;
        // A list whose rest is closed has its length from its positions; those were judged one by one.
        let (mut count, mut now) = (old.items.and(before), new.items.and(after));
        (count.min, now.min) = least_items(old, new);
        self.judge_count(&ITEMS, sides, (count, now), part);
        if old.unique != new.unique {
            let rule = if new.unique { Rule::UniqueItemsRequired } else { Rule::UniqueItemsLifted };
            let change = format!("{}: uniqueItems {} → {}", named(label), old.unique, new.unique);
            part.find(rule, self.place_in(old, new, &["uniqueItems"]), change);
        }
        self.judge_contains(sides, part)
    }

    /// How many items there can be, as far as closed positions tell.
    fn reach(&mut self, merged: &Merged<'a>) -> Result<Count, Error> {
        let mut reach = Count { min: 0, max: merged.items.max };
        for position in 0..=merged.positions() {
            if self.forms.is_nothing(&merged.item(position).conj)? {
                reach = reach.and(Count { min: 0, max: Some(position as u64) });
                break;
            }
        }
        Ok(reach)
    }

    fn judge_position(
        &mut self,
        sides: Sides<'_, 'a>,
        (before, after): (Count, Count),
        position: usize,
        part: &mut Part,
    ) -> Result<(), Error> {
        let Sides { old, new, label } = sides;
        let (was, is): (Item, Item) = (old.item(position), new.item(position));
        let label = format!("{label}[{position}]");
        let index = position as u64;
        let (had, has) = (before.admits(index + 1), after.admits(index + 1));
        match (had, has) {
            (false, false) => return Ok(()),
            // Too short before for this item, but its schema was written down: consumers read the item by it.
            (false, true) if self.is_described(&was.conj)? => {}
            (false, true) => {
                let pointer = self.pointer_of(&is.conj);
                part.find(Rule::TuplePositionAdded, pointer, format!("{}: position added", named(&label)));
                return Ok(());
            }
            (true, false) if was.listed => {
                let pointer = self.pointer_of(&was.conj);
                part.find(Rule::TuplePositionRemoved, pointer, format!("{}: position gone", named(&label)));
                return Ok(());
            }
            // An undeclared item past the new end is judged with the rest.
            (true, false) => return Ok(()),
            (true, true) => {}
        }
        if was.listed && index < old.items.min && index >= new.items.min {
            let change = format!("{}: always present → may be missing", named(&label));
            part.find(Rule::TuplePositionMadeOptional, self.pointer_of(&is.conj), change);
        }
        if was.listed && !is.listed && self.forms.is_anything(&is.conj)? && !self.forms.is_anything(&was.conj)? {
            let change = format!("{}: position gone", named(&label));
            let finding = Finding::new(Rule::TuplePositionRemoved, self.pointer_of(&was.conj), change);
            // Anything is admitted there, so no old event is refused.
            part.add(Finding { direction: Direction::Consume, ..finding });
        } else if !was.listed && is.listed && self.forms.is_anything(&was.conj)? {
            let rule = if self.forms.is_anything(&is.conj)? {
                Rule::TuplePositionAdded
            } else {
                Rule::TuplePositionAddedToOpenModel
            };
            part.find(rule, self.pointer_of(&is.conj), format!("{}: position added", named(&label)));
        } else {
            self.judge_below(part, &was.conj, &is.conj, &label)?;
        }
        Ok(())
    }

    /// Neither `false` nor anything at all.
    fn is_described(&mut self, conj: &Conj) -> Result<bool, Error> {
        Ok(!self.forms.is_banned(conj)? && !self.forms.is_anything(conj)?)
    }

    /// The items past every declared position.
    fn judge_further_items(
        &mut self,
        sides: Sides<'_, 'a>,
        (before, after): (Count, Count),
        declared: usize,
        part: &mut Part,
    ) -> Result<(), Error> {
        let Sides { old, new, label } = sides;
        let next = declared as u64 + 1;
        let (was, is) = (old.item(declared).conj, new.item(declared).conj);
        let keywords = ["items", "additionalItems", "unevaluatedItems", "maxItems"];
        // A list with a longest length is closed by its count alone, which is judged as a count.
        let closed = |merged: &Merged<'a>, reach: Count| !reach.admits(next) && merged.items.max != reach.max;
        match (before.admits(next), after.admits(next)) {
            (true, true) => self.judge_below(part, &was, &is, &format!("{label}[]"))?,
            (false, true) if self.is_described(&was)? => self.judge_below(part, &was, &is, &format!("{label}[]"))?,
            (true, false) if closed(new, after) => {
                let change = format!("{}: further items are refused", named(label));
                part.find(Rule::ArrayClosed, self.place_in(old, new, &keywords), change);
            }
            (false, true) if closed(old, before) => {
                let change = format!("{}: further items are allowed", named(label));
                part.find(Rule::ArrayOpened, self.place_in(old, new, &keywords), change);
            }
            (true, false) | (false, true) | (false, false) => {}
        }
        Ok(())
    }

    fn judge_contains(&mut self, sides: Sides<'_, 'a>, part: &mut Part) -> Result<(), Error> {
        let Sides { old, new, label } = sides;
        let pointer = self.place_in(old, new, &["contains"]);
        for wanted in &new.contains {
            let mut covered = false;
            for known in &old.contains {
                covered = covered || self.contains_implies(known, wanted)?;
            }
            if !covered {
                part.find(Rule::ContainsTightened, pointer.clone(), format!("{}: `contains` differs", named(label)));
                return Ok(());
            }
        }
        let mut relaxed = None;
        for known in &old.contains {
            let (mut kept, mut promised) = (false, false);
            for wanted in &new.contains {
                kept = kept || self.contains_implies(wanted, known)?;
                promised = promised || self.contains_as_many(wanted, known)?;
            }
            if !kept {
                let rule = if promised { Rule::ContainsWidened } else { Rule::ContainsLowered };
                relaxed = relaxed.max(Some((rule.severity(), rule)));
            }
        }
        if let Some((_, rule)) = relaxed {
            part.find(rule, pointer, format!("{}: `contains` relaxed", named(label)));
        }
        Ok(())
    }

    /// Whether every array that satisfies `known` satisfies `wanted`.
    fn contains_implies(&mut self, known: &Contains, wanted: &Contains) -> Result<bool, Error> {
        let (schema, other) = (vec![known.schema], vec![wanted.schema]);
        let at_least = self.contains_as_many(known, wanted)?;
        let at_most = match (known.count.max, wanted.count.max) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(known), Some(wanted)) => known <= wanted && self.judge(&other, &schema, "")?.summary.replays(),
        };
        Ok(at_least && at_most)
    }

    /// Whether every array that satisfies `known` has at least the matching items that `wanted` asks for.
    fn contains_as_many(&mut self, known: &Contains, wanted: &Contains) -> Result<bool, Error> {
        Ok(wanted.count.min == 0
            || (known.count.min >= wanted.count.min
                && self.judge(&vec![known.schema], &vec![wanted.schema], "")?.summary.replays()))
    }
}

/// The lower ends as far as they say more than `contains` does, whose items count anyway.
fn least_items(old: &Merged<'_>, new: &Merged<'_>) -> (u64, u64) {
    let floor = |merged: &Merged<'_>| {
        merged.contains.iter().map(|contains| contains.count.min).chain([merged.items.min]).max().unwrap_or(0)
    };
    if new.items.min > floor(old) {
        (floor(old), new.items.min)
    } else if old.items.min > floor(new) {
        (old.items.min, floor(new))
    } else {
        (0, 0)
    }
}
