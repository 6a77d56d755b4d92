//! What was measured on: figures say little without it.

use std::fmt;

use karwan_broker::Broker;
use karwan_store::Address;
use serde::Serialize;

use super::sample;
use crate::exit::Failure;

/// A machine, a store and a broker.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Environment {
    /// Which database, and its version.
    store: String,
    /// What a commit waits for: a setting and its value, `synchronous_commit = on`.
    commits: String,
    /// The server's version.
    nats: String,
    /// Of this machine, as far as this process may use them.
    cores: usize,
}

impl Environment {
    /// Asks all of them, with the login that is measured.
    pub async fn of(store: &Address, broker: &Broker) -> Result<Self, Failure> {
        let found = sample::open(store, 1).await?.environment().await?;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let commits = format!("{} = {}", found.setting, found.value);
        Ok(Self { store: found.server, commits, nats: broker.version()?.to_string(), cores })
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { store, commits, nats, cores } = self;
        write!(f, "{store} with {commits}, NATS {nats}, {cores} cores")
    }
}
