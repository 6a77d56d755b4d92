//! What lock-integration does with bookings and with its vendor's answers: it issues keys, and ends them.
//!
//! Invariant: at most one credential of a stay is wanted at a time. Calls about one stay are made in the order in which they were
//! recorded, so a revocation always follows the issuance that it undoes, also when the booking is cancelled while the vendor is
//! still at it. Not here: what follows which answer (`decide`).

use std::sync::Arc;
use std::time::Duration;

use karwan::{
    Answered, Call, Consumer, Due, Error, Performer, Policy as Retry, Received, Refusal, TenantTx, Timer, Verdict, Work,
};
use serde::{Deserialize, Serialize};

use super::SERVICE;
use super::credentials::{KeyCredentialFailed, KeyCredentialIssued, KeyCredentialRequested, KeyCredentialRevoked};
use super::decide::{Next, after_failure, ends, is_eligible, issuance_failure, issue_key, revoke_key, scrubbed};
use super::port::{CALL, CALL_MS_MAX, Failed, Issue, Issued, Revoke, Revoked, Vendor};
use super::state::{Credential, KeyRing, KeyState, ManualKey, ManualTask, Policy};
use super::terms::{
    AccessScope, ArtifactType, HolderKind, KeyArtifact, KeyDelivery, KeyKind, RevocationMetadata, RevocationReason,
};
use super::vendor::{LockVendor, VendorErrorRecorded, VendorFailure, VendorOperation, VendorTarget};
use crate::ids::{KeyCredentialId, TokenId, VendorAdapterId, tenant_of};
use crate::reservation::{BookingCancelled, BookingConfirmed};
use crate::tenant::{KeyPolicy, SettingsChanged, TenantCreated};

/// The deadline at which a vendor is asked again.
pub const ASK_AGAIN: &str = "lock_integration.ask_again";
/// The deadline of a cancellation's key: it only alerts (U-12).
pub const REVOCATION_DUE: &str = "lock_integration.revocation_due";
/// How long a revocation may take before the front desk hears of it.
pub const REVOCATION_DUE_MS: i64 = 60_000;
/// What spans call a credential.
const KEY: &str = "key_credential";
/// The one vendor for now, and its adapter.
pub const VENDOR: LockVendor = LockVendor::TtLock;
/// The adapter, by the name that events call it.
pub const ADAPTER: VendorAdapterId = VendorAdapterId::from_bits(0x0190_c2f0_0000_7000_8000_0000_0001_0001);

karwan::consumers! {
    platform: &crate::platform::PLATFORM,
    kinds: crate::lock_integration::kinds(),
    keys => crate::told::a_booking_is_confirmed_and_cancelled,
    key_policy => crate::told::a_tenant_comes_and_changes_its_settings,
}

/// Adds what this service does to a node's work.
pub fn work(work: Work, vendor: Arc<dyn Vendor>) -> Work {
    let work = consumers().into_iter().fold(work, Work::consumer);
    work.timer(Timer::new(SERVICE, ASK_AGAIN, ask_again))
        .timer(Timer::new(SERVICE, REVOCATION_DUE, revocation_due))
        .performer(caller(vendor))
}

/// What the vendor is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ask {
    /// To make a key.
    Issue(Issue),
    /// To end one.
    Revoke(Revoke),
}

/// What it answered. A failure is an answer here, so that every one of them is told and counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// The key is made.
    Issued(Issued),
    /// The key is ended.
    Revoked(Revoked),
    /// Neither.
    Failed(Failed),
}

fn caller(vendor: Arc<dyn Vendor>) -> Performer {
    let call = move |call: Call<Ask>| {
        let vendor = vendor.clone();
        async move {
            let answer = match call.told {
                Ask::Issue(ask) => vendor.issue(ask).await.map(Answer::Issued),
                Ask::Revoke(ask) => vendor.revoke(ask).await.map(Answer::Revoked),
            };
            Ok::<_, Refusal>(answer.unwrap_or_else(Answer::Failed))
        }
    };
    // A client answers in time; where one breaks off all the same, it is asked until it has answered.
    let patient = Retry { attempts_max: u32::MAX, ..Retry::default() };
    // Vendors are slow: many are waited for at once, and none holds another back.
    Performer::new(SERVICE, CALL, call, answered)
        .at_once(64)
        .limit(Duration::from_millis(CALL_MS_MAX + 10_000))
        .policy(patient)
}

