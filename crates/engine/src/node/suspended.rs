//! Which consumers are suspended, as far as this process knows. Pure.
//!
//! Invariant: what the store said is old once something was suspended or resumed here since it was asked, and changes nothing.

use std::collections::BTreeMap;

/// What was known when the store was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked(u64);

/// See the module.
#[derive(Default)]
pub(super) struct Suspended {
    reasons: BTreeMap<String, String>,
    /// How often it has changed.
    changes: u64,
}

impl Suspended {
    /// Why a consumer is suspended.
    pub fn reason(&self, consumer: &str) -> Option<&String> {
        self.reasons.get(consumer)
    }

    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.reasons.keys()
    }

    /// From now on what the store says may be old.
    pub fn asked(&self) -> Asked {
        Asked(self.changes)
    }

    /// This process has suspended a consumer.
    pub fn suspend(&mut self, consumer: &str, reason: String) {
        self.reasons.insert(consumer.to_owned(), reason);
        self.changes += 1;
    }

    /// The store says that these are suspended, and no others; answers who was until now. None where that is old.
    pub fn hear(&mut self, asked: Asked, said: BTreeMap<String, String>) -> Option<Vec<String>> {
        if asked != self.asked() {
            return None;
        }
        if said == self.reasons {
            return Some(Vec::new());
        }
        self.changes += 1;
        let before = std::mem::replace(&mut self.reasons, said);
        Some(before.into_keys().filter(|name| !self.reasons.contains_key(name)).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Suspended;

    fn said(names: &[&str]) -> BTreeMap<String, String> {
        names.iter().map(|name| ((*name).to_owned(), "it is broken".to_owned())).collect()
    }

    fn now(suspended: &Suspended) -> Vec<&str> {
        suspended.names().map(String::as_str).collect()
    }

    #[test]
    fn what_the_store_says_is_so() {
        let mut suspended = Suspended::default();
        assert_eq!(suspended.hear(suspended.asked(), said(&["a", "b"])), Some(Vec::new()));
        assert_eq!(suspended.hear(suspended.asked(), said(&["b", "c"])), Some(vec!["a".to_owned()]));
        assert_eq!(now(&suspended), ["b", "c"]);
    }

    #[test]
    fn who_suspends_while_the_store_is_asked_stays_suspended() {
        let mut suspended = Suspended::default();
        let asked = suspended.asked();
        suspended.suspend("a", "it is broken".to_owned());
        assert_eq!(suspended.hear(asked, said(&[])), None);
        assert_eq!(now(&suspended), ["a"]);
    }

    #[test]
    fn who_was_resumed_while_the_store_was_asked_is_not_suspended_again() {
        let mut suspended = Suspended::default();
        suspended.suspend("a", "it is broken".to_owned());
        let asked = suspended.asked();
        assert_eq!(suspended.hear(suspended.asked(), said(&[])), Some(vec!["a".to_owned()]));
        assert_eq!(suspended.hear(asked, said(&["a"])), None);
        assert_eq!(now(&suspended), [""; 0]);
    }

    #[test]
    fn two_who_ask_at_once_and_hear_the_same_are_both_heard() {
        let mut suspended = Suspended::default();
        suspended.suspend("a", "it is broken".to_owned());
        let asked = suspended.asked();
        assert_eq!(suspended.hear(asked, said(&["a"])), Some(Vec::new()));
        assert_eq!(suspended.hear(asked, said(&[])), Some(vec!["a".to_owned()]));
    }
}
