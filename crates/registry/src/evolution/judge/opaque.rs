//! Constructs that the gate does not decide: equal on both sides, or an audit.

use super::part::Doubt;
use super::{Judge, Part, Sides, named};
use crate::evolution::document::ANYTHING_SPOT;
use crate::evolution::error::Error;
use crate::evolution::merged::Opaque;
use crate::evolution::report::{Direction, Finding};
use crate::evolution::rule::Rule;
use crate::evolution::spot::{Conj, SpotId};

impl<'a> Judge<'a> {
    /// Answers what the constructs that differ cast doubt on.
    pub(super) fn judge_opaque(&mut self, sides: Sides<'_, 'a>, part: &mut Part) -> Result<Doubt, Error> {
        let Sides { old, new, label } = sides;
        let mut unmatched: Vec<(Opaque, SpotId)> = new.opaque.clone();
        let mut gone = Vec::new();
        for (opaque, spot) in &old.opaque {
            let mut same = None;
            for (index, (other, candidate)) in unmatched.iter().enumerate() {
                if other == opaque && self.same_opaque(*opaque, *spot, *candidate)? {
                    same = Some(index);
                    break;
                }
            }
            match same {
                Some(index) => {
                    unmatched.remove(index);
                }
                None => gone.push((*opaque, *spot)),
            }
        }
        let doubt = Doubt { replay: !gone.is_empty(), consume: !unmatched.is_empty() };
        // A constraint that is lifted refuses no old event, and one that is added makes no new one.
        let added = unmatched.into_iter().map(|(opaque, id)| (opaque, id, Direction::Replay));
        let lifted = gone.into_iter().map(|(opaque, id)| (opaque, id, Direction::Consume));
        for (opaque, id, direction) in added.chain(lifted) {
            let (rule, keywords) = rule_of(opaque);
            let spot = self.forms.arena.spot(id);
            let keyword = keywords.iter().find(|keyword| spot.keyword(keyword).is_some()).unwrap_or(&keywords[0]);
            let change = format!("{}: `{keyword}` differs, and the gate does not decide it", named(label));
            let finding = Finding::new(rule, format!("{}/{keyword}", spot.pointer), change);
            part.add(Finding { direction, ..finding });
        }
        Ok(doubt)
    }

    fn same_opaque(&mut self, opaque: Opaque, old: SpotId, new: SpotId) -> Result<bool, Error> {
        let (before, after) =
            (self.forms.arena.spot(old).keywords.clone(), self.forms.arena.spot(new).keywords.clone());
        match opaque {
            Opaque::Not => self.equivalent(&before.not.into_iter().collect(), &after.not.into_iter().collect()),
            Opaque::Conditional => {
                let (Some(before), Some(after)) = (before.conditional, after.conditional) else { return Ok(false) };
                let spot = |part: Option<SpotId>| vec![part.unwrap_or(ANYTHING_SPOT)];
                Ok(self.equivalent(&vec![before.test], &vec![after.test])?
                    && self.equivalent(&spot(before.then), &spot(after.then))?
                    && self.equivalent(&spot(before.otherwise), &spot(after.otherwise))?)
            }
            Opaque::DependentSchemas => {
                if !before.dependent_schemas.keys().eq(after.dependent_schemas.keys()) {
                    return Ok(false);
                }
                for (old, new) in before.dependent_schemas.values().zip(after.dependent_schemas.values()) {
                    if !self.equivalent(&vec![*old], &vec![*new])? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Opaque::Overlap => self.same_branches(old, new),
            Opaque::Unevaluated => self.same_words(&vec![old], &vec![new]),
        }
    }

    fn same_words(&mut self, old: &Conj, new: &Conj) -> Result<bool, Error> {
        Ok(self.forms.fingerprint(old)? == self.forms.fingerprint(new)?)
    }
}

fn rule_of(opaque: Opaque) -> (Rule, &'static [&'static str]) {
    match opaque {
        Opaque::Not => (Rule::NotUndecided, &["not"]),
        Opaque::Conditional => (Rule::ConditionalUndecided, &["if"]),
        Opaque::DependentSchemas => (Rule::DependentSchemasUndecided, &["dependentSchemas", "dependencies"]),
        Opaque::Unevaluated => (Rule::UnevaluatedUndecided, &["unevaluatedProperties", "unevaluatedItems"]),
        Opaque::Overlap => (Rule::UnionOverlapUndecided, &["oneOf"]),
    }
}
