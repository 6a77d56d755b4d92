//! What an operator does to one letter.

use karwan_envelope::Violations;
use serde_json::json;

use super::Operator;
use super::action::{Deed, Who};
use super::desk::{Desk, Touched, values};
use super::find::{Found, Place, find};
use super::letter::{Letter, State, Target};
use super::order::in_order;
use super::quarantine;
use crate::error::Error;
use crate::stored;

/// Due since ever, whatever the clocks say.
pub(super) const AT_ONCE: i64 = 0;
/// What helps with a letter that was set aside.
const UNDO_FIRST: &str = "undo that first";
/// And with an effect that is not dead.
const OPEN: &str = "it is tried by itself; only a dead one is set aside";

/// Whether a deed stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stays {
    Yes,
    No,
}

impl Operator {
    /// Does something to a letter; answers the number of the action.
    pub async fn act(&self, who: &Who, target: &Target, deed: &Deed) -> Result<i64, Error> {
        self.carry_out(who, target, deed, Stays::Yes).await
    }

    /// Whether [`Self::act`] would do it: everything is tried, and nothing stays.
    pub async fn would(&self, who: &Who, target: &Target, deed: &Deed) -> Result<(), Error> {
        self.carry_out(who, target, deed, Stays::No).await.map(drop)
    }

    async fn carry_out(&self, who: &Who, target: &Target, deed: &Deed, stays: Stays) -> Result<i64, Error> {
        who.signed()?;
        let mut desk = self.desk().await?;
        let (found, lane) = stopped(&mut desk, target).await?;
        let detail = match deed {
            Deed::Retry { out_of_order } => {
                self.valid(&mut desk, &found).await?;
                retry(&mut desk, &found, lane, *out_of_order).await?
            }
            Deed::Repair { payload, out_of_order } => {
                let repaired = self.repaired(&mut desk, &found, payload).await?;
                let detail = retry(&mut desk, &repaired, lane, *out_of_order).await?;
                put_envelope(&mut desk, &repaired, lane).await?;
                detail
            }
            Deed::Skip => set_aside(&mut desk, &found, State::Skipped, None).await?,
            Deed::Quarantine { folder } => {
                let detail = set_aside(&mut desk, &found, State::Quarantined, Some(folder)).await?;
                if stays == Stays::Yes {
                    // Before the commit: what the store lets go of is on the disk.
                    let at = desk.now().await?;
                    quarantine::write(folder, &found, who, at)?;
                }
                detail
            }
            Deed::Delete { sign_off } => delete(&mut desk, &found, who, sign_off).await?,
        };
        let Letter { tenant, key, .. } = &found.letter;
        let touched = Touched {
            consumer: Some(&target.consumer),
            tenant: Some(*tenant),
            key: Some(key),
            event: Some(target.event),
            detail,
        };
        let action = desk.record(who, deed.verb(), &touched).await?;
        if let Deed::Repair { .. } = deed {
            let sql = "INSERT INTO karwan.repair (action, consumer, event_id, tenant_id, original, at)
                       VALUES ($1, $2, $3, $4, $5, $6)";
            let (original, now) = (found.envelope.as_str(), desk.now().await?);
            desk.run(sql, values![action, target.consumer.as_str(), target.event, *tenant, original, now]).await?;
        }
        match stays {
            Stays::Yes => desk.commit().await?,
            Stays::No => drop(desk),
        }
        Ok(action)
    }

    /// Refuses an event that breaks its contract: no attempt will mend it.
    async fn valid(&self, desk: &mut Desk, found: &Found) -> Result<(), Error> {
        let broken = self.broken(desk, found).await?;
        if broken.is_empty() {
            return Ok(());
        }
        Err(Error::Drift { event: found.letter.target.event, cause: Violations(broken) })
    }

    /// The letter with another payload, judged anew.
    async fn repaired(&self, desk: &mut Desk, found: &Found, payload: &str) -> Result<Found, Error> {
        let event = found.letter.target.event;
        if found.letter.target.is_effect() {
            return Err(found.refuse("an effect has no contract to repair it by: retry, skip or quarantine it"));
        }
        let Some(catalogue) = self.catalogue(&found.letter.subject) else {
            return Err(Error::SubjectUnknown { subject: found.letter.subject.clone() });
        };
        let envelope = stored::with_payload(catalogue, &found.row(), payload)?;
        let repaired = Found { envelope, ..found.clone() };
        let broken = self.broken(desk, &repaired).await?;
        if broken.is_empty() {
            return Ok(repaired);
        }
        Err(Error::BadRepair { event, reason: Violations(broken).to_string() })
    }
}

