//! The flush: a write set as arrays, handed to one function in the database.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use uuid::Uuid;

use super::documents::field_text;
use super::{Postgres, error, kinds};
use crate::backend::{Refusal, Void};
use crate::error::Error;
use crate::write_set::{Action, Flushed, UnitClaim, WriteSet, key_number, slot, slot_of};

/// The function's parameters, in their order; see `schema/functions.sql`.
const PARAMETERS: usize = 51;

pub(super) static CALL: LazyLock<String> = LazyLock::new(|| {
    let places: Vec<String> = (1..=PARAMETERS).map(|place| format!("${place}")).collect();
    format!("SELECT karwan.flush({})", places.join(", "))
});

impl Postgres {
    pub async fn flush(&self, set: &Arc<WriteSet>) -> Result<Flushed, Refusal> {
        // Built before a connection is taken: those are few, and others wait for them.
        let arrays = Arrays::of(set, self)?;
        let client = self.app().await?;
        let statement = client.prepare_cached(&CALL).await.map_err(|cause| self.error(cause))?;
        let row = client.query_one(&statement, &arrays.parameters()).await;
        drop(client);
        // Whoever waits for this connection goes first: the runtime would let it wait until this task pauses by itself,
        // which may be after it has built its next unit.
        tokio::task::yield_now().await;
        match row {
            Ok(row) => Ok(Flushed { seq: row.get(0) }),
            Err(cause) => Err(self.named(error::refusal(&self.shown, cause), set)),
        }
    }

    pub async fn unit_committed(&self, claim: UnitClaim, void: Void) -> Result<bool, Error> {
        let client = self.app().await?;
        let (tenant, id) = (Uuid::from_u128(claim.tenant), Uuid::from_u128(claim.id));
        let row =
            client.query_one("SELECT karwan.unit_committed($1, $2, $3)", &[&tenant, &id, &(void == Void::Yes)]).await;
        Ok(row.map_err(|cause| self.error(cause))?.get(0))
    }

    /// The database does not repeat the consumer's name.
    pub(super) fn named(&self, refusal: Refusal, set: &WriteSet) -> Refusal {
        match (refusal, &set.lane) {
            (Refusal::Error(Error::Claimed { event, .. }), Some(lane)) => {
                Error::Claimed { consumer: lane.consumer.clone(), event }.into()
            }
            (refusal, _) => refusal,
        }
    }
}

/// A write set, column by column.
#[derive(Default)]
pub(super) struct Arrays<'a> {
    tenants: Vec<Uuid>,
    consumer: Option<&'a str>,
    lane: i32,
    epoch: i64,
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
    pub fn of(set: &'a WriteSet, store: &Postgres) -> Result<Self, Error> {
        let mut arrays = Self::default();
        if let Some(lane) = &set.lane {
            arrays.consumer = Some(&lane.consumer);
            arrays.lane = lane.lane.into();
            arrays.epoch = lane.epoch;
        }
        let mut claims: Vec<_> = set.claims.iter().collect();
        claims.sort_by_key(|claim| claim.seq);
        for claim in claims {
            arrays.claim_tenant.push(Uuid::from_u128(claim.tenant));
            arrays.claim_event.push(Uuid::from_u128(claim.event.bits()));
            arrays.claim_seq.push(claim.seq);
            arrays.claim_logged.push(instant(claim.logged));
            arrays.claim_parked.push(claim.parked);
        }
        for unit in &set.units {
            arrays.unit_tenant.push(Uuid::from_u128(unit.tenant));
            arrays.unit.push(Uuid::from_u128(unit.id));
        }
        arrays.documents(set);
        arrays.reminders(set);
        arrays.facts(set, store)?;
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

    fn documents(&mut self, set: &'a WriteSet) {
        let widest = set.documents.iter().map(|document| document.kind.fields.len()).max();
        let width = widest.unwrap_or_default();
        self.doc_width = width as i32;
        let reads_only = !set.writes();
        // They are sorted by kind, and a token is a hash over its fields.
        let (mut of, mut token) = ("", String::new());
        for document in &set.documents {
            if document.kind.name != of {
                (of, token) = (document.kind.name, kinds::token(&document.kind));
            }
            self.doc_kind.push(token.clone());
            self.doc_tenant.push(Uuid::from_u128(document.tenant));
            self.doc_id.push(&document.id);
            self.doc_version.push(document.expected);
            self.doc_blind.push(document.blind);
            let mut fields: &[crate::kind::FieldValue] = &[];
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

    fn reminders(&mut self, set: &'a WriteSet) {
        for deadline in &set.fired {
            self.fired_tenant.push(Uuid::from_u128(deadline.tenant));
            self.fired_kind.push(&deadline.kind);
            self.fired_id.push(&deadline.id);
            self.fired_token.push(Uuid::from_u128(deadline.token));
        }
        for effect in &set.settled {
            self.settled_tenant.push(Uuid::from_u128(effect.tenant));
            self.settled.push(Uuid::from_u128(effect.id));
        }
        for deadline in &set.deadlines {
            self.due_tenant.push(Uuid::from_u128(deadline.tenant));
            self.due_kind.push(&deadline.kind);
            self.due_id.push(&deadline.id);
            self.due_slot.push(slot(deadline.tenant, &deadline.id).cast_signed());
            self.due.push(deadline.due.map(instant));
            self.due_body.push(&deadline.body);
            self.due_token.push(Uuid::from_u128(deadline.token));
            self.due_cause.push(&deadline.cause);
        }
        for effect in &set.effects {
            self.effect_tenant.push(Uuid::from_u128(effect.tenant));
            self.effect.push(Uuid::from_u128(effect.id));
            self.effect_kind.push(&effect.kind);
            self.effect_key.push(&effect.key);
            self.effect_slot.push(slot(effect.tenant, &effect.key).cast_signed());
            self.effect_body.push(&effect.body);
            self.effect_cause.push(&effect.cause);
        }
    }

    fn facts(&mut self, set: &'a WriteSet, store: &Postgres) -> Result<(), Error> {
        for fact in &set.facts {
            let number = key_number(fact.tenant, &fact.key);
            if !fact.carried {
                self.locks.push(number);
            }
            self.tenant.push(Uuid::from_u128(fact.tenant));
            self.subject.push(store.subject(&fact.subject)?);
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
            &self.consumer,
            &self.lane,
            &self.epoch,
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

/// The last instant of the year 9999; the driver counts in microseconds and would overflow far beyond.
const LAST_MS: i64 = 253_402_300_799_999;

/// Milliseconds after 1970 as the driver wants them.
pub(super) fn instant(ms: i64) -> SystemTime {
    let ms = ms.clamp(-LAST_MS, LAST_MS);
    let distance = Duration::from_millis(ms.unsigned_abs());
    if ms < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}

/// And back.
pub(super) fn millis(at: SystemTime) -> i64 {
    match at.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
    }
}
