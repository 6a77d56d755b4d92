//! What became of calls: what is told at the same time is kept in one transaction.
//!
//! Every call to the outside ends with a commit of its own, and they end in crowds: one commit for all that have ended meanwhile
//! costs what one of them did. Nobody waits for company: whoever finds a turn takes along what waits at that moment.
//! Bounds: [`AT_ONCE`] transactions under way, [`A_CALL`] answers each.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::time::SystemTime;

use futures_util::future::join_all;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Semaphore, oneshot};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::flush::instant;
use super::{Postgres, error};
use crate::effect::{EffectRef, Outcome};
use crate::error::Error;
use crate::write_set::LaneHold;

const AT_ONCE: usize = 2;
const A_CALL: usize = 64;

/// Those who wait until an answer is kept.
pub(super) struct Answers {
    waiting: Mutex<VecDeque<Told>>,
    turns: Semaphore,
}

struct Told {
    hold: LaneHold,
    effect: EffectRef,
    outcome: Outcome,
    /// Whether it was still waiting.
    kept: oneshot::Sender<bool>,
}

impl Default for Answers {
    fn default() -> Self {
        Self { waiting: Mutex::default(), turns: Semaphore::new(AT_ONCE) }
    }
}

impl Answers {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Told>> {
        self.waiting.lock().expect("nothing panics while holding it")
    }

    /// Those of one lane that wait.
    fn take(&self) -> Vec<Told> {
        let mut waiting = self.waiting();
        let Some(hold) = waiting.front().map(|told| told.hold.clone()) else { return Vec::new() };
        let (mut taken, mut left) = (Vec::new(), VecDeque::new());
        // Who has gone away tells it no more.
        for told in waiting.drain(..).filter(|told| !told.kept.is_closed()) {
            if told.hold == hold && taken.len() < A_CALL { taken.push(told) } else { left.push_back(told) }
        }
        *waiting = left;
        taken
    }
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
        let gone = || Error::Gone { what: format!("the effect {}", Uuid::from_u128(effect.id)) };
        loop {
            let (kept, mut answered) = oneshot::channel();
            self.answers.waiting().push_back(Told { hold: hold.clone(), effect, outcome: outcome.clone(), kept });
            loop {
                tokio::select! {
                    biased;
                    kept = &mut answered => match kept {
                        Ok(kept) => return if kept { Ok(()) } else { Err(gone()) },
                        // Whoever told it gave up, or was refused: it is told again.
                        Err(_) => break,
                    },
                    turn = self.answers.turns.acquire() => {
                        let _turn = turn.map_err(|_| Error::Closed)?;
                        let told = self.tell_waiting().await;
                        // A failure to keep what others wait for is told to them, when they tell it again.
                        match answered.try_recv() {
                            Ok(kept) => return if kept { Ok(()) } else { Err(gone()) },
                            Err(TryRecvError::Closed) => {
                                told?;
                                break;
                            }
                            Err(TryRecvError::Empty) => {}
                        }
                    }
                }
            }
        }
    }

    async fn tell_waiting(&self) -> Result<(), Error> {
        let told = self.answers.take();
        let Some(Told { hold, .. }) = told.first() else { return Ok(()) };
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
        let (held, recorded) = tokio::join!(tx.execute(&check, &held), join_all(told.iter().map(one)));
        held.map_err(bad)?;
        let recorded: Vec<u64> = recorded.into_iter().collect::<Result<_, _>>().map_err(bad)?;
        tx.commit().await.map_err(bad)?;
        for (told, rows) in told.into_iter().zip(recorded) {
            // Who has gone away needs no answer.
            let _ = told.kept.send(rows > 0);
        }
        Ok(())
    }
}
