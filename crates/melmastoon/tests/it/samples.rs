//! The lock document's samples against the Rust types and the emitted schemas, and what no event may carry.

use std::collections::BTreeSet;
use std::fmt::Display;

use karwan::registry::{Event, EventType, Tenancy, schema};
use melmastoon::audit::events::MerkleTree;
use melmastoon::lock_integration::credentials::{
    KeyCredentialFailed, KeyCredentialIssued, KeyCredentialRequested, KeyCredentialRevoked, KeyCredentialSuspended,
    KeyCredentialUnsuspended, KeyCredentialUpdated,
};
use melmastoon::lock_integration::devices::{
    AccessAttempted, BatteryLow, DenyReason, DeviceHealthAlert, DeviceOffline, DeviceOnline, DevicePaired, HealthAlert,
};
use melmastoon::lock_integration::keys::{
    EncoderSessionClosed, EncoderSessionOpened, MasterKeyExpired, MasterKeyIssued,
};
use melmastoon::lock_integration::local::{KeyIssuedLocally, KeyRevokedLocally};
use melmastoon::lock_integration::vendor::{
    AdapterHealthChanged, VendorErrorRecorded, VendorWebhookProcessed, VendorWebhookReceived,
};
use melmastoon::{lock_integration, samples};
use serde::Serialize;
use serde_json::{Value, json};

/// What a sample becomes when it is read into its struct.
struct Read {
    printed: Value,
    key: String,
    idempotency_key: String,
}

struct Case {
    event: EventType,
    read: fn(&str) -> Read,
}

fn case<E: Event>() -> Case {
    let read = |sample: &str| {
        let event: E = serde_json::from_str(sample).unwrap_or_else(|error| panic!("{}: {error}", E::SUBJECT));
        Read {
            printed: serde_json::to_value(&event).expect("an event is JSON"),
            key: event.key(),
            idempotency_key: event.idempotency_key(),
        }
    };
    Case { event: EventType::of::<E>(), read }
}

fn cases() -> Vec<Case> {
    vec![
        case::<KeyCredentialRequested>(),
        case::<KeyCredentialIssued>(),
        case::<KeyCredentialFailed>(),
        case::<KeyCredentialUpdated>(),
        case::<KeyCredentialRevoked>(),
        case::<KeyCredentialSuspended>(),
        case::<KeyCredentialUnsuspended>(),
        case::<DevicePaired>(),
        case::<DeviceHealthAlert>(),
        case::<BatteryLow>(),
        case::<DeviceOffline>(),
        case::<DeviceOnline>(),
        case::<MasterKeyIssued>(),
        case::<MasterKeyExpired>(),
        case::<EncoderSessionOpened>(),
        case::<EncoderSessionClosed>(),
        case::<AccessAttempted>(),
        case::<VendorWebhookReceived>(),
        case::<VendorWebhookProcessed>(),
        case::<AdapterHealthChanged>(),
        case::<KeyIssuedLocally>(),
        case::<KeyRevokedLocally>(),
    ]
}

fn sample(subject: &str) -> &'static str {
    let found = samples::payloads().into_iter().find(|(name, _)| *name == subject);
    found.unwrap_or_else(|| panic!("no sample of {subject}")).1
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).expect("a sample is JSON")
}

