//! The correlation id is the trace group: one trace, whatever carries it.

use serde_json::{Value, json};

use crate::karwan::call;
use crate::samples;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

fn convert(from: &str, to: &str, document: &Value) -> Value {
    let convert = ["envelope", "convert", "--from", from, "--to", to];
    call(&convert).stdin(document.to_string()).run().exits(0).json()
}

/// The trace id of a W3C `traceparent`.
fn trace(traceparent: &Value) -> &str {
    traceparent.as_str().and_then(|text| text.split('-').nth(1)).expect("a traceparent")
}

/// traceparent in, the same trace id out.
#[test]
fn a_traceparent_becomes_the_correlation_id_of_learning_and_the_same_trace_again() {
    let learning: Value = serde_json::from_str(samples::of("learning").text).expect("JSON");
    let mut event = convert("learning", "cloudevents", &learning);
    assert_eq!(trace(&event["traceparent"]), TRACE, "the sample's correlation id, in hexadecimal");

    event["traceparent"] = json!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    let learning = convert("cloudevents", "learning", &event);
    assert_eq!(learning["correlationId"], "0AYXJHJ5PD8FER8J7B44E80CCW");
    let again = convert("learning", "cloudevents", &learning);
    assert_eq!(trace(&again["traceparent"]), "0af7651916cd43dd8448eb211c80319c");
}

#[test]
fn one_trace_goes_through_every_profile_that_carries_one() {
    let lock: Value = serde_json::from_str(samples::of("lock-ce").text).expect("JSON");
    let melmastoon = convert("lock-ce", "melmastoon", &lock);
    let learning = convert("melmastoon", "learning", &melmastoon);
    let event = convert("learning", "cloudevents", &learning);
    assert_eq!(trace(&event["traceparent"]), trace(&lock["traceId"]));
    assert_eq!(melmastoon["correlationId"], learning["correlationId"]);
}

/// The two samples tell one story: the key was issued because the booking was confirmed.
#[test]
fn the_samples_share_one_trace_and_one_cause() {
    let booking: Value = serde_json::from_str(samples::of("melmastoon").text).expect("JSON");
    let lock: Value = serde_json::from_str(samples::of("lock-ce").text).expect("JSON");
    let issued = convert("lock-ce", "melmastoon", &lock);
    assert_eq!(issued["correlationId"], booking["correlationId"]);
    assert_eq!(issued["causationId"], booking["eventId"]);
}

#[test]
fn a_trace_of_zeros_is_refused() {
    let mut lock: Value = serde_json::from_str(samples::of("lock-ce").text).expect("JSON");
    lock["traceId"] = json!("00-00000000000000000000000000000000-b7ad6b7169203331-01");
    let answer = call(&["envelope", "validate", "-"]).stdin(lock.to_string()).run().exits(1);
    answer.prints("/traceId: ").prints("(envelope-field-invalid)");
}
