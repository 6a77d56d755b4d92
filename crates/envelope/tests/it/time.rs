//! an instant is compared as an instant and printed as it was written.

use expect_test::{Expect, expect};
use karwan_envelope::time::{Clock, Date, ManualClock, SystemClock, Timestamp};
use proptest::prelude::*;

prop_compose! {
    /// RFC 3339 texts in their one spelling: any year, nought to nine fraction digits, any offset but a written zero.
    pub fn texts()(
        year in 0..=9999, month in 1..=12, day in 1..=28, hour in 0..24, minute in 0..60, second in 0..60,
        fraction in "(\\.[0-9]{1,9})?",
        zone in prop_oneof![
            Just("Z".to_owned()),
            "[+-](0[1-9]|1[0-9]|2[0-3]):[0-5][0-9]",
            "[+-]00:(0[1-9]|[1-5][0-9])",
        ],
    ) -> String {
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}")
    }
}

/// Instants as they are read from documents.
pub fn timestamps() -> BoxedStrategy<Timestamp> {
    texts().prop_map(|text| text.parse().expect("a generated text is well formed")).boxed()
}

proptest! {
    #[test]
    fn a_timestamp_is_printed_as_it_was_read(text in texts()) {
        prop_assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), text.clone());
        let json = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(serde_json::to_string(&serde_json::from_str::<Timestamp>(&json).unwrap()).unwrap(), json);
    }

    #[test]
    fn milliseconds_survive_printing(ms in -62_167_219_200_000_i64..=253_402_300_799_999) {
        let instant = Timestamp::from_unix_ms(ms);
        prop_assert_eq!(instant.unix_ms(), ms);
        prop_assert_eq!(instant.to_string().parse::<Timestamp>().unwrap(), instant);
        prop_assert_eq!(instant.to_string().parse::<Timestamp>().unwrap().unix_ms(), ms);
    }

    #[test]
    fn moving_an_instant_loses_nothing_in_print(text in texts(), ms in -1_000_000_i64..1_000_000) {
        let instant: Timestamp = text.parse().unwrap();
        let moved = instant.plus_ms(ms);
        prop_assert_eq!(moved.unix_ms(), instant.unix_ms() + ms);
        prop_assert_eq!(moved.plus_ms(-ms), instant);
        if (0..253_402_300_799_999).contains(&moved.unix_ms()) {
            prop_assert_eq!(moved.to_string().parse::<Timestamp>().unwrap(), moved);
        }
    }

    #[test]
    fn every_day_is_printed_as_it_is_counted(days in -719_528..=2_932_896_i32) {
        let date = Date::from_unix_days(days);
        prop_assert_eq!(date.to_string().parse::<Date>().unwrap().unix_days(), days);
        let midnight: Timestamp = format!("{date}T00:00:00Z").parse().unwrap();
        prop_assert_eq!(midnight.unix_ms(), i64::from(days) * 86_400_000);
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in "[0-9TZ:+. é-]{0,40}", other: String) {
        for text in [text, other] {
            if let Ok(instant) = text.parse::<Timestamp>() {
                prop_assert_eq!(instant.to_string(), text.clone());
            }
            if let Ok(date) = text.parse::<Date>() {
                prop_assert_eq!(date.to_string(), text);
            }
        }
    }

    #[test]
    fn no_count_of_milliseconds_overflows(ms: i64, more: i64) {
        let moved = Timestamp::from_unix_ms(ms).plus_ms(more);
        prop_assert!(!moved.to_string().is_empty());
    }
}

fn unix_ms(text: &str) -> i64 {
    text.parse::<Timestamp>().expect(text).unix_ms()
}

