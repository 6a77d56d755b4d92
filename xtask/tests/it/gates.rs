use xtask::gates::{Tree, differences};

use crate::printed;

fn check(committed: &[(&str, &str)], emitted: &[(&str, &str)], expected: &[&str]) {
    let tree = |files: &[(&str, &str)]| -> Tree {
        files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    };
    assert_eq!(printed(differences(&tree(committed), &tree(emitted))), expected);
}

#[test]
fn equal_trees_are_not_stale() {
    check(&[("a/v1.json", "{}")], &[("a/v1.json", "{}")], &[]);
}

#[test]
fn one_changed_byte_is_stale() {
    let message = "catalog/a/v1.json: stale-output: differs from what the event types give";
    check(&[("a/v1.json", "{}")], &[("a/v1.json", "{}\n")], &[message]);
}

#[test]
fn a_file_that_was_not_committed_is_stale() {
    let message = "catalog/v1.json: stale-output: the event types give this file, and it is not committed";
    check(&[], &[("v1.json", "{}")], &[message]);
}

#[test]
fn a_file_that_no_event_gives_is_stale() {
    check(&[("v1.json", "{}")], &[], &["catalog/v1.json: stale-output: no event type gives this file"]);
}
