//! Real Postgres servers.
//!
//! ```no_run
//! let Some(server) = karwan_servers::postgres::postgres().or_skip() else { return };
//! let database = server.database();
//! database.psql("CREATE TABLE kept (value int)").expect("the superuser may do anything");
//! ```
//!
//! Most tests share the server of their process and take a fresh database of it. A test that kills its server, or needs
//! settings, TLS or a disk of its own, starts one with [`Server::start`].
//!
//! Where the programs come from, first hit wins: `KARWAN_POSTGRES_BIN` (a directory; `cargo xtask test` sets it), the
//! `PATH`, Debian's place, the cache into which `cargo xtask test` installs. Every server lives in a throw-away
//! directory (in memory where there is enough, unless `TMPDIR` is set), on a free port, as another user when the tests
//! run as root. It ends with its process, however that
//! ends: a watchdog process sees the end of a pipe, stops the server and removes the directory.
//!
//! Not here: installing Postgres (`xtask`), and a client library: `psql` does what is asked of a server here.

mod account;
mod client;
mod files;
mod find;
mod options;
mod reach;
mod server;
mod template;

use std::sync::LazyLock;

pub use client::Database;
pub use find::{Programs, find};
pub use options::Options;
pub use server::Server;

use crate::Need;

/// The server that the tests of this process share, started by the first that asks.
///
/// # Panics
///
/// When there are programs but the server does not start: that is a failure, no want of a tool.
pub fn postgres() -> Need<&'static Server> {
    static SHARED: LazyLock<Need<Server>> = LazyLock::new(|| Server::start(Options::default()));
    match &*SHARED {
        Need::Met(server) => Need::Met(server),
        Need::Missing(reason) => Need::Missing(reason.clone()),
    }
}
