//! What a store runs on, for those who tell what they measured.

use crate::error::Error;
use crate::store::Store;

/// A server, or the library of a file, and what a commit waits for there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// Its name and version.
    pub server: String,
    /// The setting that says what a commit waits for: `synchronous_commit` of Postgres, `synchronous` of SQLite.
    pub setting: &'static str,
    /// What it is for the connections of this store.
    pub value: String,
}

impl Store {
    /// What it runs on.
    pub async fn environment(&self) -> Result<Environment, Error> {
        self.shared.backend.environment().await
    }
}
