//! Constructs that the gate does not decide: equal on both sides, or an audit.

use super::{Judge, Part, Sides, named};
use crate::evolution::document::ANYTHING_SPOT;
use crate::evolution::error::Error;
use crate::evolution::merged::Opaque;
use crate::evolution::rule::Rule;
use crate::evolution::spot::{Conj, SpotId};

impl<'a> Judge<'a> {
    pub(super) fn judge_opaque(&mut self, sides: Sides<'_, 'a>, part: &mut Part) -> Result<(), Error> {
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
        for (opaque, id) in unmatched.into_iter().chain(gone) {
            let (rule, keywords) = rule_of(opaque);
            let spot = self.forms.arena.spot(id);
            let keyword = keywords.iter().find(|keyword| spot.keyword(keyword).is_some()).unwrap_or(&keywords[0]);
            let change = format!("{}: `{keyword}` differs, and the gate does not decide it", named(label));
            part.find(rule, format!("{}/{keyword}", spot.pointer), change);
        }
        Ok(())
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
            // What a dynamic reference reaches depends on the whole document.
            Opaque::DynamicReference => {
                let (old_root, new_root) = (vec![self.root_of(old)], vec![self.root_of(new)]);
                let same_document = self.forms.fingerprint_with_definitions(&old_root)?
                    == self.forms.fingerprint_with_definitions(&new_root)?;
                Ok(same_document && self.same_words(&vec![old], &vec![new])?)
            }
        }
    }

    fn same_words(&mut self, old: &Conj, new: &Conj) -> Result<bool, Error> {
        Ok(self.forms.fingerprint(old)? == self.forms.fingerprint(new)?)
    }

    /// The root of a spot's document: the nearest spot before it with an empty pointer, as documents load in one run.
    fn root_of(&self, spot: SpotId) -> SpotId {
        (0..=spot).rev().find(|id| self.forms.arena.spot(*id).pointer.is_empty()).unwrap_or(spot)
    }
}

fn rule_of(opaque: Opaque) -> (Rule, &'static [&'static str]) {
    match opaque {
        Opaque::Not => (Rule::NotUndecided, &["not"]),
        Opaque::Conditional => (Rule::ConditionalUndecided, &["if"]),
        Opaque::DependentSchemas => (Rule::DependentSchemasUndecided, &["dependentSchemas", "dependencies"]),
        Opaque::Unevaluated => (Rule::UnevaluatedUndecided, &["unevaluatedProperties", "unevaluatedItems"]),
        Opaque::DynamicReference => (Rule::DynamicRefUndecided, &["$dynamicRef"]),
        Opaque::Overlap => (Rule::UnionOverlapUndecided, &["oneOf"]),
    }
}
