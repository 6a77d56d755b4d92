//! Declared fields: kept, gone, added or renamed.

use std::collections::BTreeSet;

use super::part::{Doubt, Summary};
use super::{Judge, Part, Sides, field_label, named};
use crate::evolution::error::Error;
use crate::evolution::limits::PAIRINGS_MAX;
use crate::evolution::merged::{Field, Merged};
use crate::evolution::report::{Finding, Severity};
use crate::evolution::rule::Rule;
use crate::evolution::spot::Conj;

/// One name on both sides.
struct Named<'a> {
    name: &'a str,
    was: Field<'a>,
    is: Field<'a>,
    /// Declared as `false`, or closed out.
    was_forbidden: bool,
    is_forbidden: bool,
    was_required: bool,
    is_required: bool,
}

impl<'a> Judge<'a> {
    pub(super) fn judge_fields(&mut self, pair: Sides<'_, 'a>, part: &mut Part) -> Result<(), Error> {
        let (mut gone, mut come) = (Vec::new(), Vec::new());
        let ended = self.judge_names_spoken(pair, (&mut gone, &mut come), part);
        if ended.is_err() {
            // The bound on work was passed before renames were looked for. Gone they are, whatever the word for it.
            for field in gone {
                let change = format!("{}: field removed", pair.label_of(&field));
                part.find(Rule::FieldRemoved, self.pointer_of(&field.was.conj), change);
            }
            return ended;
        }
        self.take_renames(pair, &mut gone, &mut come, part)?;
        for field in gone {
            self.judge_gone_field(pair, &field, part)?;
        }
        for field in come {
            self.judge_come_field(pair, &field, part)?;
        }
        Ok(())
    }

    /// Judges the names that stayed, and gathers those that are gone or came.
    fn judge_names_spoken(
        &mut self,
        pair: Sides<'_, 'a>,
        (gone, come): (&mut Vec<Named<'a>>, &mut Vec<Named<'a>>),
        part: &mut Part,
    ) -> Result<(), Error> {
        for name in spoken_names(pair.old, pair.new) {
            self.forms.spend(1, pair.new.spots.first())?;
            let field = self.named_field(pair, name)?;
            self.judge_unsure(pair, &field, part)?;
            let had = field.was.listed && !field.was_forbidden;
            let has = field.is.listed && !field.is_forbidden;
            match (had, has) {
                (true, true) => self.judge_kept(pair, &field, part)?,
                (true, false) if self.covered_by_map(&field)? => self.judge_required(pair, &field, part),
                (true, false) => gone.push(field),
                (false, true) => come.push(field),
                (false, false) => self.judge_unlisted(pair, &field, part),
            }
        }
        Ok(())
    }

