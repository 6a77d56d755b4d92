//! HTTP/1.1 in few words: a server that answers whole requests, and a client that asks whole ones.
//!
//! Invariants: every body, head, wait and number of connections has a limit with a name; a server that is stopped answers what
//! it has begun; a client says whether a request can have reached the other side.
//! Not here: TLS (bind to loopback, or stand behind a proxy), streaming, conventions of bodies and problems.

pub mod client;
pub mod message;
pub mod server;
pub mod signature;

pub use client::{Client, Error};
pub use message::{Request, Response};
pub use server::Server;

pub use hyper::http::{HeaderName, Method, StatusCode};
