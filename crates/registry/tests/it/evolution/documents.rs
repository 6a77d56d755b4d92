//! The two documents' tables of what may change within a version, line by line.

use super::{judged, summary};

/// The old schema of every line: a closed object, as both documents publish them.
const BOOKING: &str = r#"{"type": "object", "additionalProperties": false, "required": ["id", "nights"], "properties": {
    "id": {"type": "string"}, "nights": {"type": "integer", "minimum": 1, "maximum": 30},
    "code": {"type": "string", "pattern": "^[A-Z]+$"}, "state": {"enum": ["held", "confirmed"]}, "note": {"type": "string"}}}"#;

/// Replaces a piece of `BOOKING` and judges the result.
fn check(piece: &str, replacement: &str, expected: &str) {
    assert!(BOOKING.contains(piece), "`{piece}` is not in the schema");
    let new = BOOKING.replace(piece, replacement);
    assert_eq!(summary(&judged(BOOKING, &new)), expected, "{new}");
}

const NOTE: &str = r#""note": {"type": "string"}"#;

mod document_000_section_5_2 {
    use super::{BOOKING, NOTE, check};
    use crate::evolution::catalogues;

    /// R-051.
    #[test]
    fn adding_an_optional_field_with_a_default_is_allowed() {
        check(
            NOTE,
            r#""note": {"type": "string"}, "guests": {"type": "integer", "default": 1}"#,
            "additive: (optional-field-added)",
        );
    }

    /// R-052.
    #[test]
    fn adding_an_enum_value_that_consumers_ignore_is_allowed() {
        check(r#"["held", "confirmed"]"#, r#"["held", "confirmed", "expired"]"#, "additive: (enum-widened)");
    }

    /// R-053: allowed only if no producer ever produced an out-of-range value, which past events tell.
    #[test]
    fn tightening_a_numeric_range_needs_an_audit_of_past_events() {
        check(r#""maximum": 30"#, r#""maximum": 20"#, "audit: range-tightened");
    }

    /// R-053.
    #[test]
    fn tightening_a_regex_needs_an_audit_of_past_events() {
        check("^[A-Z]+$", "^[A-Z]{6}$", "audit: pattern-tightened");
    }

    /// R-054.
    #[test]
    fn making_an_optional_field_required_is_not_allowed() {
        check(r#"["id", "nights"]"#, r#"["id", "nights", "note"]"#, "breaking: field-made-required");
    }

    /// R-054.
    #[test]
    fn removing_a_field_is_not_allowed() {
        check(&format!(", {NOTE}"), "", "breaking: field-forbidden field-removed");
    }

    /// R-054.
    #[test]
    fn changing_a_fields_type_is_not_allowed() {
        check(NOTE, r#""note": {"type": "integer"}"#, "breaking: type-changed");
    }

    /// R-054.
    #[test]
    fn renaming_a_field_is_not_allowed() {
        check(NOTE, r#""remark": {"type": "string"}"#, "breaking: field-renamed");
    }

    /// R-055: a new topic and new subscriptions, beside the old ones.
    #[test]
    fn changing_the_event_type_is_a_removal_and_an_addition() {
        catalogues::check(
            &[("m.reservation.booking.confirmed.v1", BOOKING)],
            &[("m.reservation.booking.accepted.v1", BOOKING)],
            "breaking\nm.reservation.booking.accepted.v1 additive: (subject-added)\nm.reservation.booking.confirmed.v1 breaking: subject-removed",
        );
    }
}

mod document_003_section_10 {
    use super::{BOOKING, NOTE, check};
    use crate::evolution::catalogues;

    /// R-051: `additionalProperties: false` stays.
    #[test]
    fn adding_an_optional_field_is_allowed() {
        check(
            NOTE,
            r#""note": {"type": "string"}, "guests": {"type": "integer"}"#,
            "additive: (field-without-default) (optional-field-added)",
        );
    }

    /// R-054.
    #[test]
    fn adding_a_required_field_is_breaking() {
        let required = (
            r#"["id", "nights"], "properties": {"#,
            r#"["id", "nights", "guests"], "properties": {"guests": {"type": "integer"},"#,
        );
        check(required.0, required.1, "breaking: required-field-added");
    }

    /// R-054.
    #[test]
    fn removing_a_field_is_breaking() {
        check(&format!(", {NOTE}"), "", "breaking: field-forbidden field-removed");
    }

    /// R-054.
    #[test]
    fn renaming_a_field_is_breaking() {
        check(NOTE, r#""comment": {"type": "string"}"#, "breaking: field-renamed");
    }

    /// R-054.
    #[test]
    fn narrowing_an_enum_is_breaking() {
        check(r#"["held", "confirmed"]"#, r#"["held"]"#, "breaking: enum-narrowed");
    }

    /// R-052.
    #[test]
    fn widening_an_enum_is_allowed() {
        check(r#"["held", "confirmed"]"#, r#"["held", "confirmed", "cancelled"]"#, "additive: (enum-widened)");
    }

    /// R-054. A schema shows its meaning in part only: here by the encoding of a text.
    #[test]
    fn changing_declared_semantics_is_breaking() {
        check(NOTE, r#""note": {"type": "string", "contentEncoding": "base64"}"#, "breaking: semantics-changed");
    }

    #[test]
    fn adding_a_new_event_type_is_allowed() {
        catalogues::check(
            &[("a.b.c.v1", BOOKING)],
            &[("a.b.c.v1", BOOKING), ("a.b.d.v1", BOOKING)],
            "additive\na.b.d.v1 additive: (subject-added)",
        );
    }

    /// The parallel publication itself needs a running log.
    #[test]
    fn deprecating_an_event_is_allowed() {
        check(
            r#"{"type": "object", "add"#,
            r#"{"deprecated": true, "type": "object", "add"#,
            "additive: (deprecation-changed)",
        );
    }
}
