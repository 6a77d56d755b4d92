//! The commands that talk to a store, on real servers and files.

mod audit;
mod backup;
mod bench;
mod codes;
mod consumer;
mod doctor;
mod drills;
mod letters;
mod migrate;
mod moves;
mod pages;
pub mod place;
mod rebuilt;
mod relays;
mod stats;
mod tail;
mod trouble;
