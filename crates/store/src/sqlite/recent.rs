//! Documents as they were last committed, in memory: handlers of one booking read what the one before has just written, and a
//! connection that reads it from the file finds all of its pages stale after every commit.
//!
//! Invariant: what is kept is what the file says. One process writes a file, and every document that it writes passes by here:
//! taken out before the commit, put back in its new form when it is committed, and before anybody hears of that. Meanwhile the
//! file is asked. What was read from the file is kept only where nothing was written since it was asked for.
//! Bounds: [`BYTES_MAX`] twice; what nobody has asked for since that much was written is forgotten.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use crate::held::DocumentRow;
use crate::kind::Kind;
use crate::write_set::{DocumentWrite, TenantBits};

/// How much is kept before the older half is forgotten.
const BYTES_MAX: usize = 16 << 20;
/// What one document costs beside its texts.
const ENTRY_BYTES: usize = 128;

/// See the module.
#[derive(Default)]
pub(super) struct Recent(Mutex<State>);

#[derive(Default)]
struct State {
    young: Generation,
    old: Generation,
    /// Written, and not committed yet.
    pending: Vec<Written>,
    /// Goes up when something is written, and when that ends.
    changes: u64,
}

#[derive(Default)]
struct Generation {
    kinds: HashMap<(&'static str, TenantBits), HashMap<String, DocumentRow>>,
    bytes: usize,
}

/// A document as a unit has written it; without a body, it is a tombstone.
pub(super) struct Written {
    pub kind: &'static str,
    pub tenant: TenantBits,
    pub row: DocumentRow,
}

/// What is known of a document.
pub(super) enum Known {
    Row(DocumentRow),
    /// Nothing; to be told what the file says, with this.
    Nothing(u64),
}

impl Recent {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("nothing panics while holding it")
    }

    pub fn known(&self, kind: &Kind, tenant: TenantBits, id: &str) -> Known {
        let mut state = self.state();
        if let Some(row) = state.young.row(kind, tenant, id) {
            return Known::Row(row.clone());
        }
        match state.old.take(kind.name, tenant, id) {
            Some(row) => {
                state.keep(kind.name, tenant, row.clone());
                Known::Row(row)
            }
            None => Known::Nothing(state.changes),
        }
    }

    /// What the file said of a document that was not known; an absence is not kept.
    pub fn learn(&self, kind: &Kind, tenant: TenantBits, row: &Option<DocumentRow>, asked_at: u64) {
        let mut state = self.state();
        if let Some(row) = row
            && state.changes == asked_at
        {
            state.keep(kind.name, tenant, row.clone());
        }
    }

    /// A unit has written these, and may still be refused with its whole group.
    pub fn write(&self, written: Vec<Written>) {
        if written.is_empty() {
            return;
        }
        let mut state = self.state();
        state.changes += 1;
        for Written { kind, tenant, row } in &written {
            state.forget(kind, *tenant, &row.id);
        }
        state.pending.extend(written);
    }

    /// A unit that rests on these was refused. Whoever runs it again asks the file: a person with an editor may have changed it, and
    /// what is kept would be refused for ever.
    pub fn forget(&self, documents: &[DocumentWrite]) {
        let mut state = self.state();
        for DocumentWrite { kind, tenant, id, .. } in documents {
            state.forget(kind.name, *tenant, id);
        }
    }

    /// What was written is committed, or is not.
    pub fn end(&self, committed: bool) {
        let mut state = self.state();
        if state.pending.is_empty() {
            return;
        }
        state.changes += 1;
        for Written { kind, tenant, row } in std::mem::take(&mut state.pending) {
            // The last of several is what stands, also where that is a tombstone.
            state.forget(kind, tenant, &row.id);
            if committed && row.body.is_some() {
                state.keep(kind, tenant, row);
            }
        }
    }
}

impl State {
    fn forget(&mut self, kind: &'static str, tenant: TenantBits, id: &str) {
        self.young.take(kind, tenant, id);
        self.old.take(kind, tenant, id);
    }

    fn keep(&mut self, kind: &'static str, tenant: TenantBits, row: DocumentRow) {
        self.young.put(kind, tenant, row);
        if self.young.bytes > BYTES_MAX {
            self.old = std::mem::take(&mut self.young);
        }
    }
}

