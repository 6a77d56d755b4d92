//! `oneOf`, `anyOf` and `allOf`: branches added, removed and changed.

use super::Row;

pub const ROWS: &[Row] = &[
    (
        "a tagged branch added is additive",
        r#"{"oneOf": [{"type": "object", "properties": {"kind": {"const": "card"}}, "required": ["kind"]}]}"#,
        r#"{"oneOf": [{"type": "object", "properties": {"kind": {"const": "card"}}, "required": ["kind"]}, {"type": "object", "properties": {"kind": {"const": "cash"}}, "required": ["kind"]}]}"#,
        "additive: (union-branch-added)",
    ),
    (
        "a tagged branch added to two is additive",
        r#"{"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}}, "required": ["kind"]}, {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]}]}"#,
        r#"{"oneOf": [{"type": "object", "properties": {"kind": {"const": "c"}}, "required": ["kind"]}, {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]}, {"type": "object", "properties": {"kind": {"const": "a"}}, "required": ["kind"]}]}"#,
        "additive: (union-branch-added)",
    ),
    (
        "a tagged branch removed is breaking",
        r#"{"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}}, "required": ["kind"]}, {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]}]}"#,
        r#"{"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}}, "required": ["kind"]}]}"#,
        "breaking: union-branch-removed",
    ),
    (
        "a tagged branch is matched by its tag, not by its place",
        r#"{"oneOf": [{"type": "object", "properties": {"k": {"const": "a"}, "x": {"type": "string"}}, "required": ["k"]}, {"type": "object", "properties": {"k": {"const": "b"}, "x": {"type": "integer"}}, "required": ["k"]}]}"#,
        r#"{"oneOf": [{"type": "object", "properties": {"k": {"const": "b"}, "x": {"type": "integer"}}, "required": ["k"]}, {"type": "object", "properties": {"k": {"const": "a"}, "x": {"type": "boolean"}}, "required": ["k"]}]}"#,
        "breaking: type-changed",
    ),
    (
        "a field inside a tagged branch made required is breaking",
        r#"{"oneOf": [{"type": "object", "properties": {"k": {"const": "a"}, "x": {"type": "string"}}, "required": ["k"]}, {"type": "object", "properties": {"k": {"const": "b"}}, "required": ["k"]}]}"#,
        r#"{"oneOf": [{"type": "object", "properties": {"k": {"const": "a"}, "x": {"type": "string"}}, "required": ["k", "x"]}, {"type": "object", "properties": {"k": {"const": "b"}}, "required": ["k"]}]}"#,
        "breaking: field-made-required",
    ),
    (
        "a tag beside the union counts for its branches",
        r#"{"type": "object", "required": ["k"], "oneOf": [{"properties": {"k": {"const": "a"}}}, {"properties": {"k": {"const": "b"}}}]}"#,
        r#"{"type": "object", "required": ["k"], "oneOf": [{"properties": {"k": {"const": "a"}}}, {"properties": {"k": {"const": "b"}}}, {"properties": {"k": {"const": "c"}}}]}"#,
        "additive: (union-branch-added)",
    ),
    (
        "a common field beside the union is judged in every branch",
        r#"{"type": "object", "properties": {"x": {"type": "string"}}, "required": ["k"], "oneOf": [{"properties": {"k": {"const": "a"}}}, {"properties": {"k": {"const": "b"}}}]}"#,
        r#"{"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["k"], "oneOf": [{"properties": {"k": {"const": "a"}}}, {"properties": {"k": {"const": "b"}}}]}"#,
        "breaking: type-changed",
    ),
    (
        "an externally tagged branch added is additive",
        r#"{"oneOf": [{"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": false}, {"type": "object", "properties": {"b": {}}, "required": ["b"], "additionalProperties": false}]}"#,
        r#"{"oneOf": [{"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": false}, {"type": "object", "properties": {"b": {}}, "required": ["b"], "additionalProperties": false}, {"type": "object", "properties": {"c": {}}, "required": ["c"], "additionalProperties": false}]}"#,
        "additive: (union-branch-added)",
    ),
    (
        "an untagged branch added needs an audit",
        r#"{"anyOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b"]}]}"#,
        r#"{"anyOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b"]}, {"type": "object", "required": ["c"]}]}"#,
        "audit: union-branch-untagged",
    ),
    (
        "an untagged branch beside what was no union breaks its consumers",
        r#"{"type": "object", "required": ["a"]}"#,
        r#"{"anyOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["c"]}]}"#,
        "breaking: field-made-optional required-field-added union-branch-untagged",
    ),
    (
        "a branch of another type added is breaking for consumers",
        r#"{"anyOf": [{"type": "string"}, {"type": "integer"}]}"#,
        r#"{"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}"#,
        "breaking: type-widened",
    ),
    (
        "a branch of another type removed is breaking for replay",
        r#"{"oneOf": [{"type": "string"}, {"type": "integer"}]}"#,
        r#"{"oneOf": [{"type": "string"}]}"#,
        "breaking: type-narrowed",
    ),
    (
        "a branch that another contains may go",
        r#"{"anyOf": [{"type": "string"}, {"type": "string", "maxLength": 3}]}"#,
        r#"{"type": "string"}"#,
        "identical",
    ),
    (
        "a branch that another contains may come",
        r#"{"type": "string"}"#,
        r#"{"anyOf": [{"type": "string"}, {"type": "string", "maxLength": 3}]}"#,
        "identical",
    ),
    (
        "a text branch added is additive",
        r#"{"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^b"}]}"#,
        r#"{"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^b"}, {"type": "string", "pattern": "^c"}]}"#,
        "additive: (union-branch-added)",
    ),
    (
        "a text branch removed is breaking",
        r#"{"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^b"}]}"#,
        r#"{"type": "string", "pattern": "^a"}"#,
        "breaking: union-branch-removed",
    ),
    (
        "branches are paired to the least findings",
        r#"{"anyOf": [{"type": "string", "pattern": "^a", "maxLength": 3}, {"type": "string", "pattern": "^b"}]}"#,
        r#"{"anyOf": [{"type": "string", "pattern": "^b"}, {"type": "string", "pattern": "^a", "maxLength": 4}]}"#,
        "additive: (length-widened)",
    ),
    (
        "a new branch of an overlapping oneOf needs an audit",
        r#"{"oneOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^b"}]}"#,
        r#"{"oneOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^b"}, {"type": "string", "pattern": "c$"}]}"#,
        "audit: union-overlap-undecided (union-branch-added)",
    ),
    (
        "an overlapping oneOf that stays is no change",
        r#"{"oneOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "b$"}]}"#,
        r#"{"oneOf": [{"type": "string", "pattern": "b$"}, {"type": "string", "pattern": "^a"}]}"#,
        "identical",
    ),
    (
        "anyOf made an overlapping oneOf needs an audit",
        r#"{"anyOf": [{"type": "integer"}, {"type": "number", "minimum": 0}]}"#,
        r#"{"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 0}]}"#,
        "audit: union-overlap-undecided",
    ),
    (
        "an overlapping oneOf made anyOf needs an audit",
        r#"{"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 0}]}"#,
        r#"{"anyOf": [{"type": "integer"}, {"type": "number", "minimum": 0}]}"#,
        "audit: union-overlap-undecided",
    ),
    (
        "ranges that meet nowhere make a oneOf exclusive",
        r#"{"type": "integer", "oneOf": [{"maximum": 3}, {"minimum": 7}]}"#,
        r#"{"type": "integer", "anyOf": [{"maximum": 3}, {"minimum": 7}]}"#,
        "identical",
    ),
    (
        "a range added through allOf needs an audit",
        r#"{"allOf": [{"type": "integer"}]}"#,
        r#"{"allOf": [{"type": "integer"}, {"maximum": 9}]}"#,
        "audit: range-tightened",
    ),
    (
        "a required field added through allOf is breaking",
        r#"{"allOf": [{"type": "object"}]}"#,
        r#"{"allOf": [{"type": "object"}, {"required": ["a"]}]}"#,
        "breaking: required-field-added",
    ),
    (
        "a documented constant added to a oneOf of constants widens an enum",
        r#"{"oneOf": [{"const": "a", "description": "A"}, {"const": "b"}]}"#,
        r#"{"oneOf": [{"const": "a", "description": "A"}, {"const": "b"}, {"const": "c"}]}"#,
        "additive: (enum-widened)",
    ),
    (
        "a constant removed from a oneOf of constants narrows an enum",
        r#"{"oneOf": [{"const": "a"}, {"const": "b"}]}"#,
        r#"{"oneOf": [{"const": "a"}]}"#,
        "breaking: enum-narrowed",
    ),
    (
        "null added to a referred object is breaking for consumers",
        r##"{"$ref": "#/$defs/A", "$defs": {"A": {"type": "object"}}}"##,
        r##"{"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}], "$defs": {"A": {"type": "object"}}}"##,
        "breaking: type-widened",
    ),
    (
        "a change inside a nullable object is judged",
        r##"{"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}], "$defs": {"A": {"type": "object", "properties": {"x": {"type": "string"}}}}}"##,
        r##"{"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}], "$defs": {"A": {"type": "object", "properties": {"x": {"type": "null"}}}}}"##,
        "breaking: type-changed",
    ),
];
