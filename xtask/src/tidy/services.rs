//! `foreign-service`: a service of a platform knows nothing of another but its events.
//!
//! A service is a folder of the platform's crate. Its events stand at its root, as types; its state, decisions, work and
//! commands stand in modules, which nobody else names.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::project::SourceFile;
use crate::rust_source::code_only;

/// The crates whose folders are services.
const PLATFORMS: [&str; 3] = ["crates/melmastoon/src/", "crates/learning/src/", "crates/panorama/src/"];

/// Modules of a service that are part of its events: the words that their payloads use.
const VOCABULARY: [&str; 2] = ["events", "terms"];

/// Looks through the services of every platform.
pub fn judge(files: &[SourceFile]) -> Vec<Finding> {
    PLATFORMS.iter().flat_map(|platform| of_platform(platform, files)).collect()
}

fn of_platform(platform: &str, files: &[SourceFile]) -> Vec<Finding> {
    let own = |file: &SourceFile| Some(service(platform, &file.path)?.to_owned());
    let services: BTreeSet<String> = files.iter().filter_map(own).collect();
    let mut findings = Vec::new();
    for file in files {
        let (Some(of), Some(text)) = (service(platform, &file.path), &file.text) else { continue };
        let code = code_only(text);
        for (other, module) in foreign(&code, &services).into_iter().filter(|(other, _)| other != of) {
            let message = format!("`{of}` uses `{other}::{module}`: of another service it may know the events alone");
            findings.push(Finding::on(&file.path, "foreign-service", message));
        }
    }
    findings
}

/// The service of a file: the folder below the platform's sources.
fn service<'a>(platform: &str, path: &'a str) -> Option<&'a str> {
    path.strip_prefix(platform)?.split_once('/').map(|(folder, _)| folder)
}

/// The modules of services that a text names, and services that it takes whole.
fn foreign(code: &str, services: &BTreeSet<String>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for path in code.split("crate::").skip(1) {
        let path = path.trim_start();
        if let Some(list) = path.strip_prefix('{') {
            // What is taken together at the root: a module of a service, or the service itself.
            let list = list.split(';').next().unwrap_or_default();
            let names = list.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            found.extend(names.filter(|name| services.contains(*name)).map(|name| (name.to_owned(), "*".to_owned())));
            continue;
        }
        let (other, rest) = word(path);
        if !services.contains(other) {
            continue;
        }
        match rest.strip_prefix("::") {
            Some(rest) => {
                let rest = rest.trim_start().trim_start_matches('{').trim_start();
                let (module, _) = word(rest);
                if module.starts_with(|c: char| c.is_ascii_lowercase()) && !VOCABULARY.contains(&module) {
                    found.push((other.to_owned(), module.to_owned()));
                }
            }
            None => found.push((other.to_owned(), "*".to_owned())),
        }
    }
    found
}

fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    text.split_at(end)
}