impl Generation {
    fn row(&self, kind: &Kind, tenant: TenantBits, id: &str) -> Option<&DocumentRow> {
        self.kinds.get(&(kind.name, tenant))?.get(id)
    }

    fn put(&mut self, kind: &'static str, tenant: TenantBits, row: DocumentRow) {
        self.bytes += size(&row);
        let before = self.kinds.entry((kind, tenant)).or_default().insert(row.id.clone(), row);
        self.bytes -= before.as_ref().map_or(0, size);
    }

    fn take(&mut self, kind: &'static str, tenant: TenantBits, id: &str) -> Option<DocumentRow> {
        let row = self.kinds.get_mut(&(kind, tenant))?.remove(id)?;
        self.bytes -= size(&row);
        Some(row)
    }
}

fn size(row: &DocumentRow) -> usize {
    2 * row.id.len() + row.body.as_ref().map_or(0, String::len) + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use super::{BYTES_MAX, Known, Recent, Written};
    use crate::held::DocumentRow;
    use crate::kind::Kind;

    const ORDER: Kind = Kind::named("order");

    fn row(id: &str, version: i64) -> DocumentRow {
        DocumentRow { id: id.to_owned(), version, shape: 1, body: Some("{}".to_owned()) }
    }

    fn written(id: &str, version: i64) -> Vec<Written> {
        vec![Written { kind: ORDER.name, tenant: 1, row: row(id, version) }]
    }

    /// The version that is known, or the number of changes so far.
    fn known(recent: &Recent, id: &str) -> Result<i64, u64> {
        match recent.known(&ORDER, 1, id) {
            Known::Row(row) => Ok(row.version),
            Known::Nothing(changes) => Err(changes),
        }
    }

    #[test]
    fn what_is_written_is_known_when_it_is_committed_and_not_before() {
        let recent = Recent::default();
        recent.write(written("a", 1));
        assert!(known(&recent, "a").is_err());
        recent.end(true);
        assert_eq!(known(&recent, "a"), Ok(1));
        recent.write(written("a", 2));
        assert!(known(&recent, "a").is_err());
        recent.end(false);
        assert!(known(&recent, "a").is_err());
    }

    #[test]
    fn what_was_read_before_a_commit_does_not_count_after_it() {
        let recent = Recent::default();
        let asked = known(&recent, "a").expect_err("nothing is known yet");
        recent.write(written("a", 2));
        recent.learn(&ORDER, 1, &Some(row("a", 1)), asked);
        recent.end(true);
        assert_eq!(known(&recent, "a"), Ok(2));
        let asked = known(&recent, "b").expect_err("nothing is known yet");
        recent.learn(&ORDER, 1, &Some(row("b", 7)), asked);
        assert_eq!(known(&recent, "b"), Ok(7));
    }

    #[test]
    fn the_last_of_several_writes_of_a_group_stands_also_where_it_is_a_tombstone() {
        let recent = Recent::default();
        recent.write(written("a", 1));
        recent.write(written("a", 2));
        let gone = DocumentRow { body: None, ..row("b", 2) };
        recent.write(written("b", 1));
        recent.write(vec![Written { kind: ORDER.name, tenant: 1, row: gone }]);
        recent.end(true);
        assert_eq!(known(&recent, "a"), Ok(2));
        assert!(known(&recent, "b").is_err());
    }

    #[test]
    fn its_memory_is_bounded_and_what_is_asked_for_stays() {
        let recent = Recent::default();
        let long = |id: &str| DocumentRow { body: Some("x".repeat(1 << 20)), ..row(id, 1) };
        for number in 0..64 {
            let row = long(&number.to_string());
            recent.write(vec![Written { kind: ORDER.name, tenant: 1, row }]);
            recent.end(true);
            assert_eq!(known(&recent, "0"), Ok(1), "after {number}");
        }
        assert!(known(&recent, "1").is_err());
        let state = recent.state();
        assert!(state.young.bytes + state.old.bytes <= 2 * BYTES_MAX + (2 << 20));
    }
}
