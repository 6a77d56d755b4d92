//! A publisher without its rule, to see that something goes wrong without it.
//!
//! The rule can be left out with the feature `trial` alone, which no program that is shipped has. Without it this is a constant.

#[cfg(feature = "trial")]
mod on {
    use std::sync::atomic::{AtomicBool, Ordering};

    static LEFT_OUT: AtomicBool = AtomicBool::new(false);

    /// Publishers of this process do not say any more which sequence they expect.
    pub fn leave_out_expected_sequence() {
        LEFT_OUT.store(true, Ordering::Relaxed);
    }

    pub(crate) fn expects_sequence() -> bool {
        !LEFT_OUT.load(Ordering::Relaxed)
    }
}

#[cfg(feature = "trial")]
pub(crate) use on::expects_sequence;
#[cfg(feature = "trial")]
pub use on::leave_out_expected_sequence;

#[cfg(not(feature = "trial"))]
pub(crate) const fn expects_sequence() -> bool {
    true
}
