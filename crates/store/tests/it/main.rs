//! The store's tests, in one binary. `suite` runs on both stores; `sqlite` and `postgres` hold what only one can show.

#[macro_use]
mod fixture;
mod postgres;
mod shop;
mod sqlite;
mod suite;
