//! Vendors to try things with, each with its own authentication, ids, errors and misbehaviour, over real sockets.
//!
//! They stand for somebody else's systems: nothing here knows the platform that calls them, and what they have done survives the
//! end of their process, as a vendor's books would. Invariant: what was answered is in the journal.
//! Not here: clients, which belong to the services that call.

pub mod gateway;
mod journal;
pub mod locks;
pub mod messages;
mod notices;
mod sign;
mod stage;

pub use journal::Error;
pub use stage::{Stage, StageOptions};
