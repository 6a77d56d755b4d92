//! Copies of a store, and what a restored one must not do by itself.
//!
//! A restored store is a new incarnation: positions of the old one are answered with *reset*, and effects and the relay
//! start suspended, or a copy for staging would charge the production's cards. Letting them go on is an operator's
//! (`Operator::resume_store`).

use std::path::Path;

use crate::address::Address;
use crate::error::Error;
use crate::migrate::Progress;
use crate::{postgres, sqlite};

/// What a backup or a restore did or asks to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// What was done, in sentences.
    pub done: Vec<String>,
    /// What is left to the operator, as commands or sentences.
    pub to_do: Vec<String>,
}

/// SQLite: a consistent copy, taken while the store is in use. Postgres: says what `pg_dump` must include, and copies
/// nothing.
pub async fn backup(address: &Address, out: &Path, progress: Progress<'_>) -> Result<Copied, Error> {
    match address {
        Address::Sqlite(path) => sqlite::backup(path, out, progress).await,
        Address::Postgres(url) => postgres::backup(url, out).await,
    }
}

/// SQLite: puts a copy in the place of a store that does not exist yet. Postgres: checks a database into which a dump was
/// restored. Both start a new incarnation with effects and relay suspended. `over` says that the dump was restored over the
/// very database that it was taken from, which otherwise is taken for a mistake.
pub async fn restore(address: &Address, from: &Path, over: bool, progress: Progress<'_>) -> Result<Copied, Error> {
    match address {
        Address::Sqlite(path) => sqlite::restore(path, from, progress).await,
        Address::Postgres(url) => postgres::restore(url, over).await,
    }
}
