//! Migrations: they only grow, apply twice harmlessly, and refuse a store that is newer than the program.
//!
//! A program works with a store of its own schema or of a later one that still admits it: a release first expands the
//! schema, the next one contracts it, so that two adjacent versions can share a store.

use karwan_registry::Catalogue;

use crate::address::Address;
use crate::error::Error;
use crate::kind::{KindType, Kinds};
use crate::{postgres, sqlite};

/// The schema that this program makes and needs.
pub const SCHEMA: i64 = 6;
/// The oldest program, by its schema, that can use a store of [`SCHEMA`].
pub const ADMITS_FROM: i64 = 4;

/// What a migration did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// The schema before; none where there was no store.
    pub from: Option<i64>,
    /// The schema now.
    pub to: i64,
    /// Steps that were applied, such as `table order`, `column order.status`.
    pub steps: Vec<String>,
    /// Documents whose new fields were filled in.
    pub backfilled: u64,
}

/// Told how far a long migration is: what, how many documents are done, how many there are.
pub type Progress<'a> = &'a (dyn Fn(&str, u64, u64) + Send + Sync);

/// Brings a store to this program's schema, with the subjects of these catalogues and tables for these kinds.
///
/// Harmless when there is nothing to do. Interrupted, it goes on where it stopped.
pub async fn migrate(
    address: &Address,
    catalogues: &[&Catalogue],
    kinds: &[KindType],
    progress: Progress<'_>,
) -> Result<Migrated, Error> {
    let kinds = Kinds::new(kinds)?;
    match address {
        Address::Sqlite(path) => sqlite::migrate(path, catalogues, &kinds, progress).await,
        Address::Postgres(url) => postgres::migrate(url, catalogues, &kinds, progress).await,
    }
}

/// Whether a program of [`SCHEMA`] may use a store.
pub(crate) fn admit(store: &str, found: i64, admits_from: i64) -> Result<(), Error> {
    if found < SCHEMA {
        return Err(Error::Older { store: store.to_owned(), found, needed: SCHEMA });
    }
    if SCHEMA < admits_from { Err(Error::Newer { store: store.to_owned(), found, known: SCHEMA }) } else { Ok(()) }
}

/// What a login is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// A process with services and consumers.
    Node,
    /// Appending the events of this service from SQL.
    Appending(String),
    /// Operators' commands: it sees every tenant, and is no node's.
    Operating,
}

/// Prepares an existing database login for a purpose. A file has no logins.
pub async fn grant(address: &Address, login: &str, purpose: &Purpose) -> Result<(), Error> {
    match address {
        Address::Sqlite(_) => Err(Error::Login {
            store: address.to_string(),
            login: login.to_owned(),
            remedy: "a file has no logins: whoever can read it reads all of it".to_owned(),
        }),
        Address::Postgres(url) => postgres::grant(url, login, purpose).await,
    }
}
