//! The Rust structs against payloads as they travel.

use expect_test::{Expect, expect};
use karwan_registry::Event;
use panorama::inspection::DamageFlagged;
use panorama::invitation::InvitationBounced;
use panorama::reservation::{ReservationApproved, ReservationRejected, ReservationReminder, ReservationSlaEscalated};
use serde_json::{Value, json};

/// Reads and prints the payload unchanged, and makes the same keys from the struct and from the row's templates.
fn check<E: Event>(payload: &Value, expected_template: Expect) {
    let event: E = serde_json::from_value(payload.clone()).unwrap();
    assert_eq!(&serde_json::to_value(&event).unwrap(), payload);
    assert_eq!(Some(event.key()), E::row().key.render(payload));
    assert_eq!(Some(event.idempotency_key()), E::row().idempotency_key.render(payload));
    expected_template.assert_eq(&E::row().idempotency_key.0);
    for field in payload.as_object().unwrap().keys().filter(|field| !["note", "diagnostic"].contains(&field.as_str())) {
        let mut without = payload.clone();
        without.as_object_mut().unwrap().remove(field);
        assert!(serde_json::from_value::<E>(without).is_err(), "{} was read without `{field}`", E::SUBJECT);
    }
}

fn decision() -> Value {
    json!({
        "reservationId": "5b1c9a52-7d0e-4c58-9f0b-2f6f3c1f0a11",
        "assetId": "0190c2f0-0000-7000-8000-000000000001",
        "requesterUserId": "6f9619ff-8b86-4011-b42d-00c04fc964ff",
        "startAt": "2026-05-01T14:00:00Z",
        "endAt": "2026-05-01T18:00:00.000Z"
    })
}

fn with(mut payload: Value, field: &str, value: Value) -> Value {
    payload[field] = value;
    payload
}

#[test]
fn decisions_travel_with_and_without_a_note() {
    check::<ReservationApproved>(&decision(), expect!["{reservationId}:approved:{assetId}:{startAt}:{endAt}"]);
    let noted = with(decision(), "note", "Keys are at the desk.".into());
    check::<ReservationApproved>(&noted, expect!["{reservationId}:approved:{assetId}:{startAt}:{endAt}"]);
    check::<ReservationRejected>(&noted, expect!["{reservationId}:rejected:{assetId}:{startAt}:{endAt}"]);
}

#[test]
fn a_reservation_that_is_moved_and_approved_anew_is_another_fact() {
    let key = |payload| serde_json::from_value::<ReservationApproved>(payload).unwrap().idempotency_key();
    let moved = with(decision(), "endAt", "2026-05-01T19:00:00Z".into());
    assert_ne!(key(decision()), key(moved));
    assert_eq!(key(decision()), key(with(decision(), "note", "twice".into())));
}

#[test]
fn the_described_events_travel_unchanged() {
    let user = "6f9619ff-8b86-4011-b42d-00c04fc964ff";
    let asset = "0190c2f0-0000-7000-8000-000000000001";
    let reservation = "5b1c9a52-7d0e-4c58-9f0b-2f6f3c1f0a11";
    let damage = json!({
        "damageReportId": "0190c2f0-0000-7000-8000-000000000002", "assetId": asset, "reservationId": reservation,
        "flaggedByUserId": user, "severity": "unsafe", "description": "Brakes.", "flaggedAt": "2026-05-01T18:05:00Z"
    });
    check::<DamageFlagged>(&damage, expect!["{damageReportId}:flagged"]);
    let bounce = json!({
        "invitationId": "0190c2f0-0000-7000-8000-000000000003", "invitedByUserId": user, "email": "a@example.org",
        "bounce": "permanent", "diagnostic": "550 no such user", "bouncedAt": "2026-05-01T18:05:00Z"
    });
    check::<InvitationBounced>(&bounce, expect!["{invitationId}:bounced:{bouncedAt}"]);
    let reminder = json!({
        "reservationId": reservation, "assetId": asset, "driverUserId": user,
        "startAt": "2026-05-01T14:00:00Z", "endAt": "2026-05-01T18:00:00Z"
    });
    check::<ReservationReminder>(&reminder, expect!["{reservationId}:reminder:{startAt}"]);
    let escalation = json!({
        "reservationId": reservation, "assetId": asset, "requesterUserId": user, "routedToUserId": user,
        "startAt": "2026-05-01T14:00:00Z", "endAt": "2026-05-01T18:00:00Z", "pendingSince": "2026-04-30T14:00:00Z",
        "slaMinutes": 60, "escalatedAt": "2026-04-30T15:00:00Z"
    });
    check::<ReservationSlaEscalated>(&escalation, expect!["{reservationId}:sla_escalated:{escalatedAt}"]);
}

#[test]
fn an_id_that_is_no_uuid_is_refused() {
    for bad in ["rsv_01ARZ3NDEKTSV4RRFFQ69G5FAV", "5B1C9A52-7D0E-4C58-9F0B-2F6F3C1F0A11", ""] {
        let error = serde_json::from_value::<ReservationApproved>(with(decision(), "reservationId", bad.into()));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("is not a UUID in lower case"), "{error}");
    }
}
