//! The books of the maker of locks: which keys open which doors. Pure.
//!
//! Invariants: under one operation a key is made once; what was revoked opens nothing, and an issuance that comes after its
//! revocation is refused.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::sign;

/// A key, as the maker knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The maker's own reference.
    pub reference: String,
    /// The operation under which it was made.
    pub operation: String,
    /// The customer's account.
    pub account: String,
    /// The customer's name of it.
    pub credential: String,
    /// The site.
    pub site: String,
    /// The doors that it opens.
    pub doors: Vec<String>,
    /// What it is.
    pub kind: String,
    /// Whether it opens anything.
    pub live: bool,
}

/// How the maker misbehaves with one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// It understands, and refuses.
    Reject,
    /// The lock cannot be reached, every time.
    DoorOffline,
    /// It fails twice, and works then.
    FailTwice,
    /// It makes the key and does not answer the first time.
    TimeoutAfterIssue,
    /// Every notice comes three times.
    DuplicateNotices,
}

/// What was asked; one line of the journal each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// Misbehave with an operation, before or after it is first asked for.
    Fault {
        /// The operation under which a key is asked for. A line that names a site in its place is about none.
        #[serde(alias = "site")]
        operation: String,
        /// How.
        fault: Fault,
    },
    /// Make a key.
    Issue(Issue),
    /// End one.
    Revoke {
        /// The operation under which it was made.
        issue_operation: String,
    },
}

/// Make a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issue {
    /// The same for every attempt.
    pub operation: String,
    /// The customer's account.
    pub account: String,
    /// The customer's name of it.
    pub credential: String,
    /// The site.
    pub site: String,
    /// The doors that it shall open.
    pub doors: Vec<String>,
    /// What it may be, best first.
    pub kinds: Vec<String>,
    /// From when, as text.
    pub opens_from: String,
    /// Until when.
    pub opens_until: String,
}

/// What the maker decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// The key; whether it was made just now.
    Made(Key, bool),
    /// It was ended; whether there was one.
    Ended(bool),
    /// No, and asking again does not help.
    Refused(&'static str),
    /// Not now.
    Later(&'static str),
}

/// The books.
#[derive(Debug, Default)]
pub struct Books {
    /// By operation.
    keys: BTreeMap<String, Key>,
    ended: HashSet<String>,
    /// By operation, how it goes wrong and how often it was asked.
    faults: HashMap<String, (Fault, u32)>,
}

impl Books {
    /// Enters what was asked, and answers it.
    pub fn enter(&mut self, entry: &Entry) -> Ruling {
        match entry {
            Entry::Fault { operation, fault } => {
                self.faults.insert(operation.clone(), (*fault, 0));
                Ruling::Later("armed")
            }
            Entry::Issue(issue) => self.issue(issue),
            Entry::Revoke { issue_operation } => {
                self.ended.insert(issue_operation.clone());
                match self.keys.get_mut(issue_operation) {
                    Some(key) => {
                        key.live = false;
                        Ruling::Ended(true)
                    }
                    None => Ruling::Ended(false),
                }
            }
        }
    }

    fn issue(&mut self, issue: &Issue) -> Ruling {
        let operation = &issue.operation;
        if let Some(key) = self.keys.get(operation) {
            return Ruling::Made(key.clone(), false);
        }
        if self.ended.contains(operation) {
            return Ruling::Refused("OPERATION_REVOKED");
        }
        if let Some((fault, asked)) = self.faults.get_mut(operation) {
            *asked += 1;
            match fault {
                Fault::Reject => return Ruling::Refused("DOOR_NOT_IN_PLAN"),
                Fault::DoorOffline => return Ruling::Later("DOOR_OFFLINE"),
                Fault::FailTwice if *asked <= 2 => return Ruling::Later("TRY_AGAIN"),
                Fault::FailTwice | Fault::TimeoutAfterIssue | Fault::DuplicateNotices => {}
            }
        }
        let key = Key {
            reference: sign::id("latch-", operation),
            operation: operation.clone(),
            account: issue.account.clone(),
            credential: issue.credential.clone(),
            site: issue.site.clone(),
            doors: issue.doors.clone(),
            kind: issue.kinds.first().cloned().unwrap_or_default(),
            live: true,
        };
        self.keys.insert(operation.clone(), key.clone());
        Ruling::Made(key, true)
    }

    /// How an operation goes wrong.
    pub fn fault(&self, operation: &str) -> Option<Fault> {
        self.faults.get(operation).map(|(fault, _)| *fault)
    }

    /// Every key.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.keys.values()
    }

    /// The key that was made under an operation.
    pub fn key(&self, operation: &str) -> Option<&Key> {
        self.keys.get(operation)
    }
}
