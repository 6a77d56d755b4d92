//! The store's tests, in one binary. `suite` runs on both stores; `sqlite` holds what only a file can show.

#[macro_use]
mod fixture;
mod shop;
mod sqlite;
mod suite;
