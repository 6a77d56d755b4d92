//! Tests of the testkit.

mod postgres;
mod skip;
mod tool;
