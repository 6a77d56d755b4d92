use serde_json::json;
use xtask::tidy::subjects;

use crate::{printed, tree};

fn check(path: &str, text: &str, expected: &[&str]) {
    let rows = json!([{ "subject": "shop.order.placed.v1", "aliases": ["shop.order.made.v1"] }]);
    assert_eq!(printed(subjects::judge(&tree(&[(path, text)]), &rows)), expected);
}

const SOURCE: &str = "crates/a/src/events.rs";

#[test]
fn a_registered_event_passes() {
    check(SOURCE, "#[event(subject = \"shop.order.placed.v1\", owner = \"shop\")]\nstruct Placed;", &[]);
}

#[test]
fn an_event_that_was_written_but_not_registered_is_found() {
    let message = "crates/a/src/events.rs:4: unregistered-event: `shop.order.lost.v1` is declared here, \
                   and `karwan catalog list --all` does not have it";
    let text = "#[derive(Event)]\n#[event(\n    aliases(\"shop.order.made.v1\"),\n    subject = \"shop.order.lost.v1\",\n)]\nstruct Lost;";
    check(SOURCE, text, &[message]);
}

#[test]
fn an_example_in_a_comment_or_a_string_is_no_event() {
    check(
        SOURCE,
        "/// #[event(subject = \"x.y.z.v1\")]\nconst A: &str = r#\"#[event(subject = \"x.y.z.v1\")]\"#;",
        &[],
    );
}

#[test]
fn events_of_tests_and_measurements_need_no_row() {
    check("crates/cli/src/bench/sample.rs", "#[event(subject = \"x.y.z.v1\")]\nstruct X;", &[]);
    check("crates/a/src/node/tests.rs", "#[event(subject = \"x.y.z.v1\")]\nstruct X;", &[]);
    check("crates/a/tests/it/main.rs", "#[event(subject = \"x.y.z.v1\")]\nstruct X;", &[]);
    check("crates/testkit/src/world/platform.rs", "#[event(subject = \"x.y.z.v1\")]\nstruct X;", &[]);
}
