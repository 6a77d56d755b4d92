//! The registry's tests, in one binary.

mod bundle;
mod catalogue;
mod check;
mod evolution;
mod files;
mod guide;
mod hash;
mod payload;
mod rows;
mod rules;
mod schema;
mod shop;
