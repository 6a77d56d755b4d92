//! How often a failing event is tried, and how long it waits in between. Data, passed in.

use karwan_envelope::mint::Random;

/// A retry policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Attempts before the event is given up; at least 1.
    pub attempts_max: u32,
    /// The longest wait after the first failure; it doubles with every further one.
    pub first_ms: i64,
    /// The longest wait at all.
    pub most_ms: i64,
    /// How long an event waits for its predecessor, each time, without an attempt being counted.
    pub later_ms: i64,
    /// How long an event may wait for its predecessor, since it was first parked, however old it is; after that its waiting
    /// counts as a failure.
    pub later_most_ms: i64,
}

impl Default for Policy {
    fn default() -> Self {
        USUAL
    }
}

/// Melmastoon: 7 attempts, 10 seconds to 10 minutes.
pub const MELMASTOON: Policy = Policy { attempts_max: 7, first_ms: 10_000, ..USUAL };
/// Learning: 10 attempts.
pub const LEARNING: Policy = Policy { attempts_max: 10, first_ms: 10_000, ..USUAL };
/// Panorama: 5 attempts, as its table's `DEAD` asks (C-11).
pub const PANORAMA: Policy = Policy { attempts_max: 5, first_ms: 10_000, ..USUAL };
/// A relay: a second to ten minutes, and locked away when both bounds are reached.
pub const RELAY: Exhaustion =
    Exhaustion { policy: Policy { attempts_max: 50, ..USUAL }, span_ms_min: 6 * 60 * 60 * 1000 };

const USUAL: Policy =
    Policy { attempts_max: 7, first_ms: 1_000, most_ms: 600_000, later_ms: 5_000, later_most_ms: 300_000 };

/// A policy that gives up only what has also failed for long enough: many attempts in a short outage are no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhaustion {
    /// How often, and how long in between.
    pub policy: Policy,
    /// From the first failure to the last, in milliseconds, at least.
    pub span_ms_min: i64,
}

impl Exhaustion {
    /// Whether so many attempts over such a time are enough: both bounds are needed.
    pub const fn exhausted(&self, attempts: u32, span_ms: i64) -> bool {
        attempts >= self.policy.attempts_max && span_ms >= self.span_ms_min
    }
}

impl Policy {
    /// The policy of a profile, by its platform's name; none where the platform names no policy of its own.
    pub fn of_profile(name: &str) -> Option<Self> {
        match name {
            "melmastoon" => Some(MELMASTOON),
            "learning" => Some(LEARNING),
            "panorama" => Some(PANORAMA),
            _ => None,
        }
    }

    /// The wait after so many attempts: anything up to the bound, so that what failed together does not come back together.
    pub fn wait_ms(&self, attempts: u32, random: &dyn Random) -> i64 {
        let doubled = self.first_ms.saturating_mul(1_i64 << attempts.saturating_sub(1).min(40));
        let bound = doubled.clamp(1, self.most_ms.max(1));
        (random.bits() % bound.cast_unsigned()).cast_signed() + 1
    }
}

#[cfg(test)]
mod tests {
    use karwan_envelope::mint::SeededRandom;

    use super::{LEARNING, MELMASTOON, PANORAMA, Policy, RELAY};

    #[test]
    fn a_wait_is_never_longer_than_its_bound_and_never_nothing() {
        let (policy, random) = (Policy::default(), SeededRandom::new(7));
        for attempts in 0..200_u32 {
            let bound = policy.most_ms.min(policy.first_ms.saturating_mul(1 << attempts.saturating_sub(1).min(40)));
            let wait = policy.wait_ms(attempts, &random);
            assert!((1..=bound.max(1)).contains(&wait), "{attempts} {wait} {bound}");
        }
    }

    #[test]
    fn every_profile_has_its_attempts_and_its_bounds() {
        let attempts = ["melmastoon", "learning", "panorama", "nobody"]
            .map(|name| Policy::of_profile(name).map(|policy| (policy.attempts_max, policy.first_ms, policy.most_ms)));
        assert_eq!(
            attempts,
            [Some((7, 10_000, 600_000)), Some((10, 10_000, 600_000)), Some((5, 10_000, 600_000)), None]
        );
        assert_eq!((MELMASTOON.attempts_max, LEARNING.attempts_max, PANORAMA.attempts_max), (7, 10, 5));
    }

    /// from 10 seconds to 600, doubled, anything in between.
    #[test]
    fn waits_are_spread_over_the_whole_of_their_bound() {
        let random = SeededRandom::new(11);
        for (attempts, bound) in [(1, 10_000), (2, 20_000), (6, 320_000), (7, 600_000), (30, 600_000)] {
            let waits: Vec<i64> = (0..1000).map(|_| MELMASTOON.wait_ms(attempts, &random)).collect();
            assert!(waits.iter().all(|wait| (1..=bound).contains(wait)), "{attempts}");
            for quarter in 0..4 {
                let there = |wait: &&i64| (quarter * bound / 4..(quarter + 1) * bound / 4).contains(*wait);
                let count = waits.iter().filter(there).count();
                assert!((150..=350).contains(&count), "attempt {attempts}: {count} of 1000 waits in quarter {quarter}");
            }
        }
    }

    /// 50 attempts in 5 h 59 stay, at 6 h they go; 49 attempts in 10 h stay.
    #[test]
    fn a_relay_gives_up_when_both_bounds_are_reached() {
        let minutes = |minutes: i64| minutes * 60 * 1000;
        assert!(!RELAY.exhausted(50, minutes(359)));
        assert!(RELAY.exhausted(50, minutes(360)));
        assert!(!RELAY.exhausted(49, minutes(600)));
        assert!(RELAY.exhausted(51, minutes(600)));
    }
}
