//! The events against the platform's document and against the notifications that are made from them.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod catalogue;
mod instances;
mod payloads;
mod rows;
mod schemas;

use karwan_registry::EventType;
use serde_json::Value;

fn event(subject: &str) -> EventType {
    let found = panorama::events().into_iter().find(|event| (event.row)().subject == subject);
    found.unwrap_or_else(|| panic!("no event {subject}"))
}

fn schema_of(subject: &str) -> Value {
    (event(subject).schema)()
}
