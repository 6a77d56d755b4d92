//! The commands that talk to a store, on real servers and files.

mod backup;
mod bench;
mod codes;
mod consumer;
mod doctor;
mod migrate;
mod place;
mod stats;
mod tail;
mod trouble;
