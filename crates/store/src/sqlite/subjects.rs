//! The numbers of subjects, in memory: one that is committed is never given to another name.
//!
//! Invariant: what is learned here was read outside of the writer's transaction, which may still be rolled back.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use rusqlite::Connection;

use crate::sqlite::error::Fault;

/// See the module. As many as the catalogues have.
#[derive(Default)]
pub(super) struct Subjects(RwLock<Known>);

#[derive(Default)]
struct Known {
    names: HashMap<i64, Arc<str>>,
    numbers: HashMap<Arc<str>, i64>,
}

impl Subjects {
    /// The number of a subject, where it is known to be committed.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.0.read().expect("nothing panics while holding it").numbers.get(name).copied()
    }

    /// The subject with a number, by a connection that reads.
    pub fn name(&self, connection: &Connection, number: i64) -> Result<Arc<str>, Fault> {
        if let Some(name) = self.0.read().expect("nothing panics while holding it").names.get(&number) {
            return Ok(name.clone());
        }
        let mut statement = connection.prepare_cached("SELECT name FROM subject WHERE id = ?")?;
        let name: Arc<str> = statement.query_row([number], |row| row.get::<_, String>(0))?.into();
        let mut known = self.0.write().expect("nothing panics while holding it");
        known.numbers.insert(name.clone(), number);
        known.names.insert(number, name.clone());
        Ok(name)
    }
}
