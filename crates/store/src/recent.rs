//! Documents as this process saw them last: handlers of one aggregate read what the one before has just written.
//!
//! What is kept may be old, since other processes write, too. So nothing is decided by it alone. What a unit rests on is
//! version-checked when it is flushed, and a unit that ends in anything but a flush that was taken is run again on what the store
//! says. Only what was peeked at is not checked; it is at most [`PEEKED_MAX`] old.
//!
//! Where another process keeps writing what is read here, every second flush would be refused. So a kind of which something kept
//! turns out to be somebody else's past is read from the store for [`DOUBT`].
//!
//! Bounds: twice [`BYTES_MAX`]; what nobody has asked for since that much was kept is forgotten.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::held::DocumentRow;
use crate::kind::Kind;
use crate::write_set::{Action, DocumentWrite, TenantBits, WriteSet};

/// How old something that is only peeked at may be.
pub(crate) const PEEKED_MAX: Duration = Duration::from_secs(1);
/// How long a kind is read from the store after somebody else was seen to write it.
const DOUBT: Duration = Duration::from_secs(5);
/// How much is kept before the older half is forgotten.
const BYTES_MAX: usize = 16 << 20;
/// What one document costs beside its texts.
const ENTRY_BYTES: usize = 160;

/// What a unit's decision may rest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Documents as this process saw them last, where it did: for a first try.
    Recent,
    /// What the store says.
    Fresh,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Recent(Mutex<State>);

#[derive(Default)]
struct State {
    /// Whose documents these are: in another life of a store a version means another body.
    life: i64,
    young: Generation,
    old: Generation,
    doubted: HashMap<&'static str, Instant>,
}

#[derive(Default)]
struct Generation {
    kinds: HashMap<(&'static str, TenantBits), HashMap<String, Entry>>,
    bytes: usize,
}

struct Entry {
    row: DocumentRow,
    /// When the store said so.
    at: Instant,
}

impl Recent {
    fn state(&self, life: i64) -> MutexGuard<'_, State> {
        let mut state = self.0.lock().expect("nothing panics while holding it");
        if state.life != life {
            *state = State { life, ..State::default() };
        }
        state
    }

    /// A document as it was seen last, where that is not too long ago.
    pub fn known(
        &self,
        life: i64,
        kind: &Kind,
        (tenant, id): (TenantBits, &str),
        age_max: Option<Duration>,
    ) -> Option<DocumentRow> {
        let mut state = self.state(life);
        if state.doubts(kind.name) {
            return None;
        }
        let is_young = |entry: &Entry| age_max.is_none_or(|max| entry.at.elapsed() <= max);
        if let Some(entry) = state.young.entry(kind.name, tenant, id) {
            return Some(entry).filter(|entry| is_young(entry)).map(|entry| entry.row.clone());
        }
        // Asked for, it stays.
        let entry = state.old.take(kind.name, tenant, id).filter(is_young)?;
        let row = entry.row.clone();
        state.keep(kind.name, tenant, entry);
        Some(row)
    }

    /// What the store said of a document.
    pub fn learn(&self, life: i64, kind: &Kind, tenant: TenantBits, row: &DocumentRow) {
        let entry = Entry { row: row.clone(), at: Instant::now() };
        self.state(life).keep_newer(kind.name, tenant, entry);
    }

    /// A set is committed.
    pub fn wrote(&self, life: i64, set: &WriteSet) {
        let (mut state, at) = (self.state(life), Instant::now());
        for document in &set.documents {
            let Some(row) = written(document) else { continue };
            // A put that has read nothing may be behind a tombstone, whose versions go on.
            if document.blind && state.version(document.kind.name, document.tenant, &document.id).is_some() {
                state.forget(document.kind.name, document.tenant, &document.id);
            } else {
                state.keep_newer(document.kind.name, document.tenant, Entry { row, at });
            }
        }
    }