/// Confirmed and cancelled share a consumer and a key, so that a cancellation finds what the confirmation asked for.
fn keys() -> Consumer {
    Consumer::new(SERVICE, "keys").on(confirmed).on(cancelled)
}

fn key_policy() -> Consumer {
    Consumer::new(SERVICE, "key-policy").on(tenant_created).on(settings_changed)
}

async fn tenant_created(tx: TenantTx, created: Received<TenantCreated>) -> Result<Verdict, Error> {
    remember(&tx, 0, created.event.settings.key_policy).await
}

async fn settings_changed(tx: TenantTx, changed: Received<SettingsChanged>) -> Result<Verdict, Error> {
    remember(&tx, changed.event.version, changed.event.settings.key_policy).await
}

/// The newest settings win; no key changes for them.
async fn remember(tx: &TenantTx, version: u32, policy: KeyPolicy) -> Result<Verdict, Error> {
    let known: Option<Policy> = tx.find(Policy::ID).await?;
    if known.is_none_or(|known| known.version < version) {
        tx.put(Policy { version, policy });
    }
    Ok(Verdict::Done)
}

async fn confirmed(tx: TenantTx, confirmed: Received<BookingConfirmed>) -> Result<Verdict, Error> {
    let confirmed = confirmed.event;
    if tx.find::<KeyRing>(&confirmed.reservation_id.to_string()).await?.is_some() {
        return Ok(Verdict::Done);
    }
    let assigned: Option<Vec<_>> = confirmed.rooms.iter().map(|room| room.room_id).collect();
    let mut ring = KeyRing {
        reservation_id: confirmed.reservation_id,
        property_id: confirmed.property_id,
        guest_id: confirmed.guest.guest_id,
        rooms: assigned.unwrap_or_default(),
        valid_from: confirmed.stay.check_in_at,
        valid_until: confirmed.stay.check_out_at,
        asked: 0,
        current: None,
        given_up: None,
        ended: None,
        cause: Some((&tx.context().cause).into()),
    };
    let policy = policy(&tx).await?;
    if is_eligible(&confirmed, &policy) {
        request(&tx, &mut ring, &policy);
    }
    tx.put(ring);
    Ok(Verdict::Done)
}

/// The tenant's policy; it may be a little old, as the tenant's settings are everywhere.
pub(super) async fn policy(tx: &TenantTx) -> Result<KeyPolicy, Error> {
    let known: Option<Policy> = tx.peek(Policy::ID).await?;
    Ok(known.map_or_else(KeyPolicy::usual, |known| known.policy))
}

/// Asks the vendor for a key of a stay that has none.
pub(super) fn request(tx: &TenantTx, ring: &mut KeyRing, policy: &KeyPolicy) {
    ring.asked += 1;
    let credential = Credential {
        key_credential_id: tx.fresh(),
        reservation_id: ring.reservation_id,
        property_id: ring.property_id,
        guest_id: ring.guest_id,
        rooms: ring.rooms.clone(),
        valid_from: ring.valid_from,
        valid_until: ring.valid_until,
        kinds: policy.preferred_kinds.clone(),
        issue_key: issue_key(&ring.reservation_id, ring.asked),
        attempts_max: policy.issue_attempts_max,
        failures: 0,
        vendor_ref: None,
        state: KeyState::Requested,
        next_attempt_at: None,
        cause: Some((&tx.context().cause).into()),
    };
    ring.current = Some(credential.key_credential_id);
    tx.transition(KEY, "none", credential.state.name());
    tx.emit(KeyCredentialRequested {
        key_credential_id: credential.key_credential_id,
        property_id: credential.property_id,
        reservation_id: Some(credential.reservation_id),
        guest_id: Some(credential.guest_id),
        rooms: credential.rooms.clone(),
        valid_from: credential.valid_from,
        valid_until: credential.valid_until,
        preferred_kinds: credential.kinds.clone(),
        vendor: VENDOR,
        idempotency_key: credential.issue_key.clone(),
    });
    ask(tx, &credential);
    tx.put(credential);
}

