//! An engine without one of its rules, to see that something goes wrong without it.
//!
//! A rule can be left out with the feature `trial` alone, which no program that is shipped has. Without it no rule can be.

/// A rule that a trial may leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// A position passes what is handled, parked or buried, and nothing else.
    Ack,
    /// What fails is parked in the store before its key or its position goes on.
    Park,
}

#[cfg(feature = "trial")]
mod on {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::Rule;

    static LEFT_OUT: AtomicU8 = AtomicU8::new(0);

    const fn number(rule: Rule) -> u8 {
        match rule {
            Rule::Ack => 1,
            Rule::Park => 2,
        }
    }

    /// Engines of this process go without a rule.
    pub fn leave_out(rule: Rule) {
        LEFT_OUT.store(number(rule), Ordering::Relaxed);
    }

    pub(crate) fn is_left_out(rule: Rule) -> bool {
        LEFT_OUT.load(Ordering::Relaxed) == number(rule)
    }
}

#[cfg(feature = "trial")]
pub(crate) use on::is_left_out;
#[cfg(feature = "trial")]
pub use on::leave_out;

#[cfg(not(feature = "trial"))]
pub(crate) const fn is_left_out(_: Rule) -> bool {
    false
}
