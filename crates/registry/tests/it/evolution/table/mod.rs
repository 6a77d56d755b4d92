//! The table: each row a claim, two schemas, and what the gate says of them.

mod arrays;
mod constructs;
mod equivalents;
mod fields;
mod models;
mod references;
mod rewrites;
mod spellings;
mod unions;
mod values;

use karwan_registry::evolution::{Direction, Rule, Verdict, compare};
use serde_json::json;

use super::{judged, summary};

/// What is claimed, the old schema, the new schema, the verdict with its rules (notes in parentheses).
pub type Row = (&'static str, &'static str, &'static str, &'static str);

/// Every row.
pub fn rows() -> Vec<Row> {
    [
        arrays::ROWS,
        constructs::ROWS,
        equivalents::ROWS,
        fields::ROWS,
        models::ROWS,
        references::ROWS,
        rewrites::ROWS,
        spellings::ROWS,
        unions::ROWS,
        values::ROWS,
    ]
    .concat()
}

fn check(rows: &[Row]) {
    let mut wrong = Vec::new();
    for (claim, old, new, expected) in rows {
        let report = judged(old, new);
        let found = summary(&report);
        if found != *expected {
            wrong.push(format!(
                "{claim}\n  old      {old}\n  new      {new}\n  expected {expected}\n  found    {found}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn fields_are_judged_as_the_table_says() {
    check(fields::ROWS);
}

#[test]
fn content_models_are_judged_as_the_table_says() {
    check(models::ROWS);
}

#[test]
fn types_and_values_are_judged_as_the_table_says() {
    check(values::ROWS);
}

#[test]
fn arrays_are_judged_as_the_table_says() {
    check(arrays::ROWS);
}

#[test]
fn unions_are_judged_as_the_table_says() {
    check(unions::ROWS);
}

#[test]
fn references_are_judged_as_the_table_says() {
    check(references::ROWS);
}

#[test]
fn equivalent_rewrites_are_no_change() {
    check(rewrites::ROWS);
}

#[test]
fn equivalents_are_judged_as_the_table_says() {
    check(equivalents::ROWS);
}

#[test]
fn spellings_are_judged_as_the_table_says() {
    check(spellings::ROWS);
}

/// What admits the same instances is no change, whichever of the two is the new one; where that is not seen, it is not
/// seen in either direction, and never taken for an addition.
#[test]
fn no_equivalent_rewrite_is_breaking_or_additive_in_either_direction() {
    for (claim, old, new, expected) in [rewrites::ROWS, equivalents::ROWS, spellings::ROWS].concat() {
        let back = judged(new, old);
        let wanted = if expected == "identical" { Verdict::Identical } else { Verdict::NeedsAudit };
        assert_eq!(back.verdict(), wanted, "{claim}\n  old {new}\n  new {old}\n  {}", summary(&back));
        assert_eq!(judged(old, new).verdict(), wanted, "{claim}");
    }
}

#[test]
fn undecided_constructs_are_judged_as_the_table_says() {
    check(constructs::ROWS);
}

#[test]
fn the_table_is_large_and_its_claims_differ() {
    let rows = rows();
    assert!(rows.len() >= 160, "only {} rows", rows.len());
    let claims: std::collections::BTreeSet<_> = rows.iter().map(|row| row.0).collect();
    assert_eq!(claims.len(), rows.len(), "a claim is made twice");
}

/// A schema does not change by being compared with itself, nor with itself under a title: equal documents are not
/// analysed, so only the second shows that the analysis agrees.
#[test]
fn every_schema_of_the_table_is_identical_to_itself() {
    for (claim, old, new, _) in rows() {
        for schema in [old, new] {
            assert_eq!(summary(&judged(schema, schema)), "identical", "{claim}: {schema}");
            let titled = schema.replacen('{', r#"{"title": "T", "#, 1).replacen(", }", "}", 1);
            if !schema.contains("\"title\"") {
                assert_eq!(summary(&judged(schema, &titled)), "identical", "{claim}: {titled}");
            }
        }
    }
}

/// A union of ten closed branches may say what they share once, and a condition for each of ten tags may be a union.
#[test]
fn rewrites_of_ten_branches_are_seen_through() {
    let tags: Vec<String> = ('a'..='j').map(String::from).collect();
    let own = |tag: &String| json!({"k": {"const": tag}, format!("{tag}1"): {"type": "integer"}, format!("{tag}2"): {"type": "string"}});
    let closed = |tag: &String| {
        let mut fields = own(tag);
        fields["id"] = json!({"type": "string"});
        json!({"type": "object", "properties": fields, "required": ["id", "k", format!("{tag}1")], "additionalProperties": false})
    };
    let branch = |tag: &String| json!({"properties": own(tag), "required": [format!("{tag}1")]});
    let branches = json!({"oneOf": tags.iter().map(closed).collect::<Vec<_>>()});
    let factored = json!({
        "type": "object", "properties": {"id": {"type": "string"}, "k": {"type": "string"}}, "required": ["id", "k"],
        "oneOf": tags.iter().map(branch).collect::<Vec<_>>(), "unevaluatedProperties": false,
    });
    let open = |tag: &String| json!({"type": "object", "properties": own(tag), "required": ["k", format!("{tag}1")]});
    let union = json!({"oneOf": tags.iter().map(open).collect::<Vec<_>>()});
    let condition = |tag: &String| json!({"if": {"properties": {"k": {"const": tag}}}, "then": branch(tag)});
    let conditions = json!({
        "type": "object", "properties": {"k": {"enum": tags}}, "required": ["k"],
        "allOf": tags.iter().map(condition).collect::<Vec<_>>(),
    });
    for (one, other) in [(branches, factored), (union, conditions)] {
        for (old, new) in [(&one, &other), (&other, &one)] {
            let report = compare(old, new).expect("both can be judged");
            assert_eq!(summary(&report), "identical", "{old} {new}");
        }
    }
}

/// Values added to a union of constants are found at the branches that were added.
#[test]
fn a_constant_added_is_found_at_its_branch() {
    let report = judged(
        r#"{"oneOf": [{"const": "a"}, {"const": "b"}]}"#,
        r#"{"oneOf": [{"const": "c"}, {"const": "a"}, {"const": "b"}, {"const": "d"}]}"#,
    );
    let places: Vec<_> = report.findings.iter().map(|found| (found.rule, found.pointer.as_str())).collect();
    assert_eq!(places, [(Rule::EnumWidened, "/oneOf/0/const"), (Rule::EnumWidened, "/oneOf/3/const")]);
    assert!(report.findings[1].change.ends_with(r#"also accepts "d""#), "{report:?}");
}

/// Old events belong to the branch that stayed, so an added branch refuses none of them.
#[test]
fn a_branch_added_beside_what_was_no_union_concerns_consumers_alone() {
    let report = judged(
        r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#,
        r#"{"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["b"]}]}"#,
    );
    assert!(report.findings.iter().any(|finding| finding.rule == Rule::TypeChanged), "{report:?}");
    assert!(report.findings.iter().all(|finding| finding.direction == Direction::Consume), "{report:?}");
}
