//! R-030: money is a string of micro-units with an ISO currency.

use expect_test::{Expect, expect};
use karwan_envelope::money::{Currency, Micros, Money};
use proptest::prelude::*;

const LIMIT: i128 = 10_i128.pow(38);

fn check(json: &str, expected: Expect) {
    let read = serde_json::from_str::<Money>(json);
    expected.assert_eq(
        &read.map_or_else(|error| error.to_string(), |money| serde_json::to_string(&money).expect("money prints")),
    );
}

proptest! {
    #[test]
    fn an_amount_is_printed_as_it_was_read(micros in 1 - LIMIT..LIMIT) {
        let amount = Micros::new(micros);
        prop_assert_eq!(amount.to_string().parse::<Micros>().unwrap(), amount);
        prop_assert_eq!(amount.to_string(), micros.to_string());
    }

    #[test]
    fn whatever_is_taken_is_the_one_spelling(text in "[+-]?[0-9]{0,40}(\\.0)?", other: String) {
        for text in [text, other] {
            if let Ok(amount) = text.parse::<Micros>() {
                prop_assert_eq!(amount.to_string(), text);
            }
        }
    }

    #[test]
    fn a_currency_is_three_capitals(code in "[A-Z]{3}", other: String) {
        prop_assert_eq!(code.parse::<Currency>().unwrap().to_string(), code);
        prop_assert_eq!(other.parse::<Currency>().is_ok(), other.len() == 3 && other.bytes().all(|it| it.is_ascii_uppercase()));
    }
}

#[test]
fn money_travels_as_strings_and_past_2_to_the_53() {
    check(
        r#"{"amountMicro":"12500000","currency":"AFN"}"#,
        expect![[r#"{"amountMicro":"12500000","currency":"AFN"}"#]],
    );
    check(
        r#"{"amountMicro":"-9007199254740993","currency":"IRR"}"#,
        expect![[r#"{"amountMicro":"-9007199254740993","currency":"IRR"}"#]],
    );
    check(
        r#"{"amountMicro":"99999999999999999999999999999999999999","currency":"USD"}"#,
        expect![[r#"{"amountMicro":"99999999999999999999999999999999999999","currency":"USD"}"#]],
    );
}

#[test]
fn a_number_is_not_money() {
    check(
        r#"{"amountMicro":12500000,"currency":"AFN"}"#,
        expect!["invalid type: integer `12500000`, expected a string at line 1 column 23"],
    );
    check(
        r#"{"amountMicro":12.5,"currency":"AFN"}"#,
        expect!["invalid type: floating point `12.5`, expected a string at line 1 column 19"],
    );
}

#[test]
fn an_amount_has_one_spelling() {
    let error = "12.50".parse::<Micros>().unwrap_err();
    expect!["`12.50` is not a whole number of micro-units, written as a string of digits"]
        .assert_eq(&error.to_string());
    let too_long = "1".repeat(39);
    for text in ["+1", "01", "-0", "00", "-01", "1.0", "1e6", "", "-", " 1", "1 ", "1_000", "١", "--1", &too_long] {
        assert!(text.parse::<Micros>().is_err(), "{text} was taken");
    }
    assert_eq!("0".parse::<Micros>().unwrap(), Micros::default());
    assert_eq!("-1".parse::<Micros>().unwrap().get(), -1);
}

#[test]
fn a_currency_in_small_letters_is_refused() {
    let error = "afn".parse::<Currency>().unwrap_err();
    expect!["`afn` is not an ISO 4217 currency code such as AFN"].assert_eq(&error.to_string());
    for text in ["", "AF", "AFNI", "AF1", "ÄFN", "€"] {
        assert!(text.parse::<Currency>().is_err(), "{text} was taken");
    }
}

#[test]
fn the_schema_of_money_takes_what_the_type_takes() {
    let schema = schemars::schema_for!(Money).to_value();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (amount, right) in [("12500000", true), ("0", true), ("-1", true), ("-0", false), ("01", false), ("+1", false)]
    {
        let money = serde_json::json!({ "amountMicro": amount, "currency": "AFN" });
        assert_eq!(validator.is_valid(&money), right, "{amount}");
        assert_eq!(serde_json::from_value::<Money>(money).is_ok(), right, "{amount}");
    }
    assert!(!validator.is_valid(&serde_json::json!({ "amountMicro": 1, "currency": "AFN" })));
}
