//! The tests of this crate, by what they claim.

mod catalogue;
mod inputs;
mod instances;
mod samples;
mod schemas;
