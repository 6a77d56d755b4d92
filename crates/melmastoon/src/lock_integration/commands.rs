//! What the front desk and the vendor ask of lock-integration: a key now, the queue of keys that need a person, a notice.

use karwan::store::query::PAGE_MAX;
use karwan::{Context, Error, Query, Store, TenantTx};

use super::port::{Notice, Told};
use super::state::{Credential, Heard, KeyRing, KeyState, ManualKey, ManualTask};
use super::vendor::{VendorWebhookProcessed, VendorWebhookReceived, WebhookOutcome};
use super::work::{VENDOR, end_again, granted, over, policy, request, seen_to};
use crate::ids::{KeyCredentialId, PropertyId, ReservationId, VendorWebhookId};
use crate::kept_cause::KeptCause;
use crate::refusal::Refusal;

/// The most entries of the queue that are answered at once.
pub const QUEUE_MAX: usize = 100;

/// Asks for a key of a stay that has none: after the vendor's errors, or for a guest who has paid in cash. It belongs to the
/// booking's trace, whoever asks.
pub async fn issue(store: &Store, context: &Context, reservation: ReservationId) -> Result<KeyCredentialId, Refusal> {
    let known = store.tenant(context).find::<KeyRing>(&reservation.to_string()).await?;
    let context = KeptCause::context(known.as_ref().and_then(|ring| ring.cause.as_ref()), context);
    let unit = async |tx: TenantTx| {
        let ring: Option<KeyRing> = tx.find(&reservation.to_string()).await?;
        let mut ring = ring.ok_or_else(|| Refusal::not_found("confirmed stay", reservation))?;
        if ring.ended.is_some() {
            return Err(Refusal::invalid("reservationId", "the stay has ended"));
        }
        if let Some(current) = ring.current {
            let credential: Credential = tx.get(&current.to_string()).await?;
            let reason = match credential.state {
                KeyState::Failed => "the key that failed is still being revoked at the vendor: try again in a minute",
                KeyState::Requested
                | KeyState::Issued
                | KeyState::Ending(_)
                | KeyState::Stuck(_)
                | KeyState::Revoked => "it has a key",
            };
            return Err(Refusal::invalid("reservationId", reason));
        }
        if ring.rooms.is_empty() {
            return Err(Refusal::invalid("reservationId", "not every room is assigned"));
        }
        request(&tx, &mut ring, &policy(&tx).await?);
        let id = ring.current.expect("a key was just asked for");
        tx.put(ring);
        let waiting = Query::<Credential>::new().equal("reservation", reservation.to_string());
        for old in tx.query(waiting).await?.items.iter().filter(|old| old.key_credential_id != id) {
            seen_to(&tx, old.key_credential_id, ManualTask::Issue).await?;
        }
        Ok(id)
    };
    Ok(store.unit::<_, Refusal, _>(&context, unit).await?.answer)
}

/// Has the vendor asked once more to end a key that it did not end, under the same operation key.
pub async fn revoke_again(store: &Store, context: &Context, id: KeyCredentialId) -> Result<(), Refusal> {
    let context = of_credential(store, context, id).await?;
    let unit = async |tx: TenantTx| {
        let credential: Option<Credential> = tx.find(&id.to_string()).await?;
        let credential = credential.ok_or_else(|| Refusal::not_found("key", id))?;
        if !end_again(&tx, credential) {
            return Err(Refusal::invalid("keyCredentialId", "no revocation of it has failed"));
        }
        Ok(())
    };
    store.unit::<_, Refusal, _>(&context, unit).await.map(drop)
}

/// Where a key stands.
pub async fn state(store: &Store, context: &Context, id: KeyCredentialId) -> Result<KeyState, Refusal> {
    let known = store.tenant(context).find::<Credential>(&id.to_string()).await?;
    Ok(known.ok_or_else(|| Refusal::not_found("key", id))?.state)
}

/// What waits for a person of one stay's keys.
pub async fn waiting(store: &Store, context: &Context, of: ReservationId) -> Result<Vec<ManualKey>, Error> {
    let unit = store.tenant(context);
    let keys = unit.query(Query::<Credential>::new().equal("reservation", of.to_string()).limit(QUEUE_MAX)).await?;
    let mut waiting = Vec::new();
    for key in keys.items {
        let manual = unit.find::<ManualKey>(&key.key_credential_id.to_string()).await?;
        waiting.extend(manual.filter(|manual| manual.done_at.is_none()));
    }
    Ok(waiting)
}

