//! The vendors, over real sockets.

mod gateway;
mod locks;
mod messages;
