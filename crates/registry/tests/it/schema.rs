//! What becomes of a Rust type as a JSON Schema.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use karwan_envelope::row::AiProvenance;
use karwan_registry::schema::{DIALECT, emit, validator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::shop::{BasketPlaced, basket, shop_events};

fn check<T: JsonSchema>(expected: Expect) {
    let mut schema = emit::<T>();
    assert_eq!(schema["$schema"], DIALECT);
    schema.as_object_mut().expect("an object").retain(|key, _| !["$schema", "title"].contains(&key.as_str()));
    expected.assert_eq(&format!("{schema:#}"));
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Integers {
    tiny: u8,
    small: i16,
    usual: u32,
    large: u64,
    huge: i64,
    #[schemars(range(min = 1, max = 9))]
    digit: u64,
    part: f64,
}

/// Rust's widths are no part of the contract, the bounds are; none is past what JSON keeps.
#[test]
fn an_integer_has_the_bounds_of_its_type_and_no_format() {
    check::<Integers>(expect![[r#"
        {
          "additionalProperties": false,
          "properties": {
            "digit": {
              "maximum": 9,
              "minimum": 1,
              "type": "integer"
            },
            "huge": {
              "maximum": 9007199254740991,
              "minimum": -9007199254740991,
              "type": "integer"
            },
            "large": {
              "maximum": 9007199254740991,
              "minimum": 0,
              "type": "integer"
            },
            "part": {
              "type": "number"
            },
            "small": {
              "maximum": 32767,
              "minimum": -32768,
              "type": "integer"
            },
            "tiny": {
              "maximum": 255,
              "minimum": 0,
              "type": "integer"
            },
            "usual": {
              "maximum": 4294967295,
              "minimum": 0,
              "type": "integer"
            }
          },
          "required": [
            "tiny",
            "small",
            "usual",
            "large",
            "huge",
            "digit",
            "part"
          ],
          "type": "object"
        }"#]]);
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Optionals {
    text: Option<String>,
    /// Of one of these colours.
    colour: Option<Colour>,
    plain: Option<Plain>,
    nested: Option<Box<Optionals>>,
    list: Option<Vec<u8>>,
    #[schemars(extend("x-nullable" = true))]
    cleared: Option<String>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Colour {
    /// Like blood.
    Red,
    /// Like grass.
    Green,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Plain {
    One,
    Two,
}

#[test]
fn an_optional_field_may_be_missing_and_is_never_null() {
    check::<Optionals>(expect![[r##"
        {
          "$defs": {
            "Colour": {
              "oneOf": [
                {
                  "const": "Red",
                  "description": "Like blood.",
                  "type": "string"
                },
                {
                  "const": "Green",
                  "description": "Like grass.",
                  "type": "string"
                }
              ]
            },
            "Plain": {
              "enum": [
                "One",
                "Two"
              ],
              "type": "string"
            }
          },
          "additionalProperties": false,
          "properties": {
            "cleared": {
              "type": [
                "string",
                "null"
              ]
            },
            "colour": {
              "$ref": "#/$defs/Colour",
              "description": "Of one of these colours."
            },
            "list": {
              "items": {
                "maximum": 255,
                "minimum": 0,
                "type": "integer"
              },
              "type": "array"
            },
            "nested": {
              "$ref": "#"
            },
            "plain": {
              "$ref": "#/$defs/Plain"
            },
            "text": {
              "type": "string"
            }
          },
          "type": "object"
        }"##]]);
}

#[test]
fn a_field_that_is_marked_nullable_may_be_null() {
    let validator = validator(&emit::<Optionals>()).expect("it compiles");
    assert!(validator.is_valid(&json!({"cleared": null})));
    for field in ["text", "colour", "plain", "nested", "list"] {
        assert!(!validator.is_valid(&json!({field: null})), "{field}");
    }
}

/// A way to pay.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "camelCase")]
enum Pay {
    /// With a card.
    Card {
        /// Its last digits.
        digits: String,
    },
    /// With a voucher.
    Voucher(Voucher),
    /// In cash.
    Cash,
}

/// A voucher.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Voucher {
    /// What is printed on it.
    code: String,
}

#[test]
fn every_variant_of_a_tagged_enum_matches_its_own_schema() {
    let validator = validator(&emit::<Pay>()).expect("it compiles");
    let variants = [Pay::Card { digits: "1234".to_owned() }, Pay::Voucher(Voucher { code: "X".to_owned() }), Pay::Cash];
    for variant in variants {
        let value = serde_json::to_value(&variant).expect("JSON");
        let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{value}");
        let mut open = value.clone();
        open["colour"] = "red".into();
        assert!(!validator.is_valid(&open), "{open}");
    }
}

#[derive(Serialize, JsonSchema)]
struct Flat {
    own: u8,
    #[serde(flatten)]
    voucher: Voucher,
    #[serde(flatten)]
    pay: Pay,
}

#[test]
fn what_is_flattened_into_a_struct_is_part_of_it() {
    let validator = validator(&emit::<Flat>()).expect("it compiles");
    let flat = Flat { own: 1, voucher: Voucher { code: "X".to_owned() }, pay: Pay::Cash };
    let value = serde_json::to_value(&flat).expect("JSON");
    assert!(validator.is_valid(&value), "{value} {:#}", emit::<Flat>());
    for wrong in [json!({"by": "cash", "code": "X"}), json!({"by": "cash", "code": "X", "own": 1, "other": 1})] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Labels {
    #[schemars(extend("propertyNames" = { "maxLength": 8 }))]
    labels: BTreeMap<String, u8>,
}

#[test]
fn a_map_stays_open_and_its_owner_closed() {
    let validator = validator(&emit::<Labels>()).expect("it compiles");
    assert!(validator.is_valid(&json!({"labels": {"any": 1}})));
    assert!(!validator.is_valid(&json!({"labels": {"any": 256}})));
    assert!(!validator.is_valid(&json!({"labels": {}, "other": 1})));
}

/// Every object at any depth, with its place.
fn objects(schema: &Value, place: String, found: &mut Vec<(String, Value)>) {
    match schema {
        Value::Object(fields) => {
            if fields.contains_key("properties") && !place.ends_with("/properties") {
                found.push((place.clone(), schema.clone()));
            }
            fields.iter().for_each(|(name, field)| objects(field, format!("{place}/{name}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| objects(item, format!("{place}/{index}"), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_object_of_the_shop_is_closed() {
    let mut found = Vec::new();
    for event in shop_events() {
        objects(&(event.schema)(), (event.row)().subject, &mut found);
    }
    assert!(found.len() > 8, "eight events, and what they contain");
    for (place, schema) in found {
        assert_eq!(schema["additionalProperties"], false, "{place}");
    }
}

#[test]
fn an_event_matches_its_own_schema_and_says_what_it_is() {
    let schema = emit::<BasketPlaced>();
    validator(&schema).expect("it compiles").validate(&serde_json::to_value(basket()).expect("JSON")).expect("valid");
    assert_eq!(schema["description"], "A customer placed an order.\n\nDecided here: the shop has no document.");
    assert_eq!(schema["properties"]["email"]["x-pii"], "contact");
}

#[test]
fn formats_are_checked_and_nothing_is_fetched() {
    let provenance = validator(&emit::<AiProvenance>()).expect("it compiles");
    let mut value = serde_json::to_value(crate::shop::provenance()).expect("JSON");
    assert!(provenance.is_valid(&value));
    value["generatedAt"] = "yesterday".into();
    assert!(!provenance.is_valid(&value));
    let error = validator(&json!({"$ref": "https://schemas.example/other.json"})).expect_err("it lies elsewhere");
    assert!(error.to_string().contains("schemas.example/other.json"), "{error}");
}

/// A pattern that takes a backtracking matcher longer than the universe has.
#[test]
fn a_hostile_pattern_runs_in_linear_time() {
    let hostile = validator(&json!({"pattern": "^(a+)+$"})).expect("it compiles");
    assert!(!hostile.is_valid(&json!(format!("{}!", "a".repeat(50_000)))));
}