/// Records the call that a credential needs in its state.
fn ask(tx: &TenantTx, credential: &Credential) {
    let id = credential.key_credential_id;
    let ask = match credential.state {
        KeyState::Requested => Ask::Issue(Issue {
            operation_key: credential.issue_key.clone(),
            tenant: tenant_of(tx.context().tenant),
            credential: id,
            property: credential.property_id,
            rooms: credential.rooms.clone(),
            kinds: credential.kinds.clone(),
            valid_from: credential.valid_from,
            valid_until: credential.valid_until,
        }),
        KeyState::Failed | KeyState::Ending(_) => Ask::Revoke(Revoke {
            operation_key: revoke_key(&id),
            issue_key: credential.issue_key.clone(),
            credential: id,
            vendor_ref: credential.vendor_ref.clone(),
        }),
        KeyState::Issued | KeyState::Stuck(_) | KeyState::Revoked => return,
    };
    tx.effect(CALL, &credential.reservation_id.to_string(), &ask);
}

async fn cancelled(tx: TenantTx, cancelled: Received<BookingCancelled>) -> Result<Verdict, Error> {
    // A hold that was never confirmed has no keys.
    let ring: Option<KeyRing> = tx.find(&cancelled.event.reservation_id.to_string()).await?;
    if let Some(ring) = ring.filter(|ring| ring.ended.is_none()) {
        end(&tx, ring, RevocationReason::Cancellation).await?;
    }
    Ok(Verdict::Done)
}

/// The stay is over: nothing is issued any more, and what was issued, or may yet be, is revoked.
async fn end(tx: &TenantTx, mut ring: KeyRing, reason: RevocationReason) -> Result<(), Error> {
    ring.ended = Some(reason);
    if let Some(current) = ring.current {
        let mut credential: Credential = tx.get(&current.to_string()).await?;
        if let Some(ending) = ends(credential.state, reason) {
            tx.transition(KEY, credential.state.name(), ending.name());
            credential.state = ending;
            (credential.failures, credential.next_attempt_at) = (0, None);
            credential.cause = Some((&tx.context().cause).into());
            tx.cancel_deadline(ASK_AGAIN, &credential.key_credential_id.to_string());
            due_soon(tx, &credential);
            ask(tx, &credential);
            tx.put(credential);
        }
    }
    for key in ring.current.into_iter().chain(ring.given_up) {
        seen_to(tx, key, ManualTask::Issue).await?;
    }
    tx.put(ring);
    Ok(())
}

/// The front desk need not see to this any more.
pub(super) async fn seen_to(tx: &TenantTx, id: KeyCredentialId, task: ManualTask) -> Result<(), Error> {
    let waiting: Option<ManualKey> = tx.find(&id.to_string()).await?;
    if let Some(waiting) = waiting.filter(|waiting| waiting.done_at.is_none() && waiting.task == task) {
        tx.put(ManualKey { done_at: Some(tx.now()), ..waiting });
    }
    Ok(())
}

fn due_soon(tx: &TenantTx, credential: &Credential) {
    let id = credential.key_credential_id;
    tx.deadline(REVOCATION_DUE, &id.to_string(), tx.now().plus_ms(REVOCATION_DUE_MS), &id);
}

/// A minute is over, and the vendor is still being asked: the front desk hears of it, and nothing else changes.
async fn revocation_due(tx: TenantTx, due: Due<KeyCredentialId>) -> Result<(), Error> {
    let key = due.told.to_string();
    let credential: Credential = tx.get(&key).await?;
    let known: Option<ManualKey> = tx.find(&key).await?;
    let waits = known.is_some_and(|known| known.done_at.is_none());
    if matches!(credential.state, KeyState::Ending(_)) && !waits {
        queue(&tx, &credential, ManualTask::Revoke, VendorFailure::TimedOut);
    }
    Ok(())
}

async fn ask_again(tx: TenantTx, due: Due<KeyCredentialId>) -> Result<(), Error> {
    let mut credential: Credential = tx.get(&due.told.to_string()).await?;
    credential.next_attempt_at = None;
    ask(&tx, &credential);
    // Of two that decide on this credential, one sees the other.
    tx.put(credential);
    Ok(())
}

async fn answered(tx: TenantTx, answered: Answered<Ask, Answer>) -> Result<(), Error> {
    let id = match &answered.told {
        Ask::Issue(ask) => ask.credential,
        Ask::Revoke(ask) => ask.credential,
    };
    let credential: Credential = tx.get(&id.to_string()).await?;
    match (answered.told, answered.answer) {
        (_, Answer::Issued(issued)) => granted(&tx, credential, issued),
        (_, Answer::Revoked(_)) => return over(&tx, credential, true).await,
        (Ask::Issue(_), Answer::Failed(failed)) => not_issued(&tx, credential, &failed),
        (Ask::Revoke(_), Answer::Failed(failed)) => return not_revoked(&tx, credential, &failed).await,
    }
    Ok(())
}

