//! `Observer`: a look at a store that changes nothing.
//!
//! For operators' tools. It needs no catalogue and no kinds, and asks no probe: an operator may be a superuser, whom no
//! policy binds, and reads the log across tenants anyway. It knows no documents and writes nothing.

use std::sync::Arc;

use crate::address::Address;
use crate::backend::Backend;
use crate::effect::DeadEffect;
use crate::error::Error;
use crate::lanes::Declared;
use crate::log::Seq;
use crate::relay::RelayTx;
use crate::relay_state::RelayState;
use crate::report::{ConsumerReport, EffectReport, LAG_ROWS_MAX, Lag, Stats, TableSize};
use crate::store::Store;

/// A store that is only looked at.
#[derive(Clone)]
pub struct Observer {
    pub(crate) backend: Arc<Backend>,
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

    /// What waits in the log for a consumer, by what it has said of itself.
    pub async fn lag(&self, report: &ConsumerReport, declared: &[Declared]) -> Result<Lag, Error> {
        let Some(declared) = declared.iter().find(|declared| declared.consumer == report.consumer) else {
            return Ok(Lag::Unknown);
        };
        if let Some(stream) = &declared.stream {
            return Ok(Lag::Stream(stream.clone()));
        }
        self.waiting(report, Seq::MAX).await
    }

    /// The same up to a number: moved there, the consumer would pass over it.
    pub async fn waiting(&self, report: &ConsumerReport, up_to: Seq) -> Result<Lag, Error> {
        let between = (report.position(), up_to);
        let (count, looked) = self.backend.waiting_for(&report.consumer, between, LAG_ROWS_MAX).await?;
        Ok(Lag::Events { count, more: looked >= LAG_ROWS_MAX })
    }

    /// What a relay saved last, by the name of its consumer.
    pub async fn relay_state(&self, relay: &str) -> Result<Option<RelayState>, Error> {
        self.backend.relay_state(relay).await
    }

    /// What consumers have said of themselves, by name.
    pub async fn declared(&self) -> Result<Vec<Declared>, Error> {
        self.backend.declared().await
    }

    /// Subjects of a consumer that a release of it has handled, and none of those that run it now does: their events wait.
    pub async fn unhandled(&self, declared: &Declared) -> Result<Vec<String>, Error> {
        let (name, mut living) = (&declared.consumer, self.backend.living().await?);
        living.retain(|node| node.runs.iter().any(|run| run.consumer == *name));
        let nobody = |subject: &&String| !living.is_empty() && !living.iter().any(|node| node.handles(name, subject));
        Ok(declared.subjects.iter().filter(nobody).cloned().collect())
    }

    /// What is open and what was given up, by kind of effect.
    pub async fn effects(&self) -> Result<Vec<EffectReport>, Error> {
        self.backend.effects().await
    }

    /// Dead effects of a kind, oldest first, after a number.
    pub async fn dead_effects(&self, kind: &str, after: i64, limit: usize) -> Result<Vec<DeadEffect>, Error> {
        self.backend.dead_effects(kind, after, limit).await
    }

    /// The size of every table.
    pub async fn sizes(&self) -> Result<Vec<TableSize>, Error> {
        self.backend.sizes().await
    }
}