#[test]
fn instants_agree_with_known_unix_times() {
    assert_eq!(unix_ms("1970-01-01T00:00:00Z"), 0);
    assert_eq!(unix_ms("2000-02-29T12:34:56.789Z"), 951_827_696_789);
    assert_eq!(unix_ms("2026-05-01T14:00:00Z"), 1_777_644_000_000);
    assert_eq!(unix_ms("2026-05-01T18:30:00+04:30"), 1_777_644_000_000);
    assert_eq!(unix_ms("2026-04-30T20:00:00-18:00"), 1_777_644_000_000);
    assert_eq!(unix_ms("1969-12-31T23:59:59.999Z"), -1);
    assert_eq!(unix_ms("9999-12-31T23:59:59.999Z"), 253_402_300_799_999);
    assert_eq!(unix_ms("0000-01-01T00:00:00Z"), -62_167_219_200_000);
}

#[test]
fn two_spellings_of_an_instant_are_equal_and_keep_their_spelling() {
    let [utc, kabul, long]: [Timestamp; 3] =
        ["2026-05-01T14:00:00Z", "2026-05-01T18:30:00+04:30", "2026-05-01T14:00:00.000000000Z"]
            .map(|it| it.parse().unwrap());
    assert_eq!(utc, kabul);
    assert_eq!(utc, long);
    expect!["2026-05-01T18:30:00+04:30 2026-05-01T14:00:00.000000000Z"].assert_eq(&format!("{kabul} {long}"));
    assert!(utc < "2026-05-01T14:00:00.000000001Z".parse().unwrap());
}

#[test]
fn what_is_no_instant_or_has_a_second_spelling_is_refused() {
    for text in [
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-05-01T24:00:00Z",
        "2026-05-01T23:60:00Z",
        "2016-12-31T23:59:60Z",
        "2026-05-01T14:00:00z",
        "2026-05-01t14:00:00Z",
        "2026-05-01 14:00:00Z",
        "2026-05-01T14:00:00+00:00",
        "2026-05-01T14:00:00-00:00",
        "2026-05-01T14:00:00+24:00",
        "2026-05-01T14:00:00+04:60",
        "2026-05-01T14:00:00+0430",
        "2026-05-01T14:00:00",
        "2026-05-01T14:00Z",
        "2026-05-01T14:00:00.Z",
        "2026-05-01T14:00:00.1234567890Z",
        "2026-05-01T14:00:00,5Z",
        "2026-05-01T14:00:00ZZ",
        " 2026-05-01T14:00:00Z",
        "+002026-05-01T14:00:00Z",
        "2026-05-01",
        "",
    ] {
        assert!(text.parse::<Timestamp>().is_err(), "{text} was taken");
    }
    check_refusal(
        "2026-02-29T00:00:00Z",
        expect![["`2026-02-29T00:00:00Z` is not an RFC 3339 timestamp such as 2026-05-01T14:00:00Z"]],
    );
}

fn check_refusal(text: &str, expected: Expect) {
    expected.assert_eq(&text.parse::<Timestamp>().expect_err(text).to_string());
}

#[test]
fn a_date_is_a_day_of_the_calendar() {
    assert_eq!("1970-01-01".parse::<Date>().unwrap().unix_days(), 0);
    assert_eq!("1969-12-31".parse::<Date>().unwrap().unix_days(), -1);
    assert_eq!("2024-02-29".parse::<Date>().unwrap().unix_days(), 19_782);
    for text in ["2026-02-29", "2026-2-01", "2026-05-01Z", "2026/05/01", "20260501", "2026-05-32", "２026-05-1", ""] {
        assert!(text.parse::<Date>().is_err(), "{text} was taken");
    }
    let error = "2026-02-29".parse::<Date>().unwrap_err();
    expect!["`2026-02-29` is not a calendar date such as 2026-05-01"].assert_eq(&error.to_string());
}

#[test]
fn a_manual_clock_moves_only_when_it_is_moved() {
    let clock = ManualClock::at("2026-05-01T14:00:00Z".parse().unwrap());
    assert_eq!(clock.now(), clock.now());
    clock.advance_ms(-1500);
    expect!["2026-05-01T13:59:58.500Z"].assert_eq(&clock.now().to_string());
    assert!(SystemClock.now() > clock.now().plus_ms(-20 * 365 * 86_400_000));
}
