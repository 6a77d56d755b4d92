//! The boundary between a tenant's events and what travellers see: personal and payment data do not pass it (R-400).
//!
//! What is personal is said by the schemas, in the annotation `x-pii`, and what is about a payment in `x-payment`; whatever
//! carries one is removed before a handler of this service sees the event. An event that cannot be read without it cannot be
//! projected at all, which its first test shows.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};

use karwan::engine::Failure;
use karwan::registry::EventType;
use karwan::store::log::Seq;
use karwan::{Event, Received, TenantTx, Verdict};
use serde_json::Value;

/// The annotations that keep a field out of the index.
pub const KEPT_OUT: [&str; 2] = ["x-pii", "x-payment"];

/// An event without what nobody else may see.
#[derive(Debug, Clone)]
pub struct Public<E> {
    /// What happened.
    pub event: E,
    /// Its place in the log: of two that tell the same thing differently, the later is right.
    pub seq: Seq,
}

type Handled = Pin<Box<dyn Future<Output = Result<Verdict, Failure>> + Send>>;

/// A handler behind the boundary.
pub fn public<E, F, T>(
    handler: impl Fn(TenantTx, Public<E>) -> F + Send + Sync + 'static,
) -> impl Fn(TenantTx, Received<E>) -> Handled + Send + Sync + 'static
where
    E: Event + Send,
    F: Future<Output = Result<Verdict, T>> + Send + 'static,
    T: Into<Failure> + 'static,
{
    move |tx, received| match stripped::<E>(received.envelope.payload.get()) {
        Ok(event) => {
            let handled = handler(tx, Public { event, seq: received.seq });
            Box::pin(async move { handled.await.map_err(Into::into) })
        }
        Err(cause) => Box::pin(std::future::ready(Err(cause.into()))),
    }
}

/// A payload without the fields that its schema keeps out of the index.
pub fn stripped<E: Event>(payload: &str) -> Result<E, serde_json::Error> {
    let mut payload: Value = serde_json::from_str(payload)?;
    let schema = schema::<E>();
    strip(&schema, &schema, &mut payload);
    serde_json::from_value(payload)
}

/// The schema of an event, made once a process.
fn schema<E: Event>() -> Arc<Value> {
    static SCHEMAS: OnceLock<Mutex<BTreeMap<&'static str, Arc<Value>>>> = OnceLock::new();
    let mut schemas = SCHEMAS.get_or_init(Mutex::default).lock().expect("nothing panics while holding it");
    schemas.entry(E::SUBJECT).or_insert_with(|| Arc::new((EventType::of::<E>().schema)())).clone()
}

/// Removes from a value what its schema keeps out. `root` has the definitions that the schema refers to.
pub fn strip(root: &Value, schema: &Value, value: &mut Value) {
    let schema = resolved(root, schema);
    for alternative in ["oneOf", "anyOf", "allOf"] {
        let alternatives = schema.get(alternative).and_then(Value::as_array);
        alternatives.into_iter().flatten().for_each(|schema| strip(root, schema, value));
    }
    match value {
        Value::Object(fields) => {
            let Some(declared) = schema.get("properties").and_then(Value::as_object) else { return };
            fields.retain(|name, _| declared.get(name).is_none_or(|field| !is_kept_out(root, field)));
            for (name, field) in fields {
                if let Some(declared) = declared.get(name) {
                    strip(root, declared, field);
                }
            }
        }
        Value::Array(items) => {
            if let Some(of) = schema.get("items") {
                items.iter_mut().for_each(|item| strip(root, of, item));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_kept_out(root: &Value, field: &Value) -> bool {
    let annotated = |schema: &Value| KEPT_OUT.iter().any(|annotation| schema.get(annotation).is_some());
    annotated(field) || annotated(resolved(root, field))
}

fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
    target.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{schema, strip};
    use crate::reservation::BookingConfirmed;

    /// On the event that says most about a person: whatever the struct has, the annotation decides.
    #[test]
    fn nothing_that_is_annotated_passes() {
        let mut payload = serde_json::to_value(crate::told::confirmed(10)).expect("it can be printed");
        let schema = schema::<BookingConfirmed>();
        strip(&schema, &schema, &mut payload);
        let said = payload.to_string();
        for personal in ["Zarghuna", "example.af", "+93", "quiet room"] {
            assert!(!said.contains(personal), "{personal} in {said}");
        }
        assert_eq!(payload["propertyName"], json!("Kabul Serai"), "what is public stays");
        assert_eq!(payload["guest"]["guestId"], Value::Null);
        assert_eq!(payload["guest"]["preferredLocale"], json!("ps"));
    }

    #[test]
    fn definitions_lists_and_alternatives_are_looked_through() {
        let schema = json!({
            "properties": {
                "direct": { "x-pii": "name" },
                "paid": { "x-payment": "amount" },
                "list": { "items": { "$ref": "#/$defs/person" } },
                "either": { "oneOf": [{ "properties": { "mail": { "x-pii": "contact" } } }, {}] },
                "secret": { "$ref": "#/$defs/secret" }
            },
            "$defs": {
                "person": { "properties": { "name": { "x-pii": "name" }, "role": {} } },
                "secret": { "x-pii": "identifier", "type": "string" }
            }
        });
        let mut value = json!({
            "direct": 1, "paid": 2, "secret": "s", "list": [{ "name": "n", "role": "r" }], "either": { "mail": "m", "kind": "k" }
        });
        strip(&schema, &schema, &mut value);
        assert_eq!(value, json!({ "list": [{ "role": "r" }], "either": { "kind": "k" } }));
    }
}
