//! The tests of this crate, by what they claim.

mod catalogue;
mod inputs;
mod samples;
mod schemas;
