//! The table: each row a claim, two schemas, and what the gate says of them.

mod arrays;
mod constructs;
mod fields;
mod models;
mod references;
mod rewrites;
mod unions;
mod values;

use super::{judged, summary};

/// What is claimed, the old schema, the new schema, the verdict with its rules (notes in parentheses).
pub type Row = (&'static str, &'static str, &'static str, &'static str);

/// Every row.
pub fn rows() -> Vec<Row> {
    [
        arrays::ROWS,
        constructs::ROWS,
        fields::ROWS,
        models::ROWS,
        references::ROWS,
        rewrites::ROWS,
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

/// A schema does not change by being compared with itself.
#[test]
fn every_schema_of_the_table_is_identical_to_itself() {
    for (claim, old, new, _) in rows() {
        assert_eq!(summary(&judged(old, old)), "identical", "{claim}: {old}");
        assert_eq!(summary(&judged(new, new)), "identical", "{claim}: {new}");
    }
}
