//! A module is named after a noun of the domain.

use crate::finding::Finding;
use crate::project::SourceFile;
use crate::rust_source::{code_only, line_of, tokens};

/// Names that say nothing.
const NAMELESS: &[&str] = &["util", "utils", "helper", "helpers", "common", "misc"];

/// Judges the path of a Rust file and the modules it declares.
pub fn judge(file: &SourceFile) -> Vec<Finding> {
    if !file.is_rust() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let parts = file.path.trim_end_matches(".rs").split('/');
    if let Some(part) = parts.into_iter().find(|part| NAMELESS.contains(part)) {
        findings.push(Finding::on(&file.path, "module-name", format!("`{part}` names nothing: use a noun")));
    }
    let code = code_only(file.text());
    for pair in tokens(&code).windows(2) {
        if pair[0].text == "mod" && NAMELESS.contains(&pair[1].text) {
            let message = format!("module `{}` names nothing: use a noun", pair[1].text);
            findings.push(Finding::at(&file.path, line_of(&code, pair[0].at), "module-name", message));
        }
    }
    findings
}
