//! Places where a codec could lose an identity: versions, tenants, keys and row ids.

use expect_test::{Expect, expect};
use karwan_envelope::cause::Tenant;
use karwan_envelope::envelope::{IDEMPOTENCY_KEY_BYTES_MAX, KEY_BYTES_MAX};
use karwan_envelope::ids::{CorrelationId, EventId, Form};
use karwan_envelope::profile::{Profile, Retention, RetentionClass, Wire};
use karwan_envelope::wire::{self, EncodeError};
use serde_json::{Value, json};

use crate::goldens::{self, edited, full, print, read};
use crate::shop::{self, BOARD, CLOUD, COUNTER, LEDGER, TILL};

fn check(profile: &Profile, edit: impl FnOnce(&mut Value), expected: Expect) {
    expected.assert_eq(&goldens::faults(profile, &edited(profile, edit)));
}

fn taken(profile: &Profile, edit: impl FnOnce(&mut Value)) {
    let text = edited(profile, edit);
    let envelope = read(profile, &text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        serde_json::from_str::<Value>(&print(profile, &envelope)).unwrap(),
        serde_json::from_str::<Value>(&text).unwrap()
    );
}

/// R-004, R-005.
#[test]
fn an_event_type_never_carries_its_version() {
    for profile in [&COUNTER, &LEDGER] {
        check(
            profile,
            |it| it["eventType"] = json!("shop.order.placed.v1"),
            expect![
                "/eventType: `shop.order.placed.v1` carries a version; the version has a field of its own (envelope-event-type-versioned)"
            ],
        );
    }
    check(
        &BOARD,
        |it| it["eventType"] = json!("shop.visit.counted.v1"),
        expect![
            "/eventType: `shop.visit.counted.v1` carries a version; the version has a field of its own (envelope-event-type-versioned)"
        ],
    );
}

