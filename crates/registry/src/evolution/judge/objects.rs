//! Objects: the fields beyond the declared ones, their names, their number, and what they ask of each other.

use super::part::Doubt;
use super::scalars::CountRules;
use super::{Judge, Part, Sides, named};
use crate::evolution::document::STRING_SPOT;
use crate::evolution::error::Error;
use crate::evolution::kind::Kinds;
use crate::evolution::merged::Merged;
use crate::evolution::pattern::{literal_head, matches};
use crate::evolution::report::{Direction, Finding};
use crate::evolution::rule::Rule;
use crate::evolution::spot::{Conj, Count, ObjectLayer};

const FIELDS: CountRules = CountRules {
    keywords: ["minProperties", "maxProperties"],
    tightened: Rule::PropertyCountTightened,
    widened: Rule::PropertyCountWidened,
    lowered: Rule::PropertyMinimumLowered,
};

impl<'a> Judge<'a> {
    pub(super) fn judge_object(&mut self, sides: Sides<'_, 'a>, part: &mut Part) -> Result<(), Error> {
        let Sides { old, new, .. } = sides;
        self.judge_fields(sides, part)?;
        self.judge_undeclared(sides, part)?;
        self.judge_names(sides, part)?;
        self.judge_count(&FIELDS, sides, field_counts(old, new), part);
        self.judge_dependent_required(sides, part)
    }

