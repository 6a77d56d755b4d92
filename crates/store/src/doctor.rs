//! Is the store in order? One check after another, each with what it found and what helps.

use crate::address::Address;
use crate::error::Error;
use crate::{postgres, sqlite};

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// In order.
    Good,
    /// Works, and will not for ever, or not as well as it could.
    Warning,
    /// Not in order.
    Bad,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was looked at: `schema`, `row-level security`, `horizon`, `clock`, …
    pub name: &'static str,
    /// How it ended.
    pub health: Health,
    /// What was found.
    pub found: String,
    /// What helps; empty where nothing is wrong.
    pub remedy: String,
}

impl Check {
    /// In order.
    pub fn good(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, health: Health::Good, found: found.into(), remedy: String::new() }
    }

    /// Not in order, or soon not.
    pub fn not_good(name: &'static str, health: Health, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, health, found: found.into(), remedy: remedy.into() }
    }
}

/// Looks at a store from all sides. `now_ms` is this machine's clock, to be compared with the store's.
pub async fn doctor(address: &Address, now_ms: i64) -> Result<Vec<Check>, Error> {
    match address {
        Address::Sqlite(path) => sqlite::doctor(path, now_ms).await,
        Address::Postgres(url) => postgres::doctor(url, now_ms).await,
    }
}
