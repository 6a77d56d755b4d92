//! Input that is wrong, endless or enormous: a clear error or a bounded answer.

use karwan_registry::evolution::{Error, Rule, Severity, Verdict, compare, limits};
use serde_json::{Map, Value, json};

use super::parse;

fn refused(old: &Value, new: &Value) -> Error {
    match compare(old, new) {
        Err(error) => error,
        Ok(report) => panic!("judged: {report:?}"),
    }
}

/// Both as old and as new.
fn check(schema: &str, rule: &str, message: &str) {
    let (schema, fine) = (parse(schema), json!({"type": "object"}));
    let (old, new) = (refused(&schema, &fine), refused(&fine, &schema));
    assert_eq!(old.to_string(), format!("old schema at {message}"));
    assert_eq!(new.to_string(), format!("new schema at {message}"));
    assert_eq!(old.fault.rule(), rule);
}

#[test]
fn a_schema_that_is_neither_object_nor_boolean_is_refused() {
    check("5", "not-a-schema", "``: a schema is an object or a boolean, this is a number");
    check(
        r#"{"properties": {"a": null}}"#,
        "not-a-schema",
        "`/properties/a`: a schema is an object or a boolean, this is null",
    );
    check(
        r#"{"items": [{}]}"#,
        "malformed-keyword",
        "`/items`: `items` must be a schema; positions go under `prefixItems`",
    );
}

