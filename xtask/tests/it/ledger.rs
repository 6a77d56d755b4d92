use std::collections::BTreeSet;

use xtask::ledger::{SERIES, Tests, judge, parse, tests_of};
use xtask::requirements::counts;

use crate::{printed, tree};

/// A page on which every number stands once and nothing is met, with some rows replaced.
fn page(replaced: &[(&str, &str)]) -> String {
    let mut page =
        String::from("# Requirements\n\n## 1. All\n\n| number | sentence | state | shown by |\n|---|---|---|---|\n");
    for (letter, digits, last) in SERIES {
        for n in 1..=*last {
            let number = format!("{letter}-{n:0digits$}");
            let row = replaced.iter().find(|(name, _)| *name == number);
            let rest = row.map_or("A sentence | not yet | —", |(_, rest)| rest);
            if !rest.is_empty() {
                page.push_str(&format!("| {number} | {rest} |\n"));
            }
        }
    }
    page
}

fn findings_of(page: &str) -> Vec<String> {
    let tests = Tests::from([("envelope".to_owned(), BTreeSet::from(["ids_sort".to_owned()]))]);
    let findings = printed(judge(&parse(page), &tests, &["tidy"]));
    findings.iter().filter_map(|line| Some(line.split_once(": ledger: ")?.1.to_owned())).collect()
}

/// The findings on a page whose first requirement reads so.
fn check(first_row: &str, expected: &[&str]) {
    assert_eq!(findings_of(&page(&[("R-001", first_row)])), expected);
}

#[test]
fn a_page_that_shows_what_it_says_is_true() {
    check("S | done | test:envelope::ids_sort", &[]);
    check("S | part | cmd:`karwan catalog list; true`; lint:tidy", &[]);
    check("S | met by other means | means: the log; test:envelope::ids_sort", &[]);
    check("S | not yet | means: the log", &[]);
    check(r"Either a\|b | not yet | ", &[]);
}

#[test]
fn a_test_that_does_not_exist_is_found() {
    check("S | done | test:envelope::ids_sleep", &["R-001: there is no test `ids_sleep` in `envelope`"]);
    check("S | done | test:store::ids_sort", &["R-001: there is no test `ids_sort` in `store`"]);
}

#[test]
fn a_lint_step_that_does_not_exist_is_found() {
    check("S | done | lint:tidiness", &["R-001: lint has no step `tidiness`"]);
}

#[test]
fn what_is_met_is_shown() {
    check("S | done | —", &["R-001: nothing is named that shows it"]);
    check("S | part | means: something", &["R-001: nothing is named that shows it"]);
    check("S | met by other means | means: the log", &["R-001: nothing is named that shows it"]);
    check("S | met by other means | lint:tidy", &["R-001: the other means are not named (`means: …`)"]);
}

#[test]
fn an_unknown_state_is_found() {
    let message = "R-001: `almost` is not a state; the states are done, part, not yet, met by other means";
    check("S | almost | lint:tidy", &[message]);
}

#[test]
fn evidence_of_no_known_kind_is_found() {
    let message = "shows nothing: write test:<folder>::<function>, cmd:`…`, lint:<step> or means: …";
    for evidence in ["look at the code", "test:ids_sort", "cmd:karwan", "cmd:``", "lint:"] {
        check(&format!("S | done | {evidence}"), &[&format!("R-001: `{evidence}` {message}")]);
    }
}

#[test]
fn a_row_with_a_cell_too_many_is_found() {
    check("a|b | not yet | —", &["R-001: has 5 cells, not number, sentence, state and shown by"]);
}

#[test]
fn every_number_stands_on_the_page_once() {
    assert_eq!(findings_of(&page(&[("R-448", ""), ("C-70", "")])), ["C-70 is missing", "R-448 is missing"]);
    let doubled = format!("{}| U-38 | S | — |\n| R-449 | S | not yet | — |\n", page(&[]));
    assert_eq!(findings_of(&doubled), ["U-38 stands here a second time", "there is no R-449"]);
}

#[test]
fn counts_are_given_by_group_and_in_all() {
    let page = "## 1. Ids\n| R-001 | S | done | lint:tidy |\n| R-002 | S | not yet | |\n## 2. Log\n| R-003 | S | not yet | |\n";
    let expected = " done   part  not yet  met by other means  group\n    \
                    1      0        1                   0  1. Ids\n    \
                    0      0        1                   0  2. Log\n    \
                    1      0        2                   0  all\n";
    assert_eq!(counts(&parse(page)), expected);
}

#[test]
fn tests_are_found_in_crates_and_in_the_chores() {
    let tests = tests_of(&tree(&[
        ("crates/envelope/tests/it/ids.rs", "#[test]\nfn ids_sort() {}"),
        ("xtask/tests/it/spdx.rs", "#[test]\nfn or_is_any() {}"),
        ("examples/hello.rs", "#[test]\nfn elsewhere() {}"),
    ]));
    let set = |name: &str| BTreeSet::from([name.to_owned()]);
    assert_eq!(tests, Tests::from([("envelope".to_owned(), set("ids_sort")), ("xtask".to_owned(), set("or_is_any"))]));
}
