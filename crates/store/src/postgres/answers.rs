//! What became of calls: what is told at the same time is kept in one transaction.
//!
//! Every call to the outside ends with a commit of its own, and they end in crowds: one commit for all that have ended meanwhile
//! costs what one of them did. Bounds: [`AT_ONCE`] transactions under way, [`A_CALL`] answers each.

use std::collections::HashSet;
use std::time::SystemTime;

use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::crowd::Crowd;
use super::flush::instant;
use super::{Postgres, error};
use crate::effect::{EffectRef, Outcome};
use crate::error::Error;
use crate::write_set::LaneHold;

const AT_ONCE: usize = 2;
const A_CALL: usize = 64;

/// Those who wait until an answer is kept: whether it was still waited for.
pub(super) type Answers = Crowd<Told, bool>;

/// What became of a call.
pub(super) struct Told {
    hold: LaneHold,
    effect: EffectRef,
    outcome: Outcome,
}

/// Nobody waits yet.
pub(super) fn answers() -> Answers {
    Crowd::new(AT_ONCE)
}

const RECORD: &str = "SELECT karwan.record_effects($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";

/// What became of calls, column by column: of which, state, answer, not before, why, and whether it counts as an attempt.
#[derive(Default)]
struct Columns<'a> {
    tenant: Vec<Uuid>,
    id: Vec<Uuid>,
    state: Vec<Option<&'a str>>,
    answer: Vec<Option<&'a str>>,
    due: Vec<Option<SystemTime>>,
    error: Vec<Option<&'a str>>,
    counted: Vec<i32>,
}

impl<'a> Columns<'a> {
    fn of(told: impl Iterator<Item = &'a Told>) -> Self {
        let mut columns = Self::default();
        for Told { effect, outcome, .. } in told {
            let (state, answer, due, error, counted) = match outcome {
                Outcome::Answered(answer) => {
                    (Some("answered"), Some(answer.as_str()), Some(SystemTime::UNIX_EPOCH), None, 1)
                }
                Outcome::Held { due, error } => (None, None, Some(instant(*due)), Some(error.as_str()), 0),
                Outcome::Later { due, error } => (None, None, Some(instant(*due)), Some(error.as_str()), 1),
                Outcome::Dead { error } => (Some("dead"), None, None, Some(error.as_str()), 1),
            };
            columns.tenant.push(Uuid::from_u128(effect.tenant));
            columns.id.push(Uuid::from_u128(effect.id));
            columns.state.push(state);
            columns.answer.push(answer);
            columns.due.push(due);
            columns.error.push(error);
            columns.counted.push(counted);
        }
        columns
    }

    fn parameters(&self) -> [&(dyn ToSql + Sync); 7] {
        [&self.tenant, &self.id, &self.state, &self.answer, &self.due, &self.error, &self.counted]
    }
}

impl Postgres {
    pub async fn record_effect(&self, hold: &LaneHold, effect: EffectRef, outcome: &Outcome) -> Result<(), Error> {
        let told = || Told { hold: hold.clone(), effect, outcome: outcome.clone() };
        let kept = self.answers.ask(told, || self.tell_waiting()).await?;
        let gone = || Error::Gone { what: format!("the effect {}", Uuid::from_u128(effect.id)) };
        if kept { Ok(()) } else { Err(gone()) }
    }

    async fn tell_waiting(&self) -> Result<(), Error> {
        let told = self.answers.take(A_CALL, |one, other| one.hold == other.hold);
        let Some(Told { hold, .. }) = told.first().map(|ask| &ask.of) else { return Ok(()) };
        let bad = |cause| error::lane_error(&self.shown, cause);
        let columns = Columns::of(told.iter().map(|ask| &ask.of));
        let client = self.relay().await?;
        let statement = client.prepare_cached(RECORD).await.map_err(bad)?;
        let lane = i32::from(hold.lane);
        let held: [&(dyn ToSql + Sync); 3] = [&hold.consumer, &lane, &hold.epoch];
        let values: Vec<_> = held.into_iter().chain(columns.parameters()).collect();
        let gone = client.query(&statement, &values).await.map_err(bad)?;
        drop(client);
        // The database counts from 1.
        let gone: HashSet<i32> = gone.iter().map(|row| row.get::<_, i32>(0) - 1).collect();
        for (place, told) in (0..).zip(told) {
            told.answer(!gone.contains(&place));
        }
        Ok(())
    }
}
