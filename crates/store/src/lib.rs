//! Units of work and the append-only log: one transaction for a service's data and its events.
//!
//! The only SQL of the product. Two stores, SQLite and Postgres, behind one set of calls; the suite in `tests/it` runs on
//! both. [`Store::unit`] is the place to start.
//!
//! Invariants, each kept in the module named:
//! * emitted if and only if committed: data and events are written in one flush (`tx`, `backend`);
//! * no committed event is ever skipped: a position passes a number only when it is decided (`horizon`);
//! * order per key is the order of commits: facts are appended last, behind the lock on their key (`held`, the flush);
//! * a tenant is a type: tenant data is reached through a [`TenantTx`] alone; the log through a [`RelayTx`], which knows no
//!   documents, and what belongs to no tenant through a [`PlatformTx`].
//!
//! Not here: handlers, lanes at work, effects being performed (`engine`).

pub mod address;
mod alerts;
mod backend;
pub mod backup;
pub mod bare;
mod batch;
mod bell;
pub mod consumer;
mod contention;
pub mod deadline;
pub mod doctor;
pub mod effect;
pub mod environment;
pub mod error;
mod facts;
mod held;
mod horizon;
pub mod kind;
mod lanes;
pub mod log;
pub mod metrics;
pub mod migrate;
mod observer;
pub mod operator;
pub mod outbox;
mod own_tables;
mod platform;
mod postgres;
pub mod query;
mod recent;
mod relay;
pub mod relay_state;
mod remedy;
pub mod report;
pub mod retention;
#[cfg(feature = "simulation")]
pub mod simulation;
#[cfg(not(feature = "simulation"))]
mod simulation;
mod sqlite;
mod store;
pub mod stored;
pub mod trace;
#[cfg(feature = "trial")]
pub mod trial;
mod tx;
pub mod write_set;

pub use address::Address;
pub use batch::Batch;
pub use bell::Listening;
pub use error::Error;
pub use facts::{Facts, UnitId};
pub use kind::{Document, Guard, Kind, KindType};
pub use lanes::Declared;
pub use log::Position;
pub use migrate::migrate;
pub use observer::Observer;
pub use operator::Operator;
pub use own_tables::PostgresTx;
pub use platform::PlatformTx;
pub use query::{Page, Query};
pub use recent::Reads;
pub use relay::RelayTx;
pub use store::{Done, OpenUnit, Options, Repeated, Store};
/// The driver of [`PostgresTx`], in the version that its values are of.
pub use tokio_postgres;
pub use tx::TenantTx;
