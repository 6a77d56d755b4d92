//! Strict JSON: each rule names its place.

use expect_test::{Expect, expect};
use karwan_envelope::json::{self, Limits, SAFE_INTEGER_MAX};
use proptest::prelude::*;

fn check(text: impl AsRef<[u8]>, expected: Expect) {
    let shown = json::check(text.as_ref(), Limits::ENVELOPE).map_or_else(|error| error.to_string(), str::to_owned);
    expected.assert_eq(&shown);
}

#[test]
fn what_is_right_is_answered_as_it_stands() {
    let text = " {\"a\" : [1, -2.5e3, true, false, null, \"\\u00e9\\ud83d\\ude00\"] }\n";
    assert_eq!(json::check(text.as_bytes(), Limits::ENVELOPE), Ok(text));
}

#[test]
fn a_syntax_error_names_what_was_expected_and_where() {
    check("{\n  \"a\": [1,\n    x]\n}", expect!["line 3, column 5, at /a/1: expected a value (json-syntax)"]);
    check("{'a': 1}", expect!["line 1, column 2: expected a key in double quotes (json-syntax)"]);
    check("{\"a\" 1}", expect!["line 1, column 6, at /a: expected `:` (json-syntax)"]);
    check("{\"a\": 1,}", expect!["line 1, column 9: expected a key in double quotes (json-syntax)"]);
    check("[1 2]", expect!["line 1, column 4: expected `,` or `]` (json-syntax)"]);
    check("[1,]", expect!["line 1, column 4, at /1: expected a value (json-syntax)"]);
    check("[01]", expect!["line 1, column 3: expected `,` or `]` (json-syntax)"]);
    check("[+1]", expect!["line 1, column 2, at /0: expected a value (json-syntax)"]);
    check("[.5]", expect!["line 1, column 2, at /0: expected a value (json-syntax)"]);
    check("[1.]", expect!["line 1, column 4, at /0: expected a digit (json-syntax)"]);
    check("[1e]", expect!["line 1, column 4, at /0: expected a digit (json-syntax)"]);
    check("[-]", expect!["line 1, column 3, at /0: expected a digit (json-syntax)"]);
    check("[NaN]", expect!["line 1, column 2, at /0: expected a value (json-syntax)"]);
    check("[nul]", expect!["line 1, column 2, at /0: expected true, false or null (json-syntax)"]);
    check(
        "[\"\\x41\"]",
        expect![[r#"line 1, column 4, at /0: expected one of \" \\ \/ \b \f \n \r \t \u (json-syntax)"#]],
    );
    check("[\"\\u00g0\"]", expect!["line 1, column 7, at /0: expected four hexadecimal digits (json-syntax)"]);
    check(
        "[\"a\tb\"]",
        expect!["line 1, column 4, at /0: expected no control character in a string; escape it (json-syntax)"],
    );
    check("\u{feff}{}", expect!["line 1, column 1: expected a value (json-syntax)"]);
    check("// a\n{}", expect!["line 1, column 1: expected a value (json-syntax)"]);
}

#[test]
fn an_early_end_names_what_is_missing() {
    check("", expect!["line 1, column 1: the document ends too early; expected a value (json-truncated)"]);
    check(
        "{\"a\":\n[1",
        expect!["line 2, column 3, at /a: the document ends too early; expected `,` or `]` (json-truncated)"],
    );
    check(
        "[tru",
        expect!["line 1, column 2, at /0: the document ends too early; expected true, false or null (json-truncated)"],
    );
    check(
        "[\"\\ud83d",
        expect![
            "line 1, column 9, at /0: the document ends too early; expected the second half of a surrogate pair (json-truncated)"
        ],
    );
}

#[test]
fn something_behind_the_value_is_refused() {
    check("{} {}", expect!["line 1, column 4: something follows the value (json-trailing)"]);
    check("{}\0", expect!["line 1, column 3: something follows the value (json-trailing)"]);
}

#[test]
fn invalid_utf8_is_refused_at_its_byte() {
    check(b"{\n\"a\": \"\xff\"}", expect!["line 2, column 7: not UTF-8 (json-not-utf8)"]);
    check(b"[\"\xed\xa0\x80\"]", expect!["line 1, column 3: not UTF-8 (json-not-utf8)"]);
    check(b"[\"\xc0\x80\"]", expect!["line 1, column 3: not UTF-8 (json-not-utf8)"]);
}

#[test]
fn a_key_that_stands_twice_is_refused_however_it_is_escaped() {
    check(
        r#"{"a":1,"b":{"c":1},"a":2}"#,
        expect!["line 1, column 20: the key `a` stands twice in one object (json-duplicate-key)"],
    );
    check(
        r#"{"x":[{"a":1,"\u0061":2}]}"#,
        expect!["line 1, column 14, at /x/0: the key `a` stands twice in one object (json-duplicate-key)"],
    );
    check(
        r#"{"\ud83d\ude00":1,"😀":2}"#,
        expect!["line 1, column 19: the key `😀` stands twice in one object (json-duplicate-key)"],
    );
    check(r#"{"":1,"":2}"#, expect!["line 1, column 7: the key `` stands twice in one object (json-duplicate-key)"]);
    check(r#"{"a":{"a":{"a":1}},"A":[{"a":1},{"a":1}]}"#, expect![[r#"{"a":{"a":{"a":1}},"A":[{"a":1},{"a":1}]}"#]]);
}

#[test]
fn half_of_a_surrogate_pair_is_refused() {
    check(
        r#"["\ud83d"]"#,
        expect![[r#"line 1, column 9, at /0: a \u escape with half of a surrogate pair (json-lone-surrogate)"#]],
    );
    check(
        r#"["\ude00\ud83d"]"#,
        expect![[r#"line 1, column 9, at /0: a \u escape with half of a surrogate pair (json-lone-surrogate)"#]],
    );
    check(
        r#"["\ud83d\ud83d"]"#,
        expect![[r#"line 1, column 15, at /0: a \u escape with half of a surrogate pair (json-lone-surrogate)"#]],
    );
    check(
        r#"["\uD83Dx"]"#,
        expect![[r#"line 1, column 9, at /0: a \u escape with half of a surrogate pair (json-lone-surrogate)"#]],
    );
    check(
        r#"{"\udead":1}"#,
        expect![[r#"line 1, column 9: a \u escape with half of a surrogate pair (json-lone-surrogate)"#]],
    );
}

#[test]
fn a_number_that_readers_round_is_refused() {
    assert_eq!(SAFE_INTEGER_MAX, 9_007_199_254_740_991);
    check(
        "[9007199254740991, -9007199254740991, -0, 1e308, 5e-324, 1e-400]",
        expect![["[9007199254740991, -9007199254740991, -0, 1e308, 5e-324, 1e-400]"]],
    );
    check(
        "[9007199254740992]",
        expect![
            "line 1, column 2, at /0: the number 9007199254740992 is not kept exactly by every reader; write it as a string (json-number-range)"
        ],
    );
    check(
        "{\"n\":-9007199254740992}",
        expect![
            "line 1, column 6, at /n: the number -9007199254740992 is not kept exactly by every reader; write it as a string (json-number-range)"
        ],
    );
    check(
        "[1e400]",
        expect![
            "line 1, column 2, at /0: the number 1e400 is not kept exactly by every reader; write it as a string (json-number-range)"
        ],
    );
    check(
        "[-1e400]",
        expect![
            "line 1, column 2, at /0: the number -1e400 is not kept exactly by every reader; write it as a string (json-number-range)"
        ],
    );
    check(
        "[1e99999999999999999999]",
        expect![
            "line 1, column 2, at /0: the number 1e99999999999999999999 is not kept exactly by every reader; write it as a string (json-number-range)"
        ],
    );
}

#[test]
fn schemas_may_write_64_bit_bounds() {
    let check = |text: &str| json::check(text.as_bytes(), Limits::SCHEMA).map(drop);
    assert_eq!(check("[18446744073709551615, -9223372036854775808]"), Ok(()));
    assert!(check("[18446744073709551616]").is_err());
    assert!(check("[-9223372036854775809]").is_err());
}

#[test]
fn a_pointer_escapes_its_keys() {
    check(r#"{"a/b":{"~":{"":[x]}}}"#, expect!["line 1, column 18, at /a~1b/~0//0: expected a value (json-syntax)"]);
}

proptest! {
    /// Eight bytes are looked at in one step: the first that needs an escape is found wherever it stands.
    #[test]
    fn the_plain_beginning_of_a_text_ends_where_serde_escapes(
        plain in "[ -!#-\\[\\]-~\u{7f}-\u{ff}😀]{0,20}", special in "[\"\\\\\u{0}-\u{1f}]?", rest: String,
    ) {
        let text = format!("{plain}{special}{rest}");
        let expected = text.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(text.len());
        prop_assert_eq!(json::plain_length(text.as_bytes()), expected);
        let unescaped = serde_json::to_string(&text[..expected]).expect("a text serialises");
        prop_assert_eq!(unescaped.len(), expected + 2);
    }
}

/// Objects, arrays and texts that look like the member that is looked for.
fn anything() -> impl Strategy<Value = serde_json::Value> {
    let text = prop_oneof!["[a-z\"\\\\:,{}é\n]{0,6}", Just("want".to_owned()), Just("\"want\":\"x\"".to_owned())];
    let leaf = prop_oneof![text.prop_map(Into::into), any::<i32>().prop_map(Into::into), Just(serde_json::Value::Null)];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let name = prop_oneof![Just("want".to_owned()), "[a-z\"\\\\]{0,3}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::btree_map(name, inner, 0..4).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn a_plain_member_is_found_where_it_stands_and_nowhere_else(value in anything()) {
        let expected = value.as_object().and_then(|object| object.get("want")).and_then(|want| want.as_str());
        let is_plain = |text: &&str| !text.contains(['"', '\\', '\n']);
        let text = value.to_string();
        prop_assert_eq!(json::plain_member(&text, "want"), expected.filter(is_plain));
    }

    /// However it is laid out: what stands between its members is nobody's.
    #[test]
    fn the_members_of_an_object_are_those_that_serde_reads(value in anything()) {
        for text in [value.to_string(), format!(" {value:#}\n")] {
            let read = json::members(&text).map(|members| {
                let parse = |raw: &str| serde_json::from_str(raw).expect("a member is JSON");
                members.into_iter().map(|(name, raw)| (name.into_owned(), parse(raw))).collect()
            });
            prop_assert_eq!(read.as_ref(), value.as_object());
            let checked = json::check_object(text.as_bytes(), Limits::SCHEMA).expect("serde wrote it");
            prop_assert_eq!(checked, json::members(&text), "as they are noted while it is checked");
        }
    }
}
