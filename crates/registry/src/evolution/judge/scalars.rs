//! Enumerated values, numbers and strings.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::part::Doubt;
use super::{Judge, Part, Sides, named};
use crate::evolution::canonical::quoted;
use crate::evolution::error::Error;
use crate::evolution::kind::Kind;
use crate::evolution::merged::Merged;
use crate::evolution::number::{Bound, Num};
use crate::evolution::report::Finding;
use crate::evolution::rule::Rule;
use crate::evolution::spot::{Count, SpotId};

/// The rules for the two ends of a count, and the keywords that spell it.
pub(super) struct CountRules {
    pub(super) keywords: [&'static str; 2],
    pub(super) tightened: Rule,
    /// The upper end was relaxed.
    pub(super) widened: Rule,
    /// The lower end was relaxed: of a number of things, some may now be missing.
    pub(super) lowered: Rule,
}

const LENGTH: CountRules = CountRules {
    keywords: ["minLength", "maxLength"],
    tightened: Rule::LengthTightened,
    widened: Rule::LengthWidened,
    lowered: Rule::LengthWidened,
};

impl<'a> Judge<'a> {
    /// Judges enumerated values; answers whether they settle the scalar rules too.
    pub(super) fn judge_values(&mut self, kind: Kind, sides: Sides<'_, 'a>, part: &mut Part) -> Result<bool, Error> {
        let Sides { old, new, label } = sides;
        let (before, after) = (old.values_of(kind), new.values_of(kind));
        let pointer = self.place_in(old, new, &["enum", "const"]);
        let Some(before) = before else {
            let Some(after) = after else { return Ok(false) };
            self.judge_enumerated(kind, sides, &after, part)?;
            return Ok(true);
        };
        let (mut lost, mut decided) = (Vec::new(), true);
        for (key, value) in &before {
            match self.forms.admits(new, value)? {
                Some(true) => {}
                Some(false) => lost.push((*key, *value)),
                None => decided = false,
            }
        }
        let gained: Option<Vec<(&str, &Value)>> = match &after {
            Some(after) => {
                Some(after.iter().filter(|(key, _)| before.iter().all(|(known, _)| known != key)).copied().collect())
            }
            None => are_listed(kind, new, &before).then(Vec::new),
        };
        let constants = before.len() == 1 && after.as_ref().is_some_and(|after| after.len() == 1);
        if !lost.is_empty() && constants {
            let change =
                format!("{}: const {} → {}", named(label), listed(&before), listed(&after.unwrap_or_default()));
            part.find(Rule::ConstChanged, pointer, change);
            return Ok(true);
        }
        if !lost.is_empty() {
            let change = format!("{}: no longer accepts {}", named(label), listed(&lost));
            part.find(Rule::EnumNarrowed, pointer.clone(), change);
        }
        match gained {
            None => part.find(
                Rule::EnumWidened,
                pointer,
                format!("{}: any {} beside {}", named(label), kind.name(), listed(&before)),
            ),
            Some(gained) => {
                for (pointer, gained) in self.by_place(&gained, new, &pointer) {
                    let change = format!("{}: also accepts {}", named(label), listed(&gained));
                    part.find(Rule::EnumWidened, pointer, change);
                }
            }
        }
        Ok(decided || !kind.is_scalar())
    }

    /// Judges an enumeration against rules that list no values.
    fn judge_enumerated(
        &mut self,
        kind: Kind,
        sides: Sides<'_, 'a>,
        values: &[(&str, &Value)],
        part: &mut Part,
    ) -> Result<(), Error> {
        let Sides { old, new, label } = sides;
        let pointer = self.place_in(old, new, &["enum", "const"]);
        let mut gained = Vec::new();
        for (key, value) in values {
            if self.forms.admits(old, value)? == Some(false) {
                gained.push((*key, *value));
            }
        }
        if !gained.is_empty() {
            let change = format!("{}: also accepts {}", named(label), listed(&gained));
            part.find(Rule::EnumWidened, pointer.clone(), change);
        }
        if !are_listed(kind, old, values) {
            let change = format!("{}: any {} → {}", named(label), kind.name(), listed(values));
            // Other rules may have admitted these values only; an instance that is lost tells.
            let doubt = Doubt { replay: !self.forms.refuted(kind, old, &[new])?, consume: false };
            part.find_doubted(doubt, Finding::new(Rule::EnumNarrowed, pointer, change));
        }
        Ok(())
    }

