//! Constructs that the gate does not decide: equal, or an audit. Keywords it does not know.

use super::Row;

pub const ROWS: &[Row] = &[
    (
        "not added needs an audit",
        r#"{"type": "string"}"#,
        r#"{"type": "string", "not": {"const": "x"}}"#,
        "audit: not-undecided",
    ),
    (
        "not removed needs an audit",
        r#"{"type": "string", "not": {"const": "x"}}"#,
        r#"{"type": "string"}"#,
        "audit: not-undecided",
    ),
    ("not changed needs an audit", r#"{"not": {"const": "x"}}"#, r#"{"not": {"const": "y"}}"#, "audit: not-undecided"),
    ("not in other words is no change", r#"{"not": {"enum": ["x"]}}"#, r#"{"not": {"const": "x"}}"#, "identical"),
    (
        "a change beside an unchanged not is judged",
        r#"{"type": "string", "not": {"const": "x"}}"#,
        r#"{"type": "string", "maxLength": 3, "not": {"const": "x"}}"#,
        "audit: length-tightened",
    ),
    (
        "a condition added needs an audit",
        r#"{"type": "object"}"#,
        r#"{"type": "object", "if": {"required": ["a"]}, "then": {"required": ["b"]}}"#,
        "audit: conditional-undecided",
    ),
    (
        "a condition's consequence changed needs an audit",
        r#"{"if": {"required": ["a"]}, "then": {"required": ["b"]}}"#,
        r#"{"if": {"required": ["a"]}, "then": {"required": ["c"]}}"#,
        "audit: conditional-undecided",
    ),
    (
        "a condition's test changed needs an audit",
        r#"{"if": {"required": ["a"]}, "else": {"required": ["b"]}}"#,
        r#"{"if": {"required": ["c"]}, "else": {"required": ["b"]}}"#,
        "audit: conditional-undecided",
    ),
    (
        "a condition in other words is no change",
        r#"{"if": {"required": ["a", "b"]}, "then": {"type": ["object"]}}"#,
        r#"{"if": {"required": ["b", "a"]}, "then": {"type": "object"}, "else": true}"#,
        "identical",
    ),
    (
        "a field removed beside an unchanged condition is found",
        r#"{"properties": {"x": {"type": "string"}}, "if": {"required": ["a"]}, "then": {"required": ["b"]}}"#,
        r#"{"if": {"required": ["a"]}, "then": {"required": ["b"]}}"#,
        "breaking: field-removed",
    ),
    (
        "dependentSchemas added needs an audit",
        r#"{"type": "object"}"#,
        r#"{"type": "object", "dependentSchemas": {"a": {"required": ["b"]}}}"#,
        "audit: dependent-schemas-undecided",
    ),
    (
        "dependentSchemas changed needs an audit",
        r#"{"dependentSchemas": {"a": {"required": ["b"]}}}"#,
        r#"{"dependentSchemas": {"a": {"required": ["c"]}}}"#,
        "audit: dependent-schemas-undecided",
    ),
    (
        "a draft-07 schema dependency changed needs an audit",
        r#"{"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": {"required": ["b"]}}}"#,
        r#"{"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": {"required": ["c"]}}}"#,
        "audit: dependent-schemas-undecided",
    ),
    (
        "unevaluatedProperties past a condition needs an audit when it changes",
        r#"{"type": "object", "if": {"required": ["a"]}, "then": {"properties": {"b": {}}}, "unevaluatedProperties": false}"#,
        r#"{"type": "object", "if": {"required": ["a"]}, "then": {"properties": {"b": {}}}, "properties": {"c": {}}, "unevaluatedProperties": false}"#,
        "audit: unevaluated-undecided (field-without-default) (optional-field-added)",
    ),
    (
        "unevaluatedProperties past a condition that stays is no change",
        r#"{"type": "object", "if": {"required": ["a"]}, "then": {"properties": {"b": {}}}, "unevaluatedProperties": false}"#,
        r#"{"title": "T", "type": "object", "unevaluatedProperties": false, "if": {"required": ["a"]}, "then": {"properties": {"b": {"description": "B"}}}}"#,
        "identical",
    ),
    (
        "unevaluatedProperties past a union removed needs an audit",
        r#"{"type": "object", "anyOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}], "unevaluatedProperties": false}"#,
        r#"{"type": "object", "anyOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}]}"#,
        "audit: unevaluated-undecided",
    ),
    (
        "unevaluatedItems past contains needs an audit when it changes",
        r#"{"type": "array", "contains": {"const": 1}}"#,
        r#"{"type": "array", "contains": {"const": 1}, "unevaluatedItems": false}"#,
        "audit: unevaluated-undecided",
    ),
    (
        "a document with a dynamic reference that stays is no change",
        r##"{"$dynamicAnchor": "n", "properties": {"c": {"$dynamicRef": "#n"}}}"##,
        r##"{"title": "N", "$dynamicAnchor": "n", "properties": {"c": {"$dynamicRef": "#n"}}}"##,
        "identical",
    ),
    (
        "a document with a dynamic reference that changes needs an audit",
        r##"{"$dynamicAnchor": "n", "maxProperties": 3, "properties": {"c": {"$dynamicRef": "#n"}}}"##,
        r##"{"$dynamicAnchor": "n", "maxProperties": 4, "properties": {"c": {"$dynamicRef": "#n"}}}"##,
        "audit: dynamic-ref-undecided (property-count-widened)",
    ),
    (
        "an unknown keyword changed is noted",
        r#"{"type": "string", "colour": "red"}"#,
        r#"{"type": "string", "colour": "blue"}"#,
        "additive: (unknown-keyword-changed)",
    ),
    (
        "a draft-07 keyword in a 2020-12 schema needs an audit",
        r#"{"type": "object"}"#,
        r#"{"type": "object", "dependencies": {"a": ["b"]}}"#,
        "audit: foreign-keyword-changed",
    ),
    (
        "a 2020-12 keyword in a draft-07 schema needs an audit",
        r#"{"$schema": "http://json-schema.org/draft-07/schema#", "type": "array"}"#,
        r#"{"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "prefixItems": [{"type": "string"}]}"#,
        "audit: foreign-keyword-changed",
    ),
    (
        "a property that is named like a keyword is a property",
        r#"{"properties": {"title": {"type": "string"}, "not": {"type": "string"}}}"#,
        r#"{"properties": {"title": {"type": "integer"}, "not": {"type": "string"}}}"#,
        "breaking: type-changed",
    ),
    ("a boolean schema is a schema", r#"true"#, r#"{}"#, "identical"),
];
