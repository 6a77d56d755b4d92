//! Deadlines that have become due, and the units in which they fire.
//!
//! A deadline is set, moved and cancelled in units of work ([`crate::TenantTx::deadline`]). It fires in one of its own,
//! which takes it away: it must still be what was read, so that of two processes that found it one fires it, and one that
//! was moved or cancelled meanwhile does not fire at all.
//!
//! Not here: who looks for them, and when (`engine`).

use karwan_envelope::cause::Cause;
use karwan_envelope::envelope::Context;
use karwan_envelope::time::Timestamp;

use crate::consumer::Share;
use crate::error::Error;
use crate::facts::Origin;
use crate::store::{Done, Reason, Store};
use crate::tx::TenantTx;
use crate::write_set::TenantBits;

/// Something that is to be done at an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadline {
    /// Whose.
    pub tenant: TenantBits,
    /// What is to be done.
    pub kind: String,
    /// Which of them.
    pub id: String,
    /// When, milliseconds after 1970.
    pub due: i64,
    /// What the handler is told, as JSON.
    pub body: String,
    /// What led to it: what its unit's context is made of.
    pub cause: Cause,
    /// Which setting of it this is: one that was moved or set again has another.
    pub token: u128,
    /// How often it was tried.
    pub attempts: u32,
}

impl Deadline {
    /// The same setting of a deadline has the same origin, so its effects have the same ids.
    pub(crate) fn origin(&self) -> Origin {
        Origin::of(&[b"deadline", &self.tenant.to_be_bytes(), &self.token.to_be_bytes()])
    }
}

impl Store {
    /// Deadlines of a kind, in a share, that may be tried at an instant, earliest first: when they are due, or later where
    /// they were postponed.
    pub async fn due_deadlines(
        &self,
        kind: &str,
        share: Share,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<Deadline>, Error> {
        self.shared.backend.due_deadlines(kind, share, now.unix_ms(), limit).await
    }

    /// A deadline that failed is tried again at an instant (milliseconds after 1970), by whoever finds it then. One that was
    /// fired, moved, cancelled or postponed by somebody else meanwhile stays as it is.
    pub async fn postpone_deadline(&self, deadline: &Deadline, try_at: i64, why: &str) -> Result<(), Error> {
        self.shared.backend.postpone_deadline(deadline, try_at, why).await
    }

    /// The unit of work of a deadline that is due; re-run on conflict. [`Error::Gone`] where it was fired, moved or
    /// cancelled meanwhile: nothing of the unit was written.
    pub async fn fire<T, E, F>(
        &self,
        deadline: &Deadline,
        context: &Context,
        decide: impl Fn(TenantTx) -> F,
    ) -> Result<Done<T>, E>
    where
        F: Future<Output = Result<T, E>>,
        E: From<Error>,
    {
        self.run(Reason::Deadline(deadline), context, decide).await
    }
}