/// The letter, and its lane, which nobody else writes until the desk is closed.
pub(super) async fn stopped(desk: &mut Desk, target: &Target) -> Result<(Found, i64), Error> {
    let found = find(desk, target).await?;
    if target.is_effect() {
        return Ok((found, 0));
    }
    let lane = desk.stop_lane(&target.consumer, found.letter.tenant, &found.letter.key).await?;
    // What was under way when it was looked at is committed now.
    Ok((find(desk, target).await?, lane))
}

/// The letter is tried now.
async fn retry(desk: &mut Desk, found: &Found, lane: i64, out_of_order: bool) -> Result<serde_json::Value, Error> {
    let Letter { target, due, attempts, error, tenant, .. } = &found.letter;
    let (consumer, event) = (target.consumer.as_str(), target.event);
    match &found.place {
        Place::Parked => {
            let sql = "UPDATE karwan.parked SET due = $3 WHERE consumer = $1 AND event_id = $2";
            desk.run(sql, values![consumer, event, AT_ONCE]).await?;
            Ok(json!({ "was": "parked", "due": due, "attempts": attempts }))
        }
        Place::Dead { at, fed_at } => {
            if !out_of_order {
                in_order(desk, found).await?;
            }
            unclaim(desk, found).await?;
            park(desk, found, lane, Some(AT_ONCE)).await?;
            desk.run("DELETE FROM karwan.dead WHERE consumer = $1 AND event_id = $2", values![consumer, event]).await?;
            Ok(json!({ "was": "dead", "attempts": attempts, "error": error, "at": at, "fed_at": fed_at }))
        }
        Place::Effect { state } => {
            if state == "dead" && !out_of_order {
                in_order(desk, found).await?;
            }
            // One whose answer is kept is acted on, and not called again.
            let sql = "UPDATE karwan.effect SET state = CASE WHEN answer IS NULL THEN 'waiting' ELSE 'answered' END, due = $3,
                       attempts = CASE WHEN state = 'dead' THEN 0 ELSE attempts END WHERE tenant_id = $1 AND id = $2";
            desk.run(sql, values![*tenant, event, AT_ONCE]).await?;
            Ok(json!({ "was": "effect", "state": state, "attempts": attempts, "due": due }))
        }
        Place::Aside { .. } => Err(found.refuse(UNDO_FIRST)),
    }
}

/// A parked letter has another envelope. Whoever holds its lane has the former one in memory, and takes the lane anew.
async fn put_envelope(desk: &mut Desk, found: &Found, lane: i64) -> Result<(), Error> {
    let target = &found.letter.target;
    let sql = "UPDATE karwan.parked SET envelope = $3 WHERE consumer = $1 AND event_id = $2";
    desk.run(sql, values![target.consumer.as_str(), target.event, found.envelope.as_str()]).await?;
    desk.unseat(&target.consumer, lane).await
}

/// Takes a letter out of the way: it is claimed, so that its key goes on and nobody reads it again.
async fn set_aside(
    desk: &mut Desk,
    found: &Found,
    state: State,
    folder: Option<&std::path::PathBuf>,
) -> Result<serde_json::Value, Error> {
    let Letter { target, due, attempts, tenant, error, .. } = &found.letter;
    let (consumer, event) = (target.consumer.as_str(), target.event);
    let now = desk.now().await?;
    let folder = folder.map(|folder| folder.display().to_string());
    let told = values![consumer, event, state.name(), folder.as_deref(), now];
    let copied = "INSERT INTO karwan.aside
        (consumer, event_id, state, was, folder, at, seq, logged, tenant_id, subject, key, attempts, error, envelope)";
    let rest = "seq, logged, tenant_id, subject, key, attempts, error, envelope";
    let sql = |table: &str| {
        format!(
            "{copied} SELECT $1, $2, $3, '{table}', $4, $5, {rest} FROM karwan.{table} WHERE consumer = $1 AND event_id = $2"
        )
    };
    match &found.place {
        Place::Parked => {
            desk.run(&sql("parked"), told).await?;
            desk.run("DELETE FROM karwan.parked WHERE consumer = $1 AND event_id = $2", &told[..2]).await?;
            claim(desk, found).await?;
            Ok(json!({ "was": "parked", "due": due }))
        }
        Place::Dead { at, fed_at } => {
            desk.run(&sql("dead"), told).await?;
            desk.run("DELETE FROM karwan.dead WHERE consumer = $1 AND event_id = $2", &told[..2]).await?;
            Ok(json!({ "was": "dead", "at": at, "fed_at": fed_at }))
        }
        Place::Effect { state } if state == "dead" => {
            let sql = format!(
                "{copied} SELECT $1, $2, $3, 'effect', $4, $5, seq, at, tenant_id, NULL, key, attempts, $7, body
                 FROM karwan.effect WHERE tenant_id = $6 AND id = $2"
            );
            let more = values![*tenant, error.as_str()];
            desk.run(&sql, &[told.as_slice(), more].concat()).await?;
            let sql = "UPDATE karwan.effect SET state = 'done' WHERE tenant_id = $1 AND id = $2";
            desk.run(sql, values![*tenant, event]).await?;
            Ok(json!({ "was": "effect", "attempts": attempts }))
        }
        Place::Effect { .. } => Err(found.refuse(OPEN)),
        Place::Aside { .. } => Err(found.refuse(UNDO_FIRST)),
    }
}

