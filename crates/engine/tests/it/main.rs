//! Consumers at work, on every store.

#[macro_use]
mod fixture;
mod consumers;
mod failures;
mod sharing;
#[path = "../../../store/tests/it/shop.rs"]
#[expect(dead_code, reason = "the store's tests use all of it")]
mod shop;
mod tasks;
