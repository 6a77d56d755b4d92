//! What holds on every store.

mod batches;
mod documents;
mod intents;
mod lane_counts;
mod lanes;
mod log;
mod many_calls;
mod migrations;
mod operators;
mod queries;
mod relays;
mod retention;
mod tasks;
mod units;
mod waiting;