/// The vendor made the key. Told once, also where the vendor tells it again or the stay has ended meanwhile.
pub(super) fn granted(tx: &TenantTx, mut credential: Credential, issued: Issued) {
    let first = credential.vendor_ref.is_none();
    credential.vendor_ref = Some(issued.vendor_ref);
    let told = match credential.state {
        KeyState::Requested => {
            credential.state = KeyState::Issued;
            tx.transition(KEY, KeyState::Requested.name(), credential.state.name());
            (credential.failures, credential.next_attempt_at) = (0, None);
            tx.cancel_deadline(ASK_AGAIN, &credential.key_credential_id.to_string());
            true
        }
        // Its revocation is behind it already.
        KeyState::Ending(_) | KeyState::Stuck(_) => first,
        // Given up before: nobody was told of a key, and what there is of it is being ended.
        KeyState::Issued | KeyState::Failed | KeyState::Revoked => false,
    };
    if told {
        tx.emit(KeyCredentialIssued {
            key_credential_id: credential.key_credential_id,
            property_id: credential.property_id,
            holder_kind: HolderKind::Guest,
            reservation_id: Some(credential.reservation_id),
            guest_id: Some(credential.guest_id),
            kind: issued.kind,
            rooms: credential.rooms.clone(),
            scope: AccessScope { areas: Vec::new() },
            valid_from: credential.valid_from,
            valid_until: credential.valid_until,
            vendor: VENDOR,
            provisional: false,
            delivery: delivery(issued.kind, tx.fresh()),
            issued_at: tx.now(),
            warnings: issued.warnings,
        });
    }
    tx.put(credential);
}

/// How a key reaches its holder: by a reference of ours, never by the vendor's.
fn delivery(kind: KeyKind, opaque_ref: TokenId) -> Option<KeyDelivery> {
    let (artifact_type, deep_link) = match kind {
        KeyKind::MobileApp => (ArtifactType::MobileToken, Some(format!("melmastoon://keys/{opaque_ref}"))),
        KeyKind::PinCode => (ArtifactType::PinToken, None),
        KeyKind::RfidCard => return None,
    };
    Some(KeyDelivery { artifact: KeyArtifact { artifact_type, opaque_ref }, deep_link })
}

/// The vendor did not make the key. After the last attempt the front desk takes over; the booking stands as it is.
fn not_issued(tx: &TenantTx, mut credential: Credential, failed: &Failed) {
    // The stay has ended, or a notice has told that the key was made: nobody waits for this answer.
    if credential.state != KeyState::Requested {
        return;
    }
    credential.failures += 1;
    let next = tell(tx, &credential, VendorOperation::Issue, failed);
    credential.next_attempt_at = next.at();
    if next == Next::GiveUp {
        tx.emit(KeyCredentialFailed {
            key_credential_id: credential.key_credential_id,
            reservation_id: Some(credential.reservation_id),
            vendor: VENDOR,
            failure_reason: issuance_failure(failed.failure),
            vendor_message: failed.message.as_deref().map(scrubbed).filter(|said| !said.is_empty()),
            attempts: credential.failures,
            last_attempt_at: tx.now(),
        });
        queue(tx, &credential, ManualTask::Issue, failed.failure);
        tx.transition(KEY, credential.state.name(), KeyState::Failed.name());
        credential.state = KeyState::Failed;
        credential.failures = 0;
        // A call that had no answer may have made a key all the same.
        ask(tx, &credential);
    }
    tx.put(credential);
}

/// The vendor did not end the key.
async fn not_revoked(tx: &TenantTx, mut credential: Credential, failed: &Failed) -> Result<(), Error> {
    match credential.state {
        KeyState::Ending(_) | KeyState::Failed => {}
        KeyState::Requested | KeyState::Issued | KeyState::Stuck(_) | KeyState::Revoked => return Ok(()),
    }
    credential.failures += 1;
    let next = tell(tx, &credential, VendorOperation::Revoke, failed);
    credential.next_attempt_at = next.at();
    match next {
        Next::Again(_) => {
            tx.put(credential);
            Ok(())
        }
        Next::GiveUp => match credential.state {
            // It may still open: nobody is told that it does not.
            KeyState::Ending(reason) => {
                tx.find::<ManualKey>(&credential.key_credential_id.to_string()).await?;
                queue(tx, &credential, ManualTask::Revoke, failed.failure);
                tx.transition(KEY, credential.state.name(), KeyState::Stuck(reason).name());
                tx.cancel_deadline(REVOCATION_DUE, &credential.key_credential_id.to_string());
                credential.state = KeyState::Stuck(reason);
                tx.put(credential);
                Ok(())
            }
            KeyState::Requested | KeyState::Issued | KeyState::Failed | KeyState::Stuck(_) | KeyState::Revoked => {
                over(tx, credential, false).await
            }
        },
    }
}

