//! `unlisted-consumer`: every consumer of a platform is on its list, and so has its replay contract.
//!
//! `karwan::consumers!` makes the list and, from it, one test a consumer: what is delivered twice is handled once. A consumer
//! that is made past the list would have none.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::project::SourceFile;
use crate::rust_source::code_only;

/// Where consumers are made that no platform runs: the engine, the façade's own pages, what is measured.
const FREE: [&str; 6] = [
    "crates/engine/",
    "crates/karwan/",
    "crates/store/",
    "crates/cli/src/bench/",
    "crates/cli/src/chaos/",
    "crates/testkit/",
];

/// Looks through the sources that ship; examples show a consumer alone.
pub fn judge(files: &[SourceFile]) -> Vec<Finding> {
    let watched: Vec<(&str, String)> = files.iter().filter(|file| is_watched(&file.path)).filter_map(read).collect();
    let listed: BTreeSet<(String, String)> = watched.iter().flat_map(|(path, code)| listed(path, code)).collect();
    watched.iter().flat_map(|(path, code)| unlisted(path, code, &listed)).collect()
}

fn is_watched(path: &str) -> bool {
    let ships = path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs");
    ships && !FREE.iter().any(|free| path.starts_with(free))
}

fn read(file: &SourceFile) -> Option<(&str, String)> {
    Some((file.path.as_str(), code_only(file.text.as_ref()?)))
}

/// The package of a file: its folder under `crates`.
fn package(path: &str) -> String {
    path.split('/').take(2).collect::<Vec<_>>().join("/")
}

/// The names that a file lists in `consumers!`, each before its `=>`.
fn listed(path: &str, code: &str) -> Vec<(String, String)> {
    let mut names = Vec::new();
    for list in code.split("consumers!").skip(1) {
        // What is listed comes before the end of the list, behind what it is listed for.
        let body = list.split('}').next().unwrap_or_default();
        let before =
            |part: &str| part.trim().rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().map(str::to_owned);
        let parts: Vec<&str> = body.split("=>").collect();
        let named = parts.iter().take(parts.len().saturating_sub(1)).filter_map(|part| before(part));
        names.extend(named.map(|name| (package(path), name)));
    }
    names
}

/// The functions of a file that make a consumer and are on no list, and consumers that are made outside of any.
fn unlisted(path: &str, code: &str, listed: &BTreeSet<(String, String)>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut maker: Option<String> = None;
    for line in code.lines() {
        if let Some(name) = function(line) {
            maker = line.contains("-> Consumer").then_some(name);
        }
        if !line.contains("Consumer::new(") {
            continue;
        }
        let message = match &maker {
            Some(name) if listed.contains(&(package(path), name.clone())) => continue,
            Some(name) => {
                format!("`{name}` makes a consumer that no `karwan::consumers!` lists: it has no replay contract")
            }
            None => {
                "a consumer is made outside of a function that answers it: list it in `karwan::consumers!`".to_owned()
            }
        };
        findings.push(Finding::on(path, "unlisted-consumer", message));
    }
    findings
}

fn function(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("fn ")?;
    let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}