    /// Names that neither side declares: patterns and `additionalProperties`.
    fn judge_undeclared(&mut self, sides: Sides<'_, 'a>, part: &mut Part) -> Result<(), Error> {
        let Sides { old, new, label } = sides;
        let (before, after) = (spoken_layers(old), spoken_layers(new));
        let patterned = |layers: &[&ObjectLayer<'a>]| layers.iter().any(|layer| !layer.patterns.is_empty());
        if !patterned(&before) && !patterned(&after) {
            return self.judge_rest(&rest(&before), &rest(&after), sides, part);
        }
        if let ([] | [_], [] | [_]) = (before.as_slice(), after.as_slice()) {
            let nothing = ObjectLayer::default();
            let before = before.first().copied().unwrap_or(&nothing);
            let after = after.first().copied().unwrap_or(&nothing);
            return self.judge_patterns(before, after, sides, part);
        }
        // Several layers with patterns say together what no single pair of them shows.
        if self.forms.fingerprint(&old.spots)? != self.forms.fingerprint(&new.spots)? {
            let pointer = self.place_in(old, new, &["patternProperties"]);
            let change = format!("{}: `patternProperties` of several joined schemas differ", named(label));
            part.find(Rule::PatternMatchUndecided, pointer, change);
        }
        Ok(())
    }

    fn judge_rest(&mut self, was: &Conj, is: &Conj, sides: Sides<'_, 'a>, part: &mut Part) -> Result<(), Error> {
        let Sides { old, new, label } = sides;
        let keywords = ["additionalProperties", "unevaluatedProperties"];
        match (self.forms.is_nothing(was)?, self.forms.is_nothing(is)?) {
            (true, true) => {}
            (false, true) => {
                let change = format!("{}: undeclared fields are refused", named(label));
                // Names that were restricted already may be those that are declared, and what is undecided may refuse all.
                let undecided = self.forms.normal(was)?.is_doubtful(Kinds::ALL);
                let doubt = Doubt { replay: undecided || !old.names.is_empty(), consume: false };
                part.find_doubted(doubt, Finding::new(Rule::ModelClosed, self.place_in(old, new, &keywords), change));
            }
            (true, false) => {
                let change = format!("{}: undeclared fields are allowed", named(label));
                part.find(Rule::ModelOpened, self.place_in(old, new, &keywords), change);
            }
            (false, false) => self.judge_below(part, was, is, &format!("{label}{{}}"))?,
        }
        Ok(())
    }

    /// One layer with patterns against one. Sufficient for every name `k`: what held for `k` before is contained in each
    /// schema that holds for it now, whichever patterns it matches.
    fn judge_patterns(
        &mut self,
        before: &ObjectLayer<'a>,
        after: &ObjectLayer<'a>,
        sides: Sides<'_, 'a>,
        part: &mut Part,
    ) -> Result<(), Error> {
        let label = sides.label;
        let (was, is): (Conj, Conj) = (before.additional.into_iter().collect(), after.additional.into_iter().collect());
        self.judge_rest(&was, &is, sides, part)?;
        for (pattern, schema) in &after.patterns {
            let place = format!("{label}{{/{pattern}/}}");
            if let Some(known) = before.patterns.get(pattern) {
                self.judge_below(part, &vec![*known], &vec![*schema], &place)?;
                continue;
            }
            let mut sources: Vec<Conj> = before.patterns.values().map(|schema| vec![*schema]).collect();
            sources.push(was.clone());
            let mut covered = true;
            for source in &sources {
                covered &= self.judge(source, &vec![*schema], &place)?.summary.replays();
            }
            let closed = self.forms.is_nothing(&was)?;
            // A consumer reads these names by the schema of undeclared fields, where there was one.
            if !closed && !self.forms.is_anything(&was)? {
                let mut read = Part::default();
                read.child(self.judge(&was, &vec![*schema], &place)?);
                self.add_consumed(read, part)?;
            }
            let rule = if covered { Rule::PatternFieldsAdded } else { Rule::PatternFieldsAddedToOpenModel };
            let what = if closed { "names allowed" } else { "names constrained" };
            part.find(rule, self.pointer_of(&vec![*schema]), format!("{}: {what}", named(&place)));
        }
        for (pattern, schema) in before.patterns.iter().filter(|(pattern, _)| !after.patterns.contains_key(*pattern)) {
            let place = format!("{label}{{/{pattern}/}}");
            let replays = self.judge(&vec![*schema], &is, "")?.summary.replays();
            if !replays || !self.judge(&is, &vec![*schema], "")?.summary.replays() {
                // All names that match may be declared now.
                let undecided = !undeclared_match(pattern, sides.new);
                let doubt = Doubt { replay: undecided, consume: undecided };
                let change = format!("{}: gone", named(&place));
                let finding = Finding::new(Rule::PatternFieldsRemoved, self.pointer_of(&vec![*schema]), change);
                // What admits all that was admitted under these names refuses no old event.
                let direction = if replays { Direction::Consume } else { finding.direction };
                part.find_doubted(doubt, Finding { direction, ..finding });
            }
        }
        Ok(())
    }

    fn judge_names(&mut self, sides: Sides<'_, 'a>, part: &mut Part) -> Result<(), Error> {
        let Sides { old, new, label } = sides;
        if old.names.is_empty() && new.names.is_empty() {
            return Ok(());
        }
        let of_text = |names: &Conj| names.iter().copied().chain([STRING_SPOT]).collect::<Conj>();
        self.judge_below(part, &of_text(&old.names), &of_text(&new.names), &format!("{label}{{name}}"))?;
        Ok(())
    }

    fn judge_dependent_required(&mut self, sides: Sides<'_, 'a>, part: &mut Part) -> Result<(), Error> {
        let Sides { old, new, label } = sides;
        let keywords = ["dependentRequired", "dependencies"];
        let pairs = [(old, new, Rule::DependentRequiredAdded), (new, old, Rule::DependentRequiredRemoved)];
        for (without, with, rule) in pairs {
            for (trigger, names) in &with.dependent_required {
                let known = |name: &&&str| {
                    without.required.contains(**name)
                        || without.dependent_required.get(trigger).is_some_and(|names| names.contains(**name))
                        || *name == trigger
                };
                let asked: Vec<&str> = names.iter().filter(|name| !known(name)).copied().collect();
                if asked.is_empty() || self.forms.is_nothing(&without.field(trigger).conj)? {
                    continue;
                }
                let change = format!("{}: `{trigger}` {} {}", named(label), verb(rule), asked.join(", "));
                part.find(rule, format!("{}/{trigger}", self.place_in(old, new, &keywords)), change);
            }
        }
        Ok(())
    }
}

/// Whether a name is known that matches the pattern and is not declared.
fn undeclared_match(pattern: &str, merged: &Merged<'_>) -> bool {
    let head = literal_head(pattern);
    let names = ["", "a", "A1", "q7", "zz", "zzz", "0", "000000", "Zz-zz"].map(|tail| format!("{head}{tail}"));
    names.iter().any(|name| matches(pattern, name) == Some(true) && !merged.field(name).listed)
}

/// The field counts as far as they say more than the names do: required fields count anyway and are judged by name, as
/// are those that a closed model has space for.
fn field_counts(old: &Merged<'_>, new: &Merged<'_>) -> (Count, Count) {
    let floor = |merged: &Merged<'_>| merged.fields.min.max(merged.required.len() as u64);
    let space = |merged: &Merged<'_>| [merged.fields.max, merged.ceiling].into_iter().flatten().min();
    let below = |max: Option<u64>, space: Option<u64>| max.is_some_and(|max| space.is_none_or(|space| max < space));
    let (least, still_least) = if new.fields.min > floor(old) {
        (floor(old), new.fields.min)
    } else if old.fields.min > floor(new) {
        (old.fields.min, floor(new))
    } else {
        (0, 0)
    };
    let (most, still_most) = if below(new.fields.max, space(old)) {
        (space(old), new.fields.max)
    } else if below(old.fields.max, space(new)) {
        (old.fields.max, space(new))
    } else {
        (None, None)
    };
    (Count { min: least, max: most }, Count { min: still_least, max: still_most })
}

fn verb(rule: Rule) -> &'static str {
    if rule == Rule::DependentRequiredAdded { "now requires" } else { "no longer requires" }
}

/// Layers that say something of undeclared names.
fn spoken_layers<'m, 'a>(merged: &'m Merged<'a>) -> Vec<&'m ObjectLayer<'a>> {
    let spoken = |layer: &&ObjectLayer<'a>| layer.additional.is_some() || !layer.patterns.is_empty();
    merged.object_layers.iter().map(|layer| layer.as_ref()).filter(spoken).collect()
}

fn rest(layers: &[&ObjectLayer<'_>]) -> Conj {
    layers.iter().filter_map(|layer| layer.additional).collect()
}
