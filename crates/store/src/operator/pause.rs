//! Keys and consumers that an operator stops and lets go on, restored stores that go on, and notes.

use serde_json::json;

use super::Operator;
use super::action::{Verb, Who};
use super::deeds::AT_ONCE;
use super::desk::{Desk, Touched, values};
use super::find::find;
use super::letter::Target;
use crate::error::Error;
use crate::write_set::TenantBits;

/// The longest note.
const NOTE_BYTES_MAX: usize = 64 * 1024;

impl Operator {
    /// Stops a key for a consumer; false where it is stopped already. Whoever holds its lane knows it within a beat.
    pub async fn pause_key(&self, who: &Who, consumer: &str, tenant: TenantBits, key: &str) -> Result<bool, Error> {
        who.signed()?;
        let mut desk = self.desk().await?;
        let now = desk.now().await?;
        let sql = "INSERT INTO karwan.paused_key (consumer, tenant_id, key, actor, reason, at) VALUES ($1, $2, $3, $4, $5, $6)
                   ON CONFLICT DO NOTHING";
        let values = values![consumer, tenant, key, who.actor.as_str(), who.reason.as_str(), now];
        let paused = desk.run(sql, values).await? > 0;
        of_key(desk, who, Verb::PauseKey, (consumer, tenant, key), paused).await
    }

    /// Lets a key go on; false where it was not stopped. What was parked behind the pause, and has not failed, is due.
    pub async fn resume_key(&self, who: &Who, consumer: &str, tenant: TenantBits, key: &str) -> Result<bool, Error> {
        who.signed()?;
        let mut desk = self.desk().await?;
        let sql = "DELETE FROM karwan.paused_key WHERE consumer = $1 AND tenant_id = $2 AND key = $3";
        let resumed = desk.run(sql, values![consumer, tenant, key]).await? > 0;
        if resumed {
            desk.stop_lane(consumer, tenant, key).await?;
            let sql = "UPDATE karwan.parked SET due = $4 WHERE consumer = $1 AND tenant_id = $2 AND key = $3 AND attempts = 0";
            desk.run(sql, values![consumer, tenant, key, AT_ONCE]).await?;
        }
        of_key(desk, who, Verb::ResumeKey, (consumer, tenant, key), resumed).await
    }

    /// Stops a consumer; false where it is stopped already.
    pub async fn pause_consumer(&self, who: &Who, consumer: &str) -> Result<bool, Error> {
        who.signed()?;
        let mut desk = self.desk().await?;
        let reason = pause_reason(who);
        let now = desk.now().await?;
        let sql = "INSERT INTO karwan.suspension (consumer, reason, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        let paused = desk.run(sql, values![consumer, reason.as_str(), now]).await? > 0;
        of_consumer(desk, who, Verb::PauseConsumer, consumer, paused).await
    }

    /// Lets a consumer go on, whoever stopped it; false where it was not stopped.
    pub async fn resume_consumer(&self, who: &Who, consumer: &str) -> Result<bool, Error> {
        who.signed()?;
        let mut desk = self.desk().await?;
        let resumed = desk.run("DELETE FROM karwan.suspension WHERE consumer = $1", values![consumer]).await? > 0;
        of_consumer(desk, who, Verb::ResumeConsumer, consumer, resumed).await
    }

    /// Lets calls to the outside and relays of a restored store run again.
    pub async fn resume_store(&self, who: &Who) -> Result<i64, Error> {
        who.signed()?;
        let mut desk = self.desk().await?;
        desk.resume_store().await?;
        let action = desk.record(who, Verb::ResumeStore, &Touched::default()).await?;
        desk.commit().await?;
        Ok(action)
    }

    /// Writes something down about a letter: the note of an incident. Answers the number of the action.
    pub async fn note(&self, who: &Who, target: &Target, note: &str) -> Result<i64, Error> {
        who.signed()?;
        if note.len() > NOTE_BYTES_MAX {
            return Err(Error::TooLarge { what: "bytes of a note", actual: note.len(), max: NOTE_BYTES_MAX });
        }
        let mut desk = self.desk().await?;
        let letter = find(&mut desk, target).await?.letter;
        let touched = Touched {
            consumer: Some(&target.consumer),
            tenant: Some(letter.tenant),
            key: Some(&letter.key),
            event: Some(target.event),
            detail: json!({ "note": note }),
        };
        let action = desk.record(who, Verb::Note, &touched).await?;
        desk.commit().await?;
        Ok(action)
    }
}

/// Why a consumer is suspended that somebody has stopped.
pub(super) fn pause_reason(who: &Who) -> String {
    format!("paused by {}: {}", who.actor, who.reason)
}

/// Records what was done to a key, where anything was.
async fn of_key(
    mut desk: Desk,
    who: &Who,
    verb: Verb,
    (consumer, tenant, key): (&str, TenantBits, &str),
    changed: bool,
) -> Result<bool, Error> {
    if changed {
        let touched = Touched { consumer: Some(consumer), tenant: Some(tenant), key: Some(key), ..Touched::default() };
        desk.record(who, verb, &touched).await?;
        desk.commit().await?;
    }
    Ok(changed)
}

async fn of_consumer(mut desk: Desk, who: &Who, verb: Verb, consumer: &str, changed: bool) -> Result<bool, Error> {
    if changed {
        desk.record(who, verb, &Touched { consumer: Some(consumer), ..Touched::default() }).await?;
        desk.commit().await?;
    }
    Ok(changed)
}
