//! Files that nothing reaches: source that no module declares, fixtures that no test names, pages that no page links.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::markdown;
use crate::project::SourceFile;
use crate::rust_source::{code_only, string_at, tokens};

/// Judges the whole tree.
pub fn judge(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = unreached_source(files);
    findings.extend(unnamed_fixtures(files));
    findings.extend(unlinked_pages(files));
    findings
}

/// Directories that hold a manifest, each with a `/` at the end.
fn packages(files: &[SourceFile]) -> Vec<&str> {
    let manifests = files.iter().filter_map(|file| file.path.strip_suffix("Cargo.toml"));
    manifests.filter(|directory| directory.ends_with('/')).collect()
}

fn unreached_source(files: &[SourceFile]) -> Vec<Finding> {
    let sources: BTreeMap<&str, &str> =
        files.iter().filter(|file| file.is_rust()).map(|file| (file.path.as_str(), file.text())).collect();
    let packages = packages(files);
    let mut waiting: Vec<String> = Vec::new();
    for path in sources.keys() {
        if packages.iter().any(|package| path.strip_prefix(package).is_some_and(is_root)) {
            waiting.push((*path).to_owned());
        }
    }
    let mut reached: BTreeSet<String> = waiting.iter().cloned().collect();
    while let Some(path) = waiting.pop() {
        let Some(text) = sources.get(path.as_str()) else { continue };
        for candidate in declared_files(&path, text) {
            if sources.contains_key(candidate.as_str()) && reached.insert(candidate.clone()) {
                waiting.push(candidate);
            }
        }
    }
    let unreached = sources.keys().filter(|path| !reached.contains(**path));
    unreached.map(|path| Finding::on(path, "dead-file", "no module declares it")).collect()
}

/// Whether cargo builds the file (given by its path within the package) without any `mod` naming it.
fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(
        parts.as_slice(),
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["src", "bin", _]
            | ["src", "bin", _, "main.rs"]
            | ["tests" | "benches" | "examples", _]
            | ["tests" | "benches" | "examples", _, "main.rs"]
    )
}

/// Every place where the modules that the file declares may lie.
pub fn declared_files(path: &str, text: &str) -> Vec<String> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.trim_end_matches(".rs");
    let own = match stem {
        "mod" | "lib" | "main" | "build" => directory.to_owned(),
        // The root of a test binary declares its modules beside itself, any other file below its name.
        _ if directory.ends_with("/tests") || directory.ends_with("/bin") => directory.to_owned(),
        _ => format!("{directory}/{stem}"),
    };
    let mut found = Vec::new();
    for module in declared_modules(text) {
        match module.file {
            Some(file) => found.extend(markdown::destination(path, &file)),
            None => {
                let place = format!("{own}/{}", module.path.join("/"));
                found.push(format!("{place}.rs"));
                found.push(format!("{place}/mod.rs"));
            }
        }
    }
    found
}

struct Module {
    /// Inline modules around it, then its own name.
    path: Vec<String>,
    /// The file that an attribute `#[path = "…"]` or an `include!` names.
    file: Option<String>,
}

fn declared_modules(text: &str) -> Vec<Module> {
    let code = code_only(text);
    let tokens = tokens(&code);
    let word = |index: usize| tokens.get(index).map_or("", |token| token.text);
    let mut modules = Vec::new();
    let mut blocks: Vec<Option<String>> = Vec::new();
    let mut file: Option<String> = None;
    let mut opening: Option<String> = None;
    for (index, token) in tokens.iter().enumerate() {
        let quoted = |at: usize| tokens.get(at).and_then(|quote| string_at(text, quote.at)).map(str::to_owned);
        match token.text {
            "path" if word(index.wrapping_sub(1)) == "[" && word(index + 1) == "=" => file = quoted(index + 2),
            "include" if word(index + 1) == "!" && word(index + 3) == "\"" => {
                modules.push(Module { path: Vec::new(), file: quoted(index + 3) });
            }
            "mod" if word(index + 2) == ";" => {
                let mut path: Vec<String> = blocks.iter().flatten().cloned().collect();
                path.push(word(index + 1).to_owned());
                modules.push(Module { path, file: file.take() });
            }
            "mod" if word(index + 2) == "{" => opening = Some(word(index + 1).to_owned()),
            "{" => blocks.push(opening.take()),
            "}" => {
                blocks.pop();
            }
            _ => {}
        }
    }
    modules
}

/// Data under `tests/` is used when a source of its package names the file, or a directory between it and the tests.
fn unnamed_fixtures(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages(files) {
        let tests = format!("{package}tests/");
        let within = |file: &&SourceFile| file.path.starts_with(package);
        let sources: Vec<&str> = files.iter().filter(within).filter(|f| f.is_rust()).map(SourceFile::text).collect();
        for file in files.iter().filter(|file| !file.is_rust()) {
            let Some(rest) = file.path.strip_prefix(&tests) else { continue };
            let parts = rest.split('/').filter(|part| *part != "it");
            let named = parts.into_iter().any(|part| sources.iter().any(|text| text.contains(part)));
            if !named {
                findings.push(Finding::on(&file.path, "dead-file", "no test of its crate names it or its directory"));
            }
        }
    }
    findings
}

/// Every file under `docs/` is linked from a page other than itself, or is the index of its directory.
fn unlinked_pages(files: &[SourceFile]) -> Vec<Finding> {
    let mut linked: BTreeSet<String> = BTreeSet::new();
    for page in files.iter().filter(|file| file.is_markdown()) {
        let targets = markdown::links(page.text());
        let places = targets.iter().filter_map(|link| markdown::destination(&page.path, link.target));
        linked.extend(places.filter(|place| *place != page.path));
    }
    let pages = files.iter().filter(|file| file.path.starts_with("docs/"));
    let unlinked = pages.filter(|file| !is_index(&file.path) && !linked.contains(&file.path));
    unlinked.map(|file| Finding::on(&file.path, "dead-file", "no page links to it")).collect()
}

fn is_index(path: &str) -> bool {
    matches!(path.rsplit('/').next(), Some("README.md" | "index.md"))
}
