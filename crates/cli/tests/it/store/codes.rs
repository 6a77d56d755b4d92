//! Every code that a store or a broker can answer with has its page and its row in the index.

use std::collections::BTreeSet;
use std::fs;

use crate::karwan::root;

/// Texts of the form `store-…` or `broker-…` between quotes.
fn codes(source: &str, quote: char) -> BTreeSet<String> {
    let quoted = source.split(quote).filter(|text| text.starts_with("store-") || text.starts_with("broker-"));
    quoted.filter(|text| text.bytes().all(|it| it.is_ascii_lowercase() || it == b'-')).map(str::to_owned).collect()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_code_of_a_store_and_of_a_broker_has_a_page_and_a_row() {
    let mut all = codes(&read("crates/store/src/error.rs"), '"');
    all.extend(codes(&read("crates/store/src/postgres/schema/append.sql"), '\''));
    assert!(all.len() >= 30, "{all:?}");
    let broker = codes(&read("crates/broker/src/error.rs"), '"');
    assert!(broker.len() >= 19, "{broker:?}");
    all.extend(broker);
    let index = read("docs/errors/README.md");
    for code in &all {
        let page = read(&format!("docs/errors/{code}.md"));
        assert!(page.starts_with(&format!("# {code}\n")), "{code}");
        for part in ["## Meaning", "## Cause", "## What to do"] {
            assert!(page.contains(part), "{code} has no {part}");
        }
        assert!(index.contains(&format!("| [{code}]({code}.md) | ")), "{code} has no row");
    }
}
