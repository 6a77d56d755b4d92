//! What holds on every store.

mod documents;
mod intents;
mod lanes;
mod log;
mod migrations;
mod queries;
mod units;