    /// Values under the pointer of the `enum` or `const` that lists them; a union of constants has one for each.
    fn by_place<'v>(
        &self,
        values: &[(&'v str, &'v Value)],
        merged: &Merged<'a>,
        otherwise: &str,
    ) -> BTreeMap<String, Vec<(&'v str, &'v Value)>> {
        let mut places: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for (key, value) in values {
            let lists = |id: &&SpotId| {
                self.forms.arena.spot(**id).keywords.values.as_ref().is_some_and(|own| own.contains_key(*key))
            };
            let place = merged.spots.iter().find(lists).map(|id| self.place(&[], &[*id], &["enum", "const"]));
            places.entry(place.unwrap_or_else(|| otherwise.to_owned())).or_default().push((*key, *value));
        }
        places
    }

    pub(super) fn judge_integer(&self, sides: Sides<'_, 'a>, part: &mut Part) {
        let Sides { old, new, label } = sides;
        let pointer = || self.place_in(old, new, &["type", "multipleOf", "enum", "const"]);
        match (old.integer, new.integer) {
            (false, true) => {
                part.find(Rule::TypeNarrowed, pointer(), format!("{}: type number → integer", named(label)));
            }
            (true, false) => {
                part.find(Rule::TypeWidened, pointer(), format!("{}: type integer → number", named(label)));
            }
            (true, true) | (false, false) => {}
        }
    }

    pub(super) fn judge_number(&self, sides: Sides<'_, 'a>, part: &mut Part) {
        let Sides { old, new, label } = sides;
        let ends = [
            (old.minimum, new.minimum, true, "minimum", ["minimum", "exclusiveMinimum"]),
            (old.maximum, new.maximum, false, "maximum", ["maximum", "exclusiveMaximum"]),
        ];
        for (before, after, lower, name, keywords) in ends {
            let (before, after) = comparable(before, after, lower, old.integer && new.integer);
            let Some(tightened) = end_change(before, after, lower) else { continue };
            let rule = if tightened { Rule::RangeTightened } else { Rule::RangeWidened };
            part.find(rule, self.place_in(old, new, &keywords), arrow(label, name, before, after));
        }
        let coarser =
            |multiple: &Num, others: &[Num]| !others.iter().any(|other| other.is_multiple_of(*multiple) == Some(true));
        let tightened: Vec<&Num> = new.multiples.iter().filter(|multiple| coarser(multiple, &old.multiples)).collect();
        let widened: Vec<&Num> = old.multiples.iter().filter(|multiple| coarser(multiple, &new.multiples)).collect();
        let rule = match (tightened.first(), widened.first()) {
            (Some(_), _) => Rule::MultipleOfTightened,
            (None, Some(_)) => Rule::MultipleOfWidened,
            (None, None) => return self.judge_formats(sides, part),
        };
        let change = arrow(label, "multipleOf", old.multiples.first(), new.multiples.first());
        part.find(rule, self.place_in(old, new, &["multipleOf"]), change);
        self.judge_formats(sides, part);
    }

    pub(super) fn judge_string(&self, sides: Sides<'_, 'a>, part: &mut Part) {
        let Sides { old, new, label } = sides;
        self.judge_count(&LENGTH, sides, (old.length, new.length), part);
        let (gone, come) = differences(&old.patterns, &new.patterns);
        let rule = match (come.is_empty(), gone.is_empty()) {
            (false, _) => Some(Rule::PatternTightened),
            (true, false) => Some(Rule::PatternWidened),
            (true, true) => None,
        };
        if let Some(rule) = rule {
            let change = arrow(label, "pattern", shown(&old.patterns), shown(&new.patterns));
            part.find(rule, self.place_in(old, new, &["pattern"]), change);
        }
        if let Some((was, is)) = disjoint_formats(&old.formats, &new.formats) {
            part.find(
                Rule::TypeChanged,
                self.place_in(old, new, &["format"]),
                arrow(label, "format", Some(was), Some(is)),
            );
            return;
        }
        self.judge_formats(sides, part);
    }

    fn judge_formats(&self, sides: Sides<'_, 'a>, part: &mut Part) {
        let Sides { old, new, label } = sides;
        let (gone, come) = differences(&old.formats, &new.formats);
        let widened = |format: &&str| old.formats.iter().any(|known| integer_format_widens(known, format));
        let rule = match (come.iter().all(widened), gone.is_empty()) {
            (false, _) => Rule::FormatTightened,
            (true, false) => Rule::FormatWidened,
            (true, true) => return,
        };
        let change = arrow(label, "format", shown(&old.formats), shown(&new.formats));
        part.find(rule, self.place_in(old, new, &["format"]), change);
    }

