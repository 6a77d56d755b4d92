//! A spot: one subschema of one document, its keywords parsed and its children named by id.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::Value;

use super::error::Side;
use super::kind::Kinds;
use super::number::{Bound, Num};

/// Index of a spot; both documents share one arena, so an id names its document too.
pub(super) type SpotId = u32;

/// A conjunction of spots that hold for one instance, the declaring spot first. Empty means "anything".
pub(super) type Conj = Vec<SpotId>;

/// The dialects the gate knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Draft {
    Seven,
    TwentyTwenty,
}

/// Enumerated values by canonical text.
pub(super) type Values<'a> = BTreeMap<String, &'a Value>;

pub(super) struct Spot<'a> {
    pub(super) side: Side,
    pub(super) pointer: String,
    pub(super) depth: usize,
    pub(super) source: &'a Value,
    pub(super) draft: Draft,
    pub(super) keywords: Keywords<'a>,
}

impl<'a> Spot<'a> {
    /// A keyword as written. Beside a draft-07 `$ref` only annotations are read this way.
    pub(super) fn keyword(&self, name: &str) -> Option<&'a Value> {
        self.source.get(name)
    }
}

/// What one schema object asserts. The defaults assert nothing.
#[derive(Clone)]
pub(super) struct Keywords<'a> {
    pub(super) kinds: Kinds,
    pub(super) integer: bool,
    pub(super) values: Option<Values<'a>>,
    pub(super) minimum: Option<Bound>,
    pub(super) maximum: Option<Bound>,
    pub(super) multiple_of: Option<Num>,
    pub(super) length: Count,
    pub(super) pattern: Option<&'a str>,
    pub(super) format: Option<&'a str>,
    pub(super) array: Option<Box<ArrayKeywords>>,
    pub(super) object: Option<Box<ObjectKeywords<'a>>>,
    pub(super) reference: Option<SpotId>,
    pub(super) all_of: Vec<SpotId>,
    pub(super) any_of: Vec<SpotId>,
    pub(super) one_of: Vec<SpotId>,
    pub(super) not: Option<SpotId>,
    pub(super) conditional: Option<Conditional>,
    pub(super) dependent_schemas: BTreeMap<&'a str, SpotId>,
    pub(super) unevaluated_properties: Option<SpotId>,
    pub(super) unevaluated_items: Option<SpotId>,
    /// An `unevaluated*` whose reach depends on the instance.
    pub(super) unevaluated_dynamic: bool,
}

/// `if` with what follows from it.
#[derive(Clone, Copy)]
pub(super) struct Conditional {
    pub(super) test: SpotId,
    pub(super) then: Option<SpotId>,
    pub(super) otherwise: Option<SpotId>,
}

impl Conditional {
    /// An `if` alone refuses nothing; what it evaluates still counts for an `unevaluated*` around it.
    pub(super) fn asserts(self) -> bool {
        self.then.is_some() || self.otherwise.is_some()
    }
}

/// A count with its two ends.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Count {
    pub(super) min: u64,
    pub(super) max: Option<u64>,
}

impl Count {
    pub(super) fn and(self, other: Self) -> Self {
        let max = match (self.max, other.max) {
            (Some(left), Some(right)) => Some(left.min(right)),
            (left, right) => left.or(right),
        };
        Self { min: self.min.max(other.min), max }
    }

    pub(super) fn admits(self, count: u64) -> bool {
        count >= self.min && self.max.is_none_or(|max| count <= max)
    }
}

#[derive(Clone, Default)]
pub(super) struct ArrayKeywords {
    pub(super) layers: Vec<Rc<ArrayLayer>>,
    pub(super) contains: Option<Contains>,
    pub(super) count: Count,
    pub(super) unique: bool,
}

/// What one schema object says about positions. Under `allOf` each object keeps its own layer.
#[derive(Default)]
pub(super) struct ArrayLayer {
    pub(super) prefix: Vec<SpotId>,
    pub(super) rest: Option<SpotId>,
}

#[derive(Clone, Copy)]
pub(super) struct Contains {
    pub(super) schema: SpotId,
    pub(super) count: Count,
}

impl Contains {
    /// Any number of matches refuses nothing; the items matched still count as evaluated.
    pub(super) fn asserts(self) -> bool {
        self.count != Count::default()
    }
}

#[derive(Clone, Default)]
pub(super) struct ObjectKeywords<'a> {
    pub(super) layers: Vec<Rc<ObjectLayer<'a>>>,
    pub(super) names: Option<SpotId>,
    pub(super) required: BTreeSet<&'a str>,
    pub(super) dependent_required: BTreeMap<&'a str, BTreeSet<&'a str>>,
    pub(super) count: Count,
}

/// What one schema object says about fields. `additional` sees only its own layer's names.
#[derive(Default)]
pub(super) struct ObjectLayer<'a> {
    pub(super) properties: BTreeMap<&'a str, SpotId>,
    pub(super) patterns: BTreeMap<&'a str, SpotId>,
    pub(super) additional: Option<SpotId>,
}

impl Default for Keywords<'_> {
    fn default() -> Self {
        Self {
            kinds: Kinds::ALL,
            integer: false,
            values: None,
            minimum: None,
            maximum: None,
            multiple_of: None,
            length: Count::default(),
            pattern: None,
            format: None,
            array: None,
            object: None,
            reference: None,
            all_of: Vec::new(),
            any_of: Vec::new(),
            one_of: Vec::new(),
            not: None,
            conditional: None,
            dependent_schemas: BTreeMap::new(),
            unevaluated_properties: None,
            unevaluated_items: None,
            unevaluated_dynamic: false,
        }
    }
}

impl Keywords<'_> {
    /// Subschemas that judge the same instance as this one.
    pub(super) fn in_place(&self) -> Vec<SpotId> {
        let mut targets: Vec<SpotId> = self.reference.into_iter().collect();
        targets.extend(self.all_of.iter().chain(&self.any_of).chain(&self.one_of));
        targets.extend(self.not);
        if let Some(conditional) = self.conditional {
            targets.push(conditional.test);
            targets.extend(conditional.then.into_iter().chain(conditional.otherwise));
        }
        targets.extend(self.dependent_schemas.values());
        targets
    }

    /// Whether an applicator other than `$ref` and `allOf` judges the same instance: what it evaluates is not static.
    pub(super) fn branches(&self) -> bool {
        self.conditional.is_some() || self.branches_assert()
    }

    fn branches_assert(&self) -> bool {
        !self.any_of.is_empty()
            || !self.one_of.is_empty()
            || self.not.is_some()
            || self.conditional.is_some_and(Conditional::asserts)
            || !self.dependent_schemas.is_empty()
    }

    /// Whether every instance is admitted, in so many words.
    pub(super) fn asserts_nothing(&self) -> bool {
        self.is_trivial() && self.reference.is_none() && self.all_of.is_empty()
    }

    /// Whether the keywords assert nothing by themselves; `$ref` and `allOf` are not counted.
    pub(super) fn is_trivial(&self) -> bool {
        self.kinds == Kinds::ALL
            && !self.integer
            && self.values.is_none()
            && self.minimum.is_none()
            && self.maximum.is_none()
            && self.multiple_of.is_none()
            && self.length == Count::default()
            && self.pattern.is_none()
            && self.format.is_none()
            && self.array.is_none()
            && self.object.is_none()
            && !self.branches_assert()
            && self.unevaluated_properties.is_none()
            && self.unevaluated_items.is_none()
    }
}
