//! The catalogue's rules and files: what is refused when a notification's event is produced and when it is consumed.

use expect_test::expect;
use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer, Residency, Tenant};
use karwan_envelope::envelope::Context;
use karwan_envelope::ids::{CorrelationId, TenantId};
use karwan_envelope::mint::{Mint, SeededRandom};
use karwan_envelope::time::{ManualClock, Timestamp};
use karwan_envelope::violation::Violations;
use karwan_envelope::{Envelope, wire};
use karwan_registry::files::{self, Topics};
use karwan_registry::{Catalogue, check};
use panorama::platform::{GRAMMAR, PLATFORM, PROFILE};
use panorama::reservation::ReservationApproved;
use serde_json::{Value, json};

fn catalogue() -> Catalogue {
    Catalogue::of(&PLATFORM).unwrap()
}

fn produced(note: &str) -> Result<Envelope, Violations> {
    let event: ReservationApproved = serde_json::from_value(json!({
        "reservationId": "5b1c9a52-7d0e-4c58-9f0b-2f6f3c1f0a11",
        "assetId": "0190c2f0-0000-7000-8000-000000000001",
        "requesterUserId": "6f9619ff-8b86-4011-b42d-00c04fc964ff",
        "startAt": "2026-05-01T14:00:00Z",
        "endAt": "2026-05-01T18:00:00Z",
        "note": note
    }))
    .unwrap();
    let context = Context {
        tenant: Tenant::One(TenantId::from_bits(0x5b1c_9a52_7d0e_4c58_9f0b_2f6f_3c1f_0a12)),
        cause: Cause::root(CorrelationId::from_bits(1)),
        actor: Actor { kind: ActorKind::User, id: "6f9619ff-8b86-4011-b42d-00c04fc964ff".to_owned() },
        producer: Producer {
            service: "reservation-service".to_owned(),
            instance: "r-1".to_owned(),
            commit: "0a1b2c3".to_owned(),
            region: None,
        },
        residency: Residency::Us,
    };
    let mint = Mint::new(ManualClock::at(Timestamp::from_unix_ms(1_780_000_000_000)), SeededRandom::new(1));
    catalogue().envelope(&event, &context, None, &mint)
}

/// A row as it was written, with another note in it.
fn consumed(note: &str) -> Result<(), Violations> {
    let catalogue = catalogue();
    let text = wire::encode(&PROFILE, catalogue.directory(), &produced("").unwrap()).unwrap();
    let mut row: Value = serde_json::from_str(&text).unwrap();
    row["payload"]["note"] = note.into();
    let read = wire::decode(&PROFILE, catalogue.directory(), row.to_string().as_bytes())?;
    catalogue.validate(&read.envelope)
}

/// R-068, R-014: 500 characters are a note, whatever their bytes; 501 are refused at both ends.
#[test]
fn a_note_of_501_characters_is_refused_when_produced_and_when_consumed() {
    for letter in ["n", "ن", "😀"] {
        produced(&letter.repeat(500)).unwrap();
        consumed(&letter.repeat(500)).unwrap();
        let [at_produce, at_consume] =
            [produced(&letter.repeat(501)).unwrap_err(), consumed(&letter.repeat(501)).unwrap_err()];
        assert_eq!(at_produce, at_consume);
        expect!["/payload/note: value is longer than 500 characters (envelope-payload)"]
            .assert_eq(&at_produce.to_string());
    }
}

/// R-043: an event type is a key of the catalogue.
#[test]
fn an_unknown_event_type_is_refused() {
    let catalogue = catalogue();
    let text = wire::encode(&PROFILE, catalogue.directory(), &produced("").unwrap()).unwrap();
    let text = text.replace("panorama.reservation.approved", "panorama.reservation.forgotten");
    let refused = wire::decode(&PROFILE, catalogue.directory(), text.as_bytes()).unwrap_err();
    assert!(refused.to_string().contains("`panorama.reservation.forgotten` is not in the catalogue"), "{refused}");
}

#[test]
fn the_files_have_six_topics_and_no_findings() {
    let tree = files::emit(&catalogue());
    let topics: Topics = serde_json::from_slice(&tree["panorama/topics.json"]).unwrap();
    let lines = topics.topics.iter().map(|topic| format!("{}: {}\n", topic.subject, topic.schema_file));
    expect![[r#"
        panorama.damage.flagged: event-schemas/damage/damage/flagged/v1.json
        panorama.invitation.bounced: event-schemas/invitation/invitation/bounced/v1.json
        panorama.reservation.approved: event-schemas/reservation/reservation/approved/v1.json
        panorama.reservation.rejected: event-schemas/reservation/reservation/rejected/v1.json
        panorama.reservation.reminder: event-schemas/reservation/reservation/reminder/v1.json
        panorama.reservation.sla_escalated: event-schemas/reservation/reservation/sla_escalated/v1.json
    "#]]
    .assert_eq(&lines.collect::<String>());
    assert!(topics.local_only.is_empty());
    assert_eq!(check::check(&tree, PLATFORM.profiles), []);
}

/// C-08: names that follow no grammar are pinned.
#[test]
fn the_reminder_is_the_only_exception_of_the_grammar() {
    let pinned: Vec<&str> = GRAMMAR.exceptions.iter().map(|exception| exception.subject).collect();
    assert_eq!(pinned, ["panorama.reservation.reminder"]);
}

#[test]
fn every_property_says_what_it_is() {
    for event in panorama::events() {
        let subject = (event.row)().subject;
        for (name, of) in (event.schema)()["properties"].as_object().unwrap() {
            assert!(of["description"].is_string(), "{subject}: `{name}` has no description");
        }
    }
}
