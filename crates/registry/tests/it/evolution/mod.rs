//! The evolution gate: a table of pairs, the documents' rules line by line, whole catalogues, hostile input, and a
//! differential test against a validator.

mod audits;
mod catalogues;
mod differential;
mod documents;
mod hostile;
mod pages;
mod table;

use karwan_registry::evolution::{Report, Severity, Verdict, compare};
use serde_json::Value;

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// `verdict: rule rule …`, the rules sorted, notes last in parentheses.
fn summary(report: &Report) -> String {
    let verdict = match report.verdict() {
        Verdict::Identical => "identical",
        Verdict::Additive => "additive",
        Verdict::NeedsAudit => "audit",
        Verdict::Breaking => "breaking",
    };
    let mut rules: Vec<String> = (report.findings.iter())
        .map(|finding| match finding.severity {
            Severity::Note => format!("({})", finding.rule.id()),
            Severity::Audit | Severity::Breaking => finding.rule.id().to_owned(),
        })
        .collect();
    rules.sort_by_key(|rule| (rule.starts_with('('), rule.clone()));
    rules.dedup();
    if rules.is_empty() { verdict.to_owned() } else { format!("{verdict}: {}", rules.join(" ")) }
}

fn judged(old: &str, new: &str) -> Report {
    compare(&parse(old), &parse(new)).unwrap_or_else(|error| panic!("{error}\n  old {old}\n  new {new}"))
}
