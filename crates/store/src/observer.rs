//! `Observer`: a look at a store that changes nothing.
//!
//! For operators' tools. It needs no catalogue and no kinds, and asks no probe: an operator may be a superuser, whom no
//! policy binds, and reads the log across tenants anyway. It knows no documents and writes nothing.

use std::sync::Arc;

use crate::address::Address;
use crate::backend::Backend;
use crate::error::Error;
use crate::relay::RelayTx;
use crate::report::{ConsumerReport, Stats, TableSize};
use crate::store::Store;

/// A store that is only looked at.
#[derive(Clone)]
pub struct Observer {
    backend: Arc<Backend>,
}

impl Store {
    /// Opens a migrated store for looking at it. A SQLite file may be in use by another process.
    pub async fn observe(address: &Address) -> Result<Observer, Error> {
        Ok(Observer { backend: Arc::new(Backend::observe(address).await?) })
    }
}

impl Observer {
    /// The log across tenants.
    pub fn relay(&self) -> RelayTx {
        RelayTx { backend: self.backend.clone() }
    }

    /// Counts for people.
    pub async fn stats(&self) -> Result<Stats, Error> {
        self.backend.stats().await
    }

    /// How far every consumer is.
    pub async fn consumers(&self) -> Result<Vec<ConsumerReport>, Error> {
        self.backend.consumers().await
    }

    /// The size of every table.
    pub async fn sizes(&self) -> Result<Vec<TableSize>, Error> {
        self.backend.sizes().await
    }
}
