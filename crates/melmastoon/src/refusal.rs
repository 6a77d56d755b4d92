//! Why a command of the platform was refused. One list for all services: each code has a page in `docs/errors`.

use karwan::Error;

use crate::values::BookingStatus;

/// A refusal. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no such thing, or it is another tenant's.
    #[error("there is no {what} {id}")]
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// A field has a value that cannot be taken.
    #[error("{field}: {reason}")]
    Invalid {
        /// The field, as a caller writes it.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The quote or the hold was too old.
    #[error("the hold of {id} has expired: ask for a new quote")]
    HoldExpired {
        /// What expired.
        id: String,
    },
    /// The last room went to another booking.
    #[error("no room is left for {id}: choose other dates or another room type")]
    Overbooked {
        /// The reservation.
        id: String,
    },
    /// The guest's payment was declined.
    #[error("the payment of {id} was declined: choose another means of payment")]
    Declined {
        /// The reservation.
        id: String,
    },
    /// What is asked for does not fit what the booking has become.
    #[error("reservation {id} is {status:?}: this cannot be done with it any more")]
    WrongState {
        /// The reservation.
        id: String,
        /// What it is.
        status: BookingStatus,
    },
    /// The tenant may not sell at the moment.
    #[error("the tenant is suspended and sells nothing")]
    SalesStopped,
    /// The store refused.
    #[error("the store refused")]
    Store(#[from] Error),
}

impl Refusal {
    /// There is no such thing.
    pub fn not_found(what: &'static str, id: impl ToString) -> Self {
        Self::NotFound { what, id: id.to_string() }
    }

    /// A field has a value that cannot be taken.
    pub fn invalid(field: &'static str, reason: impl Into<String>) -> Self {
        Self::Invalid { field, reason: reason.into() }
    }

    /// The code that callers act on; a page of `docs/errors` is named after it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "MELMASTOON.GENERAL.RESOURCE_NOT_FOUND",
            Self::Invalid { .. } => "MELMASTOON.GENERAL.VALIDATION_FAILED",
            Self::HoldExpired { .. } => "MELMASTOON.RESERVATION.HOLD_EXPIRED",
            Self::Overbooked { .. } => "MELMASTOON.RESERVATION.OVERBOOKING_BLOCKED",
            Self::Declined { .. } => "MELMASTOON.PAYMENT.DECLINED",
            Self::WrongState { .. } => "MELMASTOON.GENERAL.PRECONDITION_FAILED",
            Self::SalesStopped => "MELMASTOON.TENANT.PLAN_LIMIT_EXCEEDED",
            Self::Store(_) => "MELMASTOON.GENERAL.INTERNAL",
        }
    }
}
