//! Whether later events of a key ran: what decides over retrying a dead one, and undoing a skip.

use super::desk::{Desk, values};
use super::find::{Found, Place};
use super::letter::Letter;
use crate::effect;
use crate::error::Error;

/// The pseudo-consumers of relays: what they have passed and not parked is in their stream.
const RELAYS: &str = "relay.";

/// Refuses where a later event of the key ran, or where that is not known.
pub async fn in_order(desk: &mut Desk, found: &Found) -> Result<(), Error> {
    match later(desk, found).await? {
        None => Ok(()),
        Some(reason) => {
            let target = found.letter.target.clone();
            Err(Error::OutOfOrder { consumer: target.consumer, event: target.event, reason })
        }
    }
}

/// Which later event ran, in words, or why that is not known.
async fn later(desk: &mut Desk, found: &Found) -> Result<Option<String>, Error> {
    let Letter { target, seq, tenant, key, .. } = &found.letter;
    let (consumer, key) = (target.consumer.as_str(), key.as_str());
    if matches!(found.place, Place::Effect { .. }) || target.is_effect() {
        let kind = consumer.strip_prefix(effect::LANES).unwrap_or(consumer);
        let sql = "SELECT seq FROM karwan.effect e WHERE kind = $1 AND tenant_id = $2 AND key = $3 AND seq > $4 AND state = 'done'
                   AND NOT EXISTS (SELECT 1 FROM karwan.aside a WHERE a.consumer = $5 AND a.event_id = e.id)
                   AND NOT EXISTS (SELECT 1 FROM karwan.action x WHERE x.consumer = $5 AND x.event_id = e.id AND x.verb = 'delete')
                   ORDER BY seq LIMIT 1";
        let done = desk.row(sql, values![kind, *tenant, key, *seq, consumer]).await?;
        return Ok(done.map(|row| format!("the call {} of its key was made after it", row.int(0))));
    }
    let sql = "SELECT seq FROM karwan.log WHERE seq = $1 AND event_id = $2";
    if desk.row(sql, values![*seq, target.event]).await?.is_none() {
        let reason = "its place in the log is not there to compare: dropped, or another database's";
        return Ok(Some(reason.to_owned()));
    }
    let ran = if consumer.starts_with(RELAYS) {
        "l.seq <= (SELECT max(position) FROM karwan.lane n WHERE n.consumer = $4)
         AND NOT EXISTS (SELECT 1 FROM karwan.parked p WHERE p.consumer = $4 AND p.event_id = l.event_id)"
    } else {
        "EXISTS (SELECT 1 FROM karwan.inbox i WHERE i.consumer = $4 AND i.event_id = l.event_id)"
    };
    // A dead, skipped, quarantined or deleted one is claimed too, and did not run.
    let sql = format!(
        "SELECT l.seq, l.event_id FROM karwan.log l WHERE l.tenant_id = $1 AND l.key = $2 AND l.seq > $3 AND {ran}
         AND NOT EXISTS (SELECT 1 FROM karwan.dead d WHERE d.consumer = $4 AND d.event_id = l.event_id)
         AND NOT EXISTS (SELECT 1 FROM karwan.aside a WHERE a.consumer = $4 AND a.event_id = l.event_id)
         AND NOT EXISTS (SELECT 1 FROM karwan.action x WHERE x.consumer = $4 AND x.event_id = l.event_id AND x.verb = 'delete')
         ORDER BY l.seq LIMIT 1"
    );
    if let Some(row) = desk.row(&sql, values![*tenant, key, *seq, consumer]).await? {
        return Ok(Some(format!("event {} of its key was handled after it", row.event(1))));
    }
    if consumer.starts_with(RELAYS) { Ok(None) } else { forgotten(desk, found).await }
}

/// A later event of which nobody knows any more whether it ran: claims are kept for fewer days than letters.
async fn forgotten(desk: &mut Desk, found: &Found) -> Result<Option<String>, Error> {
    let Letter { target, seq, tenant, key, .. } = &found.letter;
    let sql = "SELECT l.seq, l.event_id FROM karwan.log l WHERE l.tenant_id = $1 AND l.key = $2 AND l.seq > $3
         AND l.seq <= (SELECT max(up_to) FROM karwan.pruned WHERE what = 'inbox')
         AND NOT EXISTS (SELECT 1 FROM karwan.parked p WHERE p.consumer = $4 AND p.event_id = l.event_id)
         AND NOT EXISTS (SELECT 1 FROM karwan.dead d WHERE d.consumer = $4 AND d.event_id = l.event_id)
         AND NOT EXISTS (SELECT 1 FROM karwan.aside a WHERE a.consumer = $4 AND a.event_id = l.event_id)
         AND NOT EXISTS (SELECT 1 FROM karwan.action x WHERE x.consumer = $4 AND x.event_id = l.event_id AND x.verb = 'delete')
         ORDER BY l.seq LIMIT 1";
    let row = desk.row(sql, values![*tenant, key.as_str(), *seq, target.consumer.as_str()]).await?;
    Ok(row.map(|row| format!("whether event {} of its key was handled after it is not kept any more", row.event(1))))
}