/// The vendor is asked once more to end a key that it did not end; whether there was one.
pub(super) fn end_again(tx: &TenantTx, mut credential: Credential) -> bool {
    let KeyState::Stuck(reason) = credential.state else { return false };
    tx.transition(KEY, credential.state.name(), KeyState::Ending(reason).name());
    credential.state = KeyState::Ending(reason);
    credential.failures = 0;
    due_soon(tx, &credential);
    ask(tx, &credential);
    tx.put(credential);
    true
}

/// Tells of a failed call, and sets the deadline of the next one, if there is one.
fn tell(tx: &TenantTx, credential: &Credential, operation: VendorOperation, failed: &Failed) -> Next {
    let (id, now) = (credential.key_credential_id, tx.now());
    let next = after_failure(credential, failed, now);
    let next_attempt_at = next.at();
    if let Some(at) = next_attempt_at {
        tx.deadline(ASK_AGAIN, &id.to_string(), at, &id);
    }
    let issuing = operation == VendorOperation::Issue;
    tx.emit(VendorErrorRecorded {
        target_id: VendorTarget::Credential(id),
        vendor_adapter_id: ADAPTER,
        vendor: VENDOR,
        operation,
        operation_key: if issuing { credential.issue_key.clone() } else { revoke_key(&id) },
        property_id: credential.property_id,
        reservation_id: Some(credential.reservation_id),
        rooms: credential.rooms.clone(),
        failure: failed.failure,
        vendor_message: failed.message.as_deref().map(scrubbed).filter(|said| !said.is_empty()),
        attempt: credential.failures,
        attempts_max: if issuing { credential.attempts_max } else { super::decide::REVOKE_ATTEMPTS_MAX },
        next_attempt_at,
        failed_at: now,
    });
    next
}

fn queue(tx: &TenantTx, credential: &Credential, task: ManualTask, failure: VendorFailure) {
    tx.put(ManualKey {
        key_credential_id: credential.key_credential_id,
        reservation_id: credential.reservation_id,
        property_id: credential.property_id,
        rooms: credential.rooms.clone(),
        valid_from: credential.valid_from,
        valid_until: credential.valid_until,
        task,
        failure,
        since: tx.now(),
        done_at: None,
    });
}

/// The vendor has ended the key, or the front desk has. One that was given up before it was made ends without another word.
pub(super) async fn over(tx: &TenantTx, mut credential: Credential, vendor_revoke_ok: bool) -> Result<(), Error> {
    match credential.state {
        KeyState::Ending(reason) | KeyState::Stuck(reason) => {
            tx.emit(KeyCredentialRevoked {
                key_credential_id: credential.key_credential_id,
                reservation_id: Some(credential.reservation_id),
                vendor: VENDOR,
                reason,
                revoked_at: tx.now(),
                metadata: RevocationMetadata { was_provisional: false, vendor_revoke_ok },
            });
            seen_to(tx, credential.key_credential_id, ManualTask::Revoke).await?;
        }
        KeyState::Failed => {}
        // Not what was asked for, or told before.
        KeyState::Requested | KeyState::Issued | KeyState::Revoked => return Ok(()),
    }
    tx.transition(KEY, credential.state.name(), KeyState::Revoked.name());
    let given_up = credential.state == KeyState::Failed;
    credential.state = KeyState::Revoked;
    credential.next_attempt_at = None;
    tx.cancel_deadline(ASK_AGAIN, &credential.key_credential_id.to_string());
    tx.cancel_deadline(REVOCATION_DUE, &credential.key_credential_id.to_string());
    let mut ring: KeyRing = tx.get(&credential.reservation_id.to_string()).await?;
    if ring.current == Some(credential.key_credential_id) {
        ring.current = None;
        ring.given_up = given_up.then_some(credential.key_credential_id);
        tx.put(ring);
    }
    tx.put(credential);
    Ok(())
}
