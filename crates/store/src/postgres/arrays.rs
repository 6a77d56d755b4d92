//! Write sets as arrays, for the one function in the database that writes them.
//!
//! Several sets become one, in the lock order of the function: whoever puts them together sees to it that none of them touches
//! what another one writes.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::SystemTime;

use uuid::Uuid;

use super::documents::field_text;
use super::flush::instant;
use super::kinds;
use crate::error::Error;
use crate::kind::FieldValue;
use crate::write_set::{Action, DocumentWrite, LaneHold, WriteSet, key_number, slot, slot_of};

/// The function's parameters, in their order; see `schema/functions.sql`.
const PARAMETERS: usize = 53;

pub(super) static CALL: LazyLock<String> = LazyLock::new(|| {
    let places: Vec<String> = (1..=PARAMETERS).map(|place| format!("${place}")).collect();
    format!("SELECT karwan.flush({})", places.join(", "))
});

/// The numbers of subjects, by name.
pub(super) type Subjects = HashMap<String, i32>;

/// Write sets, column by column.
#[derive(Default)]
pub(super) struct Arrays<'a> {
    tenants: Vec<Uuid>,
    wait_ms: i32,
    consumer: Vec<&'a str>,
    lane: Vec<i32>,
    epoch: Vec<i64>,
    claim_hold: Vec<i32>,
    claim_tenant: Vec<Uuid>,
    claim_event: Vec<Uuid>,
    claim_seq: Vec<i64>,
    claim_logged: Vec<SystemTime>,
    claim_parked: Vec<bool>,
    locks: Vec<i64>,
    unit_tenant: Vec<Uuid>,
    unit: Vec<Uuid>,
    doc_kind: Vec<String>,
    doc_tenant: Vec<Uuid>,
    doc_id: Vec<&'a str>,
    doc_version: Vec<i64>,
    doc_blind: Vec<bool>,
    doc_action: Vec<i16>,
    doc_shape: Vec<i32>,
    doc_body: Vec<Option<&'a str>>,
    doc_width: i32,
    doc_fields: Vec<Option<String>>,
    fired_tenant: Vec<Uuid>,
    fired_kind: Vec<&'a str>,
    fired_id: Vec<&'a str>,
    fired_token: Vec<Uuid>,
    settled_tenant: Vec<Uuid>,
    settled: Vec<Uuid>,
    due_tenant: Vec<Uuid>,
    due_kind: Vec<&'a str>,
    due_id: Vec<&'a str>,
    due_slot: Vec<i16>,
    due: Vec<Option<SystemTime>>,
    due_body: Vec<&'a str>,
    due_token: Vec<Uuid>,
    due_cause: Vec<&'a str>,
    effect_tenant: Vec<Uuid>,
    effect: Vec<Uuid>,
    effect_kind: Vec<&'a str>,
    effect_key: Vec<&'a str>,
    effect_slot: Vec<i16>,
    effect_body: Vec<&'a str>,
    effect_cause: Vec<&'a str>,
    tenant: Vec<Uuid>,
    subject: Vec<i32>,
    key: Vec<&'a str>,
    slot: Vec<i16>,
    event: Vec<Uuid>,
    intent: Vec<&'a str>,
    hash: Vec<Uuid>,
    envelope: Vec<&'a str>,
}

