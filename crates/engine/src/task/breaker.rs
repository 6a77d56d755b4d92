//! Targets that do not answer: held back for a while, then asked once, then let go again.
//!
//! Pure: the time is passed in. A target is *closed* (calls go), *open* (they wait until an instant) or *probed* (one call is
//! under way, the others wait for what comes of it). Targets that failed lately are remembered, at most
//! `TARGETS_MAX` of them; one beyond that is called by the retry policy alone. So are as many that have answered: whoever takes the
//! calls over from somebody else knows nothing yet, and a call that had no answer so often that its target would be held back finds
//! out, instead of using its last attempts on a target that is down.

use std::collections::{HashMap, HashSet};

/// The most targets of one kind that are remembered.
const TARGETS_MAX: usize = 10_000;
/// How long calls wait while one of their target's is asked, before they are looked at again.
pub(super) const PROBED_MS: i64 = 1_000;

/// When a target is held back, and for how long. Data, passed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// Calls in a row without an answer before a target is held back; at least 1. Below the attempts of the retry policy,
    /// or a target that is down kills the calls before it is noticed.
    pub opens_after: u32,
    /// How long a target is held back before it is asked again.
    pub cool_down_ms: i64,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        Self { opens_after: 5, cool_down_ms: 30_000 }
    }
}

/// Whether a call may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    Go,
    /// It may, as the one that finds out.
    Probe,
    /// Not before this instant.
    HeldUntil(i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed {
        unanswered: u32,
    },
    Open {
        until: i64,
    },
    /// One that is never heard of again is followed by another at `until`.
    Probed {
        until: i64,
    },
}

/// The targets of a kind.
#[derive(Debug, Default)]
pub(super) struct Breakers {
    policy: BreakerPolicy,
    /// Those that answer are not here.
    targets: HashMap<String, State>,
    /// Those that have answered.
    heard: HashSet<String>,
}

impl Breakers {
    pub fn new(policy: BreakerPolicy) -> Self {
        Self { policy, targets: HashMap::new(), heard: HashSet::new() }
    }

    /// Whether a target may be called now, by a call that had no answer so many times.
    pub fn admit(&mut self, target: &str, unanswered: u32, now: i64) -> Admission {
        let latest = now.saturating_add(self.policy.cool_down_ms.max(1));
        let Some(state) = self.targets.get_mut(target) else {
            if unanswered < self.policy.opens_after || self.heard.contains(target) || !self.has_room(now) {
                return Admission::Go;
            }
            self.targets.insert(target.to_owned(), State::Probed { until: latest });
            return Admission::Probe;
        };
        match state {
            State::Closed { .. } => Admission::Go,
            State::Open { until } if *until > now => {
                // A clock that was set back does not hold it for longer than one that was not.
                *until = latest.min(*until);
                Admission::HeldUntil(*until)
            }
            State::Probed { until } if *until > now => {
                *until = latest.min(*until);
                Admission::HeldUntil(now.saturating_add(PROBED_MS).min(*until))
            }
            State::Open { .. } | State::Probed { .. } => {
                *state = State::Probed { until: latest };
                Admission::Probe
            }
        }
    }

    /// A target has answered.
    pub fn answered(&mut self, target: &str) {
        self.targets.remove(target);
        if self.heard.len() < TARGETS_MAX && !self.heard.contains(target) {
            self.heard.insert(target.to_owned());
        }
    }

    /// A call had no answer; until when its target is held back now, where it is.
    pub fn unanswered(&mut self, target: &str, now: i64, probe: bool) -> Option<i64> {
        let opened = State::Open { until: now.saturating_add(self.policy.cool_down_ms.max(1)) };
        let before = self.targets.get(target).copied();
        let after = match before.unwrap_or(State::Closed { unanswered: 0 }) {
            State::Closed { unanswered } if unanswered + 1 >= self.policy.opens_after => opened,
            State::Closed { unanswered } => State::Closed { unanswered: unanswered + 1 },
            State::Probed { .. } | State::Open { .. } if probe => opened,
            // It was made before the target was held back, and says nothing new.
            other @ (State::Probed { .. } | State::Open { .. }) => other,
        };
        if before.is_some() || self.has_room(now) {
            self.targets.insert(target.to_owned(), after);
        }
        match after {
            State::Closed { .. } => None,
            State::Open { until } | State::Probed { until } => Some(until),
        }
    }

    /// A call ended without saying anything of its target; where it was the one that should, the next one does.
    pub fn undecided(&mut self, target: &str, now: i64, probe: bool) {
        if let Some(state) = self.targets.get_mut(target).filter(|_| probe)
            && let State::Probed { .. } = state
        {
            *state = State::Open { until: now };
        }
    }