/// The letter is gone for good; its claim stays, so that it is not handled either.
async fn delete(desk: &mut Desk, found: &Found, who: &Who, sign_off: &str) -> Result<serde_json::Value, Error> {
    if sign_off.trim().is_empty() || sign_off.trim() == who.actor.trim() {
        return Err(Error::SignOff { actor: who.actor.clone() });
    }
    let Letter { target, tenant, seq, subject, attempts, error, .. } = &found.letter;
    let names = values![target.consumer.as_str(), target.event];
    match &found.place {
        Place::Parked => {
            claim(desk, found).await?;
            desk.run("DELETE FROM karwan.parked WHERE consumer = $1 AND event_id = $2", names).await?;
        }
        Place::Dead { .. } => {
            desk.run("DELETE FROM karwan.dead WHERE consumer = $1 AND event_id = $2", names).await?;
        }
        Place::Aside { .. } => {
            desk.run("DELETE FROM karwan.aside WHERE consumer = $1 AND event_id = $2", names).await?;
        }
        Place::Effect { state } if state == "dead" => {
            let sql = "UPDATE karwan.effect SET state = 'done' WHERE tenant_id = $1 AND id = $2";
            desk.run(sql, values![*tenant, target.event]).await?;
        }
        Place::Effect { .. } => return Err(found.refuse(OPEN)),
    }
    // Why it failed stays, as the record of it does; what was in it goes.
    desk.run("DELETE FROM karwan.repair WHERE consumer = $1 AND event_id = $2", names).await?;
    desk.run("DELETE FROM karwan.retried WHERE consumer = $1 AND event_id = $2", names).await?;
    let sha256 = quarantine::sha256(&found.envelope);
    let state = found.letter.state.name();
    Ok(
        json!({ "sign_off": sign_off, "was": state, "seq": seq, "subject": subject, "attempts": attempts, "error": error,
               "sha256": sha256 }),
    )
}

/// The consumer counts the event as handled.
pub(super) async fn claim(desk: &mut Desk, found: &Found) -> Result<(), Error> {
    let Letter { target, tenant, seq, logged, .. } = &found.letter;
    let sql = "INSERT INTO karwan.inbox (consumer, event_id, tenant_id, seq, at) VALUES ($1, $2, $3, $4, $5)
               ON CONFLICT DO NOTHING";
    desk.run(sql, values![target.consumer.as_str(), target.event, *tenant, *seq, *logged]).await.map(drop)
}

/// And counts it so no more.
pub(super) async fn unclaim(desk: &mut Desk, found: &Found) -> Result<(), Error> {
    let target = &found.letter.target;
    let sql = "DELETE FROM karwan.inbox WHERE consumer = $1 AND event_id = $2";
    desk.run(sql, values![target.consumer.as_str(), target.event]).await.map(drop)
}

/// Parks a dead letter or one that was set aside, with its attempts before it; whoever holds its lane takes it anew.
pub(super) async fn park(desk: &mut Desk, found: &Found, lane: i64, due: Option<i64>) -> Result<(), Error> {
    let target = &found.letter.target;
    let table = if matches!(found.place, Place::Aside { .. }) { "aside" } else { "dead" };
    let attempts = if matches!(found.place, Place::Aside { .. }) { "attempts" } else { "0" };
    let sql = format!(
        "INSERT INTO karwan.parked (consumer, event_id, lane, due, at, seq, logged, tenant_id, subject, key, attempts, error, envelope)
         SELECT consumer, event_id, $3, $4, $5, seq, logged, tenant_id, subject, key, {attempts}, error, envelope
         FROM karwan.{table} WHERE consumer = $1 AND event_id = $2"
    );
    let now = desk.now().await?;
    desk.run(&sql, values![target.consumer.as_str(), target.event, lane, due, now]).await?;
    desk.unseat(&target.consumer, lane).await
}
