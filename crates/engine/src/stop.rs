//! Why work between a store and a broker stops, or pauses.

use karwan_broker::Error as BrokerError;
use karwan_store::Error;

/// See the module.
pub(crate) enum Stop {
    /// Another process has a lane, or it was taken anew.
    LaneLost,
    /// The store cannot be reached, or takes nothing: later.
    Store(Error),
    /// The store is a restored copy, and nobody has said yet that it may publish.
    Suspended,
    /// An operator has paused it, for this reason.
    Paused(String),
    /// The broker cannot be reached, takes nothing, or is not where it was thought to be.
    Broker(BrokerError),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        match error {
            Error::LaneLost { .. } => Self::LaneLost,
            error => Self::Store(error),
        }
    }
}

impl From<BrokerError> for Stop {
    fn from(error: BrokerError) -> Self {
        Self::Broker(error)
    }
}
