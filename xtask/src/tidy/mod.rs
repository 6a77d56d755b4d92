//! `lint: tidy`: the rules of the house that no other tool knows.
//!
//! Every rule is a pure function of paths and texts, or of what `cargo metadata` and `karwan catalog list` print.

pub mod bus;
pub mod consumers;
pub mod crash_points;
pub mod dead;
pub mod layering;
pub mod names;
pub mod services;
pub mod sizes;
pub mod subjects;
pub mod vocabulary;
pub mod words;

use anyhow::Result;

use crate::command;
use crate::finding::{Finding, settle};
use crate::project::{Project, Scope, SourceFile};

/// How far into a file an exception may be declared: it belongs where a reader starts.
const EXCEPTION_LINES: usize = 30;

/// Reads the tree and applies every rule.
pub fn run(project: &Project) -> Result<()> {
    let files = project.files()?;
    let mut findings = of_files(&files);
    findings.extend(layering::judge(&project.metadata(Scope::OurPackages)?));
    let listed = command::output(project.karwan(&["catalog", "list", "--all", "--format", "json"]));
    match listed.and_then(|json| Ok(serde_json::from_slice(&json)?)) {
        Ok(rows) => findings.extend(subjects::judge(&files, &rows)),
        Err(error) => {
            let error = format!("{error:#}");
            let reason = error.lines().next().unwrap_or_default();
            let message = format!("the registered subjects could not be read: {reason}");
            findings.push(Finding::on("crates/cli", "unregistered-event", message));
        }
    }
    settle(findings)
}

/// The rules that need nothing but the files.
pub fn of_files(files: &[SourceFile]) -> Vec<Finding> {
    let each = files.iter().flat_map(|file| {
        let mut findings = sizes::judge(file);
        findings.extend(names::judge(file));
        findings.extend(vocabulary::judge(file));
        findings.extend(words::judge(file));
        findings.extend(bus::judge(file));
        findings.extend(crash_points::judge(file));
        findings
    });
    each.chain(dead::judge(files)).chain(consumers::judge(files)).chain(services::judge(files)).collect()
}

/// Whether the head of the file declares `// tidy: <what> because <reason>`, with a reason.
fn excepted(text: &str, what: &str) -> bool {
    let opening = format!("// tidy: {what} because ");
    text.lines().take(EXCEPTION_LINES).any(|line| {
        let reason = line.trim_start().strip_prefix(&opening);
        reason.is_some_and(|reason| !reason.trim().is_empty())
    })
}
