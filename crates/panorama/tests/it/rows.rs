//! What the catalogue says about each event besides its payload.

use expect_test::expect;

/// R-044 and U-37: two types of the document, four that it describes and does not name.
#[test]
fn catalogue_has_the_two_documented_and_the_four_described_events() {
    let rows = panorama::events().into_iter().map(|event| {
        let row = (event.row)();
        let decided = if row.decided_here { ", decided here" } else { "" };
        format!("{} by {}, {}{decided}\n", row.subject, row.owner, row.retention)
    });
    expect![[r#"
        panorama.reservation.approved by reservation-service, operational
        panorama.reservation.rejected by reservation-service, operational
        panorama.reservation.reminder by reservation-service, operational, decided here
        panorama.reservation.sla_escalated by reservation-service, operational, decided here
        panorama.damage.flagged by inspection-service, operational, decided here
        panorama.invitation.bounced by invitation-service, operational, decided here
    "#]]
    .assert_eq(&rows.collect::<String>());
}

#[test]
fn keys_are_made_of_required_fields() {
    for event in panorama::events() {
        let (row, schema) = ((event.row)(), (event.schema)());
        for field in row.key.fields().chain(row.idempotency_key.fields()) {
            let required = schema["required"].as_array().unwrap();
            assert!(required.contains(&field.into()), "{}: `{field}` may be missing", row.subject);
        }
    }
}

#[test]
fn every_field_that_a_notification_needs_is_in_its_event() {
    let mut rows = 0;
    for line in include_str!("../../src/lib.rs").lines().filter_map(|line| line.strip_prefix("//! | ")) {
        let mut quoted = line.split('`').skip(1).step_by(2);
        let Some(subject) = quoted.next() else { continue };
        let schema = crate::schema_of(subject);
        for field in quoted {
            assert!(schema["properties"].get(field).is_some(), "{subject} has no `{field}`");
        }
        rows += 1;
    }
    assert_eq!(rows, 7);
}