    /// A set was refused, for a document that is named as a conflict names it. What it rests on is asked for again.
    pub fn refused(&self, life: i64, set: &WriteSet, what: &str) {
        let mut state = self.state(life);
        for DocumentWrite { kind, tenant, id, expected, .. } in &set.documents {
            let known = state.version(kind.name, *tenant, id);
            // It is not what this process has written meanwhile: somebody else did.
            if known == Some(*expected) && what == conflict(kind.name, *tenant, id) {
                state.doubted.insert(kind.name, Instant::now() + DOUBT);
            }
            if known.is_some_and(|known| known <= *expected) {
                state.forget(kind.name, *tenant, id);
            }
        }
    }
}

/// How a conflict names a document.
pub(crate) fn conflict(kind: &str, tenant: TenantBits, id: &str) -> String {
    format!("{kind} {} {id}", uuid::Uuid::from_u128(tenant))
}

/// What a set makes of a document; nothing where it only looks. Whoever is behind a tombstone that nobody read has a higher version:
/// then this is found out by the next flush.
fn written(document: &DocumentWrite) -> Option<DocumentRow> {
    let (shape, body) = match &document.action {
        Action::Check | Action::Hold => return None,
        Action::Put { shape, body, .. } => (*shape, Some(body.clone())),
        Action::Delete => (document.kind.shape, None),
    };
    Some(DocumentRow { id: document.id.clone(), version: document.expected + 1, shape, body })
}

impl State {
    fn doubts(&mut self, kind: &'static str) -> bool {
        let Some(until) = self.doubted.get(kind) else { return false };
        let doubts = Instant::now() < *until;
        if !doubts {
            self.doubted.remove(kind);
        }
        doubts
    }

    fn version(&self, kind: &'static str, tenant: TenantBits, id: &str) -> Option<i64> {
        let entry = self.young.entry(kind, tenant, id).or_else(|| self.old.entry(kind, tenant, id));
        entry.map(|entry| entry.row.version)
    }

    /// Answers may come in another order than what they tell of happened.
    fn keep_newer(&mut self, kind: &'static str, tenant: TenantBits, entry: Entry) {
        if self.version(kind, tenant, &entry.row.id).is_none_or(|known| known <= entry.row.version) {
            self.forget(kind, tenant, &entry.row.id);
            self.keep(kind, tenant, entry);
        }
    }

    fn keep(&mut self, kind: &'static str, tenant: TenantBits, entry: Entry) {
        self.young.put(kind, tenant, entry);
        if self.young.bytes > BYTES_MAX {
            self.old = std::mem::take(&mut self.young);
        }
    }

    fn forget(&mut self, kind: &'static str, tenant: TenantBits, id: &str) {
        self.young.take(kind, tenant, id);
        self.old.take(kind, tenant, id);
    }
}

impl Generation {
    fn entry(&self, kind: &'static str, tenant: TenantBits, id: &str) -> Option<&Entry> {
        self.kinds.get(&(kind, tenant))?.get(id)
    }

    fn put(&mut self, kind: &'static str, tenant: TenantBits, entry: Entry) {
        self.bytes += size(&entry.row);
        let before = self.kinds.entry((kind, tenant)).or_default().insert(entry.row.id.clone(), entry);
        self.bytes -= before.map_or(0, |before| size(&before.row));
    }

    fn take(&mut self, kind: &'static str, tenant: TenantBits, id: &str) -> Option<Entry> {
        let entry = self.kinds.get_mut(&(kind, tenant))?.remove(id)?;
        self.bytes -= size(&entry.row);
        Some(entry)
    }
}

