//! The emitted schemas.

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::schema_of;

/// One line a property: name, `?` when optional, and what bounds it.
fn check(subject: &str, expected: Expect) {
    let schema = schema_of(subject);
    assert_eq!(schema["additionalProperties"], false);
    let required = schema["required"].as_array().unwrap();
    let lines = schema["properties"].as_object().unwrap().iter().map(|(name, of)| {
        let of = match of["$ref"].as_str() {
            Some(reference) => &schema["$defs"][reference.strip_prefix("#/$defs/").unwrap()],
            None => of,
        };
        let mark = if required.contains(&name.as_str().into()) { "" } else { "?" };
        format!("{name}{mark}: {}\n", bounds(of))
    });
    expected.assert_eq(&lines.collect::<String>());
}

fn bounds(schema: &Value) -> String {
    if let Some(branches) = schema["oneOf"].as_array() {
        let literals: Vec<&str> = branches.iter().map(|branch| branch["const"].as_str().unwrap()).collect();
        return literals.join(" | ");
    }
    let mut bounds =
        vec![schema["type"].as_str().expect("one type; an optional field is absent, never null").to_owned()];
    for keyword in ["format", "minLength", "maxLength", "minimum", "maximum", "x-pii"] {
        match &schema[keyword] {
            Value::Null => {}
            Value::String(text) => bounds.push(format!("{keyword}={text}")),
            other => bounds.push(format!("{keyword}={other}")),
        }
    }
    bounds.join(" ")
}

/// R-068: the shape that the document prints.
#[test]
fn approval_has_exactly_the_documented_shape() {
    check(
        "panorama.reservation.approved",
        expect![[r#"
        assetId: string format=uuid
        endAt: string format=date-time
        note?: string maxLength=500 x-pii=free_text
        requesterUserId: string format=uuid x-pii=identifier
        reservationId: string format=uuid
        startAt: string format=date-time
    "#]],
    );
}

/// R-068: "same shape + note".
#[test]
fn rejection_has_the_shape_of_approval() {
    let properties = |subject| {
        let mut schema = schema_of(subject);
        for (_, of) in schema["properties"].as_object_mut().unwrap() {
            of.as_object_mut().unwrap().remove("description");
        }
        (schema["properties"].clone(), schema["required"].clone())
    };
    assert_eq!(properties("panorama.reservation.rejected"), properties("panorama.reservation.approved"));
}

/// R-068: JSON Schema counts characters, and 501 of them exceed this bound.
#[test]
fn a_note_of_501_characters_is_refused() {
    for subject in ["panorama.reservation.approved", "panorama.reservation.rejected"] {
        let note = schema_of(subject)["properties"]["note"].clone();
        assert_eq!(note["type"], "string");
        assert_eq!(note["maxLength"], 500, "{subject}");
    }
}

#[test]
fn ids_are_uuids_in_lower_case_and_times_are_utc() {
    for event in panorama::events() {
        let schema = (event.schema)();
        for (name, of) in schema["properties"].as_object().unwrap() {
            if name.ends_with("Id") {
                assert_eq!(of["format"], "uuid", "{name}");
                let pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
                assert_eq!(of["pattern"], pattern, "{name}");
            }
            if name.ends_with("At") || name.ends_with("Since") {
                assert_eq!((&of["format"], &of["pattern"]), (&"date-time".into(), &"Z$".into()), "{name}");
            }
        }
    }
}

#[test]
fn the_described_events_carry_what_their_notifications_need() {
    check(
        "panorama.damage.flagged",
        expect![[r#"
        assetId: string format=uuid
        damageReportId: string format=uuid
        description: string minLength=1 maxLength=500 x-pii=free_text
        flaggedAt: string format=date-time
        flaggedByUserId: string format=uuid x-pii=identifier
        reservationId: string format=uuid
        severity: cosmetic | functional | unsafe
    "#]],
    );
    check(
        "panorama.invitation.bounced",
        expect![[r#"
        bounce: permanent | transient
        bouncedAt: string format=date-time
        diagnostic?: string minLength=1 maxLength=500 x-pii=free_text
        email: string format=email minLength=3 maxLength=254 x-pii=contact
        invitationId: string format=uuid
        invitedByUserId: string format=uuid x-pii=identifier
    "#]],
    );
    check(
        "panorama.reservation.reminder",
        expect![[r#"
        assetId: string format=uuid
        driverUserId: string format=uuid x-pii=identifier
        endAt: string format=date-time
        reservationId: string format=uuid
        startAt: string format=date-time
    "#]],
    );
    check(
        "panorama.reservation.sla_escalated",
        expect![[r#"
        assetId: string format=uuid
        endAt: string format=date-time
        escalatedAt: string format=date-time
        pendingSince: string format=date-time
        requesterUserId: string format=uuid x-pii=identifier
        reservationId: string format=uuid
        routedToUserId: string format=uuid x-pii=identifier
        slaMinutes: integer minimum=1 maximum=525600
        startAt: string format=date-time
    "#]],
    );
}
