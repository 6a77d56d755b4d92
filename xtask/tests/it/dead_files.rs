use xtask::tidy::dead;

use crate::{printed, tree};

const MANIFEST: (&str, &str) = ("crates/a/Cargo.toml", "[package]");

/// Judges a crate `a` with these files.
fn check(files: &[(&str, &str)], dead_files: &[&str]) {
    let mut files = files.to_vec();
    files.push(MANIFEST);
    let found = printed(dead::judge(&tree(&files)));
    let paths: Vec<&str> = found.iter().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(paths, dead_files, "{found:#?}");
}

#[test]
fn a_source_file_that_no_module_declares_is_dead() {
    check(
        &[("crates/a/src/lib.rs", "mod used;"), ("crates/a/src/used.rs", ""), ("crates/a/src/lost.rs", "")],
        &["crates/a/src/lost.rs"],
    );
}

#[test]
fn modules_are_followed_through_folders() {
    check(
        &[
            ("crates/a/src/lib.rs", "pub mod one;\npub(crate) mod two;"),
            ("crates/a/src/one.rs", "mod inner;"),
            ("crates/a/src/one/inner.rs", ""),
            ("crates/a/src/two/mod.rs", "mod inner;"),
            ("crates/a/src/two/inner.rs", ""),
        ],
        &[],
    );
}

#[test]
fn a_module_within_an_inline_module_lies_in_its_folder() {
    check(
        &[
            ("crates/a/src/lib.rs", "mod outer { fn f() {} mod inner; }\nmod beside;"),
            ("crates/a/src/outer/inner.rs", ""),
            ("crates/a/src/beside.rs", ""),
        ],
        &[],
    );
}

#[test]
fn a_path_attribute_and_an_include_reach_their_file() {
    let lib = "#[path = \"../odd.rs\"]\nmod odd;\ninclude!(\"made.rs\");";
    check(&[("crates/a/src/lib.rs", lib), ("crates/a/odd.rs", ""), ("crates/a/src/made.rs", "")], &[]);
}

#[test]
fn a_declaration_in_a_comment_or_a_string_declares_nothing() {
    let lib = "// mod lost;\nconst TEXT: &str = \"mod lost;\";";
    check(&[("crates/a/src/lib.rs", lib), ("crates/a/src/lost.rs", "")], &["crates/a/src/lost.rs"]);
}

#[test]
fn files_that_declare_each_other_and_are_reached_by_nothing_are_dead() {
    check(
        &[
            ("crates/a/src/lib.rs", "//!"),
            ("crates/a/src/one.rs", "#[path = \"two.rs\"] mod two;"),
            ("crates/a/src/two.rs", "#[path = \"one.rs\"] mod one;"),
        ],
        &["crates/a/src/one.rs", "crates/a/src/two.rs"],
    );
}

#[test]
fn a_test_module_that_main_does_not_declare_is_dead() {
    check(
        &[
            ("crates/a/tests/it/main.rs", "mod one;"),
            ("crates/a/tests/it/one.rs", ""),
            ("crates/a/tests/it/two.rs", ""),
        ],
        &["crates/a/tests/it/two.rs"],
    );
}

#[test]
fn a_fixture_is_used_when_a_source_names_it_or_its_folder() {
    check(
        &[
            ("crates/a/tests/it/main.rs", "const A: &str = include_str!(\"one.json\"); const B: &str = \"golden\";"),
            ("crates/a/tests/it/one.json", "{}"),
            ("crates/a/tests/golden/two.json", "{}"),
            ("crates/a/tests/it/three.json", "{}"),
        ],
        &["crates/a/tests/it/three.json"],
    );
}

#[test]
fn a_page_is_linked_from_another_page_or_is_an_index() {
    check(
        &[
            ("README.md", "See [the architecture](docs/ARCHITECTURE.md#words)."),
            ("docs/ARCHITECTURE.md", "text"),
            ("docs/rules/README.md", "[one](one.md)"),
            ("docs/rules/one.md", "text"),
            ("docs/rules/two.md", "[itself](two.md) and `[one](docs/rules/two.md)`"),
        ],
        &["docs/rules/two.md"],
    );
}
