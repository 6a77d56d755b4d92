//! Undoing: what an action touched is put back as it was, where nothing else has happened to it since.

use serde_json::{Value as Json, json};

use super::Operator;
use super::action::{Action, Verb, Who};
use super::deeds::{AT_ONCE, claim, park, stopped, unclaim};
use super::desk::{Desk, Touched, values};
use super::find::{Found, Place};
use super::letter::{Letter, State, Target};
use super::list::action_numbered;
use super::order::in_order;
use super::pause::pause_reason;
use crate::error::Error;
use crate::write_set::TenantBits;

impl Operator {
    /// Undoes a skip, a quarantine, a pause or a retry, where that is still possible; answers the number of the action that
    /// does. Undoing a skip of a parked event whose successors ran needs `out_of_order`.
    pub async fn undo(&self, who: &Who, action: i64, out_of_order: bool) -> Result<i64, Error> {
        who.signed()?;
        let mut desk = self.desk().await?;
        let done = action_numbered(&mut desk, action).await?;
        if let Some(by) = done.undone_by {
            return Err(cannot(action, format!("action {by} has undone it")));
        }
        match done.verb {
            Verb::Skip => self.bring_back(&mut desk, &done, State::Skipped, out_of_order).await?,
            Verb::Quarantine => self.bring_back(&mut desk, &done, State::Quarantined, out_of_order).await?,
            Verb::Retry => take_back_retry(&mut desk, &done).await?,
            Verb::PauseKey => {
                let (consumer, tenant, key) = key_of(&done)?;
                still_pauses(&mut desk, &done, Verb::ResumeKey).await?;
                let sql = "DELETE FROM karwan.paused_key WHERE consumer = $1 AND tenant_id = $2 AND key = $3
                           AND actor = $4 AND reason = $5";
                let values = values![consumer, tenant, key, done.who.actor.as_str(), done.who.reason.as_str()];
                changed(&done, desk.run(sql, values).await?)?;
            }
            Verb::PauseConsumer => {
                still_pauses(&mut desk, &done, Verb::ResumeConsumer).await?;
                let sql = "DELETE FROM karwan.suspension WHERE consumer = $1 AND reason = $2";
                let reason = pause_reason(&done.who);
                changed(&done, desk.run(sql, values![done.consumer.as_deref(), reason.as_str()]).await?)?;
            }
            Verb::Seek | Verb::Forget => {
                let consumer = done.consumer.as_deref().unwrap_or("CONSUMER");
                return Err(elsewhere(&done, &format!("consumer seek {consumer}")));
            }
            Verb::Replay => return Err(elsewhere(&done, "replay")),
            verb @ (Verb::Repair
            | Verb::Delete
            | Verb::Undo
            | Verb::Note
            | Verb::ResumeKey
            | Verb::ResumeConsumer
            | Verb::ClearInbox
            | Verb::ForgetSubject
            | Verb::DropLog
            | Verb::ResumeStore) => return Err(cannot(action, format!("a {} is not undone here", verb.name()))),
        }
        let touched = Touched {
            consumer: done.consumer.as_deref(),
            tenant: done.tenant,
            key: done.key.as_deref(),
            event: done.event,
            detail: json!({ "action": action, "verb": done.verb.name() }),
        };
        let undone = desk.record(who, Verb::Undo, &touched).await?;
        let sql = "UPDATE karwan.action SET undone_by = $2 WHERE id = $1 AND undone_by IS NULL";
        changed(&done, desk.run(sql, values![action, undone]).await?)?;
        desk.commit().await?;
        Ok(undone)
    }

    /// A letter that was set aside is what it was before.
    async fn bring_back(&self, desk: &mut Desk, done: &Action, state: State, out_of_order: bool) -> Result<(), Error> {
        let (found, lane) = still_there(desk, done).await?;
        let Place::Aside { was, .. } = &found.place else { return Err(moved_on(done, &found)) };
        if found.letter.state != state {
            return Err(moved_on(done, &found));
        }
        let Letter { target, tenant, .. } = &found.letter;
        let detail = detail_of(done);
        match was.as_str() {
            "parked" => {
                if !out_of_order {
                    in_order(desk, &found).await?;
                }
                unclaim(desk, &found).await?;
                park(desk, &found, lane, detail["due"].as_i64()).await?;
            }
            "dead" => die_again(desk, &found, "aside", &detail).await?,
            _ => {
                let sql = "UPDATE karwan.effect SET state = 'dead' WHERE tenant_id = $1 AND id = $2 AND state = 'done'";
                changed(done, desk.run(sql, values![*tenant, target.event]).await?)?;
            }
        }
        let sql = "DELETE FROM karwan.aside WHERE consumer = $1 AND event_id = $2";
        desk.run(sql, values![target.consumer.as_str(), target.event]).await.map(drop)
    }
}

/// Refuses where a pause was ended since: what stops the consumer or the key now is somebody else's. An undo of a later pause ends
/// that one, and is among the actions too.
async fn still_pauses(desk: &mut Desk, done: &Action, resume: Verb) -> Result<(), Error> {
    let sql = "SELECT id FROM karwan.action WHERE id > $1 AND verb IN ($2, $3) AND consumer = $4
               AND coalesce(key, '') = $5 AND ($5 = '' OR tenant_id = $6) ORDER BY id LIMIT 1";
    let key = done.key.as_deref().unwrap_or_default();
    let values = values![done.id, resume.name(), done.verb.name(), done.consumer.as_deref(), key, done.tenant];
    match desk.row(sql, values).await? {
        Some(row) => Err(cannot(done.id, format!("it was ended since: action {} came after it", row.int(0)))),
        None => Ok(()),
    }
}

