//! C-01: what a profile read, it prints back, field by field and in order.

use expect_test::Expect;
use karwan_envelope::profile::Profile;
use karwan_envelope::wire;
use karwan_envelope::{Envelope, Violations};
use serde_json::Value;

use crate::shop::{self, BOARD, CLOUD, COUNTER, LEDGER, TILL};

/// Every golden document, with all facts that its form has and with only the mandatory ones.
pub const ALL: [(&Profile, &str); 10] = [
    (&COUNTER, include_str!("golden/counter.json")),
    (&COUNTER, include_str!("golden/counter_least.json")),
    (&LEDGER, include_str!("golden/ledger.json")),
    (&LEDGER, include_str!("golden/ledger_least.json")),
    (&TILL, include_str!("golden/till.json")),
    (&TILL, include_str!("golden/till_least.json")),
    (&BOARD, include_str!("golden/board.json")),
    (&BOARD, include_str!("golden/board_least.json")),
    (&CLOUD, include_str!("golden/cloud.json")),
    (&CLOUD, include_str!("golden/cloud_least.json")),
];

/// The golden document of a profile with all its facts.
pub fn full(profile: &Profile) -> &'static str {
    ALL.iter().find(|(known, _)| known.name == profile.name).expect("every profile has a golden document").1
}

/// The golden document of a profile with something changed.
pub fn edited(profile: &Profile, edit: impl FnOnce(&mut Value)) -> String {
    let mut document = value(full(profile));
    edit(&mut document);
    document.to_string()
}

/// Everything that is wrong with a document, a line each.
pub fn faults(profile: &Profile, text: &str) -> String {
    read(profile, text).map_or_else(|violations| violations.to_string(), |_| "nothing wrong".to_owned())
}

/// The faults of a golden document with something changed.
pub fn check(profile: &Profile, edit: impl FnOnce(&mut Value), expected: Expect) {
    expected.assert_eq(&faults(profile, &edited(profile, edit)));
}

/// A golden document with something changed is read, and printed back as it was.
pub fn taken(profile: &Profile, edit: impl FnOnce(&mut Value)) {
    let text = edited(profile, edit);
    let envelope = read(profile, &text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(value(&print(profile, &envelope)), value(&text));
}

/// A document as a value.
pub fn value(text: &str) -> Value {
    serde_json::from_str(text).expect("a document is JSON")
}

/// Reads a document of a profile.
pub fn read(profile: &Profile, text: &str) -> Result<Envelope, Violations> {
    wire::decode(profile, &shop::directory(), text.as_bytes()).map(|decoded| decoded.envelope)
}

/// The document that a profile prints.
pub fn print(profile: &Profile, envelope: &Envelope) -> String {
    wire::encode(profile, &shop::directory(), envelope).expect("the profile can print it")
}

/// A document without the white space between its tokens; the order of keys stays.
pub fn squeeze(text: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    text.chars()
        .filter(|char| {
            let keep = quoted || !char.is_ascii_whitespace();
            match char {
                '"' if !escaped => quoted = !quoted,
                _ => {}
            }
            escaped = quoted && !escaped && *char == '\\';
            keep
        })
        .collect()
}

#[test]
fn every_golden_document_is_printed_as_it_was_read() {
    for (profile, text) in ALL {
        let envelope = read(profile, text).unwrap_or_else(|error| panic!("{}: {error}", profile.name));
        assert_eq!(squeeze(&print(profile, &envelope)), squeeze(text), "{}", profile.name);
    }
}

#[test]
fn a_compact_document_is_printed_byte_for_byte() {
    for (profile, text) in ALL {
        let compact = squeeze(text);
        assert_eq!(print(profile, &read(profile, &compact).unwrap()), compact);
    }
}

#[test]
fn a_payload_keeps_its_bytes() {
    let payload = "{ \"orderId\" :\t\"o-77\",\n \"ratio\": 1.50, \"big\": 1E+2, \"name\": \"\\u00e9\\/\" }";
    for (profile, text) in ALL {
        let (field, rest) = ["\"payload\":", "\"data\":"]
            .iter()
            .find_map(|field| {
                squeeze(text).split_once(field).map(|(head, tail)| (format!("{head}{field}"), tail.to_owned()))
            })
            .unwrap();
        let mut following = serde_json::Deserializer::from_str(&rest).into_iter::<Value>();
        following.next().unwrap().unwrap();
        let document = format!("{field}{payload}{}", &rest[following.byte_offset()..]);
        let envelope = read(profile, &document).unwrap();
        assert_eq!(envelope.payload.get(), payload);
        assert_eq!(print(profile, &envelope), document);
    }
}

#[test]
fn the_goldens_of_one_event_are_one_event() {
    let [counter, ledger, till, cloud] = [&COUNTER, &LEDGER, &TILL, &CLOUD].map(|it| read(it, full(it)).unwrap());
    for other in [&ledger, &till, &cloud] {
        let differing = counter.differences(other);
        for fact in ["eventId", "subject", "tenantId", "orderingKey", "correlationId", "causationId", "idempotencyKey"]
        {
            assert!(!differing.contains(&fact), "{fact}");
        }
    }
}
