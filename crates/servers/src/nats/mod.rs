//! Real NATS servers, with JetStream.
//!
//! ```no_run
//! let Some(server) = karwan_servers::nats::nats().or_skip() else { return };
//! println!("{}", server.url());
//! ```
//!
//! Every test has a server of its own: it starts in a few hundredths of a second, and streams of two tests would quarrel
//! about subjects. It lives in a throw-away directory on a free port, and ends with its process, however that ends.
//!
//! Where the program comes from, first hit wins: `KARWAN_NATS_BIN` (the program; `cargo xtask test` sets it), the `PATH`,
//! the cache into which `cargo xtask test` installs. One before 2.10 is refused.
//!
//! Not here: installing it (`xtask`), and a client.

mod find;
mod options;
mod server;

pub use find::{Program, Version, find};
pub use options::Options;
pub use server::Server;

use crate::Need;

/// A plain server for one test.
///
/// # Panics
///
/// When there is a program but the server does not start: that is a failure, no want of a tool.
pub fn nats() -> Need<Server> {
    Server::start(Options::default())
}
