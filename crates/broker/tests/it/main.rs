//! Tests of the broker, against a real server.

mod connection;
mod credentials;
mod fixture;
mod permissions;
mod publisher;
mod subscriber;
mod topology;