    fn named_field(&mut self, pair: Sides<'_, 'a>, name: &'a str) -> Result<Named<'a>, Error> {
        let (was, is) = (pair.old.field(name), pair.new.field(name));
        Ok(Named {
            name,
            was_forbidden: self.forms.is_banned(&was.conj)?,
            is_forbidden: self.forms.is_banned(&is.conj)?,
            was_required: pair.old.required.contains(name),
            is_required: pair.new.required.contains(name),
            was,
            is,
        })
    }

    /// Patterns of which it is not known whether they cover this name must be the same ones.
    fn judge_unsure(&mut self, pair: Sides<'_, 'a>, field: &Named<'a>, part: &mut Part) -> Result<(), Error> {
        let (was, is) = (&field.was.unsure, &field.is.unsure);
        let mut same = was.iter().map(|(name, _)| name).eq(is.iter().map(|(name, _)| name));
        if same {
            for ((_, old), (_, new)) in was.iter().zip(is) {
                same &= self.equivalent(&vec![*old], &vec![*new])?;
            }
        }
        if !same {
            let pointer = self.place_in(pair.old, pair.new, &["patternProperties"]);
            let change = format!("{}: whether a pattern covers it is not decided", pair.label_of(field));
            part.find(Rule::PatternMatchUndecided, pointer, change);
        }
        Ok(())
    }

    fn judge_kept(&mut self, pair: Sides<'_, 'a>, field: &Named<'a>, part: &mut Part) -> Result<(), Error> {
        self.judge_required(pair, field, part);
        self.judge_below(part, &field.was.conj, &field.is.conj, &field_label(pair.label, field.name))?;
        Ok(())
    }

    fn judge_required(&self, pair: Sides<'_, 'a>, field: &Named<'a>, part: &mut Part) {
        let (rule, change) = match (field.was_required, field.is_required) {
            (true, true) | (false, false) => return,
            (false, true) => (Rule::FieldMadeRequired, "optional → required"),
            (true, false) => (Rule::FieldMadeOptional, "required → optional"),
        };
        part.find(rule, self.pointer_of(&field.is.conj), format!("{}: {change}", pair.label_of(field)));
    }

    /// A field declared by neither side, or declared as forbidden.
    fn judge_unlisted(&self, pair: Sides<'_, 'a>, field: &Named<'a>, part: &mut Part) {
        let label = pair.label_of(field);
        let required = || self.place_in(pair.old, pair.new, &["required"]);
        match (field.was_required, field.is_required) {
            (true, true) | (false, false) => {}
            (false, true) => part.find(Rule::RequiredFieldAdded, required(), format!("{label}: required field added")),
            (true, false) => part.find(Rule::FieldMadeOptional, required(), format!("{label}: required → optional")),
        }
        let named = field.was.named || field.is.named;
        if named && !field.was_forbidden && field.is_forbidden {
            let change = format!("{label}: allowed → refused");
            part.find(Rule::FieldForbidden, self.pointer_of(&field.is.conj), change);
        }
        if named && field.was_forbidden && !field.is_forbidden {
            part.find(Rule::ModelOpened, self.pointer_of(&field.was.conj), format!("{label}: refused → allowed"));
        }
    }

    /// Whether a field that is no longer declared is still described, in the same words, by a pattern or a map.
    fn covered_by_map(&mut self, field: &Named<'a>) -> Result<bool, Error> {
        let described = !field.is_forbidden && !self.forms.is_anything(&field.is.mapped)?;
        Ok(described && self.equivalent(&field.was.conj, &field.is.conj)?)
    }

    fn judge_gone_field(&mut self, pair: Sides<'_, 'a>, field: &Named<'a>, part: &mut Part) -> Result<(), Error> {
        let (label, pointer) = (pair.label_of(field), self.pointer_of(&field.was.conj));
        part.find(Rule::FieldRemoved, pointer.clone(), format!("{label}: field removed"));
        let judged = self.judge(&field.was.conj, &field.is.conj, field.name)?;
        if !judged.summary.replays() {
            let change = format!("{label}: old events that carry it are refused");
            let doubt = Doubt { replay: judged.summary.replay < Some(Severity::Breaking), consume: false };
            part.find_doubted(doubt, Finding::new(Rule::FieldForbidden, pointer, change));
        }
        if field.is_required && !field.was_required {
            part.find(
                Rule::FieldMadeRequired,
                self.place_in(pair.old, pair.new, &["required"]),
                format!("{label}: optional → required"),
            );
        }
        Ok(())
    }

    fn judge_come_field(&mut self, pair: Sides<'_, 'a>, field: &Named<'a>, part: &mut Part) -> Result<(), Error> {
        let (label, pointer) = (pair.label_of(field), self.pointer_of(&field.is.conj));
        if field.is_required && !field.was_required {
            part.find(Rule::RequiredFieldAdded, pointer, format!("{label}: required field added"));
            return Ok(());
        }
        if field.was_required && !field.is_required {
            part.find(Rule::FieldMadeOptional, pointer.clone(), format!("{label}: required → optional"));
        }
        let mut doubt = Doubt::default();
        let (rule, change) = if field.was_forbidden {
            (Rule::OptionalFieldAdded, "optional field added")
        } else if self.forms.is_anything(&field.was.conj)? {
            match self.forms.is_anything(&field.is.conj)? {
                true => (Rule::OptionalFieldAdded, "optional field added"),
                false => (Rule::FieldAddedToOpenModel, "field added where any field was allowed"),
            }
        } else {
            let Summary { replay, consume, .. } = self.judge(&field.was.conj, &field.is.conj, field.name)?.summary;
            let undecided = replay.max(consume) < Some(Severity::Breaking);
            // A direction in which nothing was found is not broken.
            doubt = Doubt {
                replay: undecided || replay <= Some(Severity::Note),
                consume: undecided || consume <= Some(Severity::Note),
            };
            match replay.max(consume) <= Some(Severity::Note) {
                true => (Rule::OptionalFieldAdded, "optional field added"),
                false => (Rule::FieldNotCoveredByMap, "field added against the schema of undeclared fields"),
            }
        };
        part.find_doubted(doubt, Finding::new(rule, pointer.clone(), format!("{label}: {change}")));
        if !self.has_default(&field.is.conj)? {
            part.find(Rule::FieldWithoutDefault, pointer, format!("{label}: no default"));
        }
        Ok(())
    }

    fn has_default(&mut self, conj: &Conj) -> Result<bool, Error> {
        let normal = self.forms.normal(conj)?;
        Ok(normal.base.iter().any(|id| self.forms.arena.spot(*id).keyword("default").is_some()))
    }

    /// Takes out the pairs of a field gone and a field added that have the same schema.
    fn take_renames(
        &mut self,
        pair: Sides<'_, 'a>,
        gone: &mut Vec<Named<'a>>,
        come: &mut Vec<Named<'a>>,
        part: &mut Part,
    ) -> Result<(), Error> {
        if gone.len().saturating_mul(come.len()) > PAIRINGS_MAX {
            return Ok(());
        }
        let mut kept = Vec::new();
        for field in gone.drain(..) {
            let mut candidates = Vec::new();
            for (index, other) in come.iter().enumerate() {
                if field.was_required == other.is_required && self.equivalent(&field.was.conj, &other.is.conj)? {
                    candidates.push((alike(field.name, other.name), index));
                }
            }
            let best = candidates.into_iter().max_by_key(|(alike, index)| (*alike, std::cmp::Reverse(*index)));
            let Some((_, index)) = best else {
                kept.push(field);
                continue;
            };
            let other = come.remove(index);
            let change = format!("{} → `{}`: field renamed", pair.label_of(&field), other.name);
            part.find(Rule::FieldRenamed, self.pointer_of(&other.is.conj), change);
        }
        *gone = kept;
        Ok(())
    }
}

impl Sides<'_, '_> {
    fn label_of(self, field: &Named<'_>) -> String {
        named(&field_label(self.label, field.name))
    }
}

fn spoken_names<'a>(old: &Merged<'a>, new: &Merged<'a>) -> BTreeSet<&'a str> {
    let layers = old.object_layers.iter().chain(&new.object_layers);
    let mut names: BTreeSet<&str> = layers.flat_map(|layer| layer.properties.keys().copied()).collect();
    names.extend(old.required.iter().chain(&new.required));
    names
}

/// How alike two names are: the letters they share at either end.
fn alike(one: &str, other: &str) -> usize {
    let head = one.chars().zip(other.chars()).take_while(|(left, right)| left.eq_ignore_ascii_case(right)).count();
    let tail =
        one.chars().rev().zip(other.chars().rev()).take_while(|(left, right)| left.eq_ignore_ascii_case(right)).count();
    head + tail
}
