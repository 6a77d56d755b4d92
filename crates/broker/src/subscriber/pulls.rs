//! Requests for more messages, and how many are still owed for them. Pure.

use std::collections::VecDeque;

/// The most messages that one request asks for.
pub(super) const PULL_MAX: u64 = 500;

/// Requests that are not filled yet, oldest first.
#[derive(Debug, Default)]
pub(super) struct Pulls {
    open: VecDeque<(u64, u64)>,
    number: u64,
}

impl Pulls {
    /// The number of the next request and how many it asks for; none while enough is owed. At most twice the size of a
    /// request is owed, which bounds what can wait in memory.
    pub(super) fn next(&mut self, size: u64) -> Option<(u64, u64)> {
        let owed: u64 = self.open.iter().map(|(_, owed)| owed).sum();
        if owed * 2 > size {
            return None;
        }
        self.number += 1;
        self.open.push_back((self.number, size));
        Some((self.number, size))
    }

    /// A message came: requests are filled in their order.
    pub(super) fn filled(&mut self) {
        if let Some((_, owed)) = self.open.front_mut() {
            *owed -= 1;
            if *owed == 0 {
                self.open.pop_front();
            }
        }
    }

    /// The server gave a request up.
    pub(super) fn ended(&mut self, number: u64) {
        self.open.retain(|(open, _)| *open != number);
    }
}

#[cfg(test)]
mod tests {
    use super::Pulls;

    #[test]
    fn another_request_follows_when_half_of_one_is_owed() {
        let mut pulls = Pulls::default();
        assert_eq!(pulls.next(10), Some((1, 10)));
        assert_eq!(pulls.next(10), None);
        (0..5).for_each(|_| pulls.filled());
        assert_eq!(pulls.next(10), Some((2, 10)));
        assert_eq!(pulls.next(10), None);
    }

    #[test]
    fn a_request_that_ended_owes_nothing() {
        let mut pulls = Pulls::default();
        pulls.next(10);
        pulls.ended(1);
        assert_eq!(pulls.next(10), Some((2, 10)));
    }
}