#[test]
fn malformed_keywords_are_refused_by_name_and_place() {
    for (schema, message) in [
        (r#"{"type": "text"}"#, "`/type`: `type` must be one of the seven type names"),
        (r#"{"type": []}"#, "`/type`: `type` must be a type name or a list of them"),
        (r#"{"required": "a"}"#, "`/required`: `required` must be an array of field names"),
        (r#"{"required": [1]}"#, "`/required`: `required` must be an array of field names"),
        (r#"{"minimum": "1"}"#, "`/minimum`: `minimum` must be a number"),
        (r#"{"exclusiveMaximum": true}"#, "`/exclusiveMaximum`: `exclusiveMaximum` must be a number"),
        (r#"{"multipleOf": 0}"#, "`/multipleOf`: `multipleOf` must be a number above zero"),
        (r#"{"minLength": -1}"#, "`/minLength`: `minLength` must be a whole number, zero or more"),
        (r#"{"maxItems": 1.5}"#, "`/maxItems`: `maxItems` must be a whole number, zero or more"),
        (r#"{"pattern": 3}"#, "`/pattern`: `pattern` must be a string"),
        (r#"{"uniqueItems": "yes"}"#, "`/uniqueItems`: `uniqueItems` must be a boolean"),
        (r#"{"properties": []}"#, "`/properties`: `properties` must be an object"),
        (r#"{"enum": "a"}"#, "`/enum`: `enum` must be an array"),
        (r#"{"anyOf": []}"#, "`/anyOf`: `anyOf` must be a list of at least one schema"),
        (r#"{"allOf": {}}"#, "`/allOf`: `allOf` must be an array"),
        (
            r#"{"dependentRequired": {"a": "b"}}"#,
            "`/dependentRequired`: `dependentRequired` must be an array of field names",
        ),
    ] {
        check(schema, "malformed-keyword", message);
    }
}

#[test]
fn dialects_the_gate_does_not_know_are_refused() {
    for dialect in ["http://json-schema.org/draft-04/schema#", "https://json-schema.org/draft/2019-09/schema", "urn:x"]
    {
        let schema = format!(r#"{{"$schema": "{dialect}"}}"#);
        check(
            &schema,
            "unsupported-dialect",
            &format!("`/$schema`: dialect `\"{dialect}\"` is not supported; use draft-07 or 2020-12"),
        );
    }
}

#[test]
fn references_that_lead_nowhere_or_out_are_refused() {
    check(
        r##"{"$ref": "#/$defs/A"}"##,
        "unresolved-reference",
        "`/$ref`: `$ref` to `#/$defs/A` leads nowhere in this document",
    );
    check(r##"{"$ref": "#a"}"##, "unresolved-reference", "`/$ref`: `$ref` to `#a` leads nowhere in this document");
    check(
        r##"{"$ref": "#/%zz"}"##,
        "unresolved-reference",
        "`/$ref`: `$ref` to `#/%zz` leads nowhere in this document",
    );
    check(
        r##"{"allOf": [{"$ref": "https://schemas.example/b.json"}]}"##,
        "remote-reference",
        "`/allOf/0/$ref`: `$ref` to `https://schemas.example/b.json` leaves this document; bundle it under `$defs`",
    );
    check(
        r##"{"$ref": "#x", "$defs": {"A": {"$anchor": "x"}, "B": {"$anchor": "x"}}}"##,
        "unresolved-reference",
        "`/$ref`: `$ref` to `#x` leads nowhere in this document",
    );
}

#[test]
fn identifiers_below_the_root_are_refused() {
    let message = "`$id` below the root is not supported; refer by JSON pointer";
    check(
        r#"{"properties": {"a": {"$id": "https://e.example/a"}}}"#,
        "nested-identifier",
        &format!("`/properties/a`: {message}"),
    );
    check(
        r##"{"$ref": "#/$defs/A/items", "$defs": {"A": {"$id": "urn:a", "items": {}}}}"##,
        "nested-identifier",
        &format!("`/$ref`: {message}"),
    );
}

#[test]
fn references_that_say_nothing_are_refused() {
    let message = "references lead back to this schema without entering a field or an item, so it says nothing";
    check(r##"{"$ref": "#"}"##, "reference-loop", &format!("``: {message}"));
    check(r##"{"allOf": [{"$ref": "#"}]}"##, "reference-loop", &format!("``: {message}"));
    check(r##"{"anyOf": [{"type": "string"}, {"$ref": "#"}]}"##, "reference-loop", &format!("``: {message}"));
    check(r##"{"not": {"$ref": "#"}}"##, "reference-loop", &format!("``: {message}"));
    check(
        r##"{"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"allOf": [{"$ref": "#/$defs/B"}]}, "B": {"oneOf": [{"$ref": "#/$defs/A"}, {}]}}}"##,
        "reference-loop",
        &format!("`/$defs/A`: {message}"),
    );
}

fn nested(depth: usize, wrap: impl Fn(Value) -> Value) -> Value {
    (0..depth).fold(json!({"type": "string"}), |inner, _| wrap(inner))
}

/// A deep value is not dropped: that recurses in the library that made it.
fn check_depth(deep: Value) {
    let error = refused(&json!({}), &deep);
    std::mem::forget(deep);
    assert_eq!(error.fault.rule(), "too-deep", "{error}");
}

/// Built by moves alone: the usual macro copies what it wraps, level by level.
fn under(keyword: &str, inner: Value) -> Value {
    Value::Object(Map::from_iter([(keyword.to_owned(), inner)]))
}

#[test]
fn ten_thousand_levels_are_refused() {
    check_depth(nested(10_000, |inner| under("items", inner)));
    check_depth(nested(10_000, |inner| under("properties", under("a", inner))));
    check_depth(nested(10_000, |inner| under("const", Value::Array(vec![inner]))));
    check_depth(nested(129, |inner| under("not", inner)));
}

#[test]
fn the_deepest_schema_allowed_is_judged() {
    let wrap = |inner: Value| json!({"type": "object", "properties": {"a": inner}});
    let old = nested(limits::SCHEMA_DEPTH_MAX - 1, wrap);
    let new = (0..limits::SCHEMA_DEPTH_MAX - 1).fold(json!({"type": "integer"}), |inner, _| wrap(inner));
    let report = compare(&old, &new).expect("within the bound");
    assert_eq!(report.findings[0].rule, Rule::TypeChanged);
}

#[test]
fn a_chain_of_definitions_longer_than_the_bound_is_refused() {
    let mut definitions = Map::new();
    for index in 0..5_000 {
        definitions
            .insert(format!("D{index}"), json!({"properties": {"a": {"$ref": format!("#/$defs/D{}", index + 1)}}}));
    }
    let chain = |last: &str| {
        let mut definitions = definitions.clone();
        definitions.insert("D5000".to_owned(), json!({"type": last}));
        json!({"$ref": "#/$defs/D0", "$defs": definitions})
    };
    assert_eq!(refused(&chain("string"), &chain("integer")).fault.rule(), "too-deep");
}

#[test]
fn a_hundred_thousand_fields_are_judged() {
    let fields: Map<String, Value> =
        (0..100_000).map(|index| (format!("f{index}"), json!({"type": "string"}))).collect();
    let mut more = fields.clone();
    more.insert("last".to_owned(), json!({"type": "string", "default": ""}));
    let schema =
        |fields: &Map<String, Value>| json!({"type": "object", "properties": fields, "additionalProperties": false});
    let report = compare(&schema(&fields), &schema(&more)).expect("large but plain");
    assert_eq!(report.verdict(), Verdict::Additive);
}

#[test]
fn a_report_is_cut_at_its_bound_and_keeps_the_severest() {
    let fields: Map<String, Value> = (0..3_000).map(|index| (format!("f{index}"), json!({"enum": ["a"]}))).collect();
    let wider: Map<String, Value> = fields.keys().map(|name| (name.clone(), json!({"enum": ["a", "b"]}))).collect();
    let mut new = wider.clone();
    new.insert("f2999".to_owned(), json!({"enum": ["b"]}));
    let report = compare(&json!({"properties": fields}), &json!({"properties": new})).expect("large but plain");
    assert_eq!(report.findings.len(), limits::FINDINGS_MAX + 1);
    assert_eq!(report.verdict(), Verdict::Breaking);
    let last = report.findings.last().expect("a cut report says so");
    assert_eq!((last.rule, last.change.as_str()), (Rule::FindingsTruncated, "2000 more findings are not listed"));
}

/// Two definitions that use the next one twice: 2^60 paths, 60 pairs.
#[test]
fn shared_definitions_are_judged_once() {
    let document = |leaf: &str| {
        let mut definitions = Map::new();
        for index in 0..60 {
            let next = json!({"$ref": format!("#/$defs/D{}", index + 1)});
            definitions.insert(format!("D{index}"), json!({"properties": {"a": next, "b": next}}));
        }
        definitions.insert("D60".to_owned(), json!({"type": leaf}));
        json!({"$ref": "#/$defs/D0", "$defs": definitions})
    };
    let report = compare(&document("string"), &document("integer")).expect("shared, not large");
    assert_eq!(report.findings.len(), 1);
    assert_eq!(report.findings[0].pointer, "/$defs/D60/type");
}

/// Twelve unions of four beside each other are 4^12 alternatives.
#[test]
fn unions_that_multiply_past_the_bound_are_undecided() {
    let schema = |last: i32| {
        let union = |offset: i32| json!({"anyOf": (0..4).map(|index| json!({"maximum": offset * 10 + index})).collect::<Vec<_>>()});
        let unions: Vec<Value> = (0..11).map(union).chain([union(last)]).collect();
        json!({"allOf": unions})
    };
    let report = compare(&schema(20), &schema(-1)).expect("bounded");
    assert_eq!(report.findings[0].rule, Rule::UnionUndecided);
    let mut titled = schema(20);
    titled["title"] = json!("T");
    assert_eq!(compare(&schema(20), &titled).expect("bounded").verdict(), Verdict::Identical);
}

/// Tagged branches are matched by their tag, however many there are.
#[test]
fn a_union_of_hundreds_of_tagged_branches_is_judged() {
    let branch = |index: usize| json!({"type": "object", "properties": {"k": {"const": format!("t{index}")}, "x": {"type": "string"}}, "required": ["k"]});
    let union = |count: usize| json!({"oneOf": (0..count).map(branch).collect::<Vec<_>>()});
    let report = compare(&union(100), &union(101)).expect("large but plain");
    assert_eq!(report.findings.len(), 1, "{report:?}");
    assert_eq!((report.findings[0].rule, report.findings[0].pointer.as_str()), (Rule::UnionBranchAdded, "/oneOf/100"));
    assert_eq!(compare(&union(101), &union(100)).expect("large but plain").findings[0].rule, Rule::UnionBranchRemoved);
}

#[test]
fn many_branches_that_refer_to_each_other_end() {
    let document = |leaf: &str| {
        let mut definitions = Map::new();
        for index in 0..30 {
            let branches: Vec<Value> = (0..30)
                .map(|other| json!({"type": "object", "properties": {"next": {"$ref": format!("#/$defs/D{other}")}, "x": {"type": leaf}}}))
                .collect();
            definitions.insert(format!("D{index}"), json!({"anyOf": branches}));
        }
        json!({"$ref": "#/$defs/D0", "$defs": definitions})
    };
    match compare(&document("string"), &document("integer")) {
        Ok(report) => assert!(report.verdict() >= Verdict::NeedsAudit),
        Err(error) => assert_eq!(error.fault.rule(), "too-deep", "{error}"),
    }
}

/// Each layer is a union over the next, reached in two ways.
fn layers_of_unions(last: &str) -> Value {
    let mut definitions = Map::new();
    for index in 0..60 {
        let next = json!({"$ref": format!("#/$defs/D{}", index + 1)});
        definitions.insert(format!("D{index}"), json!({"anyOf": [next, {"properties": {"x": next}}]}));
    }
    definitions.insert("D60".to_owned(), json!({"type": last}));
    json!({"$ref": "#/$defs/D0", "$defs": definitions})
}

#[test]
fn a_document_is_identical_to_itself_however_much_it_would_be_to_compare() {
    let document = layers_of_unions("string");
    assert_eq!(compare(&document, &document.clone()).expect("equal").verdict(), Verdict::Identical);
    let spelled_otherwise = parse(r#"{"maximum": 1.0, "type": "integer"}"#);
    let report = compare(&parse(r#"{"type": "integer", "maximum": 1}"#), &spelled_otherwise).expect("equal");
    assert_eq!(report.verdict(), Verdict::Identical);
}

#[test]
fn equal_documents_that_are_no_schemas_are_refused() {
    let loops = parse(r##"{"$ref": "#"}"##);
    assert_eq!(refused(&loops, &loops).fault.rule(), "reference-loop");
    assert_eq!(refused(&json!(5), &json!(5)).fault.rule(), "not-a-schema");
}

/// The bound on work softens nothing that was found before it.
#[test]
fn what_is_too_much_to_compare_needs_an_audit_and_what_was_found_before_stays_found() {
    let document = |first: &str, maximum: usize, more: &Value| {
        let field = || json!({"allOf": [{"$ref": "#/$defs/D"}]});
        let mut fields: Map<String, Value> = (0..500).map(|index| (format!("f{index}"), field())).collect();
        fields.insert("a".to_owned(), json!({"properties": {"deep": {"type": first}}}));
        fields.extend(more.as_object().cloned().unwrap_or_default());
        let parts: Vec<Value> = (0..2_000).map(|index| json!({"maximum": maximum + index})).collect();
        let tail = json!({"type": "object", "properties": fields});
        json!({"oneOf": [{"type": "string"}, tail], "$defs": {"D": {"allOf": parts}}})
    };
    let gone = json!({"b": {"type": "string"}});
    let report = compare(&document("string", 1, &gone), &document("integer", 2, &json!({}))).expect("both can be read");
    let found: Vec<_> = report.findings.iter().map(|found| (found.rule, found.pointer.as_str())).collect();
    assert!(found.contains(&(Rule::TypeChanged, "/oneOf/1/properties/a/properties/deep/type")), "{found:?}");
    assert!(found.contains(&(Rule::FieldRemoved, "/oneOf/1/properties/b")), "{found:?}");
    let limit = report.findings.iter().find(|found| (found.rule, found.pointer.as_str()) == (Rule::UnionUndecided, ""));
    let limit = limit.unwrap_or_else(|| panic!("{found:?}"));
    assert!(limit.change.contains("too much to compare"), "{}", limit.change);
    assert_eq!(limit.severity, Severity::Audit);
    assert_eq!(report.verdict(), Verdict::Breaking);
}

/// Nor does it lose what was found in a branch of a union that has no tag, where that branch meets no other.
#[test]
fn what_was_found_in_an_untagged_branch_before_the_bound_stays_found() {
    let document = |first: &str, maximum: usize| {
        let field = || json!({"properties": {"deep": {"allOf": [{"$ref": "#/$defs/D"}]}}});
        let mut fields: Map<String, Value> = (0..500).map(|index| (format!("f{index}"), field())).collect();
        fields.insert("a".to_owned(), json!({"type": first}));
        let parts: Vec<Value> = (0..2_000).map(|index| json!({"maximum": maximum + index})).collect();
        let branch = |fields: &Map<String, Value>, required: &str| json!({"type": "object", "properties": fields, "required": [required], "additionalProperties": false});
        let small = Map::from_iter([("b".to_owned(), json!({"type": "string"}))]);
        json!({"anyOf": [branch(&fields, "a"), branch(&small, "b")], "$defs": {"D": {"allOf": parts}}})
    };
    let report = compare(&document("string", 1), &document("integer", 2)).expect("both can be read");
    let found: Vec<_> = report.findings.iter().map(|found| (found.rule, found.pointer.as_str())).collect();
    assert!(found.contains(&(Rule::UnionUndecided, "")), "{found:?}");
    assert!(found.contains(&(Rule::TypeChanged, "/anyOf/0/properties/a/type")), "{found:?}");
    assert_eq!(report.verdict(), Verdict::Breaking);
}

#[test]
fn patterns_that_would_take_a_backtracking_matcher_for_ever_are_no_trouble() {
    let name = "a".repeat(400);
    let old = json!({"properties": {&name: {"type": "string"}}, "additionalProperties": false});
    let new = json!({"properties": {&name: {"type": "string"}}, "patternProperties": {"^(a+)+$b": {}, "^(a|a|aa)+c": {}}, "additionalProperties": false});
    assert!(compare(&old, &new).is_ok());
}

#[test]
fn numbers_past_two_to_the_fifty_third_are_compared_exactly() {
    let schema = |max: u64| json!({"type": "integer", "maximum": max});
    let report = compare(&schema(u64::MAX), &schema(u64::MAX - 1)).expect("both can be judged");
    assert_eq!(report.findings[0].change, "the payload: maximum 18446744073709551615 → 18446744073709551614");
}
