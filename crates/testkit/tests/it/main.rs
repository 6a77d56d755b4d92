//! Tests of the testkit.

mod skip;
mod tool;
