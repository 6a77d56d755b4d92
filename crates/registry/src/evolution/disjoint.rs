//! Proves that two alternatives admit no common instance. A "no" only means that no proof was found.

use super::error::Error;
use super::kind::Kind;
use super::merged::Merged;
use super::normal::{Forms, Normal};
use super::number::Bound;
use super::spot::{Conj, Count, SpotId};

/// Fields inside fields that are looked at for a proof.
const PROOF_DEPTH_MAX: usize = 3;

impl<'a> Forms<'a> {
    pub(super) fn disjoint(&mut self, left: &Merged<'a>, right: &Merged<'a>) -> Result<bool, Error> {
        self.disjoint_within(left, right, PROOF_DEPTH_MAX)
    }

    fn disjoint_within(&mut self, left: &Merged<'a>, right: &Merged<'a>, depth: usize) -> Result<bool, Error> {
        self.spend(1, left.spots.first())?;
        for kind in left.kinds.and(right.kinds).iter() {
            let proven = enumerated_apart(left, right, kind)
                || match kind {
                    Kind::Null | Kind::Boolean => false,
                    Kind::Number => {
                        ranges_apart(left.minimum, right.maximum) || ranges_apart(right.minimum, left.maximum)
                    }
                    Kind::String => counts_apart(left.length, right.length),
                    Kind::Array => counts_apart(left.items, right.items) || self.items_apart(left, right, depth)?,
                    Kind::Object => counts_apart(left.fields, right.fields) || self.fields_apart(left, right, depth)?,
                };
            if !proven {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn conj_disjoint(&mut self, left: &Conj, right: &Conj, depth: usize) -> Result<bool, Error> {
        if depth == 0 {
            return Ok(false);
        }
        let (left, right) = (self.normal(left)?, self.normal(right)?);
        if left.overflowed || right.overflowed {
            return Ok(false);
        }
        for one in &left.alternatives {
            for other in &right.alternatives {
                if !self.disjoint_within(one, other, depth - 1)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// A field that one of them requires and that the two describe disjointly.
    fn fields_apart(&mut self, left: &Merged<'a>, right: &Merged<'a>, depth: usize) -> Result<bool, Error> {
        for name in left.required.union(&right.required) {
            let (one, other) = (left.field(name).conj, right.field(name).conj);
            if self.conj_disjoint(&one, &other, depth)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A position that one of them requires and that the two describe disjointly.
    fn items_apart(&mut self, left: &Merged<'a>, right: &Merged<'a>, depth: usize) -> Result<bool, Error> {
        let required = usize::try_from(left.items.min.max(right.items.min)).unwrap_or(usize::MAX);
        let declared = left.positions().max(right.positions()) + 1;
        for position in 0..required.min(declared) {
            let (one, other) = (left.item(position).conj, right.item(position).conj);
            if self.conj_disjoint(&one, &other, depth)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The `oneOf`s of a conjunction whose branches were not proven disjoint, among their siblings.
    pub(super) fn overlaps(&mut self, normal: &Normal<'a>) -> Result<Vec<SpotId>, Error> {
        let mut overlapping: Vec<SpotId> = Vec::new();
        for (index, left) in normal.alternatives.iter().enumerate() {
            if left.choices.is_empty() {
                continue;
            }
            for right in &normal.alternatives[index + 1..] {
                let differing: Vec<SpotId> = (left.choices.iter())
                    .filter(|(union, branch)| {
                        right.choices.iter().any(|(other, taken)| other == union && taken != branch)
                    })
                    .map(|(union, _)| *union)
                    .filter(|union| !overlapping.contains(union))
                    .collect();
                if !differing.is_empty() && !self.disjoint(left, right)? {
                    overlapping.extend(differing);
                }
            }
        }
        Ok(overlapping)
    }
}

fn enumerated_apart(left: &Merged<'_>, right: &Merged<'_>, kind: Kind) -> bool {
    match (left.values_of(kind), right.values_of(kind)) {
        (Some(one), Some(other)) => one.iter().all(|(key, _)| other.iter().all(|(taken, _)| taken != key)),
        (Some(one), None) => one.iter().all(|(_, value)| right.admits_scalar(value) == Some(false)),
        (None, Some(other)) => other.iter().all(|(_, value)| left.admits_scalar(value) == Some(false)),
        (None, None) => false,
    }
}

pub(super) fn ranges_apart(lower: Option<Bound>, upper: Option<Bound>) -> bool {
    match (lower, upper) {
        (Some(lower), Some(upper)) => {
            !lower.admits_number(upper.value, true) || (upper.exclusive && lower.value == upper.value)
        }
        (Some(_), None) | (None, Some(_)) | (None, None) => false,
    }
}

fn counts_apart(left: Count, right: Count) -> bool {
    left.max.is_some_and(|max| max < right.min) || right.max.is_some_and(|max| max < left.min)
}
