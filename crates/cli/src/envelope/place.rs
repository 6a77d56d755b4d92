//! Where a profile keeps a fact, so that a violation points at what the reader sees.

use karwan_envelope::profile::{Profile, Wire};
use karwan_envelope::violation::Violation;

/// The place of a fact that a form cannot carry: the document itself.
const NOWHERE: &str = "";

/// The catalogue names places as the nested form has them; the other forms keep the same facts elsewhere.
pub fn placed(profile: &Profile, violation: Violation) -> Violation {
    let (field, rest) = split(&violation.pointer);
    let place = match profile.wire {
        Wire::Nested => None,
        Wire::Flat => flat(field),
        Wire::SpecData => spec_data(field),
        Wire::TableRow => table_row(field),
        Wire::CloudEvents => cloudevents(field),
    };
    match place {
        Some(place) => Violation { pointer: format!("{place}{rest}"), ..violation },
        None => violation,
    }
}

/// A pointer's field in the nested form, and what leads further down.
fn split(pointer: &str) -> (&str, &str) {
    let segments = if pointer.starts_with("/metadata/") || pointer.starts_with("/producedBy/") { 3 } else { 2 };
    let end = pointer.match_indices('/').nth(segments - 1).map_or(pointer.len(), |(at, _)| at);
    pointer.split_at(end)
}

fn flat(field: &str) -> Option<&'static str> {
    match field {
        "/producedBy/service" => Some("/source/service"),
        "/metadata/retentionClass" => Some("/retentionClass"),
        "/metadata/orderingKey" => Some("/partitionKey"),
        "/idempotencyKey" => Some("/payload"),
        "/metadata/aiProvenance" => Some(NOWHERE),
        _ => None,
    }
}

fn spec_data(field: &str) -> Option<&'static str> {
    match field {
        "/payload" => Some("/data"),
        "/schemaUri" => Some("/schemaUrl"),
        "/producedBy/service" => Some("/source"),
        "/idempotencyKey" | "/metadata/orderingKey" => Some("/data"),
        "/metadata/aiProvenance" | "/metadata/retentionClass" => Some(NOWHERE),
        _ => None,
    }
}

fn table_row(field: &str) -> Option<&'static str> {
    match field {
        "/idempotencyKey" => Some("/dedupKey"),
        "/producedBy/service" | "/schemaUri" => Some("/eventType"),
        "/metadata/orderingKey" => Some("/payload"),
        "/metadata/aiProvenance" | "/metadata/retentionClass" => Some(NOWHERE),
        _ => None,
    }
}

fn cloudevents(field: &str) -> Option<&'static str> {
    match field {
        "/payload" => Some("/data"),
        "/schemaUri" => Some("/dataschema"),
        "/tenantId" => Some("/tenantid"),
        "/producedBy/service" => Some("/source"),
        "/idempotencyKey" => Some("/idempotencykey"),
        "/metadata/retentionClass" => Some("/retention"),
        "/metadata/orderingKey" => Some("/partitionkey"),
        "/metadata/aiProvenance" => Some("/aiprovenance"),
        _ => None,
    }
}
