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
//! A test that needs a broker takes a NATS server of its own ([`mod@nats`]):
//!
//! ```no_run
//! let Some(server) = karwan_testkit::nats().or_skip() else { return };
//! let url = server.url();
//! ```
//!
//! Not here: starting servers (`karwan_servers`), installing anything (`xtask`).

pub mod contract;
pub mod instances;
pub mod platforms;
pub mod simulation;
mod tool;

pub use karwan_servers::nats::{self, nats};
pub use karwan_servers::postgres::{self, postgres};
pub use karwan_servers::{Need, skip};
pub use tool::{Tool, promtool, python};
