//! What is claimed of one value, and the state of a case.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::Goal;
use super::arrays::{ArrayFact, Arrays};
use super::objects::{ObjectFact, Objects};
use super::scalars::{ScalarFact, Scalars};
use super::scope::Scope;
use crate::evolution::kind::Kind;
use crate::evolution::spot::SpotId;

/// One claim about the value at hand.
#[derive(Clone)]
pub(super) enum Claim<'a> {
    Holds(SpotId),
    Fails(SpotId),
    Scalar(ScalarFact<'a>),
    Array(ArrayFact),
    Object(ObjectFact<'a>),
    /// One case at least holds.
    Either(Rc<Vec<Case<'a>>>),
}

/// Claims that hold together.
pub(super) type Case<'a> = Vec<Claim<'a>>;

/// A value of one type, what is known of it, and what is still to be taken apart.
#[derive(Clone)]
pub(super) struct State<'a> {
    pub(super) kind: Kind,
    pub(super) scope: Rc<Scope<'a>>,
    pub(super) pending: Vec<Claim<'a>>,
    /// Alternatives: of each, one case at least holds.
    pub(super) splits: Vec<Rc<Vec<Case<'a>>>>,
    pub(super) holds: BTreeSet<SpotId>,
    pub(super) fails: BTreeSet<SpotId>,
    pub(super) scalars: Scalars<'a>,
    pub(super) arrays: Arrays,
    pub(super) objects: Objects<'a>,
}

impl<'a> State<'a> {
    pub(super) fn new(kind: Kind, goal: &Goal, scope: Rc<Scope<'a>>) -> Self {
        let holds = goal.holds.iter().map(|spot| Claim::Holds(*spot));
        let fails = goal.fails.iter().map(|spot| Claim::Fails(*spot));
        Self {
            kind,
            scope,
            pending: holds.chain(fails).collect(),
            splits: Vec::new(),
            holds: BTreeSet::new(),
            fails: BTreeSet::new(),
            scalars: Scalars::default(),
            arrays: Arrays::default(),
            objects: Objects::default(),
        }
    }

    /// Adds an alternative; answers whether any case is left. A case without claims holds anyway.
    pub(super) fn split(&mut self, cases: Vec<Case<'a>>) -> bool {
        self.either(Rc::new(cases))
    }

    pub(super) fn either(&mut self, cases: Rc<Vec<Case<'a>>>) -> bool {
        match cases.as_slice() {
            [] => return false,
            cases if cases.iter().any(Vec::is_empty) => {}
            [only] => self.pending.extend(only.iter().cloned()),
            _ => self.splits.push(cases),
        }
        true
    }
}