    /// Judges the two ends of a length or a number of items or fields.
    pub(super) fn judge_count(
        &self,
        rules: &CountRules,
        sides: Sides<'_, 'a>,
        (before, after): (Count, Count),
        part: &mut Part,
    ) {
        let Sides { old, new, label } = sides;
        let [min, max] = rules.keywords;
        if before.min != after.min {
            let rule = if after.min > before.min { rules.tightened } else { rules.lowered };
            part.find(rule, self.place_in(old, new, &[min]), arrow(label, min, Some(before.min), Some(after.min)));
        }
        if before.max != after.max {
            let tightened = after.max.is_some_and(|after| before.max.is_none_or(|before| after < before));
            let rule = if tightened { rules.tightened } else { rules.widened };
            part.find(rule, self.place_in(old, new, &[max]), arrow(label, max, before.max, after.max));
        }
    }
}

/// When one side alone is over the integers its bounds were already rounded; the other's are rounded for the comparison
/// only if both are.
fn comparable(
    before: Option<Bound>,
    after: Option<Bound>,
    lower: bool,
    integers: bool,
) -> (Option<Bound>, Option<Bound>) {
    if integers {
        (before.map(|bound| bound.over_integers(lower)), after.map(|bound| bound.over_integers(lower)))
    } else {
        (before, after)
    }
}

/// `Some(true)` when the new bound refuses something the old one admitted, `Some(false)` when it only admits more.
fn end_change(before: Option<Bound>, after: Option<Bound>, lower: bool) -> Option<bool> {
    match (before, after) {
        (None, None) => None,
        (None, Some(_)) => Some(true),
        (Some(_), None) => Some(false),
        (Some(before), Some(after)) if before == after => None,
        (Some(before), Some(after)) => Some(!after.admits(before, lower)),
    }
}

fn differences<'s>(old: &BTreeSet<&'s str>, new: &BTreeSet<&'s str>) -> (Vec<&'s str>, Vec<&'s str>) {
    (old.difference(new).copied().collect(), new.difference(old).copied().collect())
}

/// Formats of which no text has two, but for `ipv6` and `uri`: `fe80::1` is both. Whoever reads one cannot read another,
/// so a change between them is a change of type. `hostname` is absent, for dates and addresses are host names too.
const APART: [&str; 9] = ["date", "date-time", "time", "duration", "uuid", "email", "ipv4", "ipv6", "uri"];

/// An old and a new format that no text has both of.
fn disjoint_formats<'s>(old: &BTreeSet<&'s str>, new: &BTreeSet<&'s str>) -> Option<(&'s str, &'s str)> {
    let overlap = |was: &str, is: &str| matches!((was, is), ("ipv6", "uri") | ("uri", "ipv6"));
    let pairs = old.iter().flat_map(|was| new.iter().map(move |is| (*was, *is)));
    pairs.into_iter().find(|(was, is)| was != is && APART.contains(was) && APART.contains(is) && !overlap(was, is))
}

/// Integer formats denote ranges; a wider one admits all of a narrower one.
fn integer_format_widens(old: &str, new: &str) -> bool {
    match (integer_range(old), integer_range(new)) {
        (Some((old_min, old_max)), Some((new_min, new_max))) => new_min <= old_min && new_max >= old_max,
        (Some(_) | None, Some(_) | None) => false,
    }
}

fn integer_range(format: &str) -> Option<(i128, i128)> {
    let (signed, bits) = match format.strip_prefix("uint") {
        Some(bits) => (false, bits),
        None => (true, format.strip_prefix("int")?),
    };
    let bits = match bits {
        "8" | "16" | "32" | "64" => bits.parse::<u32>().ok()?,
        _ => return None,
    };
    Some(if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) })
}

fn shown(texts: &BTreeSet<&str>) -> Option<String> {
    (!texts.is_empty()).then(|| texts.iter().copied().collect::<Vec<_>>().join(" and "))
}

pub(super) fn arrow(label: &str, keyword: &str, old: Option<impl ToString>, new: Option<impl ToString>) -> String {
    let old = old.map_or("none".to_owned(), |value| quoted(&value.to_string()));
    let new = new.map_or("none".to_owned(), |value| quoted(&value.to_string()));
    format!("{}: {keyword} {old} → {new}", named(label))
}

/// Whether the rules leave a few values only, and each is in the list.
fn are_listed(kind: Kind, merged: &Merged<'_>, values: &[(&str, &Value)]) -> bool {
    let known = |few: &String| values.iter().any(|(key, _)| key == few);
    merged.few_values(kind).is_some_and(|few| few.iter().all(known))
}

fn listed(values: &[(&str, &Value)]) -> String {
    quoted(&values.iter().map(|(key, _)| *key).collect::<Vec<_>>().join(", "))
}
