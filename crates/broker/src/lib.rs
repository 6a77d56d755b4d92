//! The broker: NATS JetStream, behind a few calls.
//!
//! * [`Broker`] is a connection that mends itself, to a server that is new enough.
//! * [`Topology`] says which streams, subjects and durables a catalogue needs, makes them and checks them.
//! * [`Publisher`] feeds one stream in order: nothing lost, doubled or turned around, however often the server dies.
//! * [`Subscription`] pulls one durable in order.
//! * [`nats_conf`] writes a server's configuration in which each service may do its own and no more.
//!
//! Invariants, each kept in the module named:
//! * what a stream holds is a prefix of what was sent: every message says which sequence it expects (`publisher`);
//! * what is handed out is in stream order and without holes: a hole in the delivery numbers stops the subscription
//!   (`subscriber`);
//! * no secret is ever printed: user and password leave the address before anything else sees it (`address`).
//!
//! Not here: positions, leases and parked keys (`store`, `engine`), deduplication (the inbox), any request over the bus:
//! the only answers are JetStream's own.

pub mod address;
mod api;
mod connection;
mod credentials;
pub mod error;
pub mod message;
pub mod nats_conf;
pub mod publisher;
pub mod raw;
mod remedy;
mod room;
mod streams;
pub mod subscriber;
pub mod topology;
#[cfg(feature = "trial")]
pub mod trial;
#[cfg(not(feature = "trial"))]
mod trial;
mod version;

pub use address::Address;
pub use connection::{Broker, Options};
pub use error::Error;
pub use message::{Attributes, Message, Watermark};
pub use publisher::{Acked, Mode, Publisher, StreamEnd};
pub use room::{Limit, Room, Unit};
pub use streams::{Out, Place};
pub use subscriber::{Delivery, Floor, Settings, Start, Subscription, Walk};
pub use topology::Topology;
pub use version::Version;
