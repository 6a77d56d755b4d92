//! Is the store in order? One check after another, each with what it found and what helps.

use karwan_envelope::time::Timestamp;

use crate::address::Address;
use crate::error::Error;
use crate::retention::{self, Holder};
use crate::store::Store;
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
    let mut checks = match address {
        Address::Sqlite(path) => sqlite::doctor(path, now_ms).await?,
        Address::Postgres(url) => postgres::doctor(url, now_ms).await?,
    };
    // What cannot be opened has been told above.
    if let Ok(store) = Store::observe(address).await {
        checks.extend(retention::holders(&store).await?.iter().map(held));
        if checks.iter().all(|check| check.name != RETENTION) {
            checks.push(Check::good(RETENTION, "every consumer is at the end: nobody holds the log back"));
        }
    }
    Ok(checks)
}

const RETENTION: &str = "retention";

/// Who holds the log back, from where, and since when.
fn held(holder: &Holder) -> Check {
    let Holder { consumer, position, stretch, waits_ms, run_by, started } = holder;
    let (first, last, waits) = (stretch.after + 1, stretch.up_to, span(*waits_ms));
    let found = format!("{consumer} needs the log behind {position}, rows {first} to {last}, since {waits}");
    match run_by {
        Some(node) => Check::good(RETENTION, format!("{found}; {node} runs it")),
        None => {
            let since =
                started.map_or_else(String::new, |at| format!(", started last at {}", Timestamp::from_unix_ms(at)));
            let remedy = format!("run it; where nobody ever will: `karwan consumer forget {consumer}`");
            Check::not_good(RETENTION, Health::Warning, format!("{found}; nobody runs it{since}"), remedy)
        }
    }
}

/// A span of time for people.
fn span(ms: i64) -> String {
    match ms.max(0) {
        ms @ 0..120_000 => format!("{} s", ms / 1_000),
        ms @ 120_000..172_800_000 => format!("{} min", ms / 60_000),
        ms => format!("{} days", ms / 86_400_000),
    }
}
