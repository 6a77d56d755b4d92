//! Whether a consumer is broken, or only some of its keys. Pure.

use std::collections::{HashMap, VecDeque};

use crate::lane::Key;

/// So many keys are looked at: those that were handled last.
pub const KEYS: usize = 100;
/// And fewer than so many of them may fail; also where no more have been handled: who fails for every key need not wait for a hundred.
/// A consumer that has fewer keys is never found broken, though all of them fail: its events are given up one by one.
pub const FAILING_MAX: usize = KEYS / 2;
/// The most keys of a consumer that wait in the memory of one process, over all lanes of it that it holds, and one more a lane,
/// which says that there are others. Processes that share a consumer have a bound each.
pub const PARKED_KEYS_MAX: usize = 10_000;

/// How the last keys of a consumer went.
#[derive(Default)]
pub struct Health {
    last: VecDeque<(u64, Key)>,
    /// How each of them went last, and when that was.
    outcomes: HashMap<Key, (bool, u64)>,
    failing: usize,
    count: u64,
}

impl Health {
    /// An event of a key was handled, or failed; says what is wrong where the consumer is.
    pub fn note(&mut self, key: Key, failed: bool) -> Option<String> {
        self.count += 1;
        let before = self.outcomes.insert(key.clone(), (failed, self.count));
        self.failing = self.failing + usize::from(failed) - usize::from(before.is_some_and(|(failed, _)| failed));
        self.last.push_back((self.count, key));
        self.forget();
        let broken = failed && self.failing >= FAILING_MAX;
        broken.then(|| format!("{} of the last {} keys failed", self.failing, self.outcomes.len()))
    }

    /// Forgets what happened before the last keys, and what was told again later.
    fn forget(&mut self) {
        while let Some((count, key)) = self.last.front() {
            let current = self.outcomes.get(key).is_some_and(|(_, last)| last == count);
            if current && self.outcomes.len() <= KEYS {
                break;
            }
            if current && self.outcomes.remove(key).is_some_and(|(failed, _)| failed) {
                self.failing -= 1;
            }
            self.last.pop_front();
        }
        // A key that is told again and again does not make the list grow behind an old one.
        if self.last.len() > 4 * KEYS {
            let outcomes = &self.outcomes;
            self.last.retain(|(count, key)| outcomes.get(key).is_some_and(|(_, last)| last == count));
        }
    }

    /// A fresh start, after somebody has resumed the consumer.
    pub fn recover(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::{FAILING_MAX, Health, KEYS};

    fn key(number: usize) -> (u128, String) {
        (1, format!("k-{number}"))
    }

    #[test]
    fn a_consumer_is_broken_when_half_of_its_last_keys_fail() {
        let mut health = Health::default();
        for number in 0..KEYS {
            assert_eq!(health.note(key(number), number < FAILING_MAX - 1), None, "{number}");
        }
        assert!(health.note(key(KEYS), true).is_none(), "the oldest failing one has left");
        assert!(health.note(key(KEYS + 1), true).is_none());
        let mut health = Health::default();
        let told: Vec<_> = (0..KEYS).filter_map(|number| health.note(key(number), number % 2 == 1)).collect();
        assert_eq!(told, ["50 of the last 100 keys failed"]);
    }

    #[test]
    fn who_fails_for_every_key_is_broken_before_it_has_seen_a_hundred() {
        let mut health = Health::default();
        let told: Vec<_> = (0..FAILING_MAX).filter_map(|number| health.note(key(number), true)).collect();
        assert_eq!(told, ["50 of the last 50 keys failed"]);
    }

    #[test]
    fn one_key_that_fails_all_the_time_breaks_nobody() {
        let mut health = Health::default();
        for number in 0..10_000 {
            assert_eq!(health.note(key(7), true), None);
            assert_eq!(health.note(key(1_000 + number % 300), false), None);
        }
        assert!(health.last.len() <= 4 * KEYS + 1, "bounded: {}", health.last.len());
    }

    #[test]
    fn a_key_that_recovers_counts_as_well() {
        let mut health = Health::default();
        (0..KEYS).for_each(|number| drop(health.note(key(number), number < 49)));
        (0..20).for_each(|number| assert_eq!(health.note(key(number), false), None));
        (60..80).for_each(|number| assert_eq!(health.note(key(number), true), None, "49 fail again, not 69"));
        assert!(health.note(key(80), true).is_some());
    }
}
