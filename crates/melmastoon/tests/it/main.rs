//! The tests of this crate, by what they claim.

mod analytics;
mod audit;
mod booking;
mod cancellation;
mod card;
mod catalogue;
mod currency;
mod desk;
mod iam;
mod inputs;
mod instances;
mod inventory;
mod latch;
mod late;
mod lock;
mod notification;
mod refusals;
mod repair;
mod samples;
mod schemas;
mod search;
mod simulation;
#[path = "../../src/told.rs"]
#[allow(dead_code, reason = "shared with tests of the crate itself; each of the two needs a part")]
mod told;
mod trace;
mod workers;
mod world;