/// Keys that the vendor still has to make or to end, and of which the front desk was not told: those whose call is open, and
/// those that wait for the next one.
pub async fn under_way(store: &Store, context: &Context) -> Result<Vec<Credential>, Error> {
    let unit = store.tenant(context);
    let mut keys = Vec::new();
    for state in KeyState::UNDER_WAY {
        let of_state = || Query::<Credential>::new().equal("state", state).limit(PAGE_MAX);
        let mut page = unit.query(of_state()).await?;
        loop {
            for key in page.items {
                let told = unit.find::<ManualKey>(&key.key_credential_id.to_string()).await?;
                if told.is_none_or(|told| told.done_at.is_some()) {
                    keys.push(key);
                }
            }
            let Some(next) = page.next else { break };
            page = unit.query(of_state().after(next)).await?;
        }
    }
    Ok(keys)
}

/// The request's context, in the trace that a credential belongs to.
async fn of_credential(store: &Store, context: &Context, id: KeyCredentialId) -> Result<Context, Error> {
    let known = store.tenant(context).find::<Credential>(&id.to_string()).await?;
    Ok(KeptCause::context(known.as_ref().and_then(|known| known.cause.as_ref()), context))
}

/// The keys of a property that wait for the front desk, oldest first.
pub async fn queue(store: &Store, context: &Context, property: PropertyId) -> Result<Vec<ManualKey>, Error> {
    let waiting = Query::new().equal("property", property.to_string()).ordered_by("waits_since").limit(QUEUE_MAX);
    Ok(store.tenant(context).query(waiting).await?.items)
}

/// The front desk has seen to a key: a card, a mechanical key, a look at the door. A key that the vendor did not end is ended now.
pub async fn done_by_hand(store: &Store, context: &Context, id: KeyCredentialId) -> Result<(), Refusal> {
    let context = of_credential(store, context, id).await?;
    let unit = async |tx: TenantTx| {
        let waiting: Option<ManualKey> = tx.find(&id.to_string()).await?;
        let waiting = waiting.ok_or_else(|| Refusal::not_found("key at the front desk", id))?;
        seen_to(&tx, id, waiting.task).await?;
        let credential: Credential = tx.get(&id.to_string()).await?;
        if matches!(credential.state, KeyState::Stuck(_)) {
            over(&tx, credential, false).await?;
        }
        Ok(())
    };
    store.unit::<_, Refusal, _>(&context, unit).await.map(drop)
}

/// Takes a notice of the vendor's, whose signature was good. It is recorded before it is acted on; one that was heard before, or
/// that is about nothing of ours, changes nothing. What it changes belongs to the trace of the key, not to the webhook's.
pub async fn hear(store: &Store, context: &Context, notice: &Notice) -> Result<WebhookOutcome, Refusal> {
    let context = of_credential(store, context, notice.credential).await?;
    let unit = async |tx: TenantTx| {
        let webhook_id: VendorWebhookId = tx.fresh();
        let webhook_type = match notice.told {
            Told::Issued(_) => "key.issued",
            Told::Revoked => "key.revoked",
        };
        tx.emit(VendorWebhookReceived {
            webhook_id,
            vendor: VENDOR,
            external_event_id: notice.notice_id.clone(),
            webhook_type: webhook_type.to_owned(),
            received_at: tx.now(),
            signature_ok: true,
        });
        let outcome = apply(&tx, notice).await?;
        tx.emit(VendorWebhookProcessed {
            webhook_id,
            vendor: VENDOR,
            webhook_type: webhook_type.to_owned(),
            outcome,
            processed_at: tx.now(),
        });
        Ok(outcome)
    };
    Ok(store.unit::<_, Refusal, _>(&context, unit).await?.answer)
}

async fn apply(tx: &TenantTx, notice: &Notice) -> Result<WebhookOutcome, Refusal> {
    if tx.find::<Heard>(&notice.notice_id).await?.is_some() {
        return Ok(WebhookOutcome::Duplicate);
    }
    tx.put(Heard { notice_id: notice.notice_id.clone() });
    let Some(credential) = tx.find::<Credential>(&notice.credential.to_string()).await? else {
        return Ok(WebhookOutcome::Ignored);
    };
    match (&notice.told, credential.state) {
        (Told::Issued(issued), KeyState::Requested) => granted(tx, credential, issued.clone()),
        (Told::Revoked, KeyState::Ending(_) | KeyState::Stuck(_) | KeyState::Failed) => {
            over(tx, credential, true).await?
        }
        // The answer to the call came first, or nobody of ours asked for it.
        (Told::Issued(_) | Told::Revoked, _) => return Ok(WebhookOutcome::Ignored),
    }
    Ok(WebhookOutcome::Applied)
}
