//! C-02: 128 bits kept once, one spelling per form.

use expect_test::{Expect, expect};
use karwan_envelope::ids::{EventId, Form, Id, Kind, TenantId};
use proptest::prelude::*;

enum Order {}
impl Kind for Order {
    const PREFIX: &'static str = "ord";
}

const FORMS: [Form; 3] = [Form::Uuid, Form::Ulid, Form::Prefixed("evt")];

/// The bits of a UUID of version 7, whatever the others are.
pub fn v7(bits: u128) -> u128 {
    bits & !(0xF << 76) & !(0b11 << 62) | 7 << 76 | 0b10 << 62
}

fn check(form: Form, text: &str, expected: Expect) {
    let read = form.parse(text);
    expected.assert_eq(&read.map_or_else(|error| error.to_string(), |bits| form.print(bits).expect("it was read")));
}

proptest! {
    #[test]
    fn every_form_reads_what_it_prints(bits: u128) {
        for form in FORMS {
            prop_assert_eq!(form.parse(&form.print(bits).unwrap()), Ok(bits));
        }
        let bits = v7(bits);
        prop_assert_eq!(Form::UuidV7.parse(&Form::UuidV7.print(bits).unwrap()), Ok(bits));
        prop_assert!(EventId::from_bits(bits).is_v7());
    }

    #[test]
    fn typed_ids_read_what_they_print(bits: u128) {
        let order = Id::<Order>::from_bits(bits);
        prop_assert_eq!(order.to_string().parse::<Id<Order>>(), Ok(order));
        let tenant = TenantId::from_bits(bits);
        let json = serde_json::to_string(&tenant).unwrap();
        prop_assert_eq!(serde_json::from_str::<TenantId>(&json).unwrap(), tenant);
        prop_assert_eq!(Form::Ulid.parse(&tenant.ulid()), Ok(bits));
        prop_assert_eq!(Form::Uuid.parse(&tenant.uuid()), Ok(bits));
    }

    #[test]
    fn order_survives_in_every_form(a: u128, b: u128, near in 0..3_u128) {
        for (a, b) in [(a, b), (a, a.wrapping_add(near)), (v7(a), v7(b))] {
            for form in FORMS {
                prop_assert_eq!(form.print(a).unwrap().cmp(&form.print(b).unwrap()), a.cmp(&b));
            }
            prop_assert_eq!(Id::<Order>::from_bits(a).to_string().cmp(&Id::<Order>::from_bits(b).to_string()), a.cmp(&b));
        }
    }

    #[test]
    fn whatever_a_form_reads_it_prints_back(text in "(evt_)?[0-9A-Za-z-]{20,40}") {
        for form in [Form::UuidV7, Form::Uuid, Form::Ulid, Form::Prefixed("evt")] {
            if let Ok(bits) = form.parse(&text) {
                prop_assert_eq!(form.print(bits).unwrap(), text.clone());
            }
        }
    }

    #[test]
    fn no_text_makes_a_parser_panic(text: String) {
        for form in [Form::UuidV7, Form::Uuid, Form::Ulid, Form::Prefixed("evt")] {
            prop_assert!(form.parse(&text).is_err());
        }
    }
}

#[test]
fn a_version_4_id_is_kept_as_ulid_and_refused_where_a_uuid_v7_must_be_printed() {
    let v4 = "9b2f1c1e-5a3d-4f70-8c11-2a6b7d9e0f12";
    let bits = Form::Uuid.parse(v4).unwrap();
    let ulid = Form::Ulid.print(bits).unwrap();
    assert_eq!(Form::Ulid.parse(&ulid), Ok(bits));
    assert!(!EventId::from_bits(bits).is_v7());
    expect!["`9b2f1c1e-5a3d-4f70-8c11-2a6b7d9e0f12` is not of version 7, and this profile prints only UUIDv7"]
        .assert_eq(&Form::UuidV7.print(bits).unwrap_err().to_string());
    check(Form::UuidV7, v4, expect!["`9b2f1c1e-5a3d-4f70-8c11-2a6b7d9e0f12` is not a UUID of version 7 in lower case"]);
}

