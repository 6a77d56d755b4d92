//! Tests of the testkit.

mod nats;
mod postgres;
mod simulation;
mod skip;
mod tool;
