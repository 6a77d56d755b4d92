//! Decides whether a value that an `enum` or `const` names is admitted by a schema.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::canonical::canonical;
use super::error::Error;
use super::kind::Kind;
use super::merged::{Merged, all_decided};
use super::normal::Forms;
use super::spot::Conj;

/// Levels of an enumerated array or object that are looked into.
const VALUE_DEPTH_MAX: usize = 16;

impl<'a> Forms<'a> {
    /// Whether one alternative admits the value; `None` when that is not decided.
    pub(super) fn admits(&mut self, merged: &Merged<'a>, value: &Value) -> Result<Option<bool>, Error> {
        self.merged_admits(merged, value, VALUE_DEPTH_MAX)
    }

    fn conj_admits(&mut self, conj: &Conj, value: &Value, depth: usize) -> Result<Option<bool>, Error> {
        let normal = self.normal(conj)?;
        if normal.overflowed || depth == 0 {
            return Ok(None);
        }
        let mut answer = Some(false);
        let mut admitting = 0;
        for merged in &normal.alternatives {
            match self.merged_admits(merged, value, depth - 1)? {
                Some(true) => admitting += 1,
                Some(false) => {}
                None => answer = None,
            }
        }
        // Past a `oneOf` two admitting alternatives may mean a refusal.
        let exclusive = normal.alternatives.iter().any(|merged| !merged.choices.is_empty());
        Ok(match admitting {
            0 => answer,
            1 if answer.is_some() || !exclusive => Some(true),
            _ if exclusive => None,
            _ => Some(true),
        })
    }

    fn merged_admits(&mut self, merged: &Merged<'a>, value: &Value, depth: usize) -> Result<Option<bool>, Error> {
        self.spend(1, merged.spots.first())?;
        let kind = Kind::of(value);
        let enumerated = merged.values.as_ref().is_none_or(|values| values.contains_key(&canonical(value)));
        if !merged.kinds.has(kind) || !enumerated {
            return Ok(Some(false));
        }
        let decided = match value {
            Value::Array(items) => self.array_admits(merged, items, depth)?,
            Value::Object(fields) => self.object_admits(merged, fields, depth)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => merged.admits_scalar(value),
        };
        Ok(if decided == Some(true) && !merged.opaque.is_empty() { None } else { decided })
    }

    fn array_admits(&mut self, merged: &Merged<'a>, items: &[Value], depth: usize) -> Result<Option<bool>, Error> {
        let distinct: BTreeSet<String> = items.iter().map(canonical).collect();
        let mut parts =
            vec![Some(merged.items.admits(items.len() as u64)), Some(!merged.unique || distinct.len() == items.len())];
        for (position, item) in items.iter().enumerate() {
            parts.push(self.conj_admits(&merged.item(position).conj, item, depth)?);
        }
        if !merged.contains.is_empty() {
            parts.push(None);
        }
        Ok(all_decided(parts.into_iter()))
    }

    fn object_admits(
        &mut self,
        merged: &Merged<'a>,
        fields: &Map<String, Value>,
        depth: usize,
    ) -> Result<Option<bool>, Error> {
        let mut parts = vec![
            Some(merged.fields.admits(fields.len() as u64)),
            Some(merged.required.iter().all(|name| fields.contains_key(*name))),
        ];
        for (trigger, names) in &merged.dependent_required {
            parts.push(Some(!fields.contains_key(*trigger) || names.iter().all(|name| fields.contains_key(*name))));
        }
        for (name, value) in fields {
            let field = merged.field(name);
            parts.push(self.conj_admits(&field.conj, value, depth)?);
            parts.push(field.unsure.is_empty().then_some(true));
            if !merged.names.is_empty() {
                parts.push(self.conj_admits(&merged.names, &Value::from(name.as_str()), depth)?);
            }
        }
        Ok(all_decided(parts.into_iter()))
    }
}
