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
    /// How old an event may be while it waits for its predecessor; older, its waiting counts as a failure.
    pub later_most_ms: i64,
}

impl Default for Policy {
    fn default() -> Self {
        Self { attempts_max: 7, first_ms: 1_000, most_ms: 600_000, later_ms: 5_000, later_most_ms: 300_000 }
    }
}

impl Policy {
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

    use super::Policy;

    #[test]
    fn a_wait_is_never_longer_than_its_bound_and_never_nothing() {
        let (policy, random) = (Policy::default(), SeededRandom::new(7));
        for attempts in 0..200_u32 {
            let bound = policy.most_ms.min(policy.first_ms.saturating_mul(1 << attempts.saturating_sub(1).min(40)));
            let wait = policy.wait_ms(attempts, &random);
            assert!((1..=bound.max(1)).contains(&wait), "{attempts} {wait} {bound}");
        }
    }
}
