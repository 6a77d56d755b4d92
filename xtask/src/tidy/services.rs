//! `foreign-service`: a service of a platform knows nothing of another but its events.
//!
//! A service is a folder of the platform's crate. Its events stand at its root, as types; its state, decisions, work and
//! commands stand in modules, which nobody else names.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::project::SourceFile;
use crate::rust_source::{code_only, tokens};

/// The crates whose folders are services.
const PLATFORMS: [&str; 3] = ["crates/melmastoon/src/", "crates/learning/src/", "crates/panorama/src/"];

/// Folders that are no service: what must hold over all of them is judged from outside, by all that they keep.
const OUTSIDE: [&str; 1] = ["rules"];

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
        if OUTSIDE.contains(&of) {
            continue;
        }
        let code = code_only(text);
        let module = module(platform, &file.path);
        for (other, module) in foreign(&code, &module, &services).into_iter().filter(|(other, _)| other != of) {
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

/// The module that a file is, from the crate's root on.
fn module<'a>(platform: &str, path: &'a str) -> Vec<&'a str> {
    let inner = path.strip_prefix(platform).and_then(|path| path.strip_suffix(".rs")).unwrap_or_default();
    let mut module: Vec<&str> = inner.split('/').collect();
    module.pop_if(|last| *last == "mod");
    module
}

/// The modules of services that a text names, and services that it takes whole. `module` is where the text stands.
fn foreign(code: &str, module: &[&str], services: &BTreeSet<String>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for path in rooted_paths(code, module) {
        let named = |place: usize| path.get(place).copied();
        match (named(0), named(1)) {
            (Some("*"), _) => found.push(("crate".to_owned(), "*".to_owned())),
            (Some(other), None | Some("*")) if services.contains(other) => {
                found.push((other.to_owned(), "*".to_owned()));
            }
            (Some(other), Some(module)) if services.contains(other) && is_behind_events(module) => {
                found.push((other.to_owned(), module.to_owned()));
            }
            _ => {}
        }
    }
    found
}

/// Types stand at a service's root; what is in lower case is a module.
fn is_behind_events(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase()) && !VOCABULARY.contains(&name)
}

/// The paths that begin with `crate`, `self` or `super`, from the crate's root on; what stands in braces is one path each.
fn rooted_paths<'a>(code: &'a str, module: &[&'a str]) -> Vec<Vec<&'a str>> {
    let words: Vec<&str> = tokens(code).into_iter().map(|token| token.text).collect();
    let (mut paths, mut inner, mut depth, mut at) = (Vec::new(), Vec::new(), 0_usize, 0);
    while at < words.len() {
        match words[at..] {
            // A module within the file is one more that `super` leaves.
            ["mod", name, "{", ..] => {
                inner.push((depth, name));
                (depth, at) = (depth + 1, at + 3);
            }
            ["{", ..] => (depth, at) = (depth + 1, at + 1),
            ["}", ..] => {
                (depth, at) = (depth.saturating_sub(1), at + 1);
                inner.retain(|(outside, _)| *outside < depth);
            }
            [first @ ("crate" | "self" | "super"), ":", ":", ..] => {
                let here = || module.iter().copied().chain(inner.iter().map(|(_, name)| *name)).collect();
                let mut path: Vec<&str> = if first == "crate" { Vec::new() } else { here() };
                at += 3;
                if first == "super" {
                    path.pop();
                    while let ["super", ":", ":", ..] = words[at..] {
                        path.pop();
                        at += 3;
                    }
                }
                at = branches(&words, at, &path, &mut paths);
            }
            _ => at += 1,
        }
    }
    paths
}

/// Adds the paths that go on from one; answers the word behind them.
fn branches<'a>(words: &[&'a str], mut at: usize, from: &[&'a str], paths: &mut Vec<Vec<&'a str>>) -> usize {
    match words[at..] {
        ["{", ..] => {
            at += 1;
            while let Some(word) = words.get(at)
                && *word != "}"
            {
                at = if *word == "," { at + 1 } else { branches(words, at, from, paths) };
            }
            at + 1
        }
        ["self", ..] => {
            paths.push(from.to_vec());
            at + 1
        }
        [word, ref rest @ ..] => {
            let path = [from, &[word]].concat();
            match rest {
                // Behind a type's name may stand what it is of.
                [":", ":", "<", ..] | [] => paths.push(path),
                [":", ":", ..] => return branches(words, at + 3, &path, paths),
                ["as", _, ..] => {
                    paths.push(path);
                    return at + 3;
                }
                _ => paths.push(path),
            }
            at + 1
        }
        [] => at,
    }
}