/// The letter that an action touched, and its lane.
async fn still_there(desk: &mut Desk, done: &Action) -> Result<(Found, i64), Error> {
    match stopped(desk, &target_of(done)?).await {
        Err(Error::Deleted { action, .. }) => Err(cannot(done.id, format!("action {action} has deleted the letter"))),
        Err(Error::Claimed { .. }) => {
            Err(cannot(done.id, "the event was handled since, or its letter is not kept".to_owned()))
        }
        Err(Error::NoLetter { .. }) => Err(cannot(done.id, "the letter is not kept any more".to_owned())),
        other => other,
    }
}

/// A letter that has not been tried since its retry waits again as it did, or is dead again.
async fn take_back_retry(desk: &mut Desk, done: &Action) -> Result<(), Error> {
    let (found, _) = still_there(desk, done).await?;
    let Letter { target, tenant, attempts, due, .. } = &found.letter;
    let (consumer, event) = (target.consumer.as_str(), target.event);
    let detail = detail_of(done);
    let untried = |before: u64| *due == Some(AT_ONCE) && u64::from(*attempts) == before;
    let before = detail["attempts"].as_u64().unwrap_or_default();
    match (&found.place, detail["was"].as_str()) {
        (Place::Parked, Some("parked")) if untried(before) => {
            let sql = "UPDATE karwan.parked SET due = $3 WHERE consumer = $1 AND event_id = $2";
            desk.run(sql, values![consumer, event, detail["due"].as_i64()]).await.map(drop)
        }
        (Place::Parked, Some("dead")) if untried(0) => {
            claim(desk, &found).await?;
            die_again(desk, &found, "parked", &detail).await?;
            let sql = "DELETE FROM karwan.parked WHERE consumer = $1 AND event_id = $2";
            desk.run(sql, values![consumer, event]).await.map(drop)
        }
        (Place::Effect { state }, Some("effect")) if state != "dead" && *due == Some(AT_ONCE) => {
            let was_dead = detail["state"] == "dead";
            let sql =
                "UPDATE karwan.effect SET state = CASE WHEN $3 = 1 THEN 'dead' ELSE state END, due = $4, attempts = $5
                       WHERE tenant_id = $1 AND id = $2";
            let before = i64::try_from(before).unwrap_or_default();
            let due = detail["due"].as_i64().unwrap_or(AT_ONCE);
            desk.run(sql, values![*tenant, event, i64::from(was_dead), due, before]).await.map(drop)
        }
        _ => Err(moved_on(done, &found)),
    }
}

/// Copies a letter to the dead ones, with what was known of its death.
async fn die_again(desk: &mut Desk, found: &Found, table: &str, detail: &Json) -> Result<(), Error> {
    let target = &found.letter.target;
    let attempts = detail["attempts"].as_i64().unwrap_or_else(|| found.letter.attempts.into());
    let error = detail["error"].as_str().unwrap_or(&found.letter.error);
    let sql = format!(
        "INSERT INTO karwan.dead (consumer, event_id, attempts, error, at, fed_at, seq, logged, tenant_id, subject, key, envelope)
         SELECT consumer, event_id, $3, $4, $5, $6, seq, logged, tenant_id, subject, key, envelope
         FROM karwan.{table} WHERE consumer = $1 AND event_id = $2"
    );
    let (at, fed_at) = (detail["at"].as_i64().unwrap_or(found.letter.logged), detail["fed_at"].as_i64());
    desk.run(&sql, values![target.consumer.as_str(), target.event, attempts, error, at, fed_at]).await.map(drop)
}

fn cannot(action: i64, reason: String) -> Error {
    Error::CannotUndo { action, reason }
}

/// What another command undoes.
fn elsewhere(done: &Action, command: &str) -> Error {
    let (verb, action) = (done.verb.name(), done.id);
    cannot(action, format!("a {verb} is not undone here, but by karwan {command} --undo {action}"))
}

fn moved_on(done: &Action, found: &Found) -> Error {
    cannot(done.id, format!("the letter is {} now, and other things have happened to it", found.letter.state.name()))
}

fn changed(done: &Action, rows: u64) -> Result<(), Error> {
    if rows == 1 { Ok(()) } else { Err(cannot(done.id, "somebody else has undone it meanwhile".to_owned())) }
}

fn target_of(done: &Action) -> Result<Target, Error> {
    match (done.consumer.clone(), done.event) {
        (Some(consumer), Some(event)) => Ok(Target { consumer, event }),
        _ => Err(cannot(done.id, "it names no letter".to_owned())),
    }
}

fn key_of(done: &Action) -> Result<(&str, TenantBits, &str), Error> {
    match (done.consumer.as_deref(), done.tenant, done.key.as_deref()) {
        (Some(consumer), Some(tenant), Some(key)) => Ok((consumer, tenant, key)),
        _ => Err(cannot(done.id, "it names no key".to_owned())),
    }
}

fn detail_of(done: &Action) -> Json {
    serde_json::from_str(&done.detail).unwrap_or_default()
}
