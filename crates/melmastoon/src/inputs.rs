//! Which payload field supplies each input that a saga step, a projection or a notification needs.
//!
//! Payloads that no document gives were designed from these tables. A test follows every row into the schema of its
//! subject, so a field that a step relies on cannot disappear unnoticed.

#[doc = include_str!("inputs/sagas.md")]
pub mod sagas {}

#[doc = include_str!("inputs/projections.md")]
pub mod projections {}