impl<'a> Arrays<'a> {
    pub fn of(sets: &[&'a WriteSet], subjects: &Subjects) -> Result<Self, Error> {
        let mut arrays = Self::default();
        arrays.claims(sets);
        let mut units: Vec<_> = sets.iter().flat_map(|set| &set.units).collect();
        units.sort_by_key(|unit| (unit.id, unit.tenant));
        for unit in units {
            arrays.unit_tenant.push(Uuid::from_u128(unit.tenant));
            arrays.unit.push(Uuid::from_u128(unit.id));
        }
        arrays.documents(sets);
        arrays.reminders(sets);
        arrays.effects(sets);
        arrays.facts(sets, subjects)?;
        arrays.tenants = [&arrays.claim_tenant, &arrays.unit_tenant, &arrays.doc_tenant, &arrays.due_tenant]
            .into_iter()
            .chain([&arrays.fired_tenant, &arrays.settled_tenant, &arrays.effect_tenant, &arrays.tenant])
            .flatten()
            .copied()
            .collect();
        arrays.tenants.sort_unstable();
        arrays.tenants.dedup();
        Ok(arrays)
    }

    /// Whoever is in the way for longer ends the flush.
    pub fn waiting_at_most(self, wait_ms: i32) -> Self {
        Self { wait_ms, ..self }
    }

    fn claims(&mut self, sets: &[&'a WriteSet]) {
        let mut holds: Vec<&LaneHold> = Vec::new();
        let mut claims = Vec::new();
        for set in sets {
            let Some(lane) = &set.lane else { continue };
            let known = holds.iter().position(|hold| *hold == lane);
            let place = known.unwrap_or(holds.len());
            if known.is_none() {
                holds.push(lane);
            }
            // The database counts from 1.
            claims.extend(set.claims.iter().map(|claim| (place as i32 + 1, claim)));
        }
        claims.sort_by_key(|(hold, claim)| (claim.seq, &holds[*hold as usize - 1].consumer));
        for hold in holds {
            self.consumer.push(&hold.consumer);
            self.lane.push(hold.lane.into());
            self.epoch.push(hold.epoch);
        }
        for (hold, claim) in claims {
            self.claim_hold.push(hold);
            self.claim_tenant.push(Uuid::from_u128(claim.tenant));
            self.claim_event.push(Uuid::from_u128(claim.event.bits()));
            self.claim_seq.push(claim.seq);
            self.claim_logged.push(instant(claim.logged));
            self.claim_parked.push(claim.parked);
        }
    }

    fn documents(&mut self, sets: &[&'a WriteSet]) {
        let of_set = |set: &&'a WriteSet| {
            let reads_only = !set.writes();
            set.documents.iter().map(move |document| (document, reads_only))
        };
        let mut documents: Vec<(&'a DocumentWrite, bool)> = sets.iter().flat_map(of_set).collect();
        if sets.len() > 1 {
            documents.sort_by(|(a, _), (b, _)| (a.kind.name, a.tenant, &a.id).cmp(&(b.kind.name, b.tenant, &b.id)));
        }
        let width = documents.iter().map(|(document, _)| document.kind.fields.len()).max().unwrap_or_default();
        self.doc_width = width as i32;
        // They are sorted by kind, and a token is a hash over its fields.
        let (mut of, mut token) = ("", String::new());
        for (document, reads_only) in documents {
            if document.kind.name != of {
                (of, token) = (document.kind.name, kinds::token(&document.kind));
            }
            self.doc_kind.push(token.clone());
            self.doc_tenant.push(Uuid::from_u128(document.tenant));
            self.doc_id.push(&document.id);
            self.doc_version.push(document.expected);
            self.doc_blind.push(document.blind);
            let mut fields: &[FieldValue] = &[];
            let (action, shape, body) = match &document.action {
                // Where nothing is written, nothing need stay as it is.
                Action::Check if reads_only => (-1, 1, None),
                Action::Check => (0, 1, None),
                Action::Hold => (1, 1, None),
                Action::Put { shape, body, fields: given } => {
                    fields = given;
                    (2, shape.cast_signed(), Some(body.as_str()))
                }
                Action::Delete => (3, document.kind.shape.cast_signed(), None),
            };
            self.doc_action.push(action);
            self.doc_shape.push(shape);
            self.doc_body.push(body);
            let padding = std::iter::repeat_n(None, width - fields.len());
            self.doc_fields.extend(fields.iter().map(field_text).chain(padding));
        }
    }

    /// Deadlines in the order in which they are locked.
    fn reminders(&mut self, sets: &[&'a WriteSet]) {
        let mut fired: Vec<_> = sets.iter().flat_map(|set| &set.fired).collect();
        fired.sort_by(|a, b| (a.tenant, &a.kind, &a.id).cmp(&(b.tenant, &b.kind, &b.id)));
        for deadline in fired {
            self.fired_tenant.push(Uuid::from_u128(deadline.tenant));
            self.fired_kind.push(&deadline.kind);
            self.fired_id.push(&deadline.id);
            self.fired_token.push(Uuid::from_u128(deadline.token));
        }
        let mut deadlines: Vec<_> = sets.iter().flat_map(|set| &set.deadlines).collect();
        deadlines.sort_by(|a, b| (a.tenant, &a.kind, &a.id).cmp(&(b.tenant, &b.kind, &b.id)));
        for deadline in deadlines {
            self.due_tenant.push(Uuid::from_u128(deadline.tenant));
            self.due_kind.push(&deadline.kind);
            self.due_id.push(&deadline.id);
            self.due_slot.push(slot(deadline.tenant, &deadline.id).cast_signed());
            self.due.push(deadline.due.map(instant));
            self.due_body.push(&deadline.body);
            self.due_token.push(Uuid::from_u128(deadline.token));
            self.due_cause.push(&deadline.cause);
        }
    }

    fn effects(&mut self, sets: &[&'a WriteSet]) {
        let mut settled: Vec<_> = sets.iter().flat_map(|set| &set.settled).collect();
        settled.sort_by_key(|effect| (effect.tenant, effect.id));
        for effect in settled {
            self.settled_tenant.push(Uuid::from_u128(effect.tenant));
            self.settled.push(Uuid::from_u128(effect.id));
        }
        for effect in sets.iter().flat_map(|set| &set.effects) {
            self.effect_tenant.push(Uuid::from_u128(effect.tenant));
            self.effect.push(Uuid::from_u128(effect.id));
            self.effect_kind.push(&effect.kind);
            self.effect_key.push(&effect.key);
            self.effect_slot.push(slot(effect.tenant, &effect.key).cast_signed());
            self.effect_body.push(&effect.body);
            self.effect_cause.push(&effect.cause);
        }
    }

    fn facts(&mut self, sets: &[&'a WriteSet], subjects: &Subjects) -> Result<(), Error> {
        let unknown = |subject: &str| Error::SubjectUnknown { subject: subject.to_owned() };
        for fact in sets.iter().flat_map(|set| &set.facts) {
            let number = key_number(fact.tenant, &fact.key);
            if !fact.carried {
                self.locks.push(number);
            }
            self.tenant.push(Uuid::from_u128(fact.tenant));
            self.subject.push(*subjects.get(&fact.subject).ok_or_else(|| unknown(&fact.subject))?);
            self.key.push(&fact.key);
            self.slot.push(slot_of(number).cast_signed());
            self.event.push(Uuid::from_u128(fact.event.bits()));
            self.intent.push(&fact.intent);
            self.hash.push(Uuid::from_u128(fact.payload_hash));
            self.envelope.push(&fact.envelope);
        }
        self.locks.sort_unstable();
        self.locks.dedup();
        Ok(())
    }

    pub fn parameters(&self) -> [&(dyn tokio_postgres::types::ToSql + Sync); PARAMETERS] {
        [
            &self.tenants,
            &self.wait_ms,
            &self.consumer,
            &self.lane,
            &self.epoch,
            &self.claim_hold,
            &self.claim_tenant,
            &self.claim_event,
            &self.claim_seq,
            &self.claim_logged,
            &self.claim_parked,
            &self.locks,
            &self.unit_tenant,
            &self.unit,
            &self.doc_kind,
            &self.doc_tenant,
            &self.doc_id,
            &self.doc_version,
            &self.doc_blind,
            &self.doc_action,
            &self.doc_shape,
            &self.doc_body,
            &self.doc_width,
            &self.doc_fields,
            &self.fired_tenant,
            &self.fired_kind,
            &self.fired_id,
            &self.fired_token,
            &self.settled_tenant,
            &self.settled,
            &self.due_tenant,
            &self.due_kind,
            &self.due_id,
            &self.due_slot,
            &self.due,
            &self.due_body,
            &self.due_token,
            &self.due_cause,
            &self.effect_tenant,
            &self.effect,
            &self.effect_kind,
            &self.effect_key,
            &self.effect_slot,
            &self.effect_body,
            &self.effect_cause,
            &self.tenant,
            &self.subject,
            &self.key,
            &self.slot,
            &self.event,
            &self.intent,
            &self.hash,
            &self.envelope,
        ]
    }
}
