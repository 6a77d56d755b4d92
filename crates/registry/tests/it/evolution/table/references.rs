//! References: recursive, with siblings, by anchor, in both dialects.

use super::Row;

pub const ROWS: &[Row] = &[
    (
        "a change behind a reference is found",
        r##"{"properties": {"m": {"$ref": "#/$defs/M"}}, "$defs": {"M": {"type": "string"}}}"##,
        r##"{"properties": {"m": {"$ref": "#/$defs/M"}}, "$defs": {"M": {"type": "integer"}}}"##,
        "breaking: type-changed",
    ),
    (
        "a change behind two references is found",
        r##"{"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"type": "integer", "maximum": 5}}}"##,
        r##"{"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"type": "integer", "maximum": 4}}}"##,
        "audit: range-tightened",
    ),
    (
        "an unused definition is no change",
        r##"{"type": "string", "$defs": {"A": {"type": "string"}}}"##,
        r##"{"type": "string"}"##,
        "identical",
    ),
    (
        "a recursive list that stays is no change",
        r##"{"properties": {"v": {"type": "integer"}, "next": {"$ref": "#"}}}"##,
        r##"{"title": "L", "properties": {"next": {"$ref": "#"}, "v": {"type": "integer"}}}"##,
        "identical",
    ),
    (
        "a change inside a recursive list is found",
        r##"{"properties": {"v": {"type": "integer"}, "next": {"$ref": "#"}}}"##,
        r##"{"properties": {"v": {"type": "string"}, "next": {"$ref": "#"}}}"##,
        "breaking: type-changed",
    ),
    (
        "a recursive schema unrolled once is no change",
        r##"{"properties": {"next": {"$ref": "#"}}, "required": ["next"]}"##,
        r##"{"properties": {"next": {"properties": {"next": {"$ref": "#"}}, "required": ["next"]}}, "required": ["next"]}"##,
        "identical",
    ),
    (
        "a recursive tree widened is additive",
        r##"{"$ref": "#/$defs/T", "$defs": {"T": {"type": "object", "properties": {"c": {"type": "array", "items": {"$ref": "#/$defs/T"}}, "k": {"enum": ["a"]}}}}}"##,
        r##"{"$ref": "#/$defs/T", "$defs": {"T": {"type": "object", "properties": {"c": {"type": "array", "items": {"$ref": "#/$defs/T"}}, "k": {"enum": ["a", "b"]}}}}}"##,
        "additive: (enum-widened)",
    ),
    (
        "mutual recursion is followed",
        r##"{"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"b": {"$ref": "#/$defs/B"}}}, "B": {"properties": {"a": {"$ref": "#/$defs/A"}, "x": {"type": "string"}}}}}"##,
        r##"{"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"b": {"$ref": "#/$defs/B"}}}, "B": {"properties": {"a": {"$ref": "#/$defs/A"}, "x": {"type": "null"}}}}}"##,
        "breaking: type-changed",
    ),
    (
        "siblings of a reference count in 2020-12",
        r##"{"$ref": "#/$defs/A", "$defs": {"A": {"type": "integer"}}}"##,
        r##"{"$ref": "#/$defs/A", "maximum": 9, "$defs": {"A": {"type": "integer"}}}"##,
        "audit: range-tightened",
    ),
    (
        "siblings of a reference are ignored in draft 07",
        r##"{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"$ref": "#/definitions/A"}}, "definitions": {"A": {"type": "integer"}}}"##,
        r##"{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"$ref": "#/definitions/A", "maximum": 9}}, "definitions": {"A": {"type": "integer"}}}"##,
        "identical",
    ),
    (
        "a sibling of a reference narrows its fields",
        r##"{"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"x": {"type": ["string", "null"]}}}}}"##,
        r##"{"$ref": "#/$defs/A", "properties": {"x": {"type": "string"}}, "$defs": {"A": {"properties": {"x": {"type": ["string", "null"]}}}}}"##,
        "breaking: type-narrowed",
    ),
    (
        "a reference by anchor is followed",
        r##"{"$ref": "#money", "$defs": {"M": {"$anchor": "money", "type": "string"}}}"##,
        r##"{"$ref": "#money", "$defs": {"M": {"$anchor": "money", "type": "integer"}}}"##,
        "breaking: type-changed",
    ),
    (
        "a draft-07 reference by location-independent id is followed",
        r##"{"$schema": "http://json-schema.org/draft-07/schema#", "allOf": [{"$ref": "#money"}], "definitions": {"M": {"$id": "#money", "type": "string"}}}"##,
        r##"{"$schema": "http://json-schema.org/draft-07/schema#", "type": "string"}"##,
        "identical",
    ),
    (
        "a reference by the document's own id is followed",
        r##"{"$id": "https://schemas.example/a.json", "properties": {"m": {"$ref": "https://schemas.example/a.json#/$defs/M"}}, "$defs": {"M": {"type": "string"}}}"##,
        r##"{"$id": "https://schemas.example/a.json", "properties": {"m": {"type": "string"}}}"##,
        "identical",
    ),
    (
        "a reference through an escaped pointer is followed",
        r##"{"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": {"type": "string"}}}"##,
        r##"{"type": "string"}"##,
        "identical",
    ),
    (
        "a reference into a field is followed",
        r##"{"properties": {"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}}}"##,
        r##"{"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}"##,
        "identical",
    ),
];
