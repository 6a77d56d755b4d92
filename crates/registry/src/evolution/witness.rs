//! Looks for an instance of one alternative that others refuse: the proof that a union, or an enumeration, lost something.
//!
//! Samples are few and simple, and both sides must have decided on one before it counts. Finding none proves nothing.

use serde_json::{Map, Value, json};

use super::error::Error;
use super::kind::Kind;
use super::merged::Merged;
use super::normal::Forms;
use super::spot::Conj;

/// Levels of fields and items that a sample has.
const SAMPLE_DEPTH_MAX: usize = 3;
/// Samples of one schema.
const SAMPLES_MAX: usize = 32;
/// Characters that take the place of one in an enumerated text, so that a pattern may still match.
const SUBSTITUTES: [char; 6] = ['a', 'z', 'A', 'Z', '0', '9'];

impl<'a> Forms<'a> {
    /// Whether an instance of `left`, of the given type, is known that each of `others` refuses.
    pub(super) fn refuted(&mut self, kind: Kind, left: &Merged<'a>, others: &[&Merged<'a>]) -> Result<bool, Error> {
        let mut samples = self.samples(kind, left, SAMPLE_DEPTH_MAX)?;
        if kind == Kind::String && left.values.is_none() {
            samples.extend(others.iter().flat_map(|other| near_texts(other)));
        }
        for sample in samples {
            if self.admits(left, &sample)? != Some(true) {
                continue;
            }
            let mut refused = true;
            for other in others {
                refused = refused && self.admits(other, &sample)? == Some(false);
            }
            if refused {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn samples_of(&mut self, conj: &Conj, depth: usize) -> Result<Vec<Value>, Error> {
        let normal = self.normal(conj)?;
        let mut samples = Vec::new();
        for merged in normal.alternatives.iter().take(SAMPLES_MAX) {
            for kind in merged.kinds.iter() {
                samples.extend(self.samples(kind, merged, depth)?);
            }
        }
        samples.truncate(SAMPLES_MAX);
        Ok(samples)
    }

    fn samples(&mut self, kind: Kind, merged: &Merged<'a>, depth: usize) -> Result<Vec<Value>, Error> {
        self.spend(1, merged.spots.first())?;
        let mut samples = match (merged.values_of(kind), kind) {
            (Some(values), _) => values.into_iter().map(|(_, value)| value.clone()).collect(),
            (None, Kind::Null) => vec![Value::Null],
            (None, Kind::Boolean) => vec![json!(true), json!(false)],
            (None, Kind::Number) => numbers(merged),
            (None, Kind::String) => texts(merged),
            (None, Kind::Array) if depth > 0 => self.arrays(merged, depth - 1)?,
            (None, Kind::Object) if depth > 0 => self.objects(merged, depth - 1)?,
            (None, Kind::Array | Kind::Object) => Vec::new(),
        };
        samples.truncate(SAMPLES_MAX);
        Ok(samples)
    }

    /// The shortest list, and for each further position that list with one more item.
    fn arrays(&mut self, merged: &Merged<'a>, depth: usize) -> Result<Vec<Value>, Error> {
        let shortest = usize::try_from(merged.items.min).unwrap_or(usize::MAX);
        if shortest > SAMPLES_MAX {
            return Ok(Vec::new());
        }
        let mut items = Vec::new();
        for position in 0..shortest {
            let Some(item) = self.samples_of(&merged.item(position).conj, depth)?.into_iter().next() else {
                return Ok(Vec::new());
            };
            items.push(item);
        }
        let further = self.samples_of(&merged.item(shortest).conj, depth)?;
        let longer = further.into_iter().map(|item| items.iter().cloned().chain([item]).collect());
        Ok([Value::Array(items.clone())].into_iter().chain(longer).collect())
    }

    /// The required fields alone, all fields, and the required ones with each sample of one field, declared or not.
    fn objects(&mut self, merged: &Merged<'a>, depth: usize) -> Result<Vec<Value>, Error> {
        let layers = merged.object_layers.iter();
        let mut names: Vec<&str> = layers.flat_map(|layer| layer.properties.keys().copied()).collect();
        names.extend(&merged.required);
        names.sort_unstable();
        names.dedup();
        if names.len() > SAMPLES_MAX {
            return Ok(Vec::new());
        }
        names.push("an undeclared name");
        let (mut least, mut most, mut variants) = (Map::new(), Map::new(), Vec::new());
        for name in names {
            let own = self.samples_of(&merged.field(name).conj, depth)?;
            if let Some(first) = own.first() {
                most.insert(name.to_owned(), first.clone());
                if merged.required.contains(name) {
                    least.insert(name.to_owned(), first.clone());
                }
            }
            variants.extend(own.into_iter().map(|value| (name, value)));
        }
        let with = |(name, value): (&str, Value)| {
            let mut object = least.clone();
            object.insert(name.to_owned(), value);
            Value::Object(object)
        };
        let varied: Vec<Value> = variants.into_iter().take(SAMPLES_MAX).map(with).collect();
        Ok([Value::Object(least.clone()), Value::Object(most)].into_iter().chain(varied).collect())
    }
}

/// Numbers at and around the ends of the range.
fn numbers(merged: &Merged<'_>) -> Vec<Value> {
    let ends = [merged.minimum, merged.maximum].into_iter().flatten();
    let mut near: Vec<i64> = vec![0, 1, 7_919];
    for end in ends {
        if let Ok(value) = end.value.to_string().parse::<i64>() {
            near.extend([value, value.saturating_add(1), value.saturating_sub(1)]);
        }
    }
    let fraction = near.iter().map(|value| json!(*value as f64 + 0.5)).collect::<Vec<_>>();
    near.into_iter().map(|value| json!(value)).chain(fraction).collect()
}

fn texts(merged: &Merged<'_>) -> Vec<Value> {
    let shortest = usize::try_from(merged.length.min).unwrap_or(usize::MAX).min(1_000);
    let repeated = |text: &str, more: usize| json!(text.repeat(shortest + more));
    let plain = [repeated("a", 0), repeated("q", 1), repeated("7", 2), repeated("Z", 9)];
    let literal = |pattern: &&str| json!(super::pattern::literal_head(pattern));
    plain.into_iter().chain(merged.patterns.iter().map(literal)).collect()
}

/// Texts that differ from an enumerated one by a character.
fn near_texts(merged: &Merged<'_>) -> Vec<Value> {
    let mut near = Vec::new();
    let listed = merged.values.iter().flatten().filter_map(|(_, value)| value.as_str()).take(4);
    for text in listed.filter(|text| text.len() < SAMPLES_MAX) {
        for place in 0..text.chars().count() {
            let replaced = |substitute: char| {
                let at = |(index, own): (usize, char)| if index == place { substitute } else { own };
                json!(text.chars().enumerate().map(at).collect::<String>())
            };
            near.extend(SUBSTITUTES.into_iter().map(replaced));
        }
    }
    near
}