#[test]
fn a_version_is_one_that_the_catalogue_has() {
    taken(&COUNTER, |it| it["eventVersion"] = json!(2));
    check(
        &COUNTER,
        |it| it["eventVersion"] = json!(3),
        expect!["/eventType: `shop.order.placed.v3` is not in the catalogue (envelope-subject-unknown)"],
    );
    check(
        &COUNTER,
        |it| it["eventVersion"] = json!(0),
        expect!["/eventVersion: versions are counted from 1 (envelope-field-invalid)"],
    );
    check(
        &COUNTER,
        |it| it["eventVersion"] = json!(4_294_967_296_u64),
        expect!["/eventVersion: invalid value: integer `4294967296`, expected u32 (envelope-field-invalid)"],
    );
    check(
        &COUNTER,
        |it| it["eventVersion"] = json!(-1),
        expect!["/eventVersion: invalid value: integer `-1`, expected u32 (envelope-field-invalid)"],
    );
    check(
        &COUNTER,
        |it| it["eventVersion"] = json!(1.0),
        expect!["/eventVersion: invalid type: floating point `1.0`, expected u32 (envelope-field-invalid)"],
    );
    check(
        &COUNTER,
        |it| it["eventVersion"] = json!("1"),
        expect![[r#"/eventVersion: invalid type: string "1", expected u32 (envelope-field-invalid)"#]],
    );
}

#[test]
fn every_profile_carries_names_without_a_version_as_version_1() {
    for profile in [&COUNTER, &LEDGER] {
        taken(profile, |it| it["eventType"] = json!("shop.visit.counted"));
        check(
            profile,
            |it| {
                it["eventType"] = json!("shop.visit.counted");
                it["eventVersion"] = json!(2);
            },
            expect!["/eventType: `shop.visit.counted.v2` is not in the catalogue (envelope-subject-unknown)"],
        );
    }
    taken(&BOARD, |it| it["eventType"] = json!("shop.order.placed"));
    // A platform that prints no versions in its names may still have a field for them.
    const BARE_COUNTER: Profile = Profile { versioned: false, ..COUNTER };
    taken(&BARE_COUNTER, |it| it["eventVersion"] = json!(2));
    check(
        &BARE_COUNTER,
        |it| {
            it["eventType"] = json!("shop.visit.counted");
            it["eventVersion"] = json!(2);
        },
        expect!["/eventType: `shop.visit.counted.v2` is not in the catalogue (envelope-subject-unknown)"],
    );
}

#[test]
fn a_later_version_is_refused_where_none_is_printed() {
    let envelope = read(&COUNTER, &edited(&COUNTER, |it| it["eventVersion"] = json!(2))).unwrap();
    let error = wire::encode(&BOARD, &shop::directory(), &envelope).unwrap_err();
    expect!["the profile board prints no versions, and shop.order.placed.v2 is not version 1"]
        .assert_eq(&error.to_string());
}

/// R-020.
#[test]
fn an_ordering_key_is_the_tenant_and_the_aggregate() {
    let tenant = "tnt_01JYNAM000E008000000001G6Y";
    for key in ["o-77", ":o-77", "tnt_01JYNAM000E008000000001G6Z:o-77", tenant, &format!("{tenant}:"), "platform:o-77"]
    {
        let faults = goldens::faults(&COUNTER, &edited(&COUNTER, |it| it["metadata"]["orderingKey"] = json!(key)));
        assert!(
            faults.contains("/metadata/orderingKey") && faults.ends_with("(envelope-ordering-key)"),
            "{key}: {faults}"
        );
        let faults = goldens::faults(&CLOUD, &edited(&CLOUD, |it| it["partitionkey"] = json!(key)));
        assert!(faults.contains("/partitionkey") && faults.ends_with("(envelope-ordering-key)"), "{key}: {faults}");
    }
    taken(&COUNTER, |it| it["metadata"]["orderingKey"] = json!(format!("{}:a:b: é", it["tenantId"].as_str().unwrap())));
}

#[test]
fn a_wrong_tenant_is_one_violation_not_two() {
    check(
        &COUNTER,
        |it| it["tenantId"] = json!("acme"),
        expect!["/tenantId: `acme` is not an id of the form tnt_<ULID> (envelope-field-invalid)"],
    );
    check(
        &CLOUD,
        |it| it["tenantid"] = json!("Platform"),
        expect!["/tenantid: `Platform` is not an id of the form tnt_<ULID> (envelope-field-invalid)"],
    );
}

/// R-007.
#[test]
fn the_platform_is_a_tenant_of_its_own() {
    let platform = |it: &mut Value| {
        it["tenantId"] = json!("platform");
        it["metadata"]["orderingKey"] = json!("platform:o-77");
    };
    taken(&COUNTER, platform);
    let envelope = read(&COUNTER, &edited(&COUNTER, platform)).unwrap();
    assert_eq!(envelope.tenant, Tenant::Platform);
    taken(&LEDGER, |it| it["tenantId"] = json!("platform"));
    taken(&TILL, |it| it["tenantId"] = json!("platform"));
    let row = print(&BOARD, &envelope);
    assert!(row.contains(r#""tenantId":null"#), "{row}");
    assert_eq!(read(&BOARD, &row).unwrap().tenant, Tenant::Platform);
}

#[test]
fn keys_have_their_bounds_on_every_form() {
    let aggregate = |bytes: usize| "k".repeat(bytes);
    let tenant = |it: &Value| it["tenantId"].as_str().unwrap().to_owned();
    taken(&COUNTER, |it| it["metadata"]["orderingKey"] = json!(format!("{}:{}", tenant(it), aggregate(KEY_BYTES_MAX))));
    taken(&LEDGER, |it| it["partitionKey"] = json!(aggregate(KEY_BYTES_MAX)));
    taken(&TILL, |it| it["data"]["orderId"] = json!(aggregate(KEY_BYTES_MAX)));
    taken(&COUNTER, |it| it["idempotencyKey"] = json!(aggregate(IDEMPOTENCY_KEY_BYTES_MAX)));
    let refused = |profile: &Profile, edit: &dyn Fn(&mut Value), rule: &str| {
        let faults = goldens::faults(profile, &edited(profile, edit));
        assert!(faults.ends_with(rule) && faults.lines().count() == 1, "{faults}");
    };
    for bytes in [0, KEY_BYTES_MAX + 1] {
        let key = aggregate(bytes);
        refused(
            &COUNTER,
            &|it| it["metadata"]["orderingKey"] = json!(format!("{}:{key}", tenant(it))),
            "(envelope-ordering-key)",
        );
        refused(&LEDGER, &|it| it["partitionKey"] = json!(key), "(envelope-ordering-key)");
        refused(&TILL, &|it| it["data"]["orderId"] = json!(key), "(envelope-ordering-key)");
        refused(&BOARD, &|it| it["payload"]["orderId"] = json!(key), "(envelope-ordering-key)");
    }
    for bytes in [0, IDEMPOTENCY_KEY_BYTES_MAX + 1] {
        let key = aggregate(bytes);
        refused(&COUNTER, &|it| it["idempotencyKey"] = json!(key), "(envelope-idempotency-key)");
        refused(&BOARD, &|it| it["dedupKey"] = json!(key), "(envelope-idempotency-key)");
        refused(&CLOUD, &|it| it["idempotencykey"] = json!(key), "(envelope-idempotency-key)");
    }
}

#[test]
fn an_aggregate_that_the_payload_does_not_name_is_a_violation() {
    check(
        &TILL,
        |it| it["data"] = Value::Null,
        expect!["/data: the aggregate's id needs {orderId}, which the payload lacks (envelope-ordering-key)"],
    );
    check(
        &BOARD,
        |it| it["payload"] = json!({ "orderId": {} }),
        expect!["/payload: the aggregate's id needs {orderId}, which the payload lacks (envelope-ordering-key)"],
    );
    taken(&BOARD, |it| it["payload"] = json!({ "orderId": 7 }));
    taken(&COUNTER, |it| it["payload"] = Value::Null);
}

#[test]
fn a_row_without_a_key_is_known_by_its_id_in_any_form_of_ids() {
    for event_id in [Form::Uuid, Form::Ulid, Form::Prefixed("row")] {
        let profile = Profile { event_id, ..BOARD };
        let id = event_id.print(7 << 80).unwrap();
        let mut row: Value = serde_json::from_str(goldens::ALL[7].1).unwrap();
        row["id"] = json!(id);
        let envelope = read(&profile, &row.to_string()).unwrap();
        assert_eq!(envelope.idempotency_key, id);
        assert_eq!(serde_json::from_str::<Value>(&print(&profile, &envelope)).unwrap(), row);
        // The same key written out would be printed back as absent.
        row["dedupKey"] = json!(id);
        let faults = goldens::faults(&profile, &row.to_string());
        assert_eq!(
            faults,
            "/dedupKey: leave it out: a row without a key is known by its id (envelope-idempotency-key)"
        );
    }
}

#[test]
fn a_foreign_id_is_kept_and_refused_where_a_uuid_v7_must_be_printed() {
    let mut envelope =
        read(&LEDGER, &edited(&LEDGER, |it| it["eventId"] = json!("01ARZ3NDEKTSV4RRFFQ69G5FAV"))).unwrap();
    for profile in [&LEDGER, &TILL, &BOARD, &CLOUD] {
        let text = print(profile, &envelope);
        assert_eq!(read(profile, &text).unwrap().id, envelope.id);
    }
    let error = wire::encode(&COUNTER, &shop::directory(), &envelope).unwrap_err();
    let EncodeError::Id { profile: "counter", what: "event id", cause } = error else { panic!("{error:?}") };
    expect!["`01563e3a-b5d3-d676-4c61-efb99302bd5b` is not of version 7, and this profile prints only UUIDv7"]
        .assert_eq(&cause.to_string());
    envelope.cause.causation = Some(std::mem::replace(&mut envelope.id, EventId::from_bits(crate::ids::v7(1))));
    let error = wire::encode(&COUNTER, &shop::directory(), &envelope).unwrap_err();
    expect!["the profile counter cannot print the causation id"].assert_eq(&error.to_string());
}

#[test]
fn a_correlation_of_zero_is_no_trace() {
    let mut envelope = read(&COUNTER, full(&COUNTER)).unwrap();
    envelope.cause.correlation = CorrelationId::from_bits(0);
    assert_eq!(read(&COUNTER, &print(&COUNTER, &envelope)).unwrap(), envelope);
    for profile in [&TILL, &CLOUD] {
        let error = wire::encode(profile, &shop::directory(), &envelope).unwrap_err();
        assert!(matches!(error, EncodeError::Id { what: "correlation id", .. }), "{error:?}");
    }
}

#[test]
fn a_retention_has_a_class_and_three_counts_of_days() {
    for text in
        ["/7/365/0", "kept/7/365", "kept/7/365/0/1", "kept/+7/365/0", "kept/07/365/0", "kept/7/365/x", "", "kept"]
    {
        let faults = goldens::faults(&CLOUD, &edited(&CLOUD, |it| it["retention"] = json!(text)));
        assert_eq!(
            faults,
            "/retention: must be <class>/<broker days>/<warehouse days>/<cold days> (envelope-field-invalid)"
        );
    }
}

#[test]
fn a_profile_names_a_retention_by_its_own_label_or_one_that_keeps_as_long() {
    let days =
        |class: &str, days| Retention { class: class.to_owned(), broker_days: 1, warehouse_days: days, cold_days: 0 };
    assert_eq!(COUNTER.label_for(&days("kept", 1)), "kept");
    assert_eq!(COUNTER.label_for(&days("other", 1)), "brief");
    assert_eq!(COUNTER.label_for(&days("other", 31)), "kept");
    assert_eq!(COUNTER.label_for(&days("other", 9999)), "long");
    let shortest: Vec<u32> = COUNTER.retention.iter().map(RetentionClass::retention).map(|it| it.days()).collect();
    assert!(shortest.is_sorted() && COUNTER.wire == Wire::Nested);
}
