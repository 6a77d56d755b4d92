//! The catalogue against the platform's document, and the payloads against their schemas.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod catalogue;
mod document;
mod instances;
mod payloads;
mod rows;
mod sagas;
mod schemas;
mod shape;
mod typescript;
