//! The store's tests.

mod market;
mod postgres;
