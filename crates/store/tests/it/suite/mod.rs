//! What holds on every store.

mod batches;
mod documents;
mod intents;
mod lanes;
mod log;
mod migrations;
mod queries;
mod tasks;
mod units;
