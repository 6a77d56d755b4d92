//! Tests of the chores: every rule sees the violation that is planted for it, and lets pass what is right.

mod cache;
mod counts;
mod dead_files;
mod layering;
mod ledger;
mod licences;
mod markdown;
mod nats_tool;
mod postgres_tool;
mod rust_source;
mod slow;
mod spdx;
mod subjects;
mod tidy;
mod trials;
mod verbs;

use xtask::finding::Finding;
use xtask::project::SourceFile;

/// The findings as they are printed, in order.
fn printed(mut findings: Vec<Finding>) -> Vec<String> {
    findings.sort();
    findings.iter().map(Finding::to_string).collect()
}

/// A tree of text files.
fn tree(files: &[(&str, &str)]) -> Vec<SourceFile> {
    files.iter().map(|(path, text)| SourceFile::new(path, text)).collect()
}