fn violations<E: Event>(payload: &Value) -> Vec<String> {
    let validator = schema::validator(&schema::emit::<E>()).expect("an emitted schema compiles");
    validator.iter_errors(payload).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// The sample of `E` with one field set to a value, or taken out.
fn altered<E: Event>(field: &str, value: Option<Value>) -> Value {
    let mut payload = parsed(sample(E::SUBJECT));
    let fields = payload.as_object_mut().expect("a payload is an object");
    match value {
        Some(value) => fields.insert(field.to_owned(), value),
        None => fields.remove(field),
    };
    payload
}

#[test]
fn every_payload_that_the_lock_document_shows_has_a_sample() {
    let shown: BTreeSet<String> = lock_integration::events()
        .iter()
        .map(|event| (event.row)().subject)
        .filter(|subject| subject != VendorErrorRecorded::SUBJECT)
        .collect();
    let sampled: BTreeSet<String> = samples::payloads().iter().map(|(subject, _)| (*subject).to_owned()).collect();
    let tested: BTreeSet<String> = cases().iter().map(|case| (case.event.row)().subject).collect();
    assert_eq!(shown, sampled);
    assert_eq!(sampled, tested);
    assert_eq!(sampled.len(), 22, "twenty produced subjects and two local ones");
}

#[test]
fn every_sample_reads_into_its_struct_and_prints_as_it_was() {
    for Case { event, read } in cases() {
        let subject = (event.row)().subject;
        let text = sample(&subject);
        assert_eq!(read(text).printed, parsed(text), "{subject}");
    }
}

#[test]
fn every_sample_validates_against_the_emitted_schema() {
    for Case { event, .. } in cases() {
        let subject = (event.row)().subject;
        let validator = schema::validator(&(event.schema)()).expect("an emitted schema compiles");
        let payload = parsed(sample(&subject));
        let errors: Vec<String> = validator.iter_errors(&payload).map(|error| error.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{subject}");
    }
}

#[test]
fn keys_from_the_struct_are_the_row_s_templates_over_the_payload() {
    for Case { event, read } in cases() {
        let row = (event.row)();
        let text = sample(&row.subject);
        let (payload, read) = (parsed(text), read(text));
        assert_eq!(row.key.render(&payload), Some(read.key), "key of {}", row.subject);
        assert_eq!(row.idempotency_key.render(&payload), Some(read.idempotency_key), "intent of {}", row.subject);
    }
}

#[test]
fn enums_in_keys_print_as_on_the_wire() {
    fn check<T: Display + Serialize>(values: &[T]) {
        for value in values {
            assert_eq!(json!(value), json!(value.to_string()));
        }
    }
    check(&[HealthAlert::BatteryLow, HealthAlert::ClockSkew, HealthAlert::Offline, HealthAlert::FirmwareOutdated]);
    check(&[MerkleTree::Platform, MerkleTree::Tenant]);
}

#[test]
fn only_the_desk_s_local_rows_know_a_vendor_s_reference() {
    for event in lock_integration::events() {
        let row = (event.row)();
        let names_it = (event.schema)().to_string().contains("\"vendorRef\"");
        assert_eq!(names_it, row.local_only, "{}", row.subject);
    }
    let leaked = altered::<KeyCredentialIssued>("vendorRef", Some(json!("04A2B91C7D5E80")));
    assert_eq!(violations::<KeyCredentialIssued>(&leaked).len(), 1);
}

#[test]
fn what_is_read_across_tenants_says_nothing_about_a_person() {
    let across: Vec<EventType> =
        melmastoon::events().into_iter().filter(|event| (event.row)().tenancy == Tenancy::CrossTenant).collect();
    assert_eq!(across.len(), 2);
    for event in across {
        let schema = (event.schema)().to_string();
        for personal in ["x-pii", "reservationId", "guestId", "userId", "staffId", "payment"] {
            assert!(!schema.contains(personal), "{} has {personal}", (event.row)().subject);
        }
    }
}

#[test]
fn a_deny_reason_is_written_out_even_when_it_is_null() {
    let denied = |reason| altered::<AccessAttempted>("denyReason", reason);
    assert_eq!(violations::<AccessAttempted>(&denied(Some(Value::Null))), Vec::<String>::new());
    assert_eq!(violations::<AccessAttempted>(&denied(None)).len(), 1, "absent");
    assert_eq!(violations::<AccessAttempted>(&denied(Some(json!("full_moon")))).len(), 1, "unknown");
    let reasons = schema::emit::<DenyReason>()["oneOf"].as_array().expect("one branch a variant").clone();
    for reason in reasons {
        let reason = reason["const"].clone();
        assert_eq!(violations::<AccessAttempted>(&denied(Some(reason))), Vec::<String>::new());
    }
}

#[test]
fn an_absent_option_is_absent_and_not_null() {
    let without = altered::<KeyCredentialIssued>("guestId", None);
    assert_eq!(violations::<KeyCredentialIssued>(&without), Vec::<String>::new());
    let null = altered::<KeyCredentialIssued>("guestId", Some(Value::Null));
    assert_eq!(violations::<KeyCredentialIssued>(&null).len(), 1);
}

#[test]
fn who_lifted_a_suspension_is_a_user_or_the_saga() {
    let lifted = |by: &str| altered::<KeyCredentialUnsuspended>("unsuspendedBy", Some(json!(by)));
    let saga = lifted("saga");
    assert_eq!(violations::<KeyCredentialUnsuspended>(&saga), Vec::<String>::new());
    let event: KeyCredentialUnsuspended = serde_json::from_value(saga.clone()).expect("the saga lifts suspensions");
    assert_eq!(serde_json::to_value(&event).expect("an event is JSON"), saga);

    let somebody = lifted("somebody");
    assert_eq!(violations::<KeyCredentialUnsuspended>(&somebody).len(), 1);
    assert!(serde_json::from_value::<KeyCredentialUnsuspended>(somebody).is_err());
}

#[test]
fn the_envelope_sample_carries_the_payload_sample() {
    let lock = samples::envelopes().into_iter().filter(|(profile, ..)| *profile == "lock-ce");
    let [(_, "sample", envelope)] = lock.collect::<Vec<_>>()[..] else { panic!("one envelope of the lock profile") };
    let envelope = parsed(envelope);
    assert_eq!(envelope["data"], parsed(sample(KeyCredentialIssued::SUBJECT)));
    assert_eq!(envelope["correlationId"], envelope["data"]["reservationId"]);
    let aliases = KeyCredentialIssued::row().aliases;
    assert_eq!(envelope["subject"], json!(aliases[0]));
}
