//! Words that no committed file holds: unfinished code, and places of one machine.
//!
//! The patterns are written in pieces, so that this file does not find itself.

use crate::finding::Finding;
use crate::project::SourceFile;
use crate::rust_source::{code_only, line_of, tokens};

/// Macros of unfinished work.
const UNFINISHED: &[&str] = &["todo", "unimplemented", "dbg"];

/// Marks of a task; allowed only with the number of an issue.
const TASK_MARKS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME")];

/// Directories that exist on somebody's machine alone.
const MACHINE_PATHS: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

/// Hosts of package registries: which mirror a machine uses is its own affair.
const REGISTRY_HOSTS: &[&str] = &[
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("npmjs", ".org"),
    concat!("npmjs", ".com"),
    concat!("proxy.golang", ".org"),
    concat!("repo.maven.apache", ".org"),
];

/// Judges one file. Cargo.lock is cargo's, and names the registry.
pub fn judge(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    if file.is_rust() {
        findings.extend(unfinished(file));
    }
    if file.path.ends_with("Cargo.lock") {
        return findings;
    }
    for (index, line) in file.text().lines().enumerate() {
        let mut found = |rule, message| findings.push(Finding::at(&file.path, index + 1, rule, message));
        if !file.is_markdown()
            && let Some(mark) = TASK_MARKS.iter().find(|mark| has_unnumbered(line, mark))
        {
            found("task-mark", format!("`{mark}` needs the number of an issue: `{mark}(#n)`"));
        }
        if let Some(path) = MACHINE_PATHS.iter().find(|path| has_path(line, path)) {
            found("machine-path", format!("`{path}` is a place of one machine"));
        }
        if let Some(host) = REGISTRY_HOSTS.iter().find(|host| line.contains(*host)) {
            found("registry-host", format!("`{host}` is a package registry's host"));
        }
    }
    findings
}

fn unfinished(file: &SourceFile) -> Vec<Finding> {
    let code = code_only(file.text());
    let tokens = tokens(&code);
    let mut findings = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let next = tokens.get(index + 1).map_or("", |token| token.text);
        let attribute = index >= 2 && tokens[index - 1].text == "[" && tokens[index - 2].text == "#";
        let message = match token.text {
            word if next == "!" && UNFINISHED.contains(&word) => format!("`{word}!` is unfinished work"),
            "ignore" if attribute => "a test that never runs shows nothing".to_owned(),
            _ => continue,
        };
        findings.push(Finding::at(&file.path, line_of(&code, token.at), "unfinished", message));
    }
    findings
}

/// Whether the mark stands there as a word without `(#123)` behind it.
fn has_unnumbered(line: &str, mark: &str) -> bool {
    line.match_indices(mark).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + mark.len()..]);
        let is_part_of_word = |character: char| character.is_alphanumeric() || character == '_';
        let whole = !before.ends_with(is_part_of_word) && !after.starts_with(is_part_of_word);
        let number = after.strip_prefix("(#").and_then(|rest| rest.split(')').next());
        let numbered = number.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
        whole && !numbered
    })
}

/// Whether the absolute path stands there; behind a name it is part of a relative one.
fn has_path(line: &str, path: &str) -> bool {
    let in_name = |character: char| character.is_alphanumeric() || "._-}".contains(character);
    line.match_indices(path).any(|(at, _)| !line[..at].ends_with(in_name))
}
