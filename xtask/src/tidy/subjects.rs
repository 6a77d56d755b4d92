//! An event type that was written is in the catalogue: one that nobody registered would never be emitted.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::finding::Finding;
use crate::project::SourceFile;
use crate::rust_source::{Token, code_only, line_of, string_at, tokens};

/// Judges the source of every crate against the rows of `karwan catalog list --all --format json`.
pub fn judge(files: &[SourceFile], rows: &Value) -> Vec<Finding> {
    let rows = rows.as_array().map_or(&[][..], Vec::as_slice);
    let names = rows.iter().flat_map(|row| {
        let aliases = row["aliases"].as_array().map_or(&[][..], Vec::as_slice);
        std::iter::once(&row["subject"]).chain(aliases).filter_map(Value::as_str)
    });
    let registered: BTreeSet<&str> = names.collect();
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| is_crate_source(&file.path)) {
        for (line, subject) in declared(file.text()) {
            if !registered.contains(subject.as_str()) {
                let message = format!("`{subject}` is declared here, and `karwan catalog list --all` does not have it");
                findings.push(Finding::at(&file.path, line, "unregistered-event", message));
            }
        }
    }
    findings
}

/// Not those of tests and measurements: only they meet their platforms, and no catalogue has those.
fn is_crate_source(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["crates", "testkit", ..] | ["crates", "cli", "src", "bench" | "chaos", ..] | [.., "tests.rs"] => false,
        ["crates", _, "src", ..] => path.ends_with(".rs"),
        _ => false,
    }
}

/// The subjects of the attributes `#[event(subject = "…")]`, with their lines.
pub fn declared(text: &str) -> Vec<(usize, String)> {
    let code = code_only(text);
    let tokens = tokens(&code);
    let mut subjects = Vec::new();
    let mut inside: Option<usize> = None;
    for (index, token) in tokens.iter().enumerate() {
        match (inside, token.text) {
            (None, "event") if opens_attribute(&tokens, index) => inside = Some(0),
            (Some(depth), "(") => inside = Some(depth + 1),
            (Some(depth), ")") => inside = (depth > 1).then(|| depth - 1),
            (Some(1), "subject") => {
                let following = tokens.get(index + 1).zip(tokens.get(index + 2));
                if let Some((equals, quote)) = following
                    && (equals.text, quote.text) == ("=", "\"")
                    && let Some(subject) = string_at(text, quote.at)
                {
                    subjects.push((line_of(text, token.at), subject.to_owned()));
                }
            }
            (None | Some(_), _) => {}
        }
    }
    subjects
}

fn opens_attribute(tokens: &[Token<'_>], index: usize) -> bool {
    let text = |index: Option<usize>| index.and_then(|index| tokens.get(index)).map(|token| token.text);
    text(index.checked_sub(1)) == Some("[")
        && text(index.checked_sub(2)) == Some("#")
        && text(Some(index + 1)) == Some("(")
}
