//! Places where a codec could lose an identity: versions, foreign ids, row ids and retention.

use expect_test::expect;
use karwan_envelope::ids::{CorrelationId, EventId, Form};
use karwan_envelope::profile::{Profile, Retention, RetentionClass, Wire};
use karwan_envelope::wire::{self, EncodeError};
use serde_json::json;

use crate::goldens::{self, check, edited, full, print, read, taken};
use crate::shop::{self, BOARD, CLOUD, COUNTER, LEDGER, TILL};

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

#[test]
fn a_row_without_a_key_is_known_by_its_id_in_any_form_of_ids() {
    for event_id in [Form::Uuid, Form::Ulid, Form::Prefixed("row")] {
        let profile = Profile { event_id, ..BOARD };
        let id = event_id.print(7 << 80).unwrap();
        let mut row = goldens::value(goldens::ALL[7].1);
        row["id"] = json!(id);
        let envelope = read(&profile, &row.to_string()).unwrap();
        assert_eq!(envelope.idempotency_key, id);
        assert_eq!(goldens::value(&print(&profile, &envelope)), row);
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
