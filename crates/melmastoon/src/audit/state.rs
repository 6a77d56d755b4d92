//! What audit keeps: the end of a tenant's chain. The entries themselves are events, in a log that nothing updates or deletes.

use karwan::{Document, Kind};
use serde::{Deserialize, Serialize};

/// The end of the chain. One a tenant; whoever appends writes it, so the chain has neither gaps nor forks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// How many entries there are.
    pub sequence: u64,
    /// The hash of the last one; none before the first.
    pub hash: Option<String>,
}

impl Chain {
    /// Its one id.
    pub const ID: &str = "chain";
}

impl Document for Chain {
    const KIND: Kind = Kind::named("audit_chain");
    fn id(&self) -> String {
        Self::ID.to_owned()
    }
}