fn size(row: &DocumentRow) -> usize {
    2 * row.id.len() + row.body.as_ref().map_or(0, String::len) + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{BYTES_MAX, DOUBT, Recent, conflict};
    use crate::held::DocumentRow;
    use crate::kind::Kind;
    use crate::write_set::{Action, DocumentWrite, WriteSet};

    const ORDER: Kind = Kind::named("order");
    const LIFE: i64 = 1;

    fn row(id: &str, version: i64) -> DocumentRow {
        DocumentRow { id: id.to_owned(), version, shape: 1, body: Some("{}".to_owned()) }
    }

    /// A set that has read a version of a document, and does this to it.
    fn set(id: &str, expected: i64, action: Action) -> WriteSet {
        let write = DocumentWrite { kind: ORDER, tenant: 1, id: id.to_owned(), expected, blind: false, action };
        WriteSet { documents: vec![write], ..WriteSet::default() }
    }

    fn put() -> Action {
        Action::Put { shape: 1, body: "{}".to_owned(), fields: Vec::new() }
    }

    fn known(recent: &Recent, id: &str) -> Option<i64> {
        recent.known(LIFE, &ORDER, (1, id), None).map(|row| row.version)
    }

    #[test]
    fn what_was_committed_is_known_and_what_is_older_does_not_come_after_it() {
        let recent = Recent::default();
        recent.wrote(LIFE, &set("a", 1, put()));
        assert_eq!(known(&recent, "a"), Some(2));
        recent.learn(LIFE, &ORDER, 1, &row("a", 1));
        recent.wrote(LIFE, &set("a", 0, put()));
        assert_eq!(known(&recent, "a"), Some(2));
        recent.wrote(LIFE, &set("a", 7, Action::Check));
        assert_eq!(known(&recent, "a"), Some(2));
    }

    #[test]
    fn a_deleted_document_is_known_to_be_gone() {
        let recent = Recent::default();
        recent.wrote(LIFE, &set("a", 1, Action::Delete));
        let row = recent.known(LIFE, &ORDER, (1, "a"), None).expect("it is known");
        assert_eq!((row.version, row.body), (2, None));
    }

    #[test]
    fn a_tenant_never_sees_anothers() {
        let recent = Recent::default();
        recent.learn(LIFE, &ORDER, 1, &row("a", 1));
        assert!(recent.known(LIFE, &ORDER, (2, "a"), None).is_none());
    }

    #[test]
    fn in_another_life_nothing_is_known() {
        let recent = Recent::default();
        recent.learn(LIFE, &ORDER, 1, &row("a", 5));
        assert!(recent.known(LIFE + 1, &ORDER, (1, "a"), None).is_none());
        assert_eq!(known(&recent, "a"), None, "nor when that life is over");
    }

    #[tokio::test(start_paused = true)]
    async fn what_somebody_else_has_changed_is_forgotten_and_its_kind_doubted_for_a_while() {
        let recent = Recent::default();
        recent.learn(LIFE, &ORDER, 1, &row("a", 3));
        recent.learn(LIFE, &ORDER, 1, &row("b", 1));
        recent.refused(LIFE, &set("a", 3, put()), &conflict("order", 1, "a"));
        assert_eq!(known(&recent, "b"), None, "others may write this kind");
        tokio::time::advance(DOUBT).await;
        assert_eq!((known(&recent, "a"), known(&recent, "b")), (None, Some(1)));
    }

    #[test]
    fn what_this_process_has_changed_meanwhile_raises_no_doubt() {
        let recent = Recent::default();
        recent.wrote(LIFE, &set("a", 3, put()));
        recent.refused(LIFE, &set("a", 3, put()), &conflict("order", 1, "a"));
        assert_eq!(known(&recent, "a"), Some(4));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_asked_for_young_is_not_old() {
        let recent = Recent::default();
        recent.learn(LIFE, &ORDER, 1, &row("a", 1));
        let second = Some(Duration::from_secs(1));
        assert!(recent.known(LIFE, &ORDER, (1, "a"), second).is_some());
        tokio::time::advance(Duration::from_millis(1_001)).await;
        assert!(recent.known(LIFE, &ORDER, (1, "a"), second).is_none());
        assert_eq!(known(&recent, "a"), Some(1), "for who checks it, it is good enough");
    }

    #[test]
    fn its_memory_is_bounded_and_what_is_asked_for_stays() {
        let recent = Recent::default();
        for number in 0..64 {
            let long = DocumentRow { body: Some("x".repeat(1 << 20)), ..row(&number.to_string(), 1) };
            recent.learn(LIFE, &ORDER, 1, &long);
            assert_eq!(known(&recent, "0"), Some(1), "after {number}");
        }
        assert_eq!(known(&recent, "1"), None);
        let state = recent.state(LIFE);
        assert!(state.young.bytes + state.old.bytes <= 2 * BYTES_MAX + (2 << 20));
    }
}
