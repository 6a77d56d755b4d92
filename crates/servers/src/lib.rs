//! Private servers: a real Postgres and a real NATS on free ports, in throw-away directories, gone with the process that
//! started them, however it ends.
//!
//! Tests have them through the testkit, `karwan chaos` uses them as they are. Nothing is installed, and no server that runs
//! already is touched.
//!
//! Not here: clients of either, installing anything (`cargo xtask`). No crate of ours is used, and none outside.

mod machine;
pub mod nats;
mod need;
pub mod postgres;
pub mod skip;

pub use machine::places::{Medium, throw_away_directory};
pub use machine::process;
pub use need::Need;
