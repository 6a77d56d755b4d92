use xtask::markdown::{broken_references, destination};

use crate::{printed, tree};

fn check(files: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(printed(broken_references(&tree(files))), expected);
}

#[test]
fn a_link_to_a_file_that_is_not_there_is_broken() {
    check(
        &[("docs/a.md", "text\n[b](b.md) and [c](c.md#part \"title\")"), ("docs/b.md", "x")],
        &["docs/a.md:2: broken-link: `c.md#part` leads to no file"],
    );
}

#[test]
fn a_link_by_reference_is_a_link() {
    check(&[("a.md", "[text][name]\n\n[name]: lost.md")], &["a.md:3: broken-link: `lost.md` leads to no file"]);
}

#[test]
fn links_up_down_and_to_folders_are_followed() {
    check(
        &[("docs/adr/1.md", "[r](../../README.md) [d](../adr) [r](/README.md)"), ("README.md", "[a](docs/adr/1.md)")],
        &[],
    );
}

#[test]
fn the_web_and_places_on_the_page_are_not_checked() {
    check(&[("a.md", "[w](https://example.org/x.md) [m](mailto:a@example.org) [p](#part)")], &[]);
}

#[test]
fn code_holds_no_links() {
    check(&[("a.md", "```\n[b](lost.md)\n```\nand `[c](lost.md)` here")], &[]);
}

#[test]
fn a_link_after_a_block_of_code_is_checked() {
    check(&[("a.md", "```\ncode\n```\n[b](lost.md)")], &["a.md:4: broken-link: `lost.md` leads to no file"]);
}

#[test]
fn a_step_above_the_root_leads_nowhere() {
    check(&[("a.md", "[up](../other/a.md)")], &["a.md:1: broken-link: `../other/a.md` leads to no file"]);
    assert_eq!(destination("docs/a.md", "../b.md"), Some("b.md".to_owned()));
}

#[test]
fn a_page_named_for_a_code_or_a_rule_exists() {
    check(
        &[
            (
                "crates/a/src/lib.rs",
                "//! See docs/errors/KW-001.md.\n//! See docs/rules/field-removed.md and docs/errors/<CODE>.md.",
            ),
            ("docs/errors/KW-001.md", "x"),
        ],
        &["crates/a/src/lib.rs:2: missing-page: `docs/rules/field-removed.md` does not exist"],
    );
}
