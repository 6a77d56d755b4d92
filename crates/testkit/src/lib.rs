//! What the tests of several crates share.
//!
//! A test that needs a tool asks for it here. `cargo xtask test` finds or installs the tools and names them in the
//! environment; where one cannot be had, the test says that it was skipped and is counted so, never as passed:
//!
//! ```no_run
//! let Some(python) = karwan_testkit::python().or_skip() else { return };
//! ```
//!
//! A test that needs Postgres takes a fresh database of a real server ([`mod@postgres`]):
//!
//! ```no_run
//! let Some(server) = karwan_testkit::postgres().or_skip() else { return };
//! let url = server.database().url();
//! ```
//!
//! Not here: installing anything (`xtask`).

pub mod contract;
pub mod instances;
mod need;
pub mod postgres;
pub mod skip;
mod tool;

pub use need::Need;
pub use postgres::postgres;
pub use tool::{Tool, python};