#[test]
fn version_7_with_another_variant_is_no_uuid_v7() {
    let text = "0190c2f0-0000-7000-c000-000000000001";
    check(
        Form::UuidV7,
        text,
        expect!["`0190c2f0-0000-7000-c000-000000000001` is not a UUID of version 7 in lower case"],
    );
    check(Form::Uuid, text, expect!["0190c2f0-0000-7000-c000-000000000001"]);
}

#[test]
fn a_second_spelling_of_the_same_bits_is_refused() {
    check(Form::Ulid, "01ARZ3NDEKTSV4RRFFQ69G5FAV", expect!["01ARZ3NDEKTSV4RRFFQ69G5FAV"]);
    check(
        Form::Ulid,
        "01arz3ndektsv4rrffq69g5fav",
        expect!["`01arz3ndektsv4rrffq69g5fav` is not a ULID in upper case"],
    );
    // Crockford's alphabet reads O as 0 and I as 1; one spelling each is enough.
    check(
        Form::Ulid,
        "O1ARZ3NDEKTSV4RRFFQ69G5FAV",
        expect!["`O1ARZ3NDEKTSV4RRFFQ69G5FAV` is not a ULID in upper case"],
    );
    check(
        Form::Ulid,
        "01ARZ3NDEKTSV4RRFFQ69G5FAI",
        expect!["`01ARZ3NDEKTSV4RRFFQ69G5FAI` is not a ULID in upper case"],
    );
    check(
        Form::Uuid,
        "0190C2F0-0000-7000-8000-000000000001",
        expect!["`0190C2F0-0000-7000-8000-000000000001` is not a UUID in lower case"],
    );
    check(
        Form::Uuid,
        "{0190c2f0-0000-7000-8000-000000000001}",
        expect!["`{0190c2f0-0000-7000-8000-000000000001}` is not a UUID in lower case"],
    );
    check(
        Form::Uuid,
        "0190c2f00000-7000-8000-000000-000001",
        expect!["`0190c2f00000-7000-8000-000000-000001` is not a UUID in lower case"],
    );
}

#[test]
fn a_ulid_of_more_than_128_bits_is_refused() {
    check(Form::Ulid, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", expect!["7ZZZZZZZZZZZZZZZZZZZZZZZZZ"]);
    check(
        Form::Ulid,
        "80000000000000000000000000",
        expect!["`80000000000000000000000000` is not a ULID in upper case"],
    );
}

#[test]
fn another_prefix_is_refused_and_the_right_one_named() {
    check(
        Form::Prefixed("evt"),
        "evn_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        expect!["`evn_01ARZ3NDEKTSV4RRFFQ69G5FAV` is not an id of the form evt_<ULID>"],
    );
    check(
        Form::Prefixed("evt"),
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        expect!["`01ARZ3NDEKTSV4RRFFQ69G5FAV` is not an id of the form evt_<ULID>"],
    );
    let error = "tnt_01ARZ3NDEKTSV4RRFFQ69G5FAV".parse::<Id<Order>>().unwrap_err();
    expect!["`tnt_01ARZ3NDEKTSV4RRFFQ69G5FAV` is not an id of the form ord_<ULID>"].assert_eq(&error.to_string());
}

#[test]
fn a_refusal_shows_the_beginning_of_a_long_text_only() {
    let error = Form::Ulid.parse(&"é".repeat(100_000)).unwrap_err().to_string();
    assert!(error.chars().count() < 120, "{error}");
}

#[test]
fn an_id_knows_its_milliseconds_and_prints_its_kind_when_debugged() {
    let id = EventId::from_bits(v7(1_767_225_600_000 << 80));
    assert_eq!(id.unix_ms(), 1_767_225_600_000);
    assert_eq!(id.to_string(), Form::UuidV7.print(id.bits()).unwrap());
    expect!["EventId(01KDVDNA00E008000000000000)"].assert_eq(&format!("{id:?}"));
}
