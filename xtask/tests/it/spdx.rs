use std::collections::BTreeSet;

use xtask::spdx::satisfied;

fn verdict(expression: &str) -> Result<bool, String> {
    let allowed = ["MIT", "Apache-2.0", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"];
    satisfied(expression, &allowed.map(str::to_owned).into_iter().collect::<BTreeSet<_>>())
}

fn check(expression: &str, expected: bool) {
    assert_eq!(verdict(expression), Ok(expected), "{expression}");
}

fn check_refused(expression: &str, reason: &str) {
    assert_eq!(verdict(expression), Err(reason.to_owned()), "{expression}");
}

#[test]
fn one_side_of_or_suffices() {
    check("MIT OR GPL-3.0", true);
    check("GPL-3.0 OR MIT", true);
    check("GPL-3.0 OR LGPL-3.0", false);
    check("MIT/GPL-3.0", true);
}

#[test]
fn both_sides_of_and_are_needed() {
    check("MIT AND Unicode-3.0", true);
    check("MIT AND GPL-3.0", false);
    check("GPL-3.0 AND MIT", false);
}

#[test]
fn and_binds_tighter_than_or() {
    check("MIT OR GPL-3.0 AND GPL-2.0", true);
    check("(MIT OR GPL-3.0) AND GPL-2.0", false);
    check("(MIT OR Apache-2.0) AND Unicode-3.0", true);
}

#[test]
fn with_is_allowed_only_as_written() {
    check("Apache-2.0 WITH LLVM-exception", true);
    check("MIT WITH LLVM-exception", false);
    check("GPL-2.0 WITH Classpath-exception-2.0 OR MIT", true);
}

#[test]
fn what_is_no_expression_is_refused_with_a_reason() {
    check_refused("", "the expression ends too early");
    check_refused("OR MIT", "`OR` stands where a licence should");
    check_refused("MIT Apache-2.0", "`Apache-2.0` is not expected there");
    check_refused("(MIT", "a bracket is not closed");
    check_refused("MIT)", "`)` is not expected there");
    check_refused("MIT WITH", "the expression ends too early");
}

#[test]
fn an_expression_nested_without_end_is_refused() {
    check_refused(&"(".repeat(100_000), "brackets are nested deeper than 32");
}
