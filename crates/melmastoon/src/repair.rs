//! What sagas have left for a person, tried again: a key, a revocation, a refund.
//!
//! Each part is tried by itself: what one service refuses keeps no other from being asked. What is being asked for anyway, and
//! waits for a person only because it takes long, is left alone and named.

use std::fmt;

use karwan::{Context, Store};

use crate::ids::{KeyCredentialId, RefundId, ReservationId};
use crate::lock_integration::state::{KeyState, ManualKey, ManualTask};
use crate::lock_integration::{self, commands as locks};
use crate::payment::{self, commands as payments};
use crate::refusal::Refusal;

/// What became of one part that waited for a person.
#[derive(Debug)]
pub enum Part {
    /// Another key is asked for.
    Key(KeyCredentialId),
    /// The end of a key is asked for again.
    Revocation(KeyCredentialId),
    /// A refund is.
    Refund(RefundId),
    /// The vendor is still being asked to end a key: there is nothing to try again.
    Ending(KeyCredentialId),
    /// The gateway is still being asked for a refund.
    Refunding(RefundId),
    /// It cannot be tried again.
    Refused(Left, Refusal),
}

/// What is left for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// A key to issue, in place of this one.
    Key(KeyCredentialId),
    /// A key to end.
    Revocation(KeyCredentialId),
    /// A refund to make.
    Refund(RefundId),
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, "a key is not asked for again in place of {key}"),
            Self::Revocation(key) => write!(f, "the vendor is not asked again to end a key: {key}"),
            Self::Refund(refund) => write!(f, "a refund is not asked for again: {refund}"),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, "a key is asked for again: {key}"),
            Self::Revocation(key) => write!(f, "the vendor is asked again to end a key: {key}"),
            Self::Refund(refund) => write!(f, "a refund is asked for again: {refund}"),
            Self::Ending(key) => write!(f, "the vendor is still being asked to end a key: {key}"),
            Self::Refunding(refund) => write!(f, "the gateway is still being asked for a refund: {refund}"),
            Self::Refused(left, why) => write!(f, "{left}: {why}"),
        }
    }
}

/// Tries again all that waits for a person of one stay, each as a request to the service that keeps it. Nothing, where nothing
/// waits; a refusal only where it cannot be seen what does.
pub async fn retry(store: &Store, context: impl Fn(&str) -> Context, of: ReservationId) -> Result<Vec<Part>, Refusal> {
    let (lock, payment) = (context(lock_integration::SERVICE), context(payment::SERVICE));
    let keys = locks::waiting(store, &lock, of).await?;
    let alerts = payments::finance_alerts(store, &payment).await?;
    let mut parts = Vec::new();
    for key in keys {
        let left = match key.task {
            ManualTask::Issue => Left::Key(key.key_credential_id),
            ManualTask::Revoke => Left::Revocation(key.key_credential_id),
        };
        let tried = retry_key(store, &lock, &key).await;
        parts.push(tried.unwrap_or_else(|why| Part::Refused(left, why)));
    }
    for refund in alerts.iter().filter(|alert| alert.reservation_id == of).map(|alert| alert.refund_id) {
        let part = match payments::retry_refund(store, &payment, refund).await {
            Ok(true) => Part::Refund(refund),
            Ok(false) => Part::Refunding(refund),
            Err(why) => Part::Refused(Left::Refund(refund), why),
        };
        parts.push(part);
    }
    Ok(parts)
}

async fn retry_key(store: &Store, context: &Context, waiting: &ManualKey) -> Result<Part, Refusal> {
    let id = waiting.key_credential_id;
    match waiting.task {
        ManualTask::Issue => Ok(Part::Key(locks::issue(store, context, waiting.reservation_id).await?)),
        // The desk hears of a revocation that takes long before the vendor has failed for good.
        ManualTask::Revoke => match locks::state(store, context, id).await? {
            KeyState::Ending(_) => Ok(Part::Ending(id)),
            KeyState::Requested | KeyState::Issued | KeyState::Failed | KeyState::Stuck(_) | KeyState::Revoked => {
                locks::revoke_again(store, context, id).await?;
                Ok(Part::Revocation(id))
            }
        },
    }
}
