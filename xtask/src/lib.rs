//! The project's chores: `lint`, `test`, `check`, `emit`, `requirements`, `slow`.
//!
//! The rules are pure functions over paths and texts, so that each has a test that plants a violation; the verbs read
//! the tree, call those functions and print. Nothing here depends on a crate of ours: the binary `karwan` is called as
//! a user would call it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a command-line tool: printing is its work")]

pub mod cache;
pub mod check;
pub mod command;
pub mod counts;
pub mod deny;
pub mod emit;
pub mod finding;
pub mod gates;
pub mod ledger;
pub mod licences;
pub mod lint;
pub mod markdown;
pub mod nats_tool;
pub mod postgres_tool;
pub mod project;
pub mod promtool_tool;
pub mod python_tool;
pub mod requirements;
pub mod rust_source;
pub mod slow;
pub mod spdx;
pub mod steps;
pub mod test_run;
pub mod tidy;
pub mod trials;
pub mod upgrade;
