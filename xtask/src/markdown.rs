//! Links between documents: none is broken, and every page that a text names exists. Pure.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::project::SourceFile;

/// A link's target as written, and its line.
#[derive(Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// What stands in the brackets, without a title.
    pub target: &'a str,
    /// Line from 1.
    pub line: usize,
}

/// The links of a page, `[text](target)` and `[name]: target`; code, in blocks and in lines, holds none.
pub fn links(text: &str) -> Vec<Link<'_>> {
    let mut links = Vec::new();
    let mut fence: Option<&str> = None;
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        let marker = ["```", "~~~"].into_iter().find(|marker| start.starts_with(marker));
        match (fence, marker) {
            (None, Some(marker)) => fence = Some(marker),
            (Some(open), Some(marker)) if open == marker => fence = None,
            (Some(_), _) => {}
            (None, None) => links.extend(links_of_line(line).map(|target| Link { target, line: index + 1 })),
        }
    }
    links
}

fn links_of_line(line: &str) -> impl Iterator<Item = &str> {
    // Every second part between back-quotes is code.
    let prose = line.split('`').step_by(2);
    let inline = line.match_indices("](").filter_map(move |(at, _)| {
        let inside_code = line[..at].matches('`').count() % 2 == 1;
        let target = line[at + 2..].split(')').next()?;
        (!inside_code).then_some(target)
    });
    let definition = prose.take(1).filter_map(|text| {
        let (name, target) = text.trim_start().strip_prefix('[')?.split_once("]:")?;
        (!name.contains(']')).then_some(target)
    });
    inline.chain(definition).filter_map(|target| target.split_whitespace().next())
}

/// The file that a link of the page at `from` names; `None` for the web, for places on the same page.
pub fn destination(from: &str, target: &str) -> Option<String> {
    let target = target.trim_start_matches('<').trim_end_matches('>');
    let path = target.split('#').next().unwrap_or(target);
    let elsewhere = path.is_empty() || path.contains("://") || path.starts_with("mailto:");
    if elsewhere {
        return None;
    }
    let mut parts: Vec<&str> = if path.starts_with('/') { Vec::new() } else { from.split('/').collect() };
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // A step above the root leads to no file of ours; kept, so that it is not found.
            ".." => match parts.pop() {
                Some(_) => {}
                None => parts.push(".."),
            },
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Every link that leads nowhere, and every `docs/errors/<CODE>.md` or `docs/rules/<id>.md` that is named but missing.
pub fn broken_references(files: &[SourceFile]) -> Vec<Finding> {
    let known = known_places(files);
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_markdown()) {
        for link in links(file.text()) {
            if let Some(place) = destination(&file.path, link.target)
                && !known.contains(place.as_str())
            {
                let message = format!("`{}` leads to no file", link.target);
                findings.push(Finding::at(&file.path, link.line, "broken-link", message));
            }
        }
    }
    // Tests may name pages that they make up.
    let is_test = |path: &str| path.split('/').any(|part| part == "tests");
    for file in files.iter().filter(|file| file.is_markdown() || file.is_rust() && !is_test(&file.path)) {
        for (index, line) in file.text().lines().enumerate() {
            for page in named_pages(line).filter(|page| !known.contains(page)) {
                findings.push(Finding::at(&file.path, index + 1, "missing-page", format!("`{page}` does not exist")));
            }
        }
    }
    findings
}

/// Every file and every directory that holds one.
fn known_places(files: &[SourceFile]) -> BTreeSet<&str> {
    let mut places = BTreeSet::from([""]);
    for file in files {
        places.insert(&file.path);
        places.extend(file.path.match_indices('/').map(|(at, _)| &file.path[..at]));
    }
    places
}

/// Pages of the two folders in which one page answers to one code; a placeholder such as `<CODE>` is no page.
fn named_pages(line: &str) -> impl Iterator<Item = &str> {
    ["docs/errors/", "docs/rules/"].into_iter().flat_map(move |folder| {
        line.match_indices(folder).filter_map(move |(at, _)| {
            let rest = &line[at + folder.len()..];
            let in_name = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
            let name = &rest[..rest.find(|character| !in_name(character)).unwrap_or(rest.len())];
            let name = &name[..name.find(".md")? + ".md".len()];
            (name != ".md").then(|| &line[at..at + folder.len() + name.len()])
        })
    })
}
