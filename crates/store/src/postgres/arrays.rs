//! Write sets as arrays, for the one function in the database that writes them (`karwan.flush_set`).
//!
//! Several sets become one, in the lock order of the function: whoever puts them together sees to it that none of them touches
//! what another one writes. What a call has nothing of is left out of it: a parameter costs as much as some of the function's statements.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::SystemTime;

use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::documents::field_text;
use super::flush::instant;
use super::kinds;
use crate::error::Error;
use crate::kind::FieldValue;
use crate::write_set::{Action, DocumentWrite, LaneHold, WriteSet, key_number, slot, slot_of};

/// What becomes of a document, as the function knows it: whatever is a put, or more.
const CHECK: i16 = 0;
const PUT: i16 = 2;

/// The numbers of subjects, by name.
pub(super) type Subjects = HashMap<String, i32>;

/// Write sets, column by column.
#[derive(Default)]
pub(super) struct Arrays<'a> {
    /// As an array is written.
    tenants: String,
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
    doc_end: Vec<i32>,
    doc_puts: Vec<i32>,
    doc_all: Vec<i32>,
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
    /// Places of facts, in the order in which their intents are recorded.
    intents: Vec<i32>,
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
        let mut tenants: Vec<Uuid> =
            [&arrays.claim_tenant, &arrays.unit_tenant, &arrays.doc_tenant, &arrays.due_tenant]
                .into_iter()
                .chain([&arrays.fired_tenant, &arrays.settled_tenant, &arrays.effect_tenant, &arrays.tenant])
                .flatten()
                .copied()
                .collect();
        tenants.sort_unstable();
        tenants.dedup();
        arrays.tenants = list(&tenants);
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
        let (several, any_parked) = (self.consumer.len() > 1, claims.iter().any(|(_, claim)| claim.parked));
        for (hold, claim) in claims {
            if several {
                self.claim_hold.push(hold);
            }
            self.claim_tenant.push(Uuid::from_u128(claim.tenant));
            self.claim_event.push(Uuid::from_u128(claim.event.bits()));
            self.claim_seq.push(claim.seq);
            self.claim_logged.push(instant(claim.logged));
            if any_parked {
                self.claim_parked.push(claim.parked);
            }
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
        for stretch in documents.chunk_by(|(a, _), (b, _)| a.kind.name == b.kind.name) {
            self.stretch(stretch, width);
        }
    }

    /// Documents of one kind.
    fn stretch(&mut self, documents: &[(&'a DocumentWrite, bool)], width: usize) {
        let first = self.doc_action.len();
        for (document, reads_only) in documents {
            self.doc_tenant.push(Uuid::from_u128(document.tenant));
            self.doc_id.push(&document.id);
            self.doc_version.push(document.expected);
            self.doc_blind.push(document.blind);
            let mut fields: &[FieldValue] = &[];
            let (action, shape, body) = match &document.action {
                // Where nothing is written, nothing need stay as it is.
                Action::Check if *reads_only => (-1, 1, None),
                Action::Check => (CHECK, 1, None),
                Action::Hold => (1, 1, None),
                Action::Put { shape, body, fields: given } => {
                    fields = given;
                    (PUT, shape.cast_signed(), Some(body.as_str()))
                }
                Action::Delete => (3, document.kind.shape.cast_signed(), None),
            };
            self.doc_action.push(action);
            self.doc_shape.push(shape);
            self.doc_body.push(body);
            let padding = std::iter::repeat_n(None, width - fields.len());
            self.doc_fields.extend(fields.iter().map(field_text).chain(padding));
        }
        let actions = &self.doc_action[first..];
        let all_read = self.doc_version[first..].iter().all(|version| *version > 0);
        let all_checked = all_read && actions.iter().all(|action| *action == CHECK);
        self.doc_kind.extend(documents.first().map(|(document, _)| kinds::token(&document.kind)));
        self.doc_end.push(self.doc_action.len() as i32);
        self.doc_puts.push(actions.iter().filter(|action| **action >= PUT).count() as i32);
        self.doc_all.push(i32::from(all_checked) + 2 * i32::from(all_read));
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
        let mut places: Vec<usize> = (0..self.event.len()).collect();
        places.sort_unstable_by_key(|place| (self.tenant[*place], self.subject[*place], self.intent[*place]));
        // The database counts from 1.
        self.intents = places.into_iter().map(|place| place as i32 + 1).collect();
        Ok(())
    }

    /// The call, with what there is.
    pub fn call(&self) -> (String, Vec<&(dyn ToSql + Sync)>) {
        let mut call = Call { sql: "SELECT karwan.flush_set(".to_owned(), parameters: Vec::with_capacity(48) };
        call.with(true, &[("tenants", &self.tenants), ("wait_ms", &self.wait_ms)]);
        call.with(
            !self.consumer.is_empty(),
            &[("consumer", &self.consumer), ("lane", &self.lane), ("epoch", &self.epoch)],
        );
        call.with(
            !self.claim_event.is_empty(),
            &[
                ("claim_tenant", &self.claim_tenant),
                ("claim_event", &self.claim_event),
                ("claim_seq", &self.claim_seq),
                ("claim_logged", &self.claim_logged),
            ],
        );
        call.with(!self.claim_hold.is_empty(), &[("claim_hold", &self.claim_hold)]);
        call.with(!self.claim_parked.is_empty(), &[("claim_parked", &self.claim_parked)]);
        call.with(!self.locks.is_empty(), &[("locks", &self.locks)]);
        call.with(!self.unit.is_empty(), &[("unit_tenant", &self.unit_tenant), ("unit", &self.unit)]);
        self.with_documents(&mut call);
        self.with_tasks(&mut call);
        call.with(
            !self.event.is_empty(),
            &[
                ("tenant", &self.tenant),
                ("subject", &self.subject),
                ("key", &self.key),
                ("slot", &self.slot),
                ("event", &self.event),
                ("idem", &self.intent),
                ("hash", &self.hash),
                ("envelope", &self.envelope),
                ("intent", &self.intents),
            ],
        );
        call.sql.push(')');
        (call.sql, call.parameters)
    }

    fn with_documents<'b>(&'b self, call: &mut Call<'b>) {
        call.with(
            !self.doc_id.is_empty(),
            &[
                ("doc_kind", &self.doc_kind),
                ("doc_end", &self.doc_end),
                ("doc_puts", &self.doc_puts),
                ("doc_all", &self.doc_all),
                ("doc_tenant", &self.doc_tenant),
                ("doc_id", &self.doc_id),
                ("doc_version", &self.doc_version),
                ("doc_blind", &self.doc_blind),
                ("doc_action", &self.doc_action),
                ("doc_shape", &self.doc_shape),
                ("doc_body", &self.doc_body),
            ],
        );
        call.with(self.doc_width > 0, &[("doc_width", &self.doc_width), ("doc_fields", &self.doc_fields)]);
    }

    fn with_tasks<'b>(&'b self, call: &mut Call<'b>) {
        call.with(
            !self.fired_id.is_empty(),
            &[
                ("fired_tenant", &self.fired_tenant),
                ("fired_kind", &self.fired_kind),
                ("fired_id", &self.fired_id),
                ("fired_token", &self.fired_token),
            ],
        );
        call.with(!self.settled.is_empty(), &[("settled_tenant", &self.settled_tenant), ("settled", &self.settled)]);
        call.with(
            !self.due_id.is_empty(),
            &[
                ("due_tenant", &self.due_tenant),
                ("due_kind", &self.due_kind),
                ("due_id", &self.due_id),
                ("due_slot", &self.due_slot),
                ("due", &self.due),
                ("due_body", &self.due_body),
                ("due_token", &self.due_token),
                ("due_cause", &self.due_cause),
            ],
        );
        call.with(
            !self.effect.is_empty(),
            &[
                ("effect_tenant", &self.effect_tenant),
                ("effect", &self.effect),
                ("effect_kind", &self.effect_kind),
                ("effect_key", &self.effect_key),
                ("effect_slot", &self.effect_slot),
                ("effect_body", &self.effect_body),
                ("effect_cause", &self.effect_cause),
            ],
        );
    }
}

/// A call that is put together.
struct Call<'a> {
    sql: String,
    parameters: Vec<&'a (dyn ToSql + Sync)>,
}

impl<'a> Call<'a> {
    /// With these parameters of the function, where they are there.
    fn with(&mut self, there: bool, parameters: &[(&str, &'a (dyn ToSql + Sync))]) {
        for (name, value) in parameters.iter().filter(|_| there) {
            self.parameters.push(*value);
            let comma = if self.parameters.len() > 1 { ", " } else { "" };
            write!(self.sql, "{comma}p_{name} => ${}", self.parameters.len()).expect("a text takes all of it");
        }
    }
}

/// Ids as an array is written.
pub(super) fn list(ids: &[Uuid]) -> String {
    let mut text = String::with_capacity(2 + 37 * ids.len());
    for id in ids {
        text.push(if text.is_empty() { '{' } else { ',' });
        text.push_str(id.hyphenated().encode_lower(&mut Uuid::encode_buffer()));
    }
    if text.is_empty() {
        text.push('{');
    }
    text.push('}');
    text
}