    /// Room for one more: what nobody has asked for since its time was up is forgotten first.
    fn has_room(&mut self, now: i64) -> bool {
        if self.targets.len() >= TARGETS_MAX {
            self.targets.retain(|_, state| match state {
                State::Closed { .. } => false,
                State::Open { until } | State::Probed { until } => *until > now,
            });
        }
        self.targets.len() < TARGETS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::{Admission, BreakerPolicy, Breakers, PROBED_MS, TARGETS_MAX};

    const POLICY: BreakerPolicy = BreakerPolicy { opens_after: 3, cool_down_ms: 30_000 };

    fn down(now: i64) -> Breakers {
        let mut breakers = Breakers::new(POLICY);
        for _ in 0..3 {
            assert_eq!(breakers.admit("a", 0, now), Admission::Go);
            breakers.unanswered("a", now, false);
        }
        breakers
    }

    #[test]
    fn it_opens_after_so_many_in_a_row_and_an_answer_in_between_starts_over() {
        let mut breakers = Breakers::new(POLICY);
        assert_eq!(breakers.unanswered("a", 0, false), None);
        assert_eq!(breakers.unanswered("a", 0, false), None);
        breakers.answered("a");
        assert_eq!(breakers.unanswered("a", 0, false), None);
        assert_eq!(breakers.unanswered("a", 0, false), None);
        assert_eq!(breakers.admit("a", 0, 0), Admission::Go);
        assert_eq!(breakers.unanswered("a", 7, false), Some(30_007));
        assert_eq!(breakers.admit("a", 0, 7), Admission::HeldUntil(30_007));
    }

    #[test]
    fn whoever_takes_over_lets_a_call_that_failed_before_find_out_first() {
        let mut heir = Breakers::new(POLICY);
        assert_eq!(heir.admit("a", 2, 0), Admission::Go, "it has attempts of its own left");
        assert_eq!(heir.admit("b", 3, 0), Admission::Probe);
        assert_eq!(heir.admit("b", 0, 0), Admission::HeldUntil(PROBED_MS));
        assert_eq!(heir.unanswered("b", 10, true), Some(30_010));
        // A call that only it does not answer is given up by its own policy.
        heir.answered("c");
        assert_eq!(heir.admit("c", 6, 0), Admission::Go);
    }

    #[test]
    fn other_targets_go_on() {
        let mut breakers = down(0);
        assert_eq!(breakers.admit("a", 0, 1), Admission::HeldUntil(30_000));
        assert_eq!(breakers.admit("b", 0, 1), Admission::Go);
    }

    #[test]
    fn after_the_cool_down_one_is_let_through_and_the_others_wait_for_it() {
        let mut breakers = down(0);
        assert_eq!(breakers.admit("a", 0, 29_999), Admission::HeldUntil(30_000));
        assert_eq!(breakers.admit("a", 0, 30_000), Admission::Probe);
        assert_eq!(breakers.admit("a", 0, 30_000), Admission::HeldUntil(30_000 + PROBED_MS));
        breakers.answered("a");
        assert_eq!(breakers.admit("a", 0, 30_000), Admission::Go);
    }

    #[test]
    fn a_probe_without_an_answer_holds_the_target_back_again() {
        let mut breakers = down(0);
        assert_eq!(breakers.admit("a", 0, 30_000), Admission::Probe);
        assert_eq!(breakers.unanswered("a", 31_000, true), Some(61_000));
        assert_eq!(breakers.admit("a", 0, 60_999), Admission::HeldUntil(61_000));
        assert_eq!(breakers.admit("a", 0, 61_000), Admission::Probe);
    }

    #[test]
    fn what_was_under_way_before_neither_prolongs_it_nor_stands_for_the_probe() {
        let mut breakers = down(0);
        assert_eq!(breakers.unanswered("a", 20_000, false), Some(30_000));
        assert_eq!(breakers.admit("a", 0, 30_000), Admission::Probe);
        breakers.unanswered("a", 30_001, false);
        assert_eq!(breakers.admit("a", 0, 30_002), Admission::HeldUntil(30_002 + PROBED_MS));
        // But an answer is an answer.
        breakers.answered("a");
        assert_eq!(breakers.admit("a", 0, 30_002), Admission::Go);
    }

    #[test]
    fn a_probe_that_says_nothing_is_followed_by_another_and_so_is_one_that_is_lost() {
        let mut breakers = down(0);
        assert_eq!(breakers.admit("a", 0, 30_000), Admission::Probe);
        breakers.undecided("a", 30_000, true);
        assert_eq!(breakers.admit("a", 0, 30_000), Admission::Probe);
        assert_eq!(breakers.admit("a", 0, 59_999), Admission::HeldUntil(60_000));
        assert_eq!(breakers.admit("a", 0, 60_000), Admission::Probe);
        // One that was no probe decides nothing either.
        breakers.undecided("a", 60_000, false);
        assert_eq!(breakers.admit("a", 0, 60_000), Admission::HeldUntil(60_000 + PROBED_MS));
    }

    #[test]
    fn a_clock_that_is_set_back_holds_for_no_longer_than_a_cool_down() {
        let mut breakers = down(3_600_000);
        assert_eq!(breakers.admit("a", 0, 0), Admission::HeldUntil(30_000));
        assert_eq!(breakers.admit("a", 0, 30_000), Admission::Probe);
    }

    #[test]
    fn its_memory_is_bounded_and_what_is_held_back_stays() {
        let mut breakers = down(0);
        for number in 0..2 * TARGETS_MAX {
            breakers.unanswered(&format!("t-{number}"), 0, false);
        }
        assert!(breakers.targets.len() <= TARGETS_MAX, "{}", breakers.targets.len());
        assert_eq!(breakers.admit("a", 0, 1), Admission::HeldUntil(30_000));
    }
}
