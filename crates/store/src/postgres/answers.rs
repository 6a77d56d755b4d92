//! What became of calls: what is told at the same time is kept in one transaction.
//!
//! Every call to the outside ends with a commit of its own, and they end in crowds: one commit for all that have ended meanwhile
//! costs what one of them did. Bounds: [`AT_ONCE`] transactions under way, [`A_CALL`] answers each.

use std::time::SystemTime;

use futures_util::future::join_all;
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

/// An outcome, column by column: state, answer, not before, why, and whether it counts as an attempt.
type Columns<'a> = (Option<&'a str>, Option<&'a str>, Option<SystemTime>, Option<&'a str>, i32);

fn columns(outcome: &Outcome) -> Columns<'_> {
    match outcome {
        Outcome::Answered(answer) => (Some("answered"), Some(answer), Some(SystemTime::UNIX_EPOCH), None, 1),
        Outcome::Held { due, error } => (None, None, Some(instant(*due)), Some(error), 0),
        Outcome::Later { due, error } => (None, None, Some(instant(*due)), Some(error), 1),
        Outcome::Dead { error } => (Some("dead"), None, None, Some(error), 1),
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
        let mut client = self.relay().await?;
        let check = client.prepare_cached("SELECT karwan.check_lane($1, $2, $3)").await.map_err(bad)?;
        let record = client.prepare_cached(include_str!("schema/record_effect.sql")).await.map_err(bad)?;
        let tx = client.transaction().await.map_err(bad)?;
        let lane = i32::from(hold.lane);
        let held: [&(dyn ToSql + Sync); 3] = [&hold.consumer, &lane, &hold.epoch];
        let one = async |Told { effect, outcome, .. }: &Told| {
            let (tenant, id) = (Uuid::from_u128(effect.tenant), Uuid::from_u128(effect.id));
            let (state, answer, due, why, counted) = columns(outcome);
            tx.execute(&record, &[&tenant, &id, &state, &answer, &due, &why, &counted]).await
        };
        // Sent together: where the lane is somebody else's, the check has ended the transaction before the answers come to it.
        let (held, recorded) = tokio::join!(tx.execute(&check, &held), join_all(told.iter().map(|ask| one(&ask.of))));
        held.map_err(bad)?;
        let recorded: Vec<u64> = recorded.into_iter().collect::<Result<_, _>>().map_err(bad)?;
        tx.commit().await.map_err(bad)?;
        for (told, rows) in told.into_iter().zip(recorded) {
            told.answer(rows > 0);
        }
        Ok(())
    }
}
