//! Enumerated values, numbers and texts.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Prover;
use super::claim::State;
use crate::evolution::canonical::canonical;
use crate::evolution::disjoint::ranges_apart;
use crate::evolution::kind::Kind;
use crate::evolution::merged::{INTEGERS_MAX, tighter};
use crate::evolution::number::{Bound, Num};
use crate::evolution::pattern::matches;
use crate::evolution::spot::{Count, Values};

/// A claim about a value without parts.
#[derive(Clone)]
pub(super) enum ScalarFact<'a> {
    Only(Values<'a>),
    Except(Values<'a>),
    Integral(bool),
    Lower(Bound),
    Upper(Bound),
    Multiple(Num, bool),
    Length(Count),
    Pattern(&'a str, bool),
    Format(&'a str, bool),
}

#[derive(Clone, Default)]
pub(super) struct Scalars<'a> {
    only: Option<Values<'a>>,
    except: BTreeSet<String>,
    integral: Option<bool>,
    lower: Option<Bound>,
    upper: Option<Bound>,
    multiples: Vec<Num>,
    avoided: Vec<Num>,
    length: Count,
    patterns: BTreeSet<&'a str>,
    missed: BTreeSet<&'a str>,
    formats: BTreeSet<&'a str>,
    misformats: BTreeSet<&'a str>,
}

impl<'a> Scalars<'a> {
    /// Adds a claim; answers whether it may hold beside the others.
    pub(super) fn add(&mut self, fact: ScalarFact<'a>) -> bool {
        match fact {
            ScalarFact::Only(values) => {
                let kept = |own: Values<'a>| own.into_iter().filter(|(key, _)| values.contains_key(key)).collect();
                self.only = Some(self.only.take().map_or_else(|| values.clone(), kept));
            }
            ScalarFact::Except(values) => self.except.extend(values.into_keys()),
            ScalarFact::Integral(integral) => {
                let known = self.integral.replace(integral);
                return known.is_none_or(|known| known == integral);
            }
            ScalarFact::Lower(bound) => self.lower = tighter(self.lower, Some(bound), true),
            ScalarFact::Upper(bound) => self.upper = tighter(self.upper, Some(bound), false),
            ScalarFact::Multiple(of, true) if of.is_integral() => {
                self.multiples.push(of);
                return self.add(ScalarFact::Integral(true));
            }
            // The multiples of one are the integers.
            ScalarFact::Multiple(Num::Int(1), false) => return self.add(ScalarFact::Integral(false)),
            ScalarFact::Multiple(of, true) => self.multiples.push(of),
            ScalarFact::Multiple(of, false) => self.avoided.push(of),
            ScalarFact::Length(count) => self.length = self.length.and(count),
            ScalarFact::Pattern(pattern, true) => {
                self.patterns.insert(pattern);
            }
            ScalarFact::Pattern(pattern, false) => {
                self.missed.insert(pattern);
            }
            ScalarFact::Format(format, true) => {
                self.formats.insert(format);
            }
            ScalarFact::Format(format, false) => {
                self.misformats.insert(format);
            }
        }
        self.patterns.is_disjoint(&self.missed) && self.formats.is_disjoint(&self.misformats)
    }

    /// Whether the values that are allowed have none of this type.
    pub(super) fn lacks(&self, kind: Kind) -> bool {
        self.only.as_ref().is_some_and(|only| only.values().all(|value| Kind::of(value) != kind))
    }

    /// The bounds; over the integers in their inclusive spelling.
    fn range(&self) -> (Option<Bound>, Option<Bound>) {
        if self.integral != Some(true) {
            return (self.lower, self.upper);
        }
        (self.lower.map(|bound| bound.over_integers(true)), self.upper.map(|bound| bound.over_integers(false)))
    }

    fn numbers_contradict(&self) -> bool {
        let (lower, upper) = self.range();
        let divides = |divisor: &Num, number: &Num| number.is_multiple_of(*divisor) == Some(true);
        let avoided = |divisor: &Num| {
            self.multiples.iter().any(|multiple| divides(divisor, multiple))
                || self.integral == Some(true) && divides(divisor, &Num::Int(1))
        };
        ranges_apart(lower, upper) || self.avoided.iter().any(avoided) || self.multiples_contradict()
    }

    /// Multiples of each of some integers are multiples of their least common multiple.
    fn multiples_contradict(&self) -> bool {
        let mut common: i128 = 1;
        for multiple in &self.multiples {
            let Num::Int(of) = multiple else { continue };
            match (common / gcd(common, *of)).checked_mul(*of) {
                Some(least) => common = least,
                None => return false,
            }
        }
        let whole = self.multiples.iter().any(|multiple| matches!(multiple, Num::Int(_)));
        whole && self.avoided.iter().any(|divisor| Num::Int(common).is_multiple_of(*divisor) == Some(true))
    }

    /// The integers of a short range.
    fn few_integers(&self) -> Option<Vec<Value>> {
        let (Some(Bound { value: Num::Int(first), .. }), Some(Bound { value: Num::Int(last), .. })) = self.range()
        else {
            return None;
        };
        let short = self.integral == Some(true) && last.checked_sub(first).is_some_and(|span| span < INTEGERS_MAX);
        let exact = |value: i128| i64::try_from(value).ok().map(|value| json!(value));
        if short { (first..=last).map(exact).collect() } else { None }
    }

    fn refuses(&self, value: &Value) -> bool {
        if self.except.contains(&canonical(value)) {
            return true;
        }
        match value {
            Value::Number(number) => self.refuses_number(Num::of(number)),
            Value::String(text) => {
                !self.length.admits(text.chars().count() as u64)
                    || self.patterns.iter().any(|pattern| matches(pattern, text) == Some(false))
                    || self.missed.iter().any(|pattern| matches(pattern, text) == Some(true))
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
        }
    }

    fn refuses_number(&self, value: Num) -> bool {
        self.integral.is_some_and(|integral| integral != value.is_integral())
            || self.lower.is_some_and(|bound| !bound.admits_number(value, true))
            || self.upper.is_some_and(|bound| !bound.admits_number(value, false))
            || self.multiples.iter().any(|of| value.is_multiple_of(*of) == Some(false))
            || self.avoided.iter().any(|of| value.is_multiple_of(*of) == Some(true))
    }
}

impl<'a> Prover<'_, 'a> {
    pub(super) fn scalars_contradict(&mut self, state: &State<'a>) -> bool {
        let (kind, scalars) = (state.kind, &state.scalars);
        let length = scalars.length;
        let apart = match kind {
            Kind::Number => scalars.numbers_contradict(),
            Kind::String => length.max.is_some_and(|max| max < length.min),
            Kind::Null | Kind::Boolean | Kind::Array | Kind::Object => false,
        };
        apart || self.candidates(state).is_some_and(|few| few.iter().all(|value| scalars.refuses(value)))
    }

    /// All values there can be, when those are few.
    fn candidates(&mut self, state: &State<'a>) -> Option<Vec<Value>> {
        let scalars = &state.scalars;
        if let Some(only) = &scalars.only {
            return Some(
                only.values().filter(|value| Kind::of(value) == state.kind).map(|&value| value.clone()).collect(),
            );
        }
        match state.kind {
            Kind::Null => Some(vec![Value::Null]),
            Kind::Boolean => Some(vec![json!(true), json!(false)]),
            Kind::Number => scalars.few_integers(),
            Kind::String if scalars.length.max == Some(0) => Some(vec![json!("")]),
            Kind::String => {
                let listed = scalars.patterns.iter().find_map(|pattern| self.language(pattern))?;
                Some(listed.iter().map(|text| json!(text)).collect())
            }
            Kind::Array | Kind::Object => None,
        }
    }
}

fn gcd(one: i128, other: i128) -> i128 {
    if other == 0 { one.abs() } else { gcd(other, one % other) }
}
