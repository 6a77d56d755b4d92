//! What sagas have left for a person, tried again: a key, a revocation, a refund.

use std::fmt;

use karwan::{Context, Store};

use crate::ids::{KeyCredentialId, RefundId, ReservationId};
use crate::lock_integration::state::ManualTask;
use crate::lock_integration::{self, commands as locks};
use crate::payment::{self, commands as payments};
use crate::refusal::Refusal;

/// What was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    /// Another key.
    Key(KeyCredentialId),
    /// The end of a key.
    Revocation(KeyCredentialId),
    /// A refund.
    Refund(RefundId),
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, "a key is asked for again: {key}"),
            Self::Revocation(key) => write!(f, "the vendor is asked again to end a key: {key}"),
            Self::Refund(refund) => write!(f, "a refund is asked for again: {refund}"),
        }
    }
}

/// Tries again all that waits for a person of one stay, each as a request to the service that keeps it. Nothing, where nothing waits.
pub async fn retry(store: &Store, context: impl Fn(&str) -> Context, of: ReservationId) -> Result<Vec<Tried>, Refusal> {
    let mut tried = Vec::new();
    let lock = context(lock_integration::SERVICE);
    for key in locks::waiting(store, &lock, of).await? {
        match key.task {
            ManualTask::Issue => tried.push(Tried::Key(locks::issue(store, &lock, of).await?)),
            ManualTask::Revoke => {
                locks::revoke_again(store, &lock, key.key_credential_id).await?;
                tried.push(Tried::Revocation(key.key_credential_id));
            }
        }
    }
    let payment = context(payment::SERVICE);
    for alert in payments::finance_alerts(store, &payment).await?.iter().filter(|alert| alert.reservation_id == of) {
        payments::retry_refund(store, &payment, alert.refund_id).await?;
        tried.push(Tried::Refund(alert.refund_id));
    }
    Ok(tried)
}
