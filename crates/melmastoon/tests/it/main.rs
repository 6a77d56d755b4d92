//! The tests of this crate, by what they claim.

mod inputs;
mod samples;
